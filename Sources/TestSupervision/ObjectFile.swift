// Reads what linking needs to know of ELF objects: the libraries that Swift asked to be linked, and which
// instrumentation the compiler added. Mach-O carries both to the linker itself.

/// A 64-bit little-endian ELF file.
struct ObjectFile {
    private let bytes: [UInt8]
    private let sections: [(name: Int, offset: Int, size: Int)]
    private let nameTable: Int

    /// Reads a file, or nothing when it is not such a file.
    init?(path: String) {
        guard let bytes = try? FileAccess.contents(of: path) else { return nil }
        self.init(bytes: bytes)
    }

    init?(bytes: [UInt8]) {
        guard bytes.count >= 64, bytes[0...5].elementsEqual([0x7F, 0x45, 0x4C, 0x46, 2, 1]) else { return nil }
        func number(at offset: Int, _ size: Int) -> Int? {
            guard offset >= 0, offset + size <= bytes.count else { return nil }
            var value: UInt64 = 0
            for index in (0..<size).reversed() { value = value << 8 | UInt64(bytes[offset + index]) }
            return Int(exactly: value)
        }
        guard let table = number(at: 0x28, 8), let size = number(at: 0x3A, 2), let count = number(at: 0x3C, 2),
            let nameIndex = number(at: 0x3E, 2)
        else { return nil }
        var sections: [(name: Int, offset: Int, size: Int)] = []
        for index in 0..<count {
            let header = table + index * size
            guard let name = number(at: header, 4), let offset = number(at: header + 0x18, 8),
                let length = number(at: header + 0x20, 8)
            else { return nil }
            sections.append((name, offset, length))
        }
        guard nameIndex < sections.count else { return nil }
        self.bytes = bytes
        self.sections = sections
        self.nameTable = sections[nameIndex].offset
    }

    /// The contents of the sections of this name.
    ///
    /// - Complexity: one search for the name; no other section's name is read.
    private func contents(ofSections name: String) -> [ArraySlice<UInt8>] {
        guard let nameOffset = offset(of: [0] + Array(name.utf8) + [0], from: nameTable) else { return [] }
        return sections.compactMap { section in
            let end = section.offset + section.size
            guard nameTable + section.name == nameOffset + 1, section.offset >= 0, end <= bytes.count else { return nil }
            return bytes[section.offset..<end]
        }
    }

    func hasSection(_ name: String) -> Bool { !contents(ofSections: name).isEmpty }

    /// The options of `.swift1_autolink_entries`, such as `-lFoundation`.
    var autolinkOptions: [String] {
        contents(ofSections: ".swift1_autolink_entries").flatMap { entries in
            entries.split(separator: 0).map { String(decoding: $0, as: UTF8.self) }
        }
    }

    /// Whether a symbol is named in the file, defined or not.
    func mentions(symbol: String) -> Bool { offset(of: [0] + Array(symbol.utf8) + [0], from: 0) != nil }

    private func offset(of pattern: [UInt8], from start: Int) -> Int? {
        bytes.withUnsafeBytes { haystack in
            pattern.withUnsafeBytes { ByteSearch.offset(of: $0, in: haystack, from: start) }
        }
    }
}

/// Tells test images from other programs before one is run.
package enum ImageCheck {
    /// Whether a file is an executable that was linked with InClassTesting's main function.
    package static func isTestImage(_ path: String) -> Bool {
        #if os(macOS)
        // Unverified: nobody has run this on macOS yet.
        guard let bytes = try? FileAccess.contents(of: path) else { return false }
        return String(decoding: bytes, as: UTF8.self).contains("inclass_main")
        #else
        return ObjectFile(path: path)?.mentions(symbol: "inclass_main") ?? false
        #endif
    }
}
