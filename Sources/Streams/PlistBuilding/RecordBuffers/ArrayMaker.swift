// Makes arrays from values that are complete in memory. If the type of the elements is known only at run time, the type of
// the array's storage has to be looked up each time, which takes longer than making a short array. The common types are
// therefore listed here.

/// A function that makes an array of values at an address.
@unsafe @usableFromInline
struct ArrayMaker {
    /// Moves a number of values from the first address to a new array in the uninitialized memory at the second address.
    @usableFromInline let make: (UnsafeMutableRawPointer, _ count: Int, UnsafeMutableRawPointer) -> Void

    /// Makes a function for elements of a type. It is specialised if the type is known at compile time.
    @inlinable
    init<Element>(of type: Element.Type) {
        unsafe make = { from, count, to in
            // SAFETY: the memory has `count` values at the address, which are moved away.
            let first = unsafe from.assumingMemoryBound(to: Element.self)
            let array: [Element]
            // PERF: JSONTyped/coordinates; the compiler knows the size of a literal, which halves the time for a pair.
            switch count {
            case 0: array = []
            case 1: array = unsafe [first.move()]
            case 2: array = unsafe [first.move(), (first + 1).move()]
            case 3: array = unsafe [first.move(), (first + 1).move(), (first + 2).move()]
            case 4: array = unsafe [first.move(), (first + 1).move(), (first + 2).move(), (first + 3).move()]
            default:
                array = unsafe [Element](unsafeUninitializedCapacity: count) { buffer, initializedCount in
                    guard let start = buffer.baseAddress else { return }
                    unsafe start.moveInitialize(from: first, count: count)
                    initializedCount = count
                }
            }
            unsafe to.initializeMemory(as: [Element].self, to: array)
        }
    }

    /// Returns the function for elements that are scalars of the standard library or arrays of them, or nil for other types.
    @usableFromInline
    static func known(_ type: Any.Type) -> ArrayMaker? {
        switch ObjectIdentifier(type) {
        case ObjectIdentifier(Int.self): unsafe ArrayMaker(of: Int.self)
        case ObjectIdentifier(Int64.self): unsafe ArrayMaker(of: Int64.self)
        case ObjectIdentifier(Int32.self): unsafe ArrayMaker(of: Int32.self)
        case ObjectIdentifier(UInt8.self): unsafe ArrayMaker(of: UInt8.self)
        case ObjectIdentifier(Double.self): unsafe ArrayMaker(of: Double.self)
        case ObjectIdentifier(Float.self): unsafe ArrayMaker(of: Float.self)
        case ObjectIdentifier(Bool.self): unsafe ArrayMaker(of: Bool.self)
        case ObjectIdentifier(String.self): unsafe ArrayMaker(of: String.self)
        case ObjectIdentifier([Int].self): unsafe ArrayMaker(of: [Int].self)
        case ObjectIdentifier([Double].self): unsafe ArrayMaker(of: [Double].self)
        case ObjectIdentifier([Float].self): unsafe ArrayMaker(of: [Float].self)
        case ObjectIdentifier([String].self): unsafe ArrayMaker(of: [String].self)
        case ObjectIdentifier([[Int]].self): unsafe ArrayMaker(of: [[Int]].self)
        case ObjectIdentifier([[Double]].self): unsafe ArrayMaker(of: [[Double]].self)
        default: nil
        }
    }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

enum ArrayMakerTests {}

extension ArrayMakerTests: SelfTesting {
    static var testSelectors: TestSelectors { ["testMakesArraysFromMemory": testMakesArraysFromMemory] }

    private static func expectArray<Element: Equatable>(
        _ values: [Element], isKnown: Bool, line: UInt = #line
    ) {
        let memory = UnsafeMutablePointer<Element>.allocate(capacity: max(values.count, 1))
        let place = UnsafeMutablePointer<[Element]>.allocate(capacity: 1)
        for isListed in [true, false] {
            let maker =
                unsafe isListed
                ? ArrayMaker.known(Element.self) ?? ArrayMaker(of: Element.self) : ArrayMaker(of: Element.self)
            for (index, value) in values.enumerated() { unsafe (memory + index).initialize(to: value) }
            unsafe maker.make(UnsafeMutableRawPointer(memory), values.count, UnsafeMutableRawPointer(place))
            expectEqual(unsafe place.pointee, values, "array of \(Element.self)", line: line)
            unsafe place.deinitialize(count: 1)
        }
        expectEqual(
            unsafe ArrayMaker.known(Element.self) != nil, isKnown, "whether \(Element.self) is listed", line: line)
        unsafe memory.deallocate()
        unsafe place.deallocate()
    }

    private static func testMakesArraysFromMemory() {
        expectArray([1, 2, 3], isKnown: true)
        for count in 0...7 { expectArray((0..<count).map { String(repeating: "x", count: 7 * $0) }, isKnown: true) }
        expectArray([Int64(1)], isKnown: true)
        expectArray([Int32(1), -2], isKnown: true)
        expectArray([UInt8(1), 255], isKnown: true)
        expectArray([0.5, -1], isKnown: true)
        expectArray([Float(0.5)], isKnown: true)
        expectArray([true, false], isKnown: true)
        expectArray(["a", "a string of more than fifteen bytes"], isKnown: true)
        expectArray([[1], []], isKnown: true)
        expectArray([[0.5, 2]], isKnown: true)
        expectArray([[Float(0.5)]], isKnown: true)
        expectArray([["a", "a string of more than fifteen bytes"], ["b"]], isKnown: true)
        expectArray([[[1, 2]], []], isKnown: true)
        expectArray([[[1.5, 2]]], isKnown: true)
        expectArray([Int16(7)], isKnown: false)
        expectArray([Optional("x"), nil], isKnown: false)
    }
}
#endif
