// Reads what linking needs to know of ELF objects: the libraries that Swift asked to be linked, and which
// instrumentation the compiler added. Mach-O carries both to the linker itself, and so does bitcode, which the linker
// compiles.
//
// Sources: elf.h; swift/lib/IRGen/IRGen.cpp for `.swift1_autolink_entries`; LLVM's BitCodes.h for what begins bitcode.

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// A 64-bit little-endian ELF file of this machine's architecture, or bitcode, of which only the names are read.
struct ObjectFile: LinkedObject {
    private let bytes: [UInt8]
    private let sections: [(name: Int, offset: Int, size: Int)]
    private let nameTable: Int

    /// ELF says no version of its system.
    var systemVersion: [Int] { [] }

    /// Reads a file, or nothing when it is not such a file.
    init?(bytes: [UInt8], _ architecture: Architecture = .current) {
        if Self.isBitcode(bytes) {
            self.bytes = bytes
            sections = []
            nameTable = 0
            return
        }
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
            // What lies beyond the end stays there, however far it is.
            sections.append((name, min(offset, bytes.count), min(length, bytes.count + 1)))
        }
        guard nameIndex < sections.count else { return nil }
        self.bytes = bytes
        self.sections = sections
        self.nameTable = sections[nameIndex].offset
    }

    /// Whether a file is bitcode, bare or wrapped: what link-time optimisation leaves in place of objects.
    static func isBitcode(_ bytes: [UInt8]) -> Bool {
        bytes.starts(with: [0x42, 0x43, 0xC0, 0xDE]) || bytes.starts(with: [0xDE, 0xC0, 0x17, 0x0B])
    }

    /// Whether an ELF file is of another machine or system (none or GNU are Linux), as its header says.
    static func isForeign(_ bytes: [UInt8], _ architecture: Architecture) -> Bool {
        bytes[4] != 2 || bytes[5] != 1 || ![0, 3].contains(bytes[7])
            || Int(bytes[0x12]) | Int(bytes[0x13]) << 8 != architecture.elfMachine
    }

    /// Where the sections of this name are in the file.
    ///
    /// Names are compared where each section says its own is: a name may be the end of another's.
    private func ranges(ofSections name: String) -> [Range<Int>] {
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

    func hasSection(_ name: String) -> Bool { !ranges(ofSections: name).isEmpty }

    /// The options of `.swift1_autolink_entries`, such as `-lFoundation`.
    var autolinkOptions: [String] {
        ranges(ofSections: ".swift1_autolink_entries").flatMap { range in
            bytes[range].split(separator: 0).map { String(decoding: $0, as: UTF8.self) }
        }
    }

    func mentions(symbol: String) -> Bool { mentions(nameStartingWith: Array(symbol.utf8) + [0]) }

    func mentions(symbolsStartingWith start: String) -> Bool { mentions(nameStartingWith: Array(start.utf8)) }

    private func mentions(nameStartingWith pattern: [UInt8]) -> Bool {
        bytes.withUnsafeBytes { contents in
            if Self.isBitcode(bytes) {
                let name = pattern.last == 0 ? pattern.dropLast() : pattern[...]
                return name.withUnsafeBytes { ByteSearch.offset(of: $0, in: contents) != nil }
            }
            guard let base = contents.baseAddress,
                let symbols = ranges(ofSections: ".symtab").first, let names = ranges(ofSections: ".strtab").first
            else { return false }
            // A symbol takes 24 bytes and begins with the offset of its name.
            var offset = symbols.lowerBound
            while offset + 24 <= symbols.upperBound {
                // SAFETY: both the entry and the name compared lie inside their sections, which lie inside the file.
                let name = Int(contents.loadUnaligned(fromByteOffset: offset, as: UInt32.self))
                if name + pattern.count <= names.count,
                    memcmp(base + names.lowerBound + name, pattern, pattern.count) == 0
                {
                    return true
                }
                offset += 24
            }
            return false
        }
    }
}

// MARK: - In-class tests

#if SELF_TESTS && (DEBUG || IN_CLASS_TESTS)
import InClassTesting

extension ObjectFile: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testRefusesOtherFiles": testRefusesOtherFiles,
            "testTellsOtherMachinesFromOtherFiles": testTellsOtherMachinesFromOtherFiles,
            "testReadsNamesOfBitcode": testReadsNamesOfBitcode,
            "testFindsThisVeryImage": testFindsThisVeryImage,
        ]
    }

    private static func testRefusesOtherFiles() {
        expectNil(ObjectFile(bytes: []))
        expectNil(ObjectFile(bytes: Array("#!/bin/sh".utf8) + [UInt8](repeating: 0, count: 100)))
        // An ELF header whose section table lies beyond the end.
        let header: [UInt8] = [0x7F, 0x45, 0x4C, 0x46, 2, 1] + [UInt8](repeating: 0xFF, count: 58)
        expectNil(ObjectFile(bytes: header))
        // Numbers as large as they come must not overflow, nor may another machine's object pass.
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

    private static func testTellsOtherMachinesFromOtherFiles() {
        var header: [UInt8] = [0x7F, 0x45, 0x4C, 0x46, 2, 1, 1, 0] + [UInt8](repeating: 0, count: 56)
        header[0x12] = UInt8(truncatingIfNeeded: Architecture.current.elfMachine)
        expectFalse(TargetSystem.linux.isForeign(header), "this machine's, however broken")
        for (index, value) in [(4, 1), (5, 2), (7, 9), (0x12, 0x28), (0x13, 1)] as [(Int, UInt8)] {
            var other = header
            other[index] = value
            expectTrue(TargetSystem.linux.isForeign(other), "byte \(index)")
            expectNil(ObjectFile(bytes: index == 7 ? [] : other), "byte \(index)")
        }
        expectTrue(TargetSystem.linux.isForeign([0, 0x61, 0x73, 0x6D, 1, 0, 0, 0]), "WebAssembly")
        for bytes in [[], [0x7F, 0x45, 0x4C, 0x46], Array("text".utf8), [UInt8](repeating: 0, count: 100)] {
            expectFalse(TargetSystem.linux.isForeign(bytes), "\(bytes.count) bytes")
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

    private static func testFindsThisVeryImage() throws {
        guard let bytes = try? FileAccess.contents(of: "/proc/self/exe") else { try skip("no ELF image to read") }
        let image = try requireNotNil(ObjectFile(bytes: bytes))
        expectTrue(image.mentions(symbol: "inclass_main"), "the image's main function")
        expectFalse(image.mentions(symbol: "inclass_mai"), "a part of a symbol")
        expectTrue(image.hasSection("swift5_protocol_conformances"), "Swift's conformances")
        expectFalse(image.hasSection("swift5_nothing"))
        expectTrue(ImageCheck.isTestImage("/proc/self/exe"))
    }
}
#endif
