// The servers that the backend is compared with. Both use the same router and framework: one encodes tasks in memory with
// `Codable` for each request, and one sends a body that was encoded once.

import Foundation
import Hummingbird
import Logging
import NIOCore
import Tasks

/// A server that runs in this program.
enum Peer: String, CaseIterable {
    case codable
    case encoded

    /// A straightforward `Codable` task.
    private struct CodableTask: Codable, ResponseEncodable {
        var id: Int
        var title: String
        var done: Bool
    }

    /// Serves a number of tasks until the process ends.
    func serve(_ count: Int) async throws {
        let tasks = TaskSample.tasks(count).map { CodableTask(id: $0.id ?? 0, title: $0.title, done: $0.done) }
        let router = Router()
        switch self {
        case .codable: router.get("tasks") { _, _ in tasks }
        case .encoded:
            let encoder = JSONEncoder()
            encoder.outputFormatting = .sortedKeys
            let body = ByteBuffer(bytes: try encoder.encode(tasks))
            router.get("tasks") { _, _ in
                Response(
                    status: .ok, headers: [.contentType: "application/json"], body: ResponseBody(byteBuffer: body))
            }
        }
        var logger = Logger(label: rawValue)
        logger.logLevel = .warning
        let application = Application(
            router: router, configuration: ApplicationConfiguration(address: .hostname("127.0.0.1", port: 0)),
            onServerRunning: { channel in
                print("listening on http://127.0.0.1:\(channel.localAddress?.port ?? 0)/")
                fflush(nil)
            },
            logger: logger)
        try await application.runService()
    }
}

/// The tasks to serve.
enum TaskSample {
    static func tasks(_ count: Int) -> [TaskRecord] {
        (0..<count).map { number in
            let isEven = number.isMultiple(of: 2)
            return TaskRecord(id: number + 1, title: isEven ? "Clean Room" : "Check Twitter", done: !isEven)
        }
    }
}
