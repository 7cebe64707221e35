// Helper for tests of the scanner: the outcome of reading as one line, which must be the same for every division into
// chunks.

#if DEBUG || IN_CLASS_TESTS
import InClassTesting
import PlistStreaming

extension JSONScanner {
    /// Returns the trace of reading and its error, as one line; `!` precedes the error.
    ///
    /// The fast loop learns members from an offset on, which tests of `MemberHints` set to the beginning.
    ///
    /// - Parameter endsWithLast: A Boolean value that indicates whether the last chunk is passed as the last one,
    ///   instead of ending the input with a separate call.
    static func outcome(
        _ chunks: [[UInt8]], options: JSONReaderOptions = JSONReaderOptions(),
        learningFrom start: Int = MemberHints.firstOffset, endsWithLast: Bool = false
    ) -> String {
        var scanner = JSONScanner(options: options)
        scanner.hints.learningStart = start
        var trace = EventTrace()
        do throws(StreamError) {
            for (index, chunk) in chunks.enumerated() {
                try unsafe chunk.withUnsafeBufferPointer { buffer throws(StreamError) in
                    // SAFETY: the span does not leave the closure.
                    let bytes = unsafe UnsafeRawBufferPointer(buffer).bytes
                    if endsWithLast && index == chunks.count - 1 {
                        try scanner.scanLast(bytes, into: &trace)
                    } else {
                        try scanner.scan(bytes, into: &trace)
                    }
                }
            }
            if !endsWithLast { try scanner.finish(into: &trace) }
            return trace.text
        } catch {
            return (trace.events + ["! \(error.kind)", error.description]).joined(separator: " ")
        }
    }

    /// Reads a text whole, with and without the fast loop, byte by byte and at every split point, and expects the same
    /// outcome.
    ///
    /// The fast loop needs bytes after the text. A second text with spaces at its end provides some, and may differ
    /// only in the position of the end.
    static func expectOutcome(
        _ text: [UInt8], _ expected: String?, options: JSONReaderOptions = JSONReaderOptions(), _ message: String,
        line: UInt = #line
    ) {
        let whole = outcome([text], options: options)
        if let expected { expectEqual(whole, expected, message, line: line) }
        for padding in [0, 100] {
            let text = text + [UInt8](repeating: 0x20, count: padding)
            let whole = padding == 0 ? whole : outcome([text], options: options)
            expectEqual(
                outcome([text], options: options, endsWithLast: true), whole, "\(message), as the last", line: line)
            var plain = options
            plain.usesPlainScan = true
            expectEqual(outcome([text], options: plain), whole, "\(message), by the plain parser", line: line)
            expectEqual(
                outcome(text.map { [$0] }, options: options), whole, "\(message), byte by byte", line: line)
            for split in text.indices.prefix(300) {
                let chunks = [Array(text[..<split]), Array(text[split...])]
                for endsWithLast in padding == 0 ? [false, true] : [false] {
                    expectEqual(
                        outcome(chunks, options: options, endsWithLast: endsWithLast), whole,
                        "\(message), split at \(split)", line: line)
                }
            }
        }
    }
}
#endif
