// Conversions between raw spans and the strings and arrays of the standard library.

extension RawSpan {
    // PERF: inlinable, because it runs once for each byte in plain code paths.
    /// Returns the byte at an offset; an offset out of bounds traps.
    @inlinable
    public func byte(at offset: Int) -> UInt8 {
        precondition(offset >= 0 && offset < byteCount, "byte offset out of bounds")
        // SAFETY: the offset was checked on the line above, and a byte has no alignment.
        return unsafe unsafeLoadUnaligned(fromUncheckedByteOffset: offset, as: UInt8.self)
    }

    /// Returns whether the span contains exactly the UTF-8 text of a string.
    public func equals(_ text: String) -> Bool { text.withUTF8Span { hasSameBytes(as: $0) } }

    /// A Boolean value that indicates whether the bytes are valid UTF-8, which sinks expect for keys and strings.
    ///
    /// - Complexity: O(*n*), without an allocation.
    public var isValidUTF8: Bool {
        // PERF: most keys and strings are short and ASCII, and the check for ASCII needs fewer instructions.
        // SAFETY: the bytes are read only within the closure.
        unsafe withUnsafeBytes { unsafe UTF8Check.isASCII($0) || UTF8Check.isValid($0) }
    }
}

extension String {
    /// Creates a string from UTF-8 bytes, or returns nil if they are invalid.
    ///
    /// - Complexity: O(*n*), one allocation beyond 15 bytes.
    public init?(validating utf8: RawSpan) {
        // SAFETY: the buffer is read only within the closure, and its bytes were checked to be UTF-8.
        let text = unsafe utf8.withUnsafeBytes { bytes in
            unsafe UTF8Check.isValid(bytes) ? CheckedText.string(bytes) : nil
        }
        guard let text else { return nil }
        self = text
    }

    // PERF: inlinable, because encoders call it once for each string and the closure must be specialized.
    /// Calls a closure with the string's UTF-8 bytes.
    @inlinable
    public func withUTF8Span<Value, Failure: Error>(
        _ body: (RawSpan) throws(Failure) -> Value
    ) throws(Failure) -> Value {
        var copy = self
        let result: Result<Value, Failure> = copy.withUTF8 { buffer in
            // SAFETY: the span does not leave the closure, and the buffer outlives it.
            let span = unsafe UnsafeRawBufferPointer(buffer).bytes
            do throws(Failure) {
                return .success(try body(span))
            } catch {
                return .failure(error)
            }
        }
        return try result.get()
    }
}

extension Array where Element == UInt8 {
    /// Creates an array with a copy of a span's bytes.
    public init(copying bytes: RawSpan) {
        // SAFETY: the buffer is read only within the closure.
        self = unsafe bytes.withUnsafeBytes { unsafe Array($0) }
    }

    // PERF: inlinable, because the entry points of readers are, and the closure must be specialized.
    /// Calls a closure with the bytes. Some systems that the package supports don't have the property `span`.
    @inlinable
    package func withRawSpan<Value, Failure: Error>(
        _ body: (RawSpan) throws(Failure) -> Value
    ) throws(Failure) -> Value {
        try unsafe withUnsafeBufferPointer { buffer throws(Failure) in
            // SAFETY: the span does not leave the closure.
            try body(unsafe UnsafeRawBufferPointer(buffer).bytes)
        }
    }
}

extension ArraySlice where Element == UInt8 {
    /// Calls a closure with the bytes.
    @inlinable
    package func withRawSpan<Value, Failure: Error>(
        _ body: (RawSpan) throws(Failure) -> Value
    ) throws(Failure) -> Value {
        try unsafe withUnsafeBufferPointer { buffer throws(Failure) in
            // SAFETY: the span does not leave the closure.
            try body(unsafe UnsafeRawBufferPointer(buffer).bytes)
        }
    }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

enum RawSpanTextTests {}

extension RawSpanTextTests: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testRoundTripsText": testRoundTripsText,
            "testRefusesInvalidText": testRefusesInvalidText,
            "testComparesWithText": testComparesWithText,
        ]
    }

    private static func testRoundTripsText() {
        for text in ["", "a", "größer", "a\0b", "🙂 with a tail beyond fifteen bytes"] {
            expectEqual(text.withUTF8Span { String(validating: $0) }, text, "text")
            expectEqual(text.withUTF8Span { Array(copying: $0) }, Array(text.utf8), "bytes")
            expectTrue(text.withUTF8Span { $0.isValidUTF8 }, "whether they are UTF-8")
        }
    }

    private static func testRefusesInvalidText() {
        for bytes: [UInt8] in [
            [0x80], [0xC0, 0x80], [0xED, 0xA0, 0x80], [0xF4, 0x90, 0x80, 0x80], [0x61, 0xC3],
        ] {
            expectNil(bytes.withRawSpan { String(validating: $0) }, "text of \(bytes)")
            expectFalse(bytes.withRawSpan { $0.isValidUTF8 }, "whether \(bytes) are UTF-8")
        }
    }

    private static func testComparesWithText() {
        "name".withUTF8Span { span in
            expectTrue(span.equals("name"), "the same text")
            expectFalse(span.equals("nam"), "a prefix")
            expectFalse(span.equals("namf"), "another text")
            expectEqual(span.byte(at: 3), 0x65, "the last byte")
        }
    }
}
#endif
