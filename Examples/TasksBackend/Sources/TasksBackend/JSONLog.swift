// A machine-readable log: one JSON object per line, on standard error.

import Foundation
import JSONStreaming
import Logging
import PlistBuilding

/// Writes each log message as a line of JSON.
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

/// The output for the log and for errors.
enum StandardError {
    /// Writes bytes, in one call if possible, so that the lines of several threads don't mix.
    ///
    /// Bytes that can't be written are lost: a full disk or a closed pipe doesn't end the server.
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
