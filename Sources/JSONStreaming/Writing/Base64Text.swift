// Bytes as Base64 text, RFC 4648 section 4, which is how JSON carries data.

import PlistStreaming

/// The Base64 text of bytes.
enum Base64Text {
    private static let alphabet: [UInt8] = Array(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

    /// Writes bytes in groups of four letters, padded with `=`.
    static func write(_ bytes: RawSpan, to output: inout ByteOutput) throws(StreamError) {
        var offset = 0
        while offset < bytes.byteCount {
            let count = min(3, bytes.byteCount - offset)
            var group: UInt32 = 0
            for index in 0..<3 {
                group = group << 8 | (index < count ? UInt32(bytes.uncheckedByte(offset + index)) : 0)
            }
            try output.reserve(4)
            for index in 0..<4 {
                let letter = alphabet[Int(group >> UInt32(18 - 6 * index) & 63)]
                output.appendReserved(index <= count ? letter : UInt8(ascii: "="))
            }
            offset += count
        }
    }
}
