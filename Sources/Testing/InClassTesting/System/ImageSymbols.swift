// Finds the system functions that the code of this image calls, in the dynamic symbols of an ELF image.
//
// On macOS and with musl, no symbols are read, and all settings are checked after every test.
//
// Sources: elf.h and link.h.

#if DEBUG || IN_CLASS_TESTS

/// The symbols that this image imports.
enum ImageSymbols {
    #if canImport(Darwin) || canImport(Musl)
    static let areReadable = false
    #else
    static let areReadable = true
    #endif

    /// A Boolean value that indicates whether a sanitizer has replaced the system's functions with its own.
    static var isSanitized: Bool {
        SystemSymbol.address(of: "__asan_init") != nil || SystemSymbol.address(of: "__tsan_init") != nil
    }

    /// Returns the given names that code of this image refers to.
    ///
    /// - Returns: The names, or nil if they are unknown: the image has no symbol table, or a sanitizer has replaced the
    ///   system's functions with its own.
    /// - Complexity: O(number of imported symbols).
    static func imports(among words: Set<String>) -> Set<String>? {
        guard areReadable, !isSanitized, let table = SymbolTable(imageStart: SystemSymbol.image.start)
        else { return nil }
        let firstBytes = Set(words.compactMap { $0.utf8.first })
        var found: Set<String> = []
        for index in 1..<max(1, table.importCount) {
            // PERF: creating a String of each name is slow in a debug build.
            guard let name = table.name(at: index), firstBytes.contains(UInt8(bitPattern: name.pointee)) else {
                continue
            }
            let text = String(cString: name)
            if words.contains(text) { found.insert(text) }
        }
        return found
    }
}

/// The dynamic symbols of a loaded 64-bit ELF image.
private struct SymbolTable {
    private let symbols: UInt
    private let names: UInt
    /// The number of symbols before the first symbol that the image defines itself.
    let importCount: Int

    init?(imageStart: UInt) {
        func word<Value: FixedWidthInteger>(_ address: UInt, _: Value.Type) -> Int {
            // SAFETY: the address is inside the headers and tables of a loaded image.
            UnsafeRawPointer(bitPattern: address).map { Int(truncatingIfNeeded: $0.loadUnaligned(as: Value.self)) } ?? 0
        }
        guard imageStart != 0, word(imageStart, UInt32.self) == 0x464C_457F else { return nil }
        var dynamic: UInt = 0
        let headers = imageStart + UInt(word(imageStart + 0x20, UInt64.self))
        for index in 0..<word(imageStart + 0x38, UInt16.self) {
            let header = headers + UInt(index * word(imageStart + 0x36, UInt16.self))
            if word(header, UInt32.self) == 2 { dynamic = imageStart + UInt(word(header + 0x10, UInt64.self)) }
        }
        guard dynamic != 0 else { return nil }
        var found: [Int: UInt] = [:]
        while true {
            let tag = word(dynamic, Int64.self)
            if tag == 0 { break }
            let value = UInt(bitPattern: word(dynamic + 8, Int64.self))
            // On most machines, the loader replaces offsets with addresses.
            found[tag] = value < imageStart ? value + imageStart : value
            dynamic += 16
        }
        // The second word of either hash table is the number of symbols to read.
        guard let names = found[5], let symbols = found[6], let hash = found[0x6FFF_FEF5] ?? found[4] else {
            return nil
        }
        self.names = names
        self.symbols = symbols
        importCount = word(hash + 4, UInt32.self)
    }

    func name(at index: Int) -> UnsafePointer<CChar>? {
        // SAFETY: the index is below the count. Each symbol has 24 bytes and begins with the offset of its name.
        let offset = UnsafeRawPointer(bitPattern: symbols + UInt(index) * 24)?.load(as: UInt32.self) ?? 0
        return UnsafePointer(bitPattern: names + UInt(offset))
    }
}
#endif
