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
