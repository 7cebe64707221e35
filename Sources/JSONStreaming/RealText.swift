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
