// The server: a table of tasks in SQLite, available as JSON over HTTP, with a page to view and edit them.
//
//     swift run -c release --package-path Examples/TasksBackend TasksBackend [--database PATH] [--port N] [--memory]
//
// All responses are made in the module `Tasks`, whose tests run when this package is built without `-c release`.

import Foundation
import Hummingbird
import Logging
import Tasks

@main
enum TasksBackend {
    static func main() async {
        // If the reader of the log has exited, writing fails, which is ignored.
        signal(SIGPIPE, SIG_IGN)
        let arguments = Array(CommandLine.arguments.dropFirst())
        if arguments == ["--help"] { return print(ServerOptions.usage) }
        do {
            try await serve(try ServerOptions(arguments))
        } catch let error as ServerOptions.UsageError {
            printError("\(error)\n\(ServerOptions.usage)")
            exit(2)
        } catch {
            printError("\(error)")
            exit(1)
        }
    }

    private static func printError(_ text: String) {
        StandardError.send(Array("TasksBackend: error: \(text)\n".utf8))
    }

    /// Serves until SIGTERM or SIGINT. Then it completes the pending responses within a time limit, and closes the database.
    private static func serve(_ options: ServerOptions) async throws {
        var logger = Logger(label: "tasks", factory: { _ in JSONLog() })
        logger.logLevel = options.logLevel
        let store = try TaskStore(
            path: options.database, reading: options.isInMemory ? .memory : .database, logger: logger)
        let application = Application(
            responder: TaskResponder(store: store, isLocal: options.isLocal),
            server: .http1(
                configuration: .init(
                    additionalChannelHandlers: [ConnectionHandler(), ContinueHandler()],
                    idleTimeout: .seconds(30))),
            configuration: ApplicationConfiguration(
                address: .hostname(options.host, port: options.port),
                availableConnectionsDelegate: .maximum(1_024, logger: logger)),
            onServerRunning: { channel in
                // The program that started this one waits for the line.
                print("listening on http://\(options.host):\(channel.localAddress?.port ?? options.port)/")
                fflush(nil)
            },
            logger: logger)
        let served: Result<Void, any Error>
        do { served = .success(try await application.runService()) } catch { served = .failure(error) }
        try store.close()
        try served.get()
        logger.info("the database is closed", metadata: ["path": "\(options.database)"])
    }
}
