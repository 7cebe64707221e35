// Turns the return addresses of a crash into places in the sources, by asking the toolchain's llvm-symbolizer.

import TestEvents

struct Symbolizer {
    let image: String
    /// The toolchain's compiler, which the symbolizer lies beside.
    let clang: String

    /// Finds the places of frames, innermost first, with those of inlined calls in between.
    ///
    /// - Parameter frames: offsets in the image, as the crash handler found them: its own frames, then one outside the
    ///   image (where the system called the handler), then the place of the crash and its callers.
    func places(of frames: [Int]) -> [SourcePlace] {
        guard let size = FileAccess.size(of: image), let program = symbolizerPath else { return [] }
        let trampoline = frames.firstIndex { $0 >= size }
        var addresses: [String] = []
        for (index, frame) in frames.enumerated() where frame < size {
            // The frame behind the trampoline is the instruction that crashed; all others are the ones to return to.
            let isExact = trampoline.map { index == $0 + 1 } ?? false
            addresses.append("0x" + String(isExact ? frame : frame - 1, radix: 16))
        }
        guard !addresses.isEmpty,
            let result = try? ChildProcess.run(
                [program, "--obj=\(image)", "--functions=none"]
                    + addresses),
            result.end == .exited(0)
        else { return [] }
        return String(decoding: result.output, as: UTF8.self).split(separator: "\n").compactMap(Self.place)
    }

    private var symbolizerPath: String? {
        let beside = "\(FileAccess.directory(of: clang))/llvm-symbolizer"
        return FileAccess.isExecutable(beside) ? beside : FileAccess.program(named: "llvm-symbolizer")
    }

    /// Reads `path:line:column`; unknown places are `??:0:0`.
    private static func place(_ line: Substring) -> SourcePlace? {
        let parts = line.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count >= 3, let number = Int(parts[parts.count - 2]), let column = Int(parts[parts.count - 1]),
            number > 0
        else { return nil }
        return SourcePlace(path: parts.dropLast(2).joined(separator: ":"), line: number, column: max(column, 1))
    }
}

// MARK: - In-class tests

#if SELF_TESTS && (DEBUG || IN_CLASS_TESTS)
#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif
import InClassTesting

extension Symbolizer: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testAsksForTheCallsInTheImage": testAsksForTheCallsInTheImage,
            "testReadsPlaces": testReadsPlaces,
        ]
    }

    /// A symbolizer that is a shell script, for an image of a thousand bytes.
    static func scripted(_ words: String) throws -> Symbolizer {
        let folder = "\(try temporaryDirectory())/\(UInt32.random(in: 0 ... .max))"
        mkdir(folder, 0o755)
        try FileAccess.write([UInt8](repeating: 0, count: 1_000), to: "\(folder)/image")
        try FileAccess.write(Array("#!/bin/sh\n\(words)\n".utf8), to: "\(folder)/llvm-symbolizer")
        chmod("\(folder)/llvm-symbolizer", 0o755)
        return Symbolizer(image: "\(folder)/image", clang: "\(folder)/clang")
    }

    private static func testAsksForTheCallsInTheImage() throws {
        let symbolizer = try scripted(
            "[ \"$1 $2\" = \"--obj=$(dirname $0)/image --functions=none\" ] || exit 1; shift 2; for a; do echo $a:1:2; done"
        )
        let rows: [([Int], [String])] = [
            ([], []), ([5_000], []), ([16, 32], ["0xf", "0x1f"]), ([999, 1_000, 1], ["0x3e6", "0x1"]),
            ([16, 5_000, 32, 48, 7_000, 64], ["0xf", "0x20", "0x2f", "0x3f"]),
        ]
        for (frames, addresses) in rows {
            expectEqual(symbolizer.places(of: frames).map(\.path), addresses, "\(frames)")
        }
        expectEqual(try scripted("echo /a:1:2; exit 1").places(of: [1]), [], "one that fails")
        expectEqual(Symbolizer(image: "/no/image", clang: symbolizer.clang).places(of: [1]), [], "no image")
    }

    private static func testReadsPlaces() {
        let rows: [(Substring, SourcePlace?)] = [
            ("/a.swift:3:4", SourcePlace(path: "/a.swift", line: 3, column: 4)),
            ("/a:b.swift:3:0", SourcePlace(path: "/a:b.swift", line: 3, column: 1)),
            ("??:0:0", nil), ("/a.swift:0:4", nil), ("/a.swift:3", nil), ("/a.swift:x:4", nil), ("/a.swift:3:x", nil),
            ("", nil),
        ]
        for (line, expected) in rows { expectEqual(place(line), expected, String(line)) }
    }
}
#endif
