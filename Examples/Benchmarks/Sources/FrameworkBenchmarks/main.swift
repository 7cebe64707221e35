// Measures in-class tests beside XCTest and swift-testing on generated packages: from an edit to the result, and nothing
// changed. The frameworks take turns in each round, so that a change of the machine's speed concerns all.
//
//     swift run -c release --package-path Examples/Benchmarks FrameworkBenchmarks [--rounds N] [--smoke]

import Foundation
let arguments = CommandLine.arguments
let isSmoke = arguments.contains("--smoke")
let rounds = isSmoke ? 1 : arguments.firstIndex(of: "--rounds").flatMap { Int(arguments[$0 + 1]) } ?? 5
let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../../..").standardizedFileURL
let parent = FileManager.default.temporaryDirectory.appending(path: "framework-benchmarks-\(getpid())")
defer { try? FileManager.default.removeItem(at: parent) }

/// Runs a command in a package and returns its time in milliseconds.
func milliseconds(_ words: [String], in folder: URL) throws -> Double {
    let process = Process()
    process.executableURL = URL(filePath: "/usr/bin/env")
    process.arguments = words
    process.currentDirectoryURL = folder
    let log = parent.appending(path: "log")
    _ = FileManager.default.createFile(atPath: log.path, contents: nil)
    let handle = try FileHandle(forWritingTo: log)
    process.standardOutput = handle
    process.standardError = handle
    let start = ContinuousClock.now
    try process.run()
    process.waitUntilExit()
    let elapsed = (ContinuousClock.now - start).components
    guard process.terminationStatus == 0 else {
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

func measure(fileCount: Int, testCount: Int) throws {
    let packages = try Framework.allCases.map {
        try GeneratedPackage($0, in: parent, root: root, fileCount: fileCount, testCount: testCount)
    }
    for package in packages { _ = try milliseconds(package.framework.command, in: package.folder) }
    say("\n\(fileCount) files, \(fileCount * testCount) tests, median of \(rounds), ms (ratio to in-class)")
    var revision = 0
    func report(_ job: String, _ run: (GeneratedPackage) throws -> Double) throws {
        var times: [Framework: [Double]] = [:]
        for _ in 0..<rounds {
            revision += 1
            for package in packages { times[package.framework, default: []].append(try run(package)) }
        }
        let own = median(times[.inClass] ?? [1])
        let columns = Framework.allCases.map { framework in
            let time = median(times[framework] ?? [0])
            return "\(framework.rawValue) \(Int(time.rounded())) (\(String(format: "%.2f", time / own)))"
        }
        say("  \(job.padding(toLength: 26, withPad: " ", startingAt: 0))" + columns.joined(separator: "   "))
    }
    for edit in GeneratedPackage.Edit.allCases {
        try report(edit.rawValue) { package in
            try package.apply(edit, revision: revision)
            return try milliseconds(package.framework.command, in: package.folder)
        }
    }
    try report("nothing changed") { try milliseconds($0.framework.command, in: $0.folder) }
}

try FileManager.default.createDirectory(at: parent, withIntermediateDirectories: true)
try measure(fileCount: isSmoke ? 2 : 20, testCount: 10)
if !isSmoke { try measure(fileCount: 1, testCount: 1000) }
try measureExpectations()

/// Measures one passing expectation, debug and release.
func measureExpectations() throws {
    let packages = try Framework.allCases.map { try ExpectationPackage($0, in: parent, root: root) }
    say("\none passing expectation of \(ExpectationPackage.count), median of \(rounds), ns (ratio to in-class)")
    for isRelease in isSmoke ? [false] : [false, true] {
        var times: [Framework: [Double]] = [:]
        for _ in 0..<rounds {
            for package in packages {
                times[package.framework, default: []].append(try package.nanoseconds(isRelease: isRelease))
            }
        }
        let own = median(times[.inClass] ?? [1])
        let columns = Framework.allCases.map { framework in
            let time = median(times[framework] ?? [0])
            return "\(framework.rawValue) \(String(format: "%.1f", time)) (\(String(format: "%.1f", time / own)))"
        }
        say(
            "  \((isRelease ? "release" : "debug").padding(toLength: 26, withPad: " ", startingAt: 0))"
                + columns.joined(separator: "   "))
    }
}
