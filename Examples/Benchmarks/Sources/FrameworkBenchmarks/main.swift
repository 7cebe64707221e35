// Measures in-class tests beside XCTest and swift-testing on generated packages: from an edit to the result, and nothing
// changed; many tests, one file of many tests, a crash, and one expectation. The frameworks take turns in each round, so
// that a change of the machine's speed concerns all. Then how the time grows with what is doubled.
//
//     swift run -c release --package-path Examples/Benchmarks FrameworkBenchmarks
//         [--rounds N] [--only edits|file|many|crash|expectations|growth] [--smoke]

import Foundation
let arguments = CommandLine.arguments
let isSmoke = arguments.contains("--smoke")
let rounds = isSmoke ? 1 : arguments.firstIndex(of: "--rounds").flatMap { Int(arguments[$0 + 1]) } ?? 5
let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../../..").standardizedFileURL
let parent = FileManager.default.temporaryDirectory.appending(path: "framework-benchmarks-\(getpid())")
defer { try? FileManager.default.removeItem(at: parent) }

/// Runs a command in a package, which must end with the status, and returns its time in milliseconds.
func milliseconds(_ words: [String], in folder: URL, status: Int32 = 0) throws -> Double {
    let process = Process()
    process.executableURL = URL(filePath: "/usr/bin/env")
    process.arguments = words
    process.currentDirectoryURL = folder
    let log = parent.appending(path: "log")
    _ = FileManager.default.createFile(atPath: log.path, contents: nil)
    let handle = try FileHandle(forWritingTo: log)
    process.standardOutput = handle
    process.standardError = handle
    // Not `waitUntilExit`, which looks only now and then.
    let exited = DispatchSemaphore(value: 0)
    process.terminationHandler = { _ in exited.signal() }
    let start = ContinuousClock.now
    try process.run()
    exited.wait()
    let elapsed = (ContinuousClock.now - start).components
    guard process.terminationStatus == status else {
        say(try String(contentsOf: log, encoding: .utf8))
        say("\(words.joined(separator: " ")) failed in \(folder.path)")
        exit(1)
    }
    return Double(elapsed.seconds) * 1000 + Double(elapsed.attoseconds) / 1e15
}

/// Prints at once, also into a file.
func say(_ line: String) {
    print(line)
    fflush(nil)
}

func median(_ values: [Double]) -> Double { values.sorted()[values.count / 2] }

/// Runs a job of every framework in turns, and prints the medians with their ratios to the first framework's.
func report(
    _ job: String, digits: Int = 0, _ frameworks: [Framework] = Framework.allCases, _ run: (Framework) throws -> Double
) throws {
    var times: [Framework: [Double]] = [:]
    for _ in 0..<rounds {
        for framework in frameworks { times[framework, default: []].append(try run(framework)) }
    }
    let own = median(times[.inClass] ?? [1])
    let columns = frameworks.map { framework in
        let time = median(times[framework] ?? [0])
        return "\(framework.rawValue) \(String(format: "%.\(digits)f", time)) (\(String(format: "%.2f", time / own)))"
    }
    say("  \(job.padding(toLength: 32, withPad: " ", startingAt: 0))" + columns.joined(separator: "   "))
}

/// Writes a package for each framework.
func makePackages(
    for frameworks: [Framework] = Framework.allCases, fileCount: Int, typesPerFile: Int = 1, testCount: Int
) throws -> [Framework: GeneratedPackage] {
    let packages = try frameworks.map { framework in
        let package = try GeneratedPackage(
            framework, in: parent, root: root, fileCount: fileCount, typesPerFile: typesPerFile, testCount: testCount)
        return (framework, package)
    }
    return Dictionary(uniqueKeysWithValues: packages)
}

/// Measures from an edit to the result of all tests, and a run with nothing changed.
func measureEdits(
    fileCount: Int, typesPerFile: Int = 1, testCount: Int, _ edits: [GeneratedPackage.Edit]
) throws {
    let packages = try makePackages(fileCount: fileCount, typesPerFile: typesPerFile, testCount: testCount)
    let types = fileCount * typesPerFile
    say("\n\(fileCount) files, \(types) types, \(types * testCount) tests, median of \(rounds), ms (ratio to in-class)")
    func run(_ framework: Framework, _ prepare: (GeneratedPackage) throws -> Void) throws -> Double {
        guard let package = packages[framework] else { return .nan }
        try prepare(package)
        return try milliseconds(framework.command, in: package.folder)
    }
    for framework in Framework.allCases { _ = try run(framework) { _ in } }
    var revision = 0
    for edit in edits {
        try report(edit.rawValue) { framework in
            revision += 1
            return try run(framework) { try $0.apply(edit, revision: revision) }
        }
    }
    try report("nothing changed") { try run($0) { _ in } }
}

/// Measures a run of tests that are built already, without the package manager: each framework's own program.
///
/// Not swift-testing's: as many of its tests take the compiler longer than half an hour.
func measureManyTests(fileCount: Int, testCount: Int) throws {
    let frameworks = [Framework.inClass, .xcTest]
    let packages = try makePackages(for: frameworks, fileCount: fileCount, testCount: testCount)
    say("\n\(fileCount * testCount) passing tests, built already, median of \(rounds), ms (ratio to in-class)")
    for (framework, package) in packages {
        let words = framework == .inClass ? ["swift", "build"] : ["swift", "build", "--build-tests"]
        _ = try milliseconds(words, in: package.folder)
    }
    try report("whole program, debug", frameworks) { framework in
        guard let package = packages[framework] else { return .nan }
        let words =
            framework == .inClass
            ? [try package.testlogger(), "Lib", "--jobs", "1"] : [".build/debug/GeneratedPackageTests.xctest"]
        return try milliseconds(words, in: package.folder)
    }
}

/// Measures what a crash in the middle of a run costs: containing, locating, and going on in a new process.
func measureCrash() throws {
    say("\n200 tests in one worker, median of \(rounds), ms")
    var medians: [Double] = []
    for crashingTest in [nil, 100] {
        let package = try GeneratedPackage(
            .inClass, in: parent, root: root, fileCount: 1, testCount: 200, crashingTest: crashingTest)
        let status: Int32 = crashingTest == nil ? 0 : 1
        _ = try milliseconds(["swift", "build"], in: package.folder, status: status)
        let words = [try package.testlogger(), "Lib", "--jobs", "1"]
        let times = try (0..<rounds).map { _ in try milliseconds(words, in: package.folder, status: status) }
        medians.append(median(times))
    }
    say(
        String(
            format: "  all pass %.1f, one crashes %.1f: %.1f for a crash, 199 pass", medians[0], medians[1],
            medians[1] - medians[0]))
}

try FileManager.default.createDirectory(at: parent, withIntermediateDirectories: true)
let only = arguments.firstIndex(of: "--only").map { arguments[$0 + 1] }
func isWanted(_ part: String) -> Bool { only == nil || only == part }
if isWanted("edits") { try measureEdits(fileCount: isSmoke ? 2 : 20, testCount: 10, GeneratedPackage.Edit.allCases) }
// Ten types: XCTest's list of the tests of one class is an expression that takes SwiftPM minutes to compile at 1,000.
if isWanted("file") {
    try measureEdits(fileCount: 1, typesPerFile: 10, testCount: isSmoke ? 2 : 100, [.body, .test])
}
if isWanted("many") { try measureManyTests(fileCount: isSmoke ? 2 : 20, testCount: isSmoke ? 10 : 500) }
if isWanted("crash") { try measureCrash() }
if isWanted("expectations") { try measureExpectations() }
if isWanted("growth") { try measureGrowth() }

/// Measures one passing expectation, debug and release.
func measureExpectations() throws {
    let packages = try Framework.allCases.map { ($0, try ExpectationPackage($0, in: parent, root: root)) }
    say("\none passing expectation of \(ExpectationPackage.count), median of \(rounds), ns (ratio to in-class)")
    for isRelease in isSmoke ? [false] : [false, true] {
        try report(isRelease ? "release" : "debug", digits: 1) { framework in
            try packages.first { $0.0 == framework }?.1.nanoseconds(isRelease: isRelease) ?? .nan
        }
    }
}
