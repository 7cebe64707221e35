// Doubles as JSON text: the fewest digits that read back as the same double.

import PlistStreaming

/// The text of doubles.
enum RealText {
    /// Writes a finite double, always with a point or an exponent, so that it reads back as a real.
    static func write(_ value: Double, to output: inout ByteOutput) throws(StreamError) {
        // The standard library's description is the shortest that round-trips: 1.0, 0.1, 1e+16, 5e-324, -0.0.
        try value.description.withUTF8Span { text throws(StreamError) in try output.append(text) }
    }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

extension RealText: SelfTesting {
    static var testSelectors: TestSelectors { ["testReadsBackAsTheSameReal": testReadsBackAsTheSameReal] }

    private static func testReadsBackAsTheSameReal() throws {
        let values = [
            0, -0.0, 1, 0.1, -2.5, 1e16, 1e-5, 123_456_789, .leastNonzeroMagnitude, .greatestFiniteMagnitude,
            .leastNormalMagnitude, .pi, 1e22, 1e23, 0.3,
            9_007_199_254_740_994, 100, 1e15, 1e17, 0.001, 0.0001,
        ]
        for value in values {
            var output = ByteOutput()
            try write(value, to: &output)
            let text = output.withBytes { String(validating: $0) } ?? ""
            expectEqual(text.withUTF8Span { JSONNumber.value(of: $0) }, .real(value), "\(value) by way of \(text)")
            expectEqual(text.withUTF8Span { NumberGrammar.accepts($0) }, true, "the grammar of \(text)")
        }
    }
}
#endif
