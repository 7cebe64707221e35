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
        guard var bytes = try? JSON.encode(line) else { return }
        bytes.append(UInt8(ascii: "\n"))
        // One call, so that lines of several threads do not mix.
        FileHandle.standardError.write(Data(bytes))
    }
}
