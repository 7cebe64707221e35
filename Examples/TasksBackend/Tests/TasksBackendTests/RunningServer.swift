// Runs the server as a process, with a database in its own folder.

import Foundation

/// A server that runs during its test and ends with it.
final class RunningServer {
    let port: UInt16
    let process: Process
    private let errors: URL

    /// The programs are in the folder of the tests.
    private static let program = [Bundle.main.bundleURL, URL(filePath: CommandLine.arguments[0])]
        .flatMap { [$0.deletingLastPathComponent(), $0] }.map { $0.appending(path: "TasksBackend") }
        .first { FileManager.default.isExecutableFile(atPath: $0.path) }

    private static func make(_ arguments: [String], _ folder: URL, _ output: Any, _ errors: Any) throws -> Process {
        let process = Process()
        guard let program else { throw ConnectionError(description: "there is no TasksBackend beside the tests") }
        process.executableURL = program
        process.arguments = arguments
        process.currentDirectoryURL = folder
        process.standardOutput = output
        process.standardError = errors
        try process.run()
        return process
    }

    /// Starts the server and waits until it listens.
    ///
    /// - Parameter log: The file for its log, or nil for the one that ``log()`` reads.
    init(_ arguments: [String] = [], in folder: URL, log: FileHandle? = nil) throws {
        errors = folder.appending(path: "log-\(UUID().uuidString)")
        try Data().write(to: errors)
        let output = Pipe()
        process = try Self.make(
            ["--port", "0"] + arguments, folder, output, try log ?? FileHandle(forWritingTo: errors))
        var line = Data()
        while let byte = try output.fileHandleForReading.read(upToCount: 1), byte != Data("\n".utf8) { line += byte }
        guard let number = URL(string: String(decoding: line.split(separator: 32).last ?? Data(), as: UTF8.self))?.port
        else {
            process.terminate()
            throw ConnectionError(description: "the server does not say where it listens")
        }
        port = UInt16(number)
    }

    deinit { kill() }

    /// Runs the server if it is expected to end by itself, and returns its status and its errors.
    static func run(_ arguments: [String], in folder: URL) throws -> (status: Int32, errors: String) {
        let errors = Pipe()
        let process = try make(arguments, folder, FileHandle.nullDevice, errors)
        let text = String(decoding: try errors.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
        process.waitUntilExit()
        return (process.terminationStatus, text)
    }

    func connect() throws -> RawConnection { try RawConnection(port: port) }

    /// Returns the lines of its log so far.
    func log() throws -> [String] {
        try String(contentsOf: errors, encoding: .utf8).split(separator: "\n").map(String.init)
    }

    /// Kills the server, as a power failure would.
    func kill() {
        if process.isRunning { Foundation.kill(process.processIdentifier, SIGKILL) }
        process.waitUntilExit()
    }

    /// Waits until the server has ended, and returns its status.
    func end() -> Int32 {
        process.waitUntilExit()
        return process.terminationReason == .exit ? process.terminationStatus : -1
    }

    /// Returns whether the server has ended within a number of seconds.
    func hasEnded(within seconds: Int) -> Bool {
        for _ in 0..<seconds * 10 where process.isRunning { usleep(100_000) }
        return !process.isRunning
    }

    /// Creates a folder that is removed after the closure.
    static func inFolder<Value>(_ body: (URL) throws -> Value) throws -> Value {
        let folder = FileManager.default.temporaryDirectory.appending(path: "tasks-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        return try body(folder)
    }
}
