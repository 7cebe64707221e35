// Writes everything that the JSON reader accepts, in every layout, and checks that the reader then sends the same messages.
// Also writes messages in any order, which must be rejected or give valid text.

import FuzzInputs
import JSONStreaming
import PlistStreaming

@main
enum FuzzJSONRoundTrip {
    static func main() {
        FuzzInput.run { start, count in
            fuzzJSONRoundTrip(Array(UnsafeRawBufferPointer(start: start, count: count)))
            return 0
        }
    }
}

private func fuzzJSONRoundTrip(_ bytes: [UInt8]) {
    var expected = EventTrace()
    do {
        try expected.readJSON(bytes)
    } catch {
        writeMessages(bytes)
        return
    }
    for options in [JSONWriterOptions(), .pretty, JSONWriterOptions(layout: .pretty(indent: 0))] {
        let text = rewritten(bytes, options)
        var trace = EventTrace()
        do { try trace.readJSON(text) } catch { fatalError("the writer wrote \(error)") }
        check(
            trace.text == expected.text || withReals(trace.text) == withReals(expected.text),
            "\(trace.text) and \(expected.text)")
    }
    // Sorting twice must have the same result as sorting once.
    let sorted = rewritten(bytes, JSONWriterOptions(sortsKeys: true))
    check(rewritten(sorted, JSONWriterOptions(sortsKeys: true)) == sorted, "sorting is not stable")
}

/// Replaces numbers sent as text with their nearest doubles. A few doubles must be sent as text, since only that gives the
/// right `Float`.
private func withReals(_ trace: String) -> String {
    var events = trace.split(separator: " ", omittingEmptySubsequences: false).map { String($0) }
    for index in events.indices.dropLast() where events[index] == "number" {
        guard let value = Double(events[index + 1]), value.isFinite else { continue }
        (events[index], events[index + 1]) = ("real", "\(value)")
    }
    return events.joined(separator: " ")
}

private func rewritten(_ bytes: [UInt8], _ options: JSONWriterOptions) -> [UInt8] {
    var writer = JSONWriter(options: options)
    do {
        try writer.readJSON(bytes)
        try writer.finish()
    } catch {
        fatalError("the writer refused what the reader sent: \(error)")
    }
    return writer.bytes
}

/// Sends a message for each byte. Rejected messages must leave no trace, and accepted ones must be valid JSON.
private func writeMessages(_ bytes: [UInt8]) {
    var writer = JSONWriter(options: JSONWriterOptions(sortsKeys: (bytes.first ?? 0) & 1 == 0, nonFinite: .null))
    var trace = EventTrace()
    for (index, byte) in bytes.enumerated() {
        var isWritten = true
        do throws(StreamError) { try send(byte, bytes, index, to: &writer) } catch { isWritten = false }
        guard isWritten else { continue }
        do throws(StreamError) { try send(byte, bytes, index, to: &trace) } catch {
            fatalError("the writer took what the grammar forbids: \(error)")
        }
    }
    do { try writer.finish() } catch { return }
    var sink = NullSink()
    do { try sink.readJSON(writer.bytes) } catch { fatalError("invalid: \(error) in \(writer.text)") }
}

private func send<Sink: PlistSink & ~Copyable>(
    _ byte: UInt8, _ bytes: [UInt8], _ index: Int, to sink: inout Sink
) throws(StreamError) {
    let end = min(bytes.count, index + Int(byte >> 4))
    let word = bytes[index..<end].reduce(UInt64(byte) << 56) { $0 << 8 | UInt64($1) }
    try bytes.withUnsafeBufferPointer { buffer throws(StreamError) in
        let text = UnsafeRawBufferPointer(buffer).bytes.extracting(index..<max(index, end))
        switch byte & 15 {
        case 0, 1: try sink.beginArray()
        case 2, 3: try sink.endArray()
        case 4: try sink.beginDictionary()
        case 5: try sink.endDictionary()
        case 6, 7, 8: try sink.writeKey(text)
        case 9: try sink.writeString(text)
        case 10: try sink.writeInteger(Int64(bitPattern: word))
        case 11: try sink.writeUnsigned(word)
        case 12: try sink.writeReal(Double(bitPattern: word))
        case 13: try sink.writeData(text)
        case 14: try sink.writeDate(secondsSince2001: Double(Int32(truncatingIfNeeded: word)))
        default: try sink.writeNull()
        }
    }
}
