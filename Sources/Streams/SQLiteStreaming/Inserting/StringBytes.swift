// Finds the bytes of a string from the 16 bytes of the string itself, without counting a reference or copying. One comparison
// at the first use checks that the standard library's strings have the expected layout.

/// Finds the UTF-8 of native strings in memory.
enum StringBytes {
    /// A Boolean value that indicates whether strings of the standard library have the layout that `find` expects.
    static let isLayoutKnown = agreesWithStandardLibrary()

    // PERF: SQLite/insert; counting the references of a long title took 445 of 2,857 instructions a row, and wrote to the
    // memory of each string.
    // SPEC: swift/stdlib/public/core/StringObject.swift. The highest four bits are the form. 1110 and 1010 are small strings,
    // which contain up to 15 bytes and have their count in the next four bits. 0000 and 1000 are large strings, on the heap
    // or in the program; if bit 60 of the first word is set, their bytes begin 32 bytes after the address.
    /// Returns the bytes of the string at an address, or nil for strings of another form. Requires `isLayoutKnown`.
    @inline(__always)
    static func find(_ string: UnsafeRawPointer) -> (start: UnsafeRawPointer, count: Int)? {
        // SAFETY: a string has 16 bytes. The bytes of a large one live as long as the string at the address does.
        let second = unsafe string.load(fromByteOffset: 8, as: UInt64.self)
        if second & smallBit != 0 { return unsafe (string, Int(second &>> 56 & 15)) }
        let first = unsafe string.load(as: UInt64.self)
        guard second & otherBits == 0, first & tailAllocatedBit != 0,
            let start = unsafe UnsafeRawPointer(bitPattern: UInt(second & addressBits))
        else { return nil }
        return unsafe (start + 32, Int(first & countBits))
    }

    /// Returns whether the optional string at an address is nil. Requires `isLayoutKnown`.
    @inline(__always)  // PERF: SQLite/insert; once a cell.
    static func isNil(_ string: UnsafeRawPointer) -> Bool {
        // SAFETY: an optional string has 16 bytes.
        unsafe string.load(fromByteOffset: 8, as: UInt64.self) == 0
    }

    private static let smallBit: UInt64 = 1 << 61
    private static let otherBits: UInt64 = 7 << 60
    private static let addressBits: UInt64 = (1 << 60) - 1
    private static let tailAllocatedBit: UInt64 = 1 << 60
    private static let countBits: UInt64 = (1 << 48) - 1

    private static func agreesWithStandardLibrary() -> Bool {
        #if _endian(little) && _pointerBitWidth(_64)
        guard MemoryLayout<String>.size == 16, MemoryLayout<String?>.size == 16 else { return false }
        var strings = ["", "a literal of more than fifteen bytes", "ein Literal größer als fünfzehn Bytes"]
        for count in 0...40 {
            strings.append(String(repeating: "a", count: count))
            strings.append("\u{7F}" + String(repeating: "é", count: count))
            strings.append(String(repeating: "🙂", count: count))
        }
        guard strings.allSatisfy(agrees) else { return false }
        var none: String?
        // SAFETY: the pointer refers to an optional string and doesn't leave the closure.
        return unsafe withUnsafeBytes(of: &none) { bytes in
            guard let start = bytes.baseAddress else { return false }
            return unsafe isNil(start)
        }
        #else
        return false
        #endif
    }

    /// Returns whether `find` returns the actual bytes of a string.
    private static func agrees(_ string: String) -> Bool {
        var string = string
        let count = string.utf8.count
        let expected = unsafe string.utf8.withContiguousStorageIfAvailable { unsafe UnsafeRawPointer($0.baseAddress) }
        // SAFETY: bytes are read in the string itself, or at the address that the library gives for them.
        return unsafe withUnsafeBytes(of: &string) { words in
            guard let address = words.baseAddress, unsafe !isNil(address), let found = unsafe find(address),
                unsafe found.count == count
            else { return false }
            if unsafe found.start == address {
                return unsafe UnsafeRawBufferPointer(start: address, count: count)
                    .elementsEqual(address.assumingMemoryBound(to: String.self).pointee.utf8)
            }
            return unsafe found.start == expected ?? nil
        }
    }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

extension StringBytes: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testRecognizesLayoutOfStrings": testRecognizesLayoutOfStrings,
            "testFindsBytesOfStrings": testFindsBytesOfStrings,
            "testRefusesOtherStringLayouts": testRefusesOtherStringLayouts,
        ]
    }

    private static func testRecognizesLayoutOfStrings() throws {
        #if _endian(little) && _pointerBitWidth(_64)
        expectTrue(isLayoutKnown, "the layout of this library's strings")
        #else
        expectFalse(isLayoutKnown, "the layout of this library's strings")
        #endif
    }

    private static func found(_ strings: [String]) -> [[UInt8]?] {
        unsafe strings.withUnsafeBufferPointer { strings in
            strings.indices.map { index in
                guard let start = strings.baseAddress, let found = unsafe find(UnsafeRawPointer(start + index)) else {
                    return nil
                }
                return unsafe Array(UnsafeRawBufferPointer(start: found.start, count: found.count))
            }
        }
    }

    private static func testFindsBytesOfStrings() throws {
        guard isLayoutKnown else { return }
        var strings = [
            "", "a", "é", "a\0b", "fifteen bytes !", "sixteen bytes !!", "a literal of the program, not of the heap",
        ]
        for count in [1, 14, 15, 16, 17, 255, 70_000] {
            var grown = ""
            grown.reserveCapacity(3 * count)
            for number in 0..<count { grown.append(number % 7 == 0 ? "é" : "x") }
            strings += [grown, String(grown.dropFirst()), grown.uppercased(), grown + grown]
            strings.append(String(decoding: Array(repeating: UInt8(0x61), count: count), as: UTF8.self))
        }
        expectTrue(found(strings) == strings.map { Array($0.utf8) }, "the bytes of strings")
    }

    private static func testRefusesOtherStringLayouts() throws {
        guard isLayoutKnown else { return }
        // The forms of strings of other libraries: 0100 and 0101, and large ones whose bytes are elsewhere.
        for words: [UInt64] in [
            [0xF000_0000_0000_0014, 0x4000_0000_0000_1000], [0x1000_0000_0000_0014, 0x5000_0000_0000_1000],
            [0xC000_0000_0000_0014, 0x0000_0000_0000_1000], [0xF000_0000_0000_0014, 0xC000_0000_0000_1000],
        ] {
            unsafe words.withUnsafeBytes { bytes in
                guard let start = bytes.baseAddress else { return fail("an address") }
                expectTrue(unsafe find(start) == nil, "\(words)")
                expectFalse(unsafe isNil(start), "\(words)")
            }
        }
    }
}
#endif
