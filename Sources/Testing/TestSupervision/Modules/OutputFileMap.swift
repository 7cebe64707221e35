// Reads the JSON in which a build tells the compiler where the outputs of each source go. Its tests are those of
// ModuleDescription.

internal import InClassSystem

/// What is needed of an output file map.
enum OutputFileMap {
    /// The strings that are values of a key, which is told with its quotes, sorted.
    static func paths(of key: StaticString, in text: String) -> [String] {
        var paths: [String] = []
        visit(key, before: UInt8(ascii: "\""), in: text) { bytes, _, quote in
            if let path = string(in: bytes, behind: quote) { paths.append(path) }
        }
        return paths.sorted()
    }

    /// The Swift sources: the keys that are paths of such.
    static func sources(in text: String) -> [String] {
        var sources: [String] = []
        visit(".swift\"", before: UInt8(ascii: "{"), in: text) { bytes, end, _ in
            var quote = end
            while quote >= 0, bytes[quote] != 0x22 || quote > 0 && bytes[quote - 1] == 0x5C { quote -= 1 }
            if quote >= 0, let path = string(in: bytes, behind: quote) { sources.append(path) }
        }
        return sources
    }

    /// Visits each key with an end whose value begins with a byte: where the end is, and where the value.
    private static func visit(
        _ keyEnd: StaticString, before first: UInt8, in text: String,
        _ visitor: (_ bytes: UnsafeRawBufferPointer, _ key: Int, _ value: Int) -> Void
    ) {
        var text = text
        // PERF: a debug build that looks at every byte itself takes longer here than for running a hundred tests.
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
        // Paths are written with no escapes but `\/`, `\"` and `\\`.
        var text: [UInt8] = []
        var rest = bytes[(quote + 1)...]
        while let byte = rest.popFirst(), byte != UInt8(ascii: "\"") {
            text.append(byte == UInt8(ascii: "\\") ? rest.popFirst() ?? byte : byte)
        }
        return String(decoding: text, as: UTF8.self)
    }
}
