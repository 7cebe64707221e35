// Reads the JSON file that contains the compiler's output paths for each source. The tests of ModuleDescription cover it.

internal import InClassSystem

/// A reader for the parts of an output file map that are needed here.
enum OutputFileMap {
    /// Returns the strings that are values of a key, sorted. The key includes its quotes.
    static func paths(of key: StaticString, in text: String) -> [String] {
        var paths: [String] = []
        visit(key, before: UInt8(ascii: "\""), in: text) { bytes, _, quote in
            if let path = string(in: bytes, behind: quote) { paths.append(path) }
        }
        return paths.sorted()
    }

    /// Returns the keys that are paths of Swift sources.
    static func sources(in text: String) -> [String] {
        var sources: [String] = []
        visit(".swift\"", before: UInt8(ascii: "{"), in: text) { bytes, end, _ in
            var quote = end
            while quote >= 0, bytes[quote] != 0x22 || quote > 0 && bytes[quote - 1] == 0x5C { quote -= 1 }
            if quote >= 0, let path = string(in: bytes, behind: quote) { sources.append(path) }
        }
        return sources
    }

    /// Visits each key that ends with a text and whose value begins with a certain byte. The visitor receives the
    /// offsets of the key's end and of the value.
    private static func visit(
        _ keyEnd: StaticString, before first: UInt8, in text: String,
        _ visitor: (_ bytes: UnsafeRawBufferPointer, _ key: Int, _ value: Int) -> Void
    ) {
        var text = text
        // PERF: In a debug build, a loop over all bytes takes longer than running a hundred tests.
        text.withUTF8 { bytes in
            let bytes = UnsafeRawBufferPointer(bytes)
            for offset in ByteSearch.ends(of: keyEnd, in: bytes) {
                let isValue = { (byte: UInt8) in byte > 0x20 }
                guard let colon = bytes[offset...].firstIndex(where: isValue), bytes[colon] == UInt8(ascii: ":"),
                    let value = bytes[(colon + 1)...].firstIndex(where: isValue), bytes[value] == first
                else { continue }
                visitor(bytes, offset - keyEnd.utf8CodeUnitCount, value)
            }
        }
    }

    /// Reads a string to its closing quote.
    private static func string(in bytes: UnsafeRawBufferPointer, behind quote: Int) -> String? {
        guard let base = bytes.baseAddress,
            let found = memchr(base + quote + 1, 0x22, bytes.count - quote - 1)
        else { return nil }
        let end = UnsafeRawPointer(found) - base
        if memchr(base + quote + 1, 0x5C, end - quote - 1) == nil {
            return String(decoding: bytes[(quote + 1)..<end], as: UTF8.self)
        }
        // The only escapes in paths are `\/`, `\"` and `\\`.
        var text: [UInt8] = []
        var rest = bytes[(quote + 1)...]
        while let byte = rest.popFirst(), byte != UInt8(ascii: "\"") {
            text.append(byte == UInt8(ascii: "\\") ? rest.popFirst() ?? byte : byte)
        }
        return String(decoding: text, as: UTF8.self)
    }
}
