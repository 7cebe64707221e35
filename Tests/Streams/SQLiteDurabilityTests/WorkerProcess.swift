// Starts the program `SQLiteWorker`, reads its output, and kills it.

import Foundation

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// A running worker.
final class WorkerProcess {
    private let process = Process()
    /// The files for the worker's output. Programs that other tests start would inherit pipes.
    private let (output, errors): (URL, URL)

    /// The built program next to the test bundle.
    static let program: URL = {
        #if os(macOS)
        let bundle = Bundle.allBundles.first { $0.bundlePath.hasSuffix(".xctest") }?.bundleURL ?? Bundle.main.bundleURL
        return bundle.deletingLastPathComponent().appending(path: "SQLiteWorker")
        #else
        return Bundle.main.bundleURL.appending(path: "SQLiteWorker")
        #endif
    }()

    /// The result of a worker.
    struct Outcome: CustomStringConvertible {
        /// The exit status, or the negated number of the signal that ended it.
        var status: Int32
        /// The lines it printed.
        var lines: [String]
        var errors: String

        var description: String { "status \(status), \(lines), \(errors)" }
    }

    init(_ arguments: [String]) throws {
        let path = FileManager.default.temporaryDirectory.appending(path: "worker-\(UUID().uuidString)")
        (output, errors) = (path.appendingPathExtension("out"), path.appendingPathExtension("err"))
        for file in [output, errors] { try Data().write(to: file) }
        process.executableURL = Self.program
        process.arguments = arguments
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = try FileHandle(forWritingTo: output)
        process.standardError = try FileHandle(forWritingTo: errors)
        try process.run()
    }

    deinit { for file in [output, errors] { try? FileManager.default.removeItem(at: file) } }

    /// Runs a worker until it exits.
    static func run(_ arguments: String...) throws -> Outcome { try WorkerProcess(arguments).outcome() }

    struct WaitError: Error, CustomStringConvertible {
        let description: String
    }

    /// Waits until the worker has printed the given number of lines or exited. The first line reports that it is ready.
    ///
    /// - Throws: `WaitError` after ten minutes.
    func waitUntilReady(lineCount: Int = 1) throws {
        let deadline = ContinuousClock.now + .seconds(600)
        while try Data(contentsOf: output).count(where: { $0 == 0x0A }) < lineCount, process.isRunning {
            if ContinuousClock.now > deadline {
                throw WaitError(description: "waited ten minutes for line \(lineCount) of the worker")
            }
            usleep(500)
        }
    }

    /// Kills the worker immediately, without giving it time to clean up.
    func kill() {
        #if canImport(Darwin)
        _ = Darwin.kill(process.processIdentifier, SIGKILL)
        #elseif canImport(Musl)
        _ = Musl.kill(process.processIdentifier, SIGKILL)
        #else
        _ = Glibc.kill(process.processIdentifier, SIGKILL)
        #endif
    }

    /// Waits for the worker to exit.
    func outcome() throws -> Outcome {
        process.waitUntilExit()
        let text = try String(contentsOf: output, encoding: .utf8)
        let status =
            process.terminationReason == .uncaughtSignal ? -process.terminationStatus : process.terminationStatus
        return Outcome(
            status: status, lines: text.split(separator: "\n").map(String.init),
            errors: try String(contentsOf: errors, encoding: .utf8))
    }
}

/// A directory that is removed when the test ends.
final class TemporaryDirectory {
    let url: URL

    init() throws {
        url = FileManager.default.temporaryDirectory.appending(path: "sqlite-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(at: url) }

    func path(_ name: String) -> String { url.appending(path: name).path }
}

/// Returns the number in an environment variable, which allows longer runs than usual.
func environment(_ name: String, default value: Int) -> Int {
    ProcessInfo.processInfo.environment[name].flatMap(Int.init) ?? value
}
