// A log for programs to read: an object of JSON a line, on the standard error.

import Foundation
import JSONStreaming
import Logging
import PlistBuilding

/// Writes each message of a log as a line of JSON.
struct JSONLog: LogHandler {
    var metadata: Logger.Metadata = [:]
    var logLevel: Logger.Level = .info

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    private struct Line: StreamObject {
        var time = Date()
        var level = ""
        var message = ""
        var values: [String: String] = [:]
    }

    func log(event: LogEvent) {
        var line = Line()
        line.level = event.level.rawValue
        line.message = "\(event.message)"
        line.values = metadata.merging(event.metadata ?? [:]) { $1 }.mapValues { "\($0)" }
        guard let text = try? JSON.encodeToString(line) else { return }
        StandardError.send(Array("\(text)\n".utf8))
    }
}

/// Where the log and errors go.
enum StandardError {
    /// Writes bytes, in one call where that is possible, so that lines of several threads do not mix.
    ///
    /// What cannot be written is lost: a full disk, or a reader that is gone, does not end the server.
    static func send(_ bytes: [UInt8]) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { write(STDERR_FILENO, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return }
            rest = rest.dropFirst(count)
        }
    }
}
