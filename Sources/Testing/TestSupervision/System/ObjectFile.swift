// Reads the facts about objects that linking needs: whether they contain tests, which libraries they autolink, and
// which instrumentation the compiler added. The tables of ELF files are parsed. In Mach-O and bitcode files, only the
// names are searched, because their linkers read the rest themselves.
//
// Sources: elf.h; mach-o/loader.h; swift/lib/IRGen/IRGen.cpp for `.swift1_autolink_entries`; LLVM's BitCodes.h for the
// first bytes of bitcode; the core specification of WebAssembly, Modules, for the first bytes of its files.

internal import InClassSystem

/// An object or executable for one system and processor.
struct ObjectFile {
    private enum Format {
        case elf(sections: [(name: Int, offset: Int, size: Int)], nameTable: Int)
        case machO, bitcode
    }

    private let bytes: [UInt8]
    private let format: Format

    /// Reads an object or executable. Returns nil for any other file.
    init?(bytes: [UInt8], for system: TargetSystem = .current, _ architecture: Architecture = .current) {
        self.bytes = bytes
        if Self.bitcodeStarts.contains(where: bytes.starts) {
            format = .bitcode
        } else if system == .macOS {
            guard Self.isMachO(bytes), !Self.isForeign(bytes, for: system, architecture) else { return nil }
            format = .machO
        } else {
            guard let format = Self.elf(bytes, architecture) else { return nil }
            self.format = format
        }
    }

    /// The first bytes of bitcode, bare or wrapped. Link-time optimization writes bitcode instead of objects.
    private static let bitcodeStarts: [[UInt8]] = [[0x42, 0x43, 0xC0, 0xDE], [0xDE, 0xC0, 0x17, 0x0B]]

    /// Returns whether a file is a Mach-O file of 64 or 32 bits in either byte order, or a universal file.
    private static func isMachO(_ bytes: [UInt8]) -> Bool {
        let magics: [[UInt8]] = [
            [0xCF, 0xFA, 0xED, 0xFE], [0xCE, 0xFA, 0xED, 0xFE], [0xFE, 0xED, 0xFA, 0xCF], [0xCA, 0xFE, 0xBA, 0xBE],
        ]
        return bytes.count >= 32 && magics.contains(where: bytes.starts)
    }

    /// Returns whether a file is an object for another system or processor.
    ///
    /// An ELF file without a system's name, or with GNU's, is for Linux.
    static func isForeign(
        _ bytes: [UInt8], for system: TargetSystem = .current, _ architecture: Architecture = .current
    ) -> Bool {
        if bytes.starts(with: [0, 0x61, 0x73, 0x6D]) { return true }  // WebAssembly
        if isMachO(bytes) {
            let start: [UInt8] = [0xCF, 0xFA, 0xED, 0xFE, architecture.machOType, 0, 0, 1]
            return system != .macOS || !bytes.starts(with: start)
        }
        guard bytes.starts(with: [0x7F, 0x45, 0x4C, 0x46]), bytes.count >= 0x34 else { return false }
        return system != .linux || bytes[4] != 2 || bytes[5] != 1 || ![0, 3].contains(bytes[7])
            || Int(bytes[0x12]) | Int(bytes[0x13]) << 8 != architecture.elfMachine
    }

    private static func elf(_ bytes: [UInt8], _ architecture: Architecture) -> Format? {
        guard bytes.count >= 64, bytes[0...5].elementsEqual([0x7F, 0x45, 0x4C, 0x46, 2, 1]) else { return nil }
        func number(at offset: Int, _ size: Int) -> Int? {
            guard offset >= 0, offset <= bytes.count - size else { return nil }
            var value: UInt64 = 0
            for index in (0..<size).reversed() { value = value << 8 | UInt64(bytes[offset + index]) }
            return Int(exactly: value)
        }
        guard number(at: 0x12, 2) == architecture.elfMachine, let table = number(at: 0x28, 8), table <= bytes.count,
            let size = number(at: 0x3A, 2), let count = number(at: 0x3C, 2),
            let nameIndex = number(at: 0x3E, 2)
        else { return nil }
        var sections: [(name: Int, offset: Int, size: Int)] = []
        for index in 0..<count {
            let header = table + index * size
            guard let name = number(at: header, 4), let offset = number(at: header + 0x18, 8),
                let length = number(at: header + 0x20, 8)
            else { return nil }
            // Limit the values so that they can't overflow. A section beyond the end of the file stays invalid.
            sections.append((name, min(offset, bytes.count), min(length, bytes.count + 1)))
        }
        guard nameIndex < sections.count else { return nil }
        return .elf(sections: sections, nameTable: sections[nameIndex].offset)
    }

    /// Returns the ranges of the sections with this name in an ELF file.
    ///
    /// A name may be the end of another section's name, so names are only compared at the offsets in the section table.
    private func ranges(ofSections name: String) -> [Range<Int>] {
        guard case .elf(let sections, let nameTable) = format else { return [] }
        let pattern = Array(name.utf8) + [0]
        return bytes.withUnsafeBytes { contents in
            sections.compactMap { section in
                let (start, end) = (nameTable + section.name, section.offset + section.size)
                guard start >= 0, start + pattern.count <= contents.count, section.offset >= 0, end <= contents.count,
                    let base = contents.baseAddress, memcmp(base + start, pattern, pattern.count) == 0
                else { return nil }
                return section.offset..<end
            }
        }
    }

    func hasSection(_ name: String) -> Bool {
        if case .elf = format { return !ranges(ofSections: name).isEmpty }
        return bytes.contains(name)
    }

    /// The options in `.swift1_autolink_entries`, such as `-lFoundation`, if the linker doesn't read them itself.
    var autolinkOptions: [String] {
        ranges(ofSections: ".swift1_autolink_entries").flatMap { range in
            bytes[range].split(separator: 0).map { String(decoding: $0, as: UTF8.self) }
        }
    }

    /// Returns whether a file contains a symbol, defined or undefined, by its name in C.
    ///
    /// - Complexity: O(number of symbols), or O(bytes of the file).
    func mentions(symbol: String) -> Bool { mentions(Array(symbol.utf8) + [0]) }

    /// Returns whether a file contains a symbol with this prefix, defined or undefined.
    ///
    /// - Complexity: O(number of symbols), or O(bytes of the file).
    func mentions(symbolsStartingWith start: String) -> Bool { mentions(Array(start.utf8)) }

    private func mentions(_ start: [UInt8]) -> Bool {
        switch format {
        case .elf: isSymbol(start)
        // Symbols have an underscore that isn't part of the name in C. A name may be stored as the end of another name.
        case .machO: bytes.offset(of: [0x5F] + start) != nil
        case .bitcode: bytes.offset(of: start.last == 0 ? Array(start.dropLast()) : start) != nil
        }
    }

    private func isSymbol(_ start: [UInt8]) -> Bool {
        bytes.withUnsafeBytes { contents in
            guard let base = contents.baseAddress,
                let symbols = ranges(ofSections: ".symtab").first, let names = ranges(ofSections: ".strtab").first
            else { return false }
            // A symbol takes 24 bytes and begins with the offset of its name.
            var offset = symbols.lowerBound
            while offset + 24 <= symbols.upperBound {
                // SAFETY: Both the entry and the compared name are inside their sections, which are inside the file.
                let name = Int(contents.loadUnaligned(fromByteOffset: offset, as: UInt32.self))
                if name + start.count <= names.count,
                    memcmp(base + names.lowerBound + name, start, start.count) == 0
                {
                    return true
                }
                offset += 24
            }
            return false
        }
    }
}

/// Distinguishes test executables from other programs before a program is run.
package enum ExecutableCheck {
    /// Returns whether a file is an executable with InClassTesting's main function.
    package static func isTestExecutable(_ path: String) -> Bool {
        guard let bytes = try? FileAccess.contents(of: path) else { return false }
        return ObjectFile(bytes: bytes)?.mentions(symbol: "inclass_main") ?? false
    }
}

// MARK: - In-class tests

#if SELF_TESTS && (DEBUG || IN_CLASS_TESTS)
import InClassTesting

extension ObjectFile: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testRefusesOtherFiles": testRefusesOtherFiles,
            "testDetectsObjectsOfOtherMachines": testDetectsObjectsOfOtherMachines,
            "testReadsNamesOfBitcode": testReadsNamesOfBitcode,
            "testReadsTheRunningExecutable": testReadsTheRunningExecutable,
            "testReadsObjectsForMacOS": testReadsObjectsForMacOS,
            "testDetectsForeignMachO": testDetectsForeignMachO,
        ]
    }

    private static func testRefusesOtherFiles() {
        expectNil(ObjectFile(bytes: []))
        expectNil(ObjectFile(bytes: Array("#!/bin/sh".utf8) + [UInt8](repeating: 0, count: 100)))
        // An ELF header whose section table is beyond the end.
        let header: [UInt8] = [0x7F, 0x45, 0x4C, 0x46, 2, 1] + [UInt8](repeating: 0xFF, count: 58)
        expectNil(ObjectFile(bytes: header))
        // The largest numbers must not overflow, and an object for another machine must be refused.
        var large = header
        large.replaceSubrange(0x12..<0x14, with: [UInt8(truncatingIfNeeded: Architecture.current.elfMachine), 0])
        large[0x2F] = 0x7F
        expectNil(ObjectFile(bytes: large))
        large.replaceSubrange(0x28..<0x40, with: [UInt8](repeating: 0, count: 24))
        large[0x28] = 0x40
        large[0x3A] = 0x40
        large[0x3C] = 1
        large += [UInt8](repeating: 0xFF, count: 0x18) + [UInt8](repeating: 0, count: 40)
        for index in [0x5F, 0x67] { large[index] = 0x7F }
        for index in 0x58..<0x5F { large[index] = 0xFF }
        for index in 0x60..<0x67 { large[index] = 0xFF }
        let object = ObjectFile(bytes: large)
        expectNotNil(object, "sections beyond the end")
        expectFalse(object?.hasSection("x") ?? true)
        expectEqual(object?.mentions(symbol: "x"), false)
        large[0x12] ^= 1
        expectNil(ObjectFile(bytes: large), "another machine's object")
    }

    private static func testDetectsObjectsOfOtherMachines() {
        var header: [UInt8] = [0x7F, 0x45, 0x4C, 0x46, 2, 1, 1, 0] + [UInt8](repeating: 0, count: 56)
        header[0x12] = UInt8(truncatingIfNeeded: Architecture.current.elfMachine)
        expectFalse(ObjectFile.isForeign(header, for: .linux), "this machine's, however broken")
        for (index, value) in [(4, 1), (5, 2), (7, 9), (0x12, 0x28), (0x13, 1)] as [(Int, UInt8)] {
            var other = header
            other[index] = value
            expectTrue(ObjectFile.isForeign(other, for: .linux), "byte \(index)")
            expectNil(ObjectFile(bytes: index == 7 ? [] : other), "byte \(index)")
        }
        expectTrue(ObjectFile.isForeign([0, 0x61, 0x73, 0x6D, 1, 0, 0, 0], for: .linux), "WebAssembly")
        for bytes in [[], [0x7F, 0x45, 0x4C, 0x46], Array("text".utf8), [UInt8](repeating: 0, count: 100)] {
            expectFalse(ObjectFile.isForeign(bytes, for: .linux), "\(bytes.count) bytes")
        }
    }

    private static func testReadsNamesOfBitcode() {
        for start in [[0x42, 0x43, 0xC0, 0xDE], [0xDE, 0xC0, 0x17, 0x0B]] as [[UInt8]] {
            let object = ObjectFile(bytes: start + Array("main inclass_main".utf8))
            expectEqual(object?.mentions(symbol: "inclass_main"), true)
            expectEqual(object?.mentions(symbol: "__asan_init"), false)
            expectEqual(object?.autolinkOptions, [])
        }
    }

    private static func testReadsTheRunningExecutable() throws {
        guard let bytes = try? FileAccess.contents(of: "/proc/self/exe") else { try skip("no ELF image to read") }
        let executable = try requireNotNil(ObjectFile(bytes: bytes))
        expectTrue(executable.mentions(symbol: "inclass_main"), "the executable's main function")
        expectFalse(executable.mentions(symbol: "inclass_mai"), "a part of a symbol")
        expectTrue(executable.hasSection("swift5_protocol_conformances"), "Swift's conformances")
        expectFalse(executable.hasSection("swift5_nothing"))
        expectTrue(ExecutableCheck.isTestExecutable("/proc/self/exe"))
    }

    /// Creates a Mach-O file for this processor with these names, in the layout of mach-o/loader.h.
    static func machO(names: [String] = ["_inclass_main"]) -> [UInt8] {
        let header: [UInt8] = [0xCF, 0xFA, 0xED, 0xFE, Architecture.current.machOType, 0, 0, 1]
        return header + [UInt8](repeating: 0, count: 25) + names.flatMap { Array($0.utf8) + [0] }
    }

    /// Reads real objects for both of Apple's processors, with each instrumentation.
    private static func testReadsObjectsForMacOS() throws {
        let clang = try toolchainClang()
        let output = "\(try temporaryDirectory())/a.o"
        let source = Array("int f(int *); int inclass_main(int *a) { return f(a) + 2147483647 + *a; }".utf8)
        let rows: [(options: [String], expected: Set<Instrumentation>)] = [
            ([], []), (["-fsanitize=address"], [.address]), (["-fsanitize=thread"], [.thread]),
            (["-fsanitize=undefined"], [.undefined]),
            (["-fprofile-instr-generate", "-fcoverage-mapping"], [.profile]),
        ]
        for (architecture, name) in [(Architecture.arm64, "arm64"), (.x86, "x86_64")] {
            for (options, expected) in rows {
                let words = [clang, "-target", "\(name)-apple-macosx14.2", "-x", "c", "-", "-c", "-o", output]
                let result = try ChildProcess.run(words + options, input: source)
                try requireEqual(result.end, .exited(0), String(decoding: result.output, as: UTF8.self))
                let file = ObjectFile(bytes: try FileAccess.contents(of: output), for: .macOS, architecture)
                let object = try requireNotNil(file, "\(options)")
                expectTrue(object.mentions(symbol: "inclass_main") && object.mentions(symbol: "f"), "\(options)")
                expectFalse(object.mentions(symbol: "inclass_mai"), "a part of a symbol")
                expectEqual(Instrumentation.found(in: object), expected, "\(options) for \(name)")
            }
        }
    }

    /// Returns the toolchain's compiler, which can make objects for every system.
    static func toolchainClang() throws -> String {
        let folder = FileAccess.program(named: "swift").flatMap(FileAccess.realPath).map(FileAccess.directory)
        guard let clang = folder.map({ "\($0)/clang" }), FileAccess.isExecutable(clang) else {
            try skip("no toolchain is on the PATH")
        }
        return clang
    }

    private static func testDetectsForeignMachO() {
        let own = machO()
        expectFalse(isForeign(own, for: .macOS))
        expectTrue(isForeign(own, for: .linux))
        var other = own
        other[4] ^= 1
        let universal: [UInt8] = [0xCA, 0xFE, 0xBA, 0xBE, 0, 0, 0, 2] + [UInt8](repeating: 0, count: 56)
        let elf: [UInt8] = [0x7F, 0x45, 0x4C, 0x46, 2, 1] + [UInt8](repeating: 0, count: 58)
        for bytes in [other, universal, elf] {
            expectTrue(isForeign(bytes, for: .macOS), "\(bytes.prefix(8))")
            expectNil(ObjectFile(bytes: bytes, for: .macOS))
        }
        for bytes in [[], Array("text".utf8), Array(own.prefix(31))] {
            expectFalse(isForeign(bytes, for: .macOS))
            expectNil(ObjectFile(bytes: bytes, for: .macOS))
        }
    }
}
#endif
