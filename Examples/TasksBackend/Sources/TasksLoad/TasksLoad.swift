// Compares the backend with its peers under load: wrk requests all tasks from one server after another, in several rounds,
// and checks each body. Requires wrk and nginx.
//
//     swift run -c release --package-path Examples/TasksBackend TasksLoad [--rounds N] [--seconds N] [--connections N]
//     swift run -c release --package-path Examples/TasksBackend TasksLoad --writes SECONDS
//
// With `--writes`, a tenth of the requests are writes, to each kind of server. After the server has ended, all acknowledged
// writes are looked up in the database.

import Foundation
import JSONStreaming
import Logging
import SQLiteStreaming
import Tasks

@main
enum TasksLoad {
    static func main() async {
        do {
            try await run(Array(CommandLine.arguments.dropFirst()))
        } catch {
            FileHandle.standardError.write(Data("TasksLoad: error: \(error)\n".utf8))
            exit(1)
        }
    }

    private static func run(_ words: [String]) async throws {
        if words.count == 3, words[0] == "--serve", let peer = Peer(rawValue: words[1]), let count = Int(words[2]) {
            return try await peer.serve(count)
        }
        var numbers = ["--rounds": 5, "--seconds": 2, "--connections": 8, "--writes": 0]
        for index in stride(from: 0, to: words.count, by: 2) {
            guard numbers[words[index]] != nil, index + 1 < words.count, let number = Int(words[index + 1]), number > 0
            else { throw LoadError("expected --rounds, --seconds, --connections or --writes with a number") }
            numbers[words[index]] = number
        }
        let folder = FileManager.default.temporaryDirectory.appending(path: "tasks-load-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        if let seconds = numbers["--writes"], seconds > 0 {
            for words in [[], ["--memory"]] { try checkWrites(words, seconds, folder) }
            return
        }
        for count in [2, 128, 1_024] {
            try compare(
                count, rounds: numbers["--rounds"] ?? 1, seconds: numbers["--seconds"] ?? 1,
                connections: numbers["--connections"] ?? 1, folder)
        }
    }

    // MARK: Reads

    private static func compare(_ count: Int, rounds: Int, seconds: Int, connections: Int, _ folder: URL) throws {
        let database = folder.appending(path: "tasks-\(count).sqlite").path
        let tasks = TaskSample.tasks(count)
        let store = try TaskStore(path: database, logger: Logger(label: "load"))
        try store.insert(tasks)
        try store.close()
        // A dictionary encoded with `JSONEncoder` has a different member order in each process, unless hashing is
        // deterministic.
        let variables = ["SWIFT_DETERMINISTIC_HASHING": "1"]
        let stored = ["TasksBackend", "--port", "0", "--log", "error", "--database"]
        var servers: [Server] = []
        defer { for server in servers { server.stop() } }
        servers.append(try Server("SQLite at each request", stored + [database]))
        try FileManager.default.copyItem(atPath: database, toPath: "\(database).memory")
        servers.append(try Server("from memory", stored + ["\(database).memory", "--memory"]))
        for peer in Peer.allCases {
            servers.append(
                try Server(
                    "Hummingbird, \(peer)", ["TasksLoad", "--serve", "\(peer)", "\(count)"], variables: variables))
        }
        servers.append(try Server(nginx: try servers[0].body(), in: folder))
        for server in servers {
            guard try JSON.decode([TaskRecord].self, from: try server.body()) == tasks else {
                throw LoadError("\(server.name) serves other tasks")
            }
        }
        let wrk = Wrk(folder: folder)
        var results = [[LoadResult]](repeating: [], count: servers.count)
        for _ in 0..<rounds {
            for (index, server) in servers.enumerated() {
                results[index].append(
                    try wrk.compare(server, body: try server.body(), seconds: seconds, connections: connections))
            }
        }
        report(count, servers.map(\.name), results)
    }

    private static func report(_ count: Int, _ names: [String], _ results: [[LoadResult]]) {
        func median(_ values: [Double]) -> Double { values.sorted()[values.count / 2] }
        func ratios(_ index: Int, _ value: (LoadResult) -> Double) -> [String] {
            (2...3).map { peer in
                let ratio = median(zip(results[index], results[peer]).map { value($0) / value($1) })
                return String(format: "%6.2f", ratio)
            }
        }
        print(
            "\(count) tasks: requests/s, and µs of a processor for each; ratios to Codable and to the encoded body of both"
        )
        for (index, name) in names.enumerated() {
            let rate = String(format: "%8.0f", median(results[index].map(\.requestsPerSecond)))
            let time = String(format: "%8.1f", median(results[index].map(\.processorTime)) * 1e6)
            let columns = [rate] + ratios(index, \.requestsPerSecond) + [time] + ratios(index) { 1 / $0.processorTime }
            print("  " + name.padding(toLength: 24, withPad: " ", startingAt: 0) + columns.joined(separator: " "))
        }
    }

    // MARK: Writes

    /// Runs a server under load with a tenth of writes, and looks up the acknowledged ones.
    private static func checkWrites(_ words: [String], _ seconds: Int, _ folder: URL) throws {
        let name = words.isEmpty ? "SQLite at each request" : "from memory"
        let database = folder.appending(path: "writes\(words.count).sqlite").path
        let log = folder.appending(path: "log\(words.count)")
        let server = try Server(
            name, ["TasksBackend", "--port", "0", "--log", "error", "--database", database] + words)
        let answered: (requests: Int, writes: Int)
        do {
            defer { server.stop() }
            answered = try Wrk(folder: folder).write(server, log: log, seconds: seconds)
        }
        var (acknowledged, uncertain, deleted): ([Int: String], Set<Int>, Set<Int>) = ([:], [], [])
        for number in 1...8 {
            for line in try String(contentsOf: log.appendingPathExtension("t\(number)"), encoding: .utf8).split(
                separator: "\n")
            {
                let words = line.split(separator: " ", maxSplits: 2).map(String.init)
                guard words.count > 1, let id = Int(words[1]) else { throw LoadError("a log has the line \(line)") }
                switch words[0] {
                case "+": acknowledged[id] = words[2]
                case "?": uncertain.insert(id)
                default:
                    acknowledged[id] = nil
                    uncertain.remove(id)
                    deleted.insert(id)
                }
            }
        }
        let connection = try SQLiteConnection(path: database, options: SQLiteOptions(access: .readOnly))
        let found = try SQLiteTable<TaskRecord>(connection, "tasks").fetchAll()
        let titles = Dictionary(uniqueKeysWithValues: found.map { ($0.id ?? 0, $0.title) })
        let lost = acknowledged.filter { titles[$0.key] != $0.value && !uncertain.contains($0.key) }
        // Each thread may have created a task whose response came too late.
        let surplus = titles.filter { acknowledged[$0.key] == nil }
        guard lost.isEmpty, surplus.count <= 8, deleted.isDisjoint(with: titles.keys), answered.writes > 0 else {
            throw LoadError("\(name): lost \(lost), and \(surplus) nobody knows")
        }
        print(
            "\(name): \(answered.requests / seconds) requests/s in \(seconds) s, of which \(answered.writes / seconds) wrote; "
                + "all \(found.count) tasks are there, and none that was deleted")
    }
}
