// The peers in Python. A script runs in its own process, receives one request per line, and measures its own times.

import Foundation

/// The connection to `Python/json_peers.py`. Only one thread may use it.
final class PythonPeers: @unchecked Sendable {
    /// The running script, or nil if Python isn't installed. A message reports that once.
    static let shared: PythonPeers? = {
        isStarted = true
        do { return try PythonPeers() } catch {
            print("skipped: msgspec, orjson, yyjson; there is no python3 (\(error))")
            return nil
        }
    }()
    nonisolated(unsafe) private static var isStarted = false

    /// Returns the cases of a library. If Python doesn't have the library, returns an empty array and reports that
    /// once.
    static func cases(_ library: String, _ name: String, job: String, _ sample: JSONSample) throws -> [Case] {
        try shared?.cases(library, name, job: job, sample) ?? []
    }

    /// Ends the script and removes its files.
    static func stop() {
        if isStarted { shared?.stop() }
    }

    private let process = Process()
    private let requests = Pipe()
    private let answers: UnsafeMutablePointer<FILE>
    private let directory: URL
    private var files: [String: String] = [:]
    private var versions: [String: String] = [:]

    private init() throws {
        let script = URL(filePath: #filePath).deletingLastPathComponent().appending(
            path: "../../../Python/json_peers.py")
        let replies = Pipe()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = ["python3", script.standardizedFileURL.path]
        process.standardInput = requests
        process.standardOutput = replies
        guard let stream = fdopen(dup(replies.fileHandleForReading.fileDescriptor), "r") else {
            throw POSIXError(.EMFILE)
        }
        answers = stream
        directory = FileManager.default.temporaryDirectory.appending(path: "benchmarks-\(getpid())")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        try process.run()
    }

    private func stop() {
        try? requests.fileHandleForWriting.close()
        process.waitUntilExit()
        fclose(answers)
        try? FileManager.default.removeItem(at: directory)
    }

    /// Returns the version of a library, or nil if Python doesn't have it. A message reports that once.
    private func version(of library: String) throws -> String? {
        if let version = versions[library] { return version == "none" ? nil : version }
        let version = try send("has \(library)")
        versions[library] = version
        if version == "none" { print("skipped: \(library); Python does not have it (pip install \(library))") }
        return version == "none" ? nil : version
    }

    private func cases(_ library: String, _ name: String, job: String, _ sample: JSONSample) throws -> [Case] {
        guard let version = try version(of: library) else { return [] }
        let file = try path(of: sample)
        return [
            Case(name: "\(name), \(version)") { isChecked in
                try self.run("\(isChecked ? "check" : "run") \(library) \(job) \(file)")
            }
        ]
    }

    private func path(of sample: JSONSample) throws -> String {
        let name = "\(sample.name)-\(sample.byteCount).json"
        if let path = files[name] { return path }
        let file = directory.appending(path: name)
        try Data(sample.padded.prefix(sample.byteCount)).write(to: file)
        files[name] = file.path
        return file.path
    }

    private func run(_ request: String) throws -> RemoteRun {
        let answer = try send(request)
        let numbers = answer.split(separator: " ").compactMap { UInt64($0) }
        guard numbers.count >= 2 else { throw DifferentResults(description: "\(request): \(answer)") }
        return RemoteRun(
            checksum: numbers.count > 2 ? numbers[2] : nil, elapsed: .nanoseconds(Int64(numbers[0])),
            peakGrowth: Int(numbers[1]))
    }

    private func send(_ request: String) throws -> String {
        try requests.fileHandleForWriting.write(contentsOf: Data("\(request)\n".utf8))
        var line = [CChar](repeating: 0, count: 4_096)
        guard fgets(&line, Int32(line.count), answers) != nil else {
            throw DifferentResults(description: "Python ended instead of answering '\(request)'")
        }
        return String(decoding: line.prefix { $0 != 0 && $0 != 10 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
