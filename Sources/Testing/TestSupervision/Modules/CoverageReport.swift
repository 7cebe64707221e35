// Determines which lines the in-class tests reach. The toolchain's own tools merge and export the profiles that
// instrumented test executables leave. The lines of the tests themselves are left out.

internal import InClassSystem

/// The reached lines of one source file.
package struct FileCoverage: Equatable, Sendable {
    package var path: String
    /// The number of times each line ran, by line number from 1. Lines without code are missing.
    package var counts: [Int: Int] = [:]

    package var lineCount: Int { counts.count }
    package var reachedCount: Int { counts.values.reduce(0) { $0 + ($1 > 0 ? 1 : 0) } }
}

/// The reason why no coverage is available.
private struct CoverageError: Error, CustomStringConvertible {
    var description: String
}

package struct CoverageReport {
    private let module: ModuleDescription

    package init(_ module: ModuleDescription) { self.module = module }

    /// Returns the variables for the environment of workers, so that each worker leaves a profile.
    package static func environment(_ module: ModuleDescription) -> [String: String] {
        ["LLVM_PROFILE_FILE": "\(module.executable).%p.profraw"]
    }

    /// Removes the profiles of earlier runs.
    package func begin() { for path in profiles { unlink(path) } }

    private var profiles: [String] {
        let folder = FileAccess.directory(of: module.executable)
        let prefix = FileAccess.name(of: module.executable) + "."
        return FileAccess.names(in: folder).filter { $0.hasPrefix(prefix) && $0.hasSuffix(".profraw") }
            .map { "\(folder)/\($0)" }
    }

    /// Merges the profiles and writes the coverage in the format of lcov.
    ///
    /// - Returns: the files of the module, sorted by path, and the path of the report.
    package func finish() throws -> (files: [FileCoverage], lcovPath: String) {
        let parts = profiles
        guard !parts.isEmpty else {
            throw CoverageError(description: "no profile was written; build with '--enable-code-coverage'")
        }
        let merged = "\(module.executable).profdata"
        _ = try output("llvm-profdata", ["merge", "-sparse"] + parts + ["-o", merged])
        for part in parts { unlink(part) }
        let exported = try output(
            "llvm-cov", ["export", "-format=lcov", "-instr-profile=\(merged)", module.executable] + module.sources)
        let files = Self.files(lcov: exported).map { withoutTests($0) }.sorted { $0.path < $1.path }
        let path = "\(module.executable).lcov"
        try FileAccess.write(Array(Self.lcov(files).utf8), to: path)
        return (files, path)
    }

    private func output(_ tool: String, _ words: [String]) throws -> String {
        // Only the tools of the compiler's own version can read its profiles.
        guard let program = FileAccess.program(named: tool, beside: module.clang) else {
            throw CoverageError(description: "there is no \(tool) beside the compiler or on the PATH")
        }
        let result = try ChildProcess.run([program] + words)
        let text = String(decoding: result.output, as: UTF8.self)
        guard result.end == .exited(0) else { throw CoverageError(description: "\(tool) failed: \(text)") }
        return text
    }

    /// Removes the lines between `#if … DEBUG …` or `… IN_CLASS_TESTS` and its end.
    private func withoutTests(_ file: FileCoverage) -> FileCoverage {
        guard let bytes = try? FileAccess.contents(of: file.path) else { return file }
        let ranges = SourceParser(SourceText(bytes)).linesOfTests
        var filtered = file
        filtered.counts = file.counts.filter { line, _ in !ranges.contains { $0.contains(line) } }
        return filtered
    }

    /// Parses lcov's format: `SF:path`, `DA:line,count`, `end_of_record`.
    static func files(lcov: String) -> [FileCoverage] {
        var files: [FileCoverage] = []
        for line in lcov.split(separator: "\n") {
            if line.hasPrefix("SF:") { files.append(FileCoverage(path: String(line.dropFirst(3)))) }
            guard line.hasPrefix("DA:"), !files.isEmpty else { continue }
            let parts = line.dropFirst(3).split(separator: ",")
            if parts.count >= 2, let number = Int(parts[0]), let count = Int(parts[1]) {
                files[files.count - 1].counts[number] = count
            }
        }
        return files
    }

    static func lcov(_ files: [FileCoverage]) -> String {
        var text = ""
        for file in files where file.lineCount > 0 {
            text += "SF:\(file.path)\n"
            for (line, count) in file.counts.sorted(by: { $0.key < $1.key }) { text += "DA:\(line),\(count)\n" }
            text += "LF:\(file.lineCount)\nLH:\(file.reachedCount)\nend_of_record\n"
        }
        return text
    }
}

// MARK: - In-class tests

#if SELF_TESTS && (DEBUG || IN_CLASS_TESTS)
import InClassTesting

enum CoverageReportTests {}

extension CoverageReportTests: SelfTesting {
    static var testSelectors: TestSelectors { ["testReadsAndWritesLcov": testReadsAndWritesLcov] }

    private static func testReadsAndWritesLcov() {
        let text = "SF:/a.swift\nDA:1,2\nDA:3,0\nLF:2\nLH:1\nend_of_record\n"
        let files = CoverageReport.files(lcov: "FN:1,f\n" + text)
        expectEqual(files, [FileCoverage(path: "/a.swift", counts: [1: 2, 3: 0])])
        expectEqual(files.first?.reachedCount, 1)
        expectEqual(CoverageReport.lcov(files), text)
    }
}
#endif
