// Parses the command line of the server.

import Logging

/// The options of the server.
struct ServerOptions {
    static let usage = """
        usage: TasksBackend [--database PATH] [--port N] [--host ADDRESS] [--memory] [--log LEVEL]
          --database PATH  the database, tasks.sqlite unless given; made when it is not there
          --port N         8080 unless given; 0 for one that is free, which is printed
          --host ADDRESS   127.0.0.1 unless given, so that nobody else reaches it, and no page by a name of its own
          --memory         reads are served from memory; nobody else may open the database meanwhile
          --log LEVEL      info unless given; debug has a line for each request
        """

    struct UsageError: Error, CustomStringConvertible {
        let description: String
    }

    var database = "tasks.sqlite"
    var port = 8080
    var host = "127.0.0.1"
    var isInMemory = false
    var logLevel = Logger.Level.info

    /// A Boolean value that indicates whether only programs on this machine can connect to the server.
    var isLocal: Bool { host == "localhost" || host == "::1" || host.hasPrefix("127.") }

    init(_ arguments: [String]) throws(UsageError) {
        var arguments = arguments[...]
        while let argument = arguments.popFirst() {
            if argument == "--memory" {
                isInMemory = true
                continue
            }
            guard ["--database", "--port", "--host", "--log"].contains(argument) else {
                throw UsageError(description: "there is no option \(argument)")
            }
            guard let value = arguments.popFirst() else { throw UsageError(description: "\(argument) needs a value") }
            switch argument {
            case "--database": database = value
            case "--host": host = value
            case "--port":
                guard let number = UInt16(value) else {
                    throw UsageError(description: "--port needs a number from 0 to 65535, found \(value)")
                }
                port = Int(number)
            default:
                guard let level = Logger.Level(rawValue: value) else {
                    let levels = Logger.Level.allCases.map(\.rawValue).joined(separator: ", ")
                    throw UsageError(description: "--log needs one of \(levels), found \(value)")
                }
                logLevel = level
            }
        }
    }
}
