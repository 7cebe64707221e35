// Describes a type whose values are within records, for readers of text. The description is trivial, used by address, and
// made with the plan of the type. It has the memory operations that a reader needs to build such a value or to discard it.

import PlistStreaming

/// The memory layout and the contents of a type's values, for a reader that builds the values itself.
@unsafe
package struct RecordShape {
    /// The forms of a value's text.
    package enum Kind: UInt8 {
        /// Readers don't build the value. It is sent as messages.
        case none
        /// A scalar that is stored by its fast kind or read from a message by its plan.
        case scalar
        case optional, array, dictionary, object
        /// A value that is converted from a container, which is the element.
        case converted
    }

    /// The form of a value's text. It is set together with the shape of the plan.
    package private(set) var kind = Kind.none
    /// The way to store a scalar without the plan.
    package let fast: FastKind
    /// The number of bytes from one value to the next in an array.
    package let stride: Int
    /// The number of adjacent values that fit into a reader's memory for elements, or 0 for large values.
    package let capacity: Int
    /// A Boolean value that indicates whether values are plain bytes that need no deinitialization.
    package let isTrivial: Bool
    /// A Boolean value that indicates whether a value has the same representation within an optional, so that it can be
    /// stored there directly.
    package let fillsOptional: Bool
    /// The shape of the values in an optional, an array or a dictionary.
    package private(set) var element: UnsafePointer<RecordShape>?
    /// The layout of an object whose members are sent, or nil for other types.
    private(set) var layout: Unmanaged<ObjectLayout>?
    let operations: UnsafePointer<ValueOperations>
    private unowned(unsafe) var plan: StreamPlan?

    init(_ operations: UnsafePointer<ValueOperations>, fast: FastKind) {
        // Readers store strings only if the memory layout of strings is known.
        let isUnknown = (fast == .string || fast == .optionalString) && !SmallText.checked.isLayoutKnown
        unsafe self.fast = isUnknown ? .none : fast
        unsafe self.stride = operations.pointee.stride
        unsafe isTrivial = operations.pointee.isTrivial
        unsafe fillsOptional = operations.pointee.fillsOptional
        let isLarge = unsafe operations.pointee.alignment > 16 || stride > RecordState.elementByteCount
        unsafe capacity = isLarge ? 0 : RecordState.elementByteCount / max(1, stride)
        unsafe self.operations = unsafe operations
    }

    /// Copies the form of the plan. The plan owns this shape.
    mutating func take(_ plan: StreamPlan) {
        unsafe self.plan = plan
        unsafe (element, layout) = (nil, nil)
        switch plan.shape {
        case .scalar:
            unsafe kind = .scalar
        case .optional(let wrapped):
            // Only messages can distinguish the levels of an optional in an optional.
            let isDirect = unsafe wrapped.record.pointee.kind != .optional && wrapped.record.pointee.kind != .converted
            guard isDirect else { return unsafe kind = .none }
            unsafe (kind, element) = (.optional, UnsafePointer(wrapped.record))
        case .array(let element):
            unsafe (kind, self.element) = (.array, UnsafePointer(element.record))
        case .dictionary(let element):
            unsafe (kind, self.element) = (.dictionary, UnsafePointer(element.record))
        case .object(let layout):
            unsafe (kind, self.layout) = (.object, Unmanaged.passUnretained(layout))
        case .converted(let form, _, _):
            switch unsafe form.record.pointee.kind {
            case .scalar: unsafe kind = .scalar
            case .array, .dictionary, .object: unsafe (kind, element) = (.converted, UnsafePointer(form.record))
            case .none, .optional, .converted: unsafe kind = .none
            }
        case .propertyList:
            unsafe kind = .none
        }
    }

    /// A Boolean value that indicates whether this is a container of containers.
    package var isLarge: Bool {
        guard let element = unsafe element, unsafe kind == .array || kind == .dictionary else { return false }
        return unsafe element.pointee.kind != .scalar
    }

    /// The value that a reader of text should expect if the text doesn't show its type.
    package var expectedValue: ExpectedValue { unsafe plan?.expectedValue ?? .any }

    // MARK: Memory

    /// Reads a scalar into uninitialized memory. If it returns false, the memory is still uninitialized.
    package func read(_ message: ScalarMessage, to address: UnsafeMutableRawPointer) -> Bool {
        // SAFETY: the address has memory for a value of this type, and the owner of the shape keeps the plan alive.
        guard let plan = unsafe plan else { return false }
        do throws(StreamError) { try unsafe plan.read(message, into: address) } catch { return false }
        return true
    }

    // SAFETY: each of these functions passes the addresses to the operation of the type that the plan was made for. Readers
    // have these addresses from memory that was provided for values of this type.
    package func makeNil(_ address: UnsafeMutableRawPointer) {
        unsafe element?.pointee.operations.pointee.makeNil(address)
    }

    /// Moves a value of the wrapped type into this optional.
    package func wrap(_ value: UnsafeMutableRawPointer, to address: UnsafeMutableRawPointer) {
        unsafe element?.pointee.operations.pointee.wrap(value, address)
    }

    /// Makes a value from a container, which is consumed. If it returns false, the memory is still uninitialized.
    package func convert(_ value: UnsafeMutableRawPointer, to address: UnsafeMutableRawPointer) -> Bool {
        guard case .converted(_, let convert, _)? = unsafe plan?.shape else { return false }
        do throws(StreamError) { try unsafe convert(value, address) } catch { return false }
        return true
    }

    /// Makes an array by moving values of this type into it.
    @inline(__always)  // PERF: JSONTyped/coordinates; once an array.
    package func makeArray(of values: UnsafeMutableRawPointer, _ count: Int, at address: UnsafeMutableRawPointer) {
        unsafe operations.pointee.makeArrayOf(values, count, address)
    }

    /// Moves values of this type to the end of an array.
    package func append(_ values: UnsafeMutableRawPointer, _ count: Int, to array: UnsafeMutableRawPointer) {
        unsafe operations.pointee.appendMany(values, count, 0, array)
    }

    /// Moves values of this type to the end of an array, or makes the array from them if it doesn't exist yet.
    package func move(
        _ values: UnsafeMutableRawPointer, _ count: Int, to array: UnsafeMutableRawPointer, isMade: Bool
    ) {
        if isMade {
            unsafe append(values, count, to: array)
        } else {
            unsafe makeArray(of: values, count, at: array)
        }
    }

    /// Makes an empty dictionary for values of this type.
    package func makeDictionary(_ address: UnsafeMutableRawPointer) {
        unsafe operations.pointee.makeDictionary(address)
    }

    /// Moves a value of this type into a dictionary.
    package func insert(_ value: UnsafeMutableRawPointer, _ key: RawSpan, to dictionary: UnsafeMutableRawPointer) {
        unsafe operations.pointee.insert(value, SmallText.checked.string(key), dictionary)
    }

    /// Deinitializes a number of values.
    package func deinitialize(_ values: UnsafeMutableRawPointer, _ count: Int = 1) {
        if unsafe isTrivial { return }
        for index in 0..<count { unsafe operations.pointee.deinitialize(values + index * stride) }
    }

    /// Replaces a value with a complete one, which is moved.
    package func replace(_ address: UnsafeMutableRawPointer, by value: UnsafeMutableRawPointer) {
        unsafe operations.pointee.replace(value, address)
    }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

enum RecordShapeTests {
    fileprivate struct Eight<Value: StreamValue & Defaulted>: StreamObject, Defaulted {
        var a = Value(), b = Value(), c = Value(), d = Value(), e = Value(), f = Value(), g = Value(), h = Value()
    }

    fileprivate struct Pair<First: StreamValue & Defaulted, Second: StreamValue & Defaulted>: StreamObject, Defaulted {
        var first = First()
        var second = Second()
    }

    /// A structure with the alignment of a vector. The vector isn't a member.
    fileprivate struct Aligned<Vector: SIMD & SendableMetatype>: StreamObject {
        var x = 1
        var vector = Vector()
        static var streamMembers: StreamMembers { [.member("x", \Aligned.x)] }
    }
}

private protocol Defaulted { init() }
extension Int: Defaulted {}
extension Int8: Defaulted {}

extension RecordShapeTests: SelfTesting {
    static var testSelectors: TestSelectors { ["testLimitsBufferedValues": testLimitsBufferedValues] }

    private static func testLimitsBufferedValues() throws {
        func capacity<Value: StreamValue>(_ type: Value.Type) throws -> Int {
            let plan = try PlanBinder(keyMapping: .exact).plan(for: type)
            // SAFETY: the plan owns its shape.
            return withExtendedLifetime(plan) { unsafe plan.record.pointee.capacity }
        }
        typealias Page = Eight<Eight<Eight<Int>>>
        expectEqual(try capacity(Int8.self), 4_096, "bytes")
        expectEqual(try capacity(Eight<Int>.self), 64, "values of 64 bytes")
        expectEqual(try capacity(Page.self), 1, "values that fill the memory")
        expectEqual(try capacity(Pair<Page, Int8>.self), 0, "values beyond it")
        expectEqual(try capacity(Aligned<SIMD2<Double>>.self), 128, "values aligned as the memory is")
        expectEqual(try capacity(Aligned<SIMD4<Double>>.self), 85, "values of 48 bytes")
    }
}
#endif
