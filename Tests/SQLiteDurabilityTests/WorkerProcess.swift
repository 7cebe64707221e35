// Starts the program `SQLiteWorker`, reads what it prints, and ends it as hard as a process can be ended.

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
    private let output = Pipe()
    private let errors: URL
    private var buffered = Data()

    /// The built program, beside the test bundle.
    static let program: URL = {
        #if os(macOS)
        let bundle = Bundle.allBundles.first { $0.bundlePath.hasSuffix(".xctest") }?.bundleURL ?? Bundle.main.bundleURL
        return bundle.deletingLastPathComponent().appending(path: "SQLiteWorker")
        #else
        return Bundle.main.bundleURL.appending(path: "SQLiteWorker")
        #endif
    }()

    /// What a worker left behind.
    struct Outcome: CustomStringConvertible {
        /// The exit status, or minus the number of the signal that ended it.
        var status: Int32
        /// The lines it printed, without those that were read before.
        var lines: [String]
        var errors: String

        var description: String { "status \(status), \(lines), \(errors)" }
    }

    init(_ words: [String]) throws {
        errors = FileManager.default.temporaryDirectory.appending(path: "worker-\(UUID().uuidString)")
        try Data().write(to: errors)
        process.executableURL = Self.program
        process.arguments = words
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = output
        process.standardError = try FileHandle(forWritingTo: errors)
        try process.run()
        // Only the worker keeps the pipe open, so that its end is the end of the output.
        try output.fileHandleForWriting.close()
    }

    deinit { try? FileManager.default.removeItem(at: errors) }

    /// Runs a worker to its end.
    static func run(_ words: String...) throws -> Outcome { try WorkerProcess(words).outcome() }

    /// Waits for the line that says that the worker is ready, or for more lines.
    func waitUntilReady(lineCount: Int = 1) throws {
        while buffered.count(where: { $0 == 0x0A }) < lineCount {
            let data = output.fileHandleForReading.availableData
            guard !data.isEmpty else { return }
            buffered.append(data)
        }
    }

    /// Ends the worker at once: nothing in it runs any more.
    func kill() {
        #if canImport(Darwin)
        _ = Darwin.kill(process.processIdentifier, SIGKILL)
        #elseif canImport(Musl)
        _ = Musl.kill(process.processIdentifier, SIGKILL)
        #else
        _ = Glibc.kill(process.processIdentifier, SIGKILL)
        #endif
    }

    /// Waits for the end.
    func outcome() throws -> Outcome {
        buffered.append(try output.fileHandleForReading.readToEnd() ?? Data())
        process.waitUntilExit()
        let text = String(decoding: buffered, as: UTF8.self)
        let status =
            process.terminationReason == .uncaughtSignal ? -process.terminationStatus : process.terminationStatus
        return Outcome(
            status: status, lines: text.split(separator: "\n").map(String.init),
            errors: try String(contentsOf: errors, encoding: .utf8))
    }
}

/// A directory that is removed at the end of a test.
final class TemporaryDirectory {
    let url: URL

    init() throws {
        url = FileManager.default.temporaryDirectory.appending(path: "sqlite-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(at: url) }

    func path(_ name: String) -> String { url.appending(path: name).path }
}

/// A number of an environment variable, for runs that are longer than those of every day.
func environment(_ name: String, default value: Int) -> Int {
    ProcessInfo.processInfo.environment[name].flatMap(Int.init) ?? value
}
