// Making strings of bytes that a reader promises to be valid UTF-8.

/// Makes strings of the bytes of messages.
enum SmallText {
    /// Returns a string of the bytes; those that are not UTF-8 become U+FFFD.
    @inline(__always)  // PERF: StructBuilder/records.
    static func string(_ utf8: RawSpan) -> String {
        // SAFETY: the pointer does not leave the closure.
        unsafe utf8.withUnsafeBytes { unsafe String(decoding: $0, as: UTF8.self) }
    }
}
