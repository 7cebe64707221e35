// Converts the return addresses of a crash to places in the sources. It runs the toolchain's llvm-symbolizer, or atos
// on macOS, whose toolchain doesn't contain llvm-symbolizer.
//
// Sources: `llvm-symbolizer --help`; atos(1): `-o` names the test executable, `-l` is its load address, which addresses are
// relative to, `-i` shows each inlined call on a line, and `-fullPath` prints whole paths.

import TestEvents

struct Symbolizer {
    let executable: String
    /// The compiler of the toolchain. The symbolizer is in the same folder.
    let clang: String
    var system = TargetSystem.current

    /// Returns the places of frames, innermost first, including those of inlined calls.
    ///
    /// - Parameter frames: offsets in the test executable, as the crash handler found them: its own frames, then one
    ///   outside the
    ///   test executable (where the system called the handler), then the place of the crash and its callers.
    func places(of frames: [Int]) -> [SourcePlace] {
        guard let size = FileAccess.size(of: executable), let program = symbolizerPath else { return [] }
        let trampoline = frames.firstIndex { $0 >= size }
        var offsets: [Int] = []
        for (index, frame) in frames.enumerated() where frame < size {
            // The frame after the trampoline is the instruction that crashed. All others are return addresses.
            let isExact = trampoline.map { index == $0 + 1 } ?? false
            offsets.append(isExact ? frame : frame - 1)
        }
        guard !offsets.isEmpty, let result = try? ChildProcess.run([program] + arguments(offsets)),
            result.end == .exited(0)
        else { return [] }
        return String(decoding: result.output, as: UTF8.self).split(separator: "\n").compactMap(place)
    }

    private var symbolizerPath: String? {
        FileAccess.program(named: system == .macOS ? "atos" : "llvm-symbolizer", beside: clang)
    }

    /// Returns the symbolizer's arguments for offsets from the start of the test executable in memory.
    private func arguments(_ offsets: [Int]) -> [String] {
        switch system {
        case .linux:
            return ["--obj=\(executable)", "--functions=none"] + offsets.map { "0x" + String($0, radix: 16) }
        case .macOS:
            // The default load address of test executables. Any address works if the offsets start there, too.
            let start = 0x1_0000_0000
            return ["-o", executable, "-l", "0x" + String(start, radix: 16), "-fullPath", "-i"]
                + offsets.map { "0x" + String(start + $0, radix: 16) }
        }
    }

    /// Reads a line of the symbolizer's output. That of llvm-symbolizer is `path:line:column`, or `??:0:0` for unknown
    /// places. That of atos is `function (in M.img) (path:line)`, with another ending for unknown places.
    private func place(_ line: Substring) -> SourcePlace? {
        var text = line
        if system == .macOS {
            // A full path begins with a slash and may contain parentheses.
            let parts = line.split(separator: " (/")
            guard line.last == ")", parts.count > 1, let path = parts.last else { return nil }
            text = "/\(path.dropLast())"
        }
        return SourcePlace(text)
    }
}

extension SourcePlace {
    /// Reads `path:line:column` or `path:line`, as sanitizers and symbolizers print it. Returns nil if the line is unknown.
    init?(_ text: Substring) {
        var parts = text.split(separator: ":", omittingEmptySubsequences: false)
        var numbers: [Int] = []
        while numbers.count < 2, parts.count > 1, let last = parts.last, let number = Int(last) {
            numbers.insert(number, at: 0)
            parts.removeLast()
        }
        guard let line = numbers.first, line > 0 else { return nil }
        self.init(path: parts.joined(separator: ":"), line: line, column: max(1, numbers.count > 1 ? numbers[1] : 1))
    }
}

// MARK: - In-class tests

#if SELF_TESTS && (DEBUG || IN_CLASS_TESTS)
internal import InClassSystem
import InClassTesting

extension Symbolizer: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testFindsCallsWithinTheExecutable": testFindsCallsWithinTheExecutable,
            "testAsksAtosOnMacOS": testAsksAtosOnMacOS,
        ]
            + .each("testReadsPlacesOfLLVM", llvmLines) {
                expectEqual(Symbolizer(executable: "", clang: "", system: .linux).place($0), $1)
            }
            + .each("testReadsPlacesOfAtos", atosLines) {
                expectEqual(Symbolizer(executable: "", clang: "", system: .macOS).place($0), $1)
            }
    }

    /// Creates a symbolizer that is a shell script, for a test executable of a thousand bytes.
    static func scripted(_ words: String, system: TargetSystem = .linux) throws -> Symbolizer {
        let folder = "\(try temporaryDirectory())/\(UInt32.random(in: 0 ... .max))"
        mkdir(folder, 0o755)
        try FileAccess.write([UInt8](repeating: 0, count: 1_000), to: "\(folder)/executable")
        let program = "\(folder)/\(system == .macOS ? "atos" : "llvm-symbolizer")"
        try FileAccess.write(Array("#!/bin/sh\n\(words)\n".utf8), to: program)
        chmod(program, 0o755)
        return Symbolizer(executable: "\(folder)/executable", clang: "\(folder)/clang", system: system)
    }

    private static func testFindsCallsWithinTheExecutable() throws {
        let symbolizer = try scripted(
            "[ \"$1 $2\" = \"--obj=$(dirname $0)/executable --functions=none\" ] || exit 1; shift 2; "
                + "for a; do echo $a:1:2; done"
        )
        let rows: [([Int], [String])] = [
            ([], []), ([5_000], []), ([16, 32], ["0xf", "0x1f"]), ([999, 1_000, 1], ["0x3e6", "0x1"]),
            ([16, 5_000, 32, 48, 7_000, 64], ["0xf", "0x20", "0x2f", "0x3f"]),
        ]
        for (frames, addresses) in rows {
            expectEqual(symbolizer.places(of: frames).map(\.path), addresses, "\(frames)")
        }
        expectEqual(try scripted("echo /a:1:2; exit 1").places(of: [1]), [], "one that fails")
        expectEqual(
            Symbolizer(executable: "/no/file", clang: symbolizer.clang, system: .linux).places(of: [1]), [], "no file")
    }

    /// The offsets are the same, but relative to the load address of test executables.
    private static func testAsksAtosOnMacOS() throws {
        let symbolizer = try scripted(
            "[ \"$*\" = \"-o $(dirname $0)/executable -l 0x100000000 -fullPath -i 0x10000000f 0x100000020\" ] || exit 1; "
                + "echo 'static T.a() (in executable) (/a.swift:3)'; echo 'main (in executable) + 4'", system: .macOS)
        expectEqual(
            symbolizer.places(of: [16, 5_000, 32, 7_000]), [SourcePlace(path: "/a.swift", line: 3, column: 1)])
    }

    private static var llvmLines: [(line: Substring, place: SourcePlace?)] {
        [
            ("/a.swift:3:4", SourcePlace(path: "/a.swift", line: 3, column: 4)),
            ("/a:b.swift:3:0", SourcePlace(path: "/a:b.swift", line: 3, column: 1)),
            ("/a.swift:3", SourcePlace(path: "/a.swift", line: 3, column: 1)),
            ("??:0:0", nil), ("/a.swift:0:4", nil), ("/a.swift:3:x", nil), ("", nil),
        ]
    }

    private static var atosLines: [(line: Substring, place: SourcePlace?)] {
        [
            (
                "T.a(Int) (in M.img) (/a b/T (1):x.swift:3)",
                SourcePlace(path: "/a b/T (1):x.swift", line: 3, column: 1)
            ),
            ("closure #1 in T.a() (in M.img) (/a.swift:12)", SourcePlace(path: "/a.swift", line: 12, column: 1)),
            ("T.a() (in M.img) + 4", nil), ("T.a() (in M.img) (<compiler-generated>:0)", nil), ("0x00000001", nil),
            ("T.a() (in M.img)", nil), ("", nil), (")", nil), ("(", nil),
        ]
    }
}
#endif
