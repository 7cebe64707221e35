// Compares in-class tests with XCTest and swift-testing on generated packages. It measures the time from an edit to the
// result, a run without changes, many tests, one file with many tests, a crash, and one expectation.
// The frameworks take turns in each round, so that a change of the machine's speed affects all of them. The last part
// measures how the processor time grows with the amount of tests, output and source.

import Foundation

/// The benchmarks of `Benchmarks Framework`. They run only when requested because they build whole packages.
struct FrameworkSuite {
    static let name = "Framework"

    let rounds: Int
    let isSmoke: Bool
    /// A Boolean value that indicates whether to run a part, such as `Framework/edits`.
    let wants: (String) -> Bool

    static let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../../../..")
        .standardizedFileURL
    private let parent = FileManager.default.temporaryDirectory.appending(path: "framework-benchmarks-\(getpid())")

    /// Runs the requested parts, prints their results and returns them.
    func run() throws -> [GroupResult] {
        try FileManager.default.createDirectory(at: parent, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: parent) }
        var groups: [GroupResult] = []
        // Use ten types. XCTest lists the tests of one class in an expression that takes minutes to compile with 1,000
        // tests.
        let parts: [(String, () throws -> [GroupResult])] = [
            ("edits", { try edits(fileCount: isSmoke ? 2 : 20, testCount: 10, GeneratedPackage.Edit.allCases) }),
            ("file", { try edits(fileCount: 1, typesPerFile: 10, testCount: isSmoke ? 2 : 100, [.body, .test]) }),
            ("many", { try manyTests(fileCount: isSmoke ? 2 : 20, testCount: isSmoke ? 10 : 500) }),
            ("crash", crash),
            ("expectations", expectations),
            (
                "growth",
                {
                    try measureGrowth(in: parent, isSmoke: isSmoke)
                    return []
                }
            ),
        ]
        for (part, measure) in parts where wants("\(Self.name)/\(part)") { groups += try measure() }
        return groups
    }

    // MARK: Parts

    /// Measures the time from an edit to the result of all tests, and the time of a run without changes.
    private func edits(
        fileCount: Int, typesPerFile: Int = 1, testCount: Int, _ edits: [GeneratedPackage.Edit]
    ) throws -> [GroupResult] {
        let packages = try packages(fileCount: fileCount, typesPerFile: typesPerFile, testCount: testCount)
        let types = fileCount * typesPerFile
        let size = "\(fileCount) file\(fileCount == 1 ? "" : "s"), \(types * testCount) tests"
        func run(_ framework: Framework, _ prepare: (GeneratedPackage) throws -> Void) throws -> Double {
            guard let package = packages[framework] else { return .nan }
            try prepare(package)
            return try milliseconds(framework.command, in: package.folder)
        }
        for framework in Framework.allCases { _ = try run(framework) { _ in } }
        var revision = 0
        var groups = try edits.map { edit in
            try group("\(edit.rawValue), \(size)") { framework in
                revision += 1
                return try run(framework) { try $0.apply(edit, revision: revision) }
            }
        }
        groups.append(try group("nothing changed, \(size)") { try run($0) { _ in } })
        return groups
    }

    /// Measures a run of tests that are already built, using each framework's own program instead of SwiftPM.
    ///
    /// swift-testing is left out because its version takes more than half an hour to compile.
    private func manyTests(fileCount: Int, testCount: Int) throws -> [GroupResult] {
        let frameworks = [Framework.inClass, .xcTest]
        let packages = try packages(for: frameworks, fileCount: fileCount, testCount: testCount)
        for (framework, package) in packages {
            let command = framework == .inClass ? ["swift", "build"] : ["swift", "build", "--build-tests"]
            _ = try milliseconds(command, in: package.folder)
        }
        return [
            try group("\(fileCount * testCount) passing tests, built already, debug", frameworks) { framework in
                guard let package = packages[framework] else { return .nan }
                let command =
                    framework == .inClass
                    ? [try package.testlogger(), "Lib", "--jobs", "1"] : [".build/debug/GeneratedPackageTests.xctest"]
                return try milliseconds(command, in: package.folder)
            }
        ]
    }

    /// Measures the cost of a crash in the middle of a run: containing it, locating it, and continuing in a new
    /// process.
    private func crash() throws -> [GroupResult] {
        var result = GroupResult(suite: Self.name, name: "200 tests in one worker", unit: "run", allocationUnit: "run")
        for (name, crashingTest) in [("all pass", nil), ("one crashes, 199 pass", 100)] {
            let package = try GeneratedPackage(
                .inClass, in: parent, fileCount: 1, testCount: 200, crashingTest: crashingTest)
            let status: Int32 = crashingTest == nil ? 0 : 1
            _ = try milliseconds(["swift", "build"], in: package.folder, status: status)
            let command = [try package.testlogger(), "Lib", "--jobs", "1"]
            let times = try (0..<rounds).map { _ in try milliseconds(command, in: package.folder, status: status) }
            result.cases.append(CaseResult(name: name, times: times))
        }
        print(report(result))
        return [result]
    }

    /// Measures one passing expectation in debug and release configuration.
    private func expectations() throws -> [GroupResult] {
        let packages = try Framework.allCases.map { ($0, try ExpectationPackage($0, in: parent)) }
        return try (isSmoke ? [false] : [false, true]).map { isRelease in
            let name = "one passing expectation, \(isRelease ? "release" : "debug")"
            return try group(name, unit: "expectation", count: ExpectationPackage.count) { framework in
                // Nanoseconds per expectation equal milliseconds per million expectations.
                try packages.first { $0.0 == framework }?.1.nanoseconds(isRelease: isRelease) ?? .nan
            }
        }
    }

    // MARK: Measuring

    /// Creates a package for each framework.
    private func packages(
        for frameworks: [Framework] = Framework.allCases, fileCount: Int, typesPerFile: Int = 1, testCount: Int
    ) throws -> [Framework: GeneratedPackage] {
        let packages = try frameworks.map { framework in
            let package = try GeneratedPackage(
                framework, in: parent, fileCount: fileCount, typesPerFile: typesPerFile, testCount: testCount)
            return (framework, package)
        }
        return Dictionary(uniqueKeysWithValues: packages)
    }

    /// Runs a job of each framework in turn and prints the times.
    ///
    /// - Parameter run: Runs the job of a framework and returns the milliseconds for `count` units.
    private func group(
        _ name: String, _ frameworks: [Framework] = Framework.allCases, unit: String = "run", count: Int = 1,
        _ run: (Framework) throws -> Double
    ) throws -> GroupResult {
        var times: [Framework: [Double]] = [:]
        for _ in 0..<rounds {
            for framework in frameworks { times[framework, default: []].append(try run(framework)) }
        }
        var result = GroupResult(suite: Self.name, name: name, unit: unit, allocationUnit: unit)
        result.cases = frameworks.map { framework in
            CaseResult(
                name: framework.rawValue, isPeer: framework != .inClass, times: times[framework] ?? [], count: count)
        }
        result.cases[0].ratios = result.cases.dropFirst().map { peer in
            RatioResult(peer: peer.name, ratio: peer.milliseconds / result.cases[0].milliseconds)
        }
        print(report(result))
        fflush(nil)
        return result
    }
}

extension CaseResult {
    /// Creates a result from times in milliseconds for `count` units each.
    fileprivate init(name: String, isPeer: Bool = false, times: [Double], count: Int = 1) {
        let sorted = times.sorted()
        let median = sorted.isEmpty ? .nan : (sorted[(sorted.count - 1) / 2] + sorted[sorted.count / 2]) / 2
        self.init(
            name: name, isPeer: isPeer, milliseconds: median,
            spread: sorted.isEmpty ? 0 : (sorted[sorted.count * 3 / 4] - sorted[sorted.count / 4]) / median,
            unitsPerSecond: Double(count) / median * 1e3, firstMilliseconds: median)
    }
}

/// The error thrown if a command doesn't exit with the expected status.
struct FailedCommand: Error, CustomStringConvertible {
    let description: String
}

/// Runs a command in a package and returns its time in milliseconds.
///
/// - Throws: `FailedCommand` if the exit status isn't the given one.
func milliseconds(_ command: [String], in folder: URL, status: Int32 = 0) throws -> Double {
    let process = Process()
    process.executableURL = URL(filePath: "/usr/bin/env")
    process.arguments = command
    process.currentDirectoryURL = folder
    let log = folder.deletingLastPathComponent().appending(path: "log")
    _ = FileManager.default.createFile(atPath: log.path, contents: nil)
    let handle = try FileHandle(forWritingTo: log)
    process.standardOutput = handle
    process.standardError = handle
    // `waitUntilExit` would notice the exit late because it polls.
    let exited = DispatchSemaphore(value: 0)
    process.terminationHandler = { _ in exited.signal() }
    let start = ContinuousClock.now
    try process.run()
    exited.wait()
    let elapsed = ContinuousClock.now - start
    guard process.terminationStatus == status else {
        let text = try String(contentsOf: log, encoding: .utf8)
        throw FailedCommand(description: "\(command.joined(separator: " ")) failed in \(folder.path):\n\(text)")
    }
    return elapsed / .milliseconds(1)
}
