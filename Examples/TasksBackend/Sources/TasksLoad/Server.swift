// Starts and stops a server process, reads its tasks, and measures its processor time.

import Foundation

// For reading from HTTP addresses.
#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// An error outside of this program.
struct LoadError: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}

/// A process that serves tasks.
struct Server {
    let name: String
    /// The address of the list of tasks.
    let address: URL
    private let process: Process

    /// The folder of the programs of this package.
    private static let folder = (Bundle.main.executableURL ?? URL(filePath: "/")).deletingLastPathComponent()

    /// Starts a program of this package, which prints its address.
    init(_ name: String, _ arguments: [String], variables: [String: String] = [:]) throws {
        self.name = name
        process = Process()
        process.executableURL = Self.folder.appending(path: arguments[0])
        process.arguments = Array(arguments.dropFirst())
        process.environment = ProcessInfo.processInfo.environment.merging(variables) { $1 }
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        var line = Data()
        while let byte = try output.fileHandleForReading.read(upToCount: 1), byte != Data("\n".utf8) { line += byte }
        guard let word = String(decoding: line, as: UTF8.self).split(separator: " ").last,
            let url = URL(string: "\(word)")
        else { throw LoadError("\(arguments) does not say where it listens") }
        address = url.appending(path: "tasks")
    }

    /// Starts nginx with a file.
    init(nginx body: Data, in folder: URL) throws {
        name = "nginx, a file"
        let port = Int.random(in: 20_000..<30_000)
        try body.write(to: folder.appending(path: "tasks"))
        let configuration = """
            \(geteuid() == 0 ? "user root;" : "") daemon off; pid nginx.pid; worker_processes auto;
            events { worker_connections 1024; }
            http {
                access_log off; sendfile on; tcp_nopush on; default_type application/json;
                keepalive_requests 1000000000; client_body_temp_path body; proxy_temp_path proxy;
                fastcgi_temp_path fastcgi; uwsgi_temp_path uwsgi; scgi_temp_path scgi;
                server { listen 127.0.0.1:\(port); root \(folder.path); }
            }
            """
        try Data(configuration.utf8).write(to: folder.appending(path: "nginx.conf"))
        process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = ["nginx", "-p", folder.path, "-c", "nginx.conf", "-e", "stderr"]
        guard let url = URL(string: "http://127.0.0.1:\(port)/tasks") else { throw LoadError("no address") }
        address = url
        try process.run()
        for _ in 0..<100 where (try? self.body()) == nil { usleep(50_000) }
    }

    /// Returns the body of its response.
    func body() throws -> Data { try Data(contentsOf: address) }

    /// Asks the server to end, and waits until it has ended.
    func stop() {
        process.terminate()
        process.waitUntilExit()
    }

    /// The processor time of the server and of the processes that it has started, in seconds.
    var processorTime: Double {
        let folder = "/proc"
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        return names.filter { $0.allSatisfy(\.isNumber) }.reduce(0) { sum, name in
            let text = try? String(contentsOfFile: "\(folder)/\(name)/stat", encoding: .utf8)
            // After the name of the program, the fields are the state, the parent, and later the times in hundredths of a
            // second.
            let fields = text?.components(separatedBy: ") ").last?.split(separator: " ") ?? []
            let isOurs =
                name == "\(process.processIdentifier)" || fields.dropFirst().first == "\(process.processIdentifier)"
            guard fields.count > 12, isOurs else { return sum }
            return sum + ((Double(fields[11]) ?? 0) + (Double(fields[12]) ?? 0)) / 100
        }
    }
}
