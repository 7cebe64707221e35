// Reads what linking needs to know of Mach-O objects: which functions they call, which sections they have, and the oldest
// macOS that they run on. The libraries that Swift asks to be linked are read by the linker itself (LC_LINKER_OPTION).
//
// Sources: mach-o/loader.h for commands, segments and sections, mach-o/nlist.h for symbols, whose names begin with an
// underscore that C does not see.

/// A 64-bit little-endian Mach-O file of one architecture, for macOS.
struct MachOFile: LinkedObject {
    private let bytes: [UInt8]
    private var sections: Set<String> = []
    /// Where the symbols are, 16 bytes each, and their names.
    private var symbols = 0..<0
    private var names = 0..<0
    private(set) var systemVersion: [Int] = []

    var autolinkOptions: [String] { [] }

    private enum Command {
        static let symbolTable = 0x02
        static let segment = 0x19
        static let oldestSystem = 0x24
        static let buildVersion = 0x32
    }

    private static let macOS = 1

    static func isMachO(_ bytes: [UInt8]) -> Bool {
        let magics: [[UInt8]] = [
            [0xCF, 0xFA, 0xED, 0xFE], [0xCE, 0xFA, 0xED, 0xFE], [0xFE, 0xED, 0xFA, 0xCF], [0xCA, 0xFE, 0xBA, 0xBE],
        ]
        return magics.contains { bytes.starts(with: $0) }
    }

    /// Whether a Mach-O file is of another processor or for another system, or of several.
    static func isForeign(_ bytes: [UInt8], _ architecture: Architecture) -> Bool {
        guard bytes.starts(with: [0xCF, 0xFA, 0xED, 0xFE]), bytes.count >= 32 else { return true }
        if number(bytes, at: 4) != architecture.machOType { return true }
        return Self.commands(of: bytes)?.contains {
            $0.kind == Command.buildVersion && number(bytes, at: $0.range.lowerBound + 8) != macOS
        } ?? false
    }

    init?(bytes: [UInt8], _ architecture: Architecture) {
        guard !Self.isForeign(bytes, architecture), let commands = Self.commands(of: bytes) else { return nil }
        self.bytes = bytes
        for (kind, range) in commands {
            func number(_ offset: Int) -> Int { Self.number(bytes, at: range.lowerBound + offset) ?? 0 }
            switch kind {
            case Command.segment: readSections(in: range, count: number(64))
            case Command.buildVersion: systemVersion = Self.version(number(12))
            case Command.oldestSystem: systemVersion = Self.version(number(8))
            case Command.symbolTable:
                let (start, count, text, length) = (number(8), number(12), number(16), number(20))
                guard start + count * 16 <= bytes.count, text + length <= bytes.count else { return nil }
                symbols = start..<start + count * 16
                names = text..<text + length
            default: break
            }
        }
    }

    /// The commands behind the header, each with all of its bytes; nil when they are not inside the file.
    private static func commands(of bytes: [UInt8]) -> [(kind: Int, range: Range<Int>)]? {
        var commands: [(kind: Int, range: Range<Int>)] = []
        var offset = 32
        for _ in 0..<(number(bytes, at: 16) ?? 0) {
            guard let kind = number(bytes, at: offset), let size = number(bytes, at: offset + 4), size >= 8,
                offset + size <= bytes.count
            else { return nil }
            commands.append((kind, offset..<offset + size))
            offset += size
        }
        return commands
    }

    /// A section takes 80 bytes and begins with its name, which ends with a NUL when it is shorter than 16 bytes.
    private mutating func readSections(in command: Range<Int>, count: Int) {
        var start = command.lowerBound + 72
        for _ in 0..<count {
            if start + 80 > command.upperBound { return }
            sections.insert(String(decoding: bytes[start..<start + 16].prefix { $0 != 0 }, as: UTF8.self))
            start += 80
        }
    }

    /// The 32-bit number at an offset, or nil when it is not inside the file.
    private static func number(_ bytes: [UInt8], at offset: Int) -> Int? {
        guard offset >= 0, offset <= bytes.count - 4 else { return nil }
        return (0..<4).reduce(0) { $0 | Int(bytes[offset + $1]) << ($1 * 8) }
    }

    /// The parts of a version: sixteen bits, and twice eight.
    private static func version(_ number: Int) -> [Int] { [number >> 16, number >> 8 & 0xFF, number & 0xFF] }

    func hasSection(_ name: String) -> Bool { sections.contains(name) }

    func mentions(symbol: String) -> Bool { mentions(nameStartingWith: Array("_\(symbol)".utf8) + [0]) }

    func mentions(symbolsStartingWith start: String) -> Bool { mentions(nameStartingWith: Array("_\(start)".utf8)) }

    private func mentions(nameStartingWith pattern: [UInt8]) -> Bool {
        var entry = symbols.lowerBound
        while entry < symbols.upperBound {
            let start = names.lowerBound + (Self.number(bytes, at: entry) ?? 0)
            if start + pattern.count <= names.upperBound, bytes[start..<start + pattern.count].elementsEqual(pattern) {
                return true
            }
            entry += 16
        }
        return false
    }
}

// MARK: - In-class tests

#if SELF_TESTS && (DEBUG || IN_CLASS_TESTS)
import InClassTesting

/// A Mach-O object of this processor with these symbols and sections, laid out as mach-o/loader.h says.
struct MachOSample {
    var symbols = ["_inclass_main"]
    var sections = ["__text"]
    /// As in LC_BUILD_VERSION: 1 is macOS, 2 iOS.
    var platform = 1
    var version = 0x000E_0000

    var bytes: [UInt8] {
        let names = Array("\0\(symbols.joined(separator: "\0"))\0".utf8)
        var commands: [UInt8] = []
        commands += words(0x19, 72 + 80 * sections.count) + [UInt8](repeating: 0, count: 56) + words(sections.count, 0)
        for section in sections { commands += padded(section) + padded("__TEXT") + [UInt8](repeating: 0, count: 48) }
        commands += words(0x32, 24, platform, version, version, 0)
        let symbolStart = 32 + commands.count + 24
        commands += words(2, 24, symbolStart, symbols.count, symbolStart + symbols.count * 16, names.count)
        let header = words(0xFEED_FACF, Architecture.current.machOType ?? 0, 0, 1, 3, commands.count, 0, 0)
        var offset = 1
        var table: [UInt8] = []
        for name in symbols {
            table += words(offset, 0, 0, 0)
            offset += name.utf8.count + 1
        }
        return header + commands + table + names
    }

    private func words(_ numbers: Int...) -> [UInt8] {
        var bytes: [UInt8] = []
        for number in numbers { for index in 0..<4 { bytes.append(UInt8(truncatingIfNeeded: number >> (index * 8))) } }
        return bytes
    }

    private func padded(_ name: String) -> [UInt8] {
        Array(name.utf8) + [UInt8](repeating: 0, count: 16 - name.utf8.count)
    }
}

extension MachOFile: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testReadsWhatLinkingAsks": testReadsWhatLinkingAsks,
            "testReadsWhatClangMakes": testReadsWhatClangMakes,
            "testReadsNothingBeyondTheFile": testReadsNothingBeyondTheFile,
            "testTellsItsOwnFromOthers": testTellsItsOwnFromOthers,
        ]
    }

    private static func file(_ bytes: [UInt8]) -> MachOFile? { MachOFile(bytes: bytes, .current) }

    private static func testReadsWhatLinkingAsks() throws {
        let sample = MachOSample(
            symbols: ["_inclass_main", "___ubsan_handle_add_overflow"],
            sections: ["__text", "__llvm_prf_cnts", "sixteen_letters_"], version: 0x000E_0203)
        let file = try requireNotNil(file(sample.bytes))
        expectTrue(file.mentions(symbol: "inclass_main"))
        expectFalse(file.mentions(symbol: "inclass_mai"), "a part of a symbol")
        expectFalse(file.mentions(symbol: "_inclass_main"), "as the file spells it")
        expectEqual(file.systemVersion, [14, 2, 3])
        expectTrue(file.hasSection("sixteen_letters_"))
        expectFalse(file.hasSection("__TEXT"))
        expectEqual(Instrumentation.found(in: file), [.undefined, .profile])
    }

    /// Real objects for either processor of Apple's, with whatever is added to them.
    private static func testReadsWhatClangMakes() throws {
        let clang = try toolchainClang()
        let output = "\(try temporaryDirectory())/a.o"
        let source = Array("int f(int *); int inclass_main(int *a) { return f(a) + 2147483647 + *a; }".utf8)
        let rows: [(options: [String], expected: Set<Instrumentation>)] = [
            ([], []), (["-fsanitize=address"], [.address]), (["-fsanitize=thread"], [.thread]),
            (["-fsanitize=undefined"], [.undefined]),
            (["-fprofile-instr-generate", "-fcoverage-mapping"], [.profile]),
        ]
        for architecture in [Architecture.arm64, .x86] {
            let name = architecture.name(on: .macOS)
            for (options, expected) in rows {
                let words = [clang, "-target", "\(name)-apple-macosx14.2", "-x", "c", "-", "-c", "-o", output]
                let result = try ChildProcess.run(words + options, input: source)
                try requireEqual(result.end, .exited(0), String(decoding: result.output, as: UTF8.self))
                let file = MachOFile(bytes: try FileAccess.contents(of: output), architecture)
                let object = try requireNotNil(file, "\(options)")
                expectTrue(object.mentions(symbol: "inclass_main") && object.mentions(symbol: "f"), "\(options)")
                expectFalse(object.mentions(symbol: "main"))
                expectEqual(object.systemVersion, [14, 2, 0])
                expectEqual(Instrumentation.found(in: object), expected, "\(options) for \(name)")
            }
        }
    }

    /// The toolchain's compiler, which makes objects for every system.
    static func toolchainClang() throws -> String {
        let folder = FileAccess.program(named: "swift").flatMap(FileAccess.realPath).map(FileAccess.directory)
        guard let clang = folder.map({ "\($0)/clang" }), FileAccess.isExecutable(clang) else {
            try skip("no toolchain is on the PATH")
        }
        return clang
    }

    /// Cut off anywhere, or with any one byte as large as it can be.
    private static func testReadsNothingBeyondTheFile() {
        let bytes = MachOSample(symbols: ["_inclass_main", "_b"], sections: ["__text", "__b"]).bytes
        for count in bytes.indices { expectNil(file(Array(bytes[..<count])), "\(count) bytes") }
        for index in bytes.indices {
            var changed = bytes
            changed[index] = 0xFF
            guard let file = file(changed) else { continue }
            _ = file.mentions(symbol: "b") || file.hasSection("__b")
        }
    }

    private static func testTellsItsOwnFromOthers() {
        let own = MachOSample().bytes
        expectFalse(TargetSystem.macOS.isForeign(own))
        expectTrue(TargetSystem.linux.isForeign(own))
        var other = own
        other[4] ^= 1
        expectNil(file(other))
        let universal: [UInt8] = [0xCA, 0xFE, 0xBA, 0xBE, 0, 0, 0, 2]
        for bytes in [other, MachOSample(platform: 2).bytes, universal] {
            expectTrue(TargetSystem.macOS.isForeign(bytes), "\(bytes.prefix(8))")
            expectNil(file(bytes))
        }
        let elf: [UInt8] = [0x7F, 0x45, 0x4C, 0x46, 2, 1] + [UInt8](repeating: 0, count: 58)
        expectTrue(TargetSystem.macOS.isForeign(elf))
        for bytes in [[], Array("text".utf8)] { expectFalse(TargetSystem.macOS.isForeign(bytes)) }
    }
}
#endif
