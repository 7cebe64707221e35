// Feeds arbitrary bytes to the CSV reader: whole and in pieces chosen by the first bytes, with the fast and the plain parser,
// into a record buffer and as messages. All ways must give the same trace, or the same error at the same place. Everything
// that is read must be equal after writing and reading it again.

import CSVStreaming
import FuzzInputs
import PlistBuilding
import PlistStreaming

@main
enum FuzzCSV {
    static func main() {
        FuzzInput.run { start, count in
            fuzzCSV(Array(UnsafeRawBufferPointer(start: start, count: count)))
            return 0
        }
    }
}

private struct Line: StreamObject {
    var a = 0
    var b = ""
    var c: Double?
    var d: String?
    var e: Bool?
}

private func fuzzCSV(_ bytes: [UInt8]) {
    guard bytes.count > 4 else { return }
    let pieces = bytes[..<4].map { Int($0) + 1 }
    let options = options(bytes[0], bytes[1])
    let text = Array(bytes[4...])
    // Once unchanged, and once repeated so that the fast parser reads most of it.
    let repeated = Array([text, text, text, text].joined()) + [UInt8](repeating: 0x0A, count: 64)
    for document in [text, repeated] {
        // With such a limit, the plain parser reads everything.
        var plain = options
        plain.limits.stringByteCount = min(plain.limits.stringByteCount, 16_000)
        let expected = trace(document, [document.count + 1], plain)
        for (pieces, options) in [([document.count + 1], options), (pieces, options), ([1], plain), (pieces, plain)] {
            let found = trace(document, pieces, options)
            check(found == expected, "\(pieces): \(found), whole and plain: \(expected)")
        }
        let header = Array("a,b,c,d,e\n".utf8)
        let values = lines(header + document, [document.count + 11], options, isByMessages: true)
        for pieces in [[document.count + 11], pieces] {
            let found = lines(header + document, pieces, options)
            check(found == values, "\(pieces): \(found), messages: \(values)")
        }
        roundTrip(document, options)
    }
}

/// Returns options chosen by two bytes.
private func options(_ first: UInt8, _ second: UInt8) -> CSVReaderOptions {
    let dialect = CSVDialect(
        delimiter: [0x2C, 0x3B, 0x09, 0x2C][Int(first & 3)], quote: second & 3 == 3 ? nil : 0x22,
        comment: first & 4 == 0 ? nil : 0x23, hasHeader: first & 8 != 0)
    var options = CSVReaderOptions(
        dialect: dialect, fieldType: first & 16 == 0 ? .text : .inferred,
        shortRecords: first & 32 == 0 ? .reject : .omit,
        longRecords: first & 64 == 0 ? .reject : second & 4 == 0 ? .ignore : .keep(under: "rest"),
        bareQuotes: first & 128 == 0 ? .reject : .keep, duplicateNames: second & 8 == 0 ? .keep : .reject,
        encoding: [.utf8, .utf8, .latin1, .windows1252][Int(second >> 4 & 3)])
    if second & 64 != 0 {
        options.limits = StreamLimits(stringByteCount: 20, totalByteCount: 400)
        (options.recordByteLimit, options.fieldLimit) = (40, 6)
    }
    return options
}

/// Feeds a text in pieces with repeating sizes.
private func feed<Sink: PlistSink & ~Copyable>(
    _ text: [UInt8], _ pieces: [Int], _ reader: inout CSVReader<Sink>
) throws(StreamError) {
    for piece in text.pieces(pieces) { try reader.feed(Array(text[piece])) }
    try reader.finish()
}

private func trace(_ text: [UInt8], _ pieces: [Int], _ options: CSVReaderOptions) -> String {
    var reader = CSVReader(sink: EventTrace(), options: options)
    do throws(StreamError) { try feed(text, pieces, &reader) } catch {
        check(error.kind != .misuse, "\(error)")
        return "\(reader.sink.text) ! \(error.kind) \(error)"
    }
    return reader.sink.text
}

private func lines(
    _ text: [UInt8], _ pieces: [Int], _ options: CSVReaderOptions, isByMessages: Bool = false
) -> String {
    do throws(StreamError) {
        var options = options
        options.dialect = CSVDialect(quote: options.dialect.quote, comment: options.dialect.comment)
        options.limits = .standard
        (options.recordByteLimit, options.fieldLimit) = (1 << 20, 100)
        // If a type is declared, no values are stored in a record buffer.
        if isByMessages { options.fieldTypes = ["e": .bool] }
        var reader = CSVReader(sink: try ObjectBuilder<[Line]>(), options: options)
        try feed(text, pieces, &reader)
        return "\(try reader.sink.takeResult())"
    } catch {
        return "\(error)"
    }
}

/// Writes the messages of a text, and reads them back.
private func roundTrip(_ text: [UInt8], _ options: CSVReaderOptions) {
    var (first, second) = (EventTrace(), EventTrace())
    var writer = CSVWriter(options: CSVWriterOptions(dialect: options.dialect))
    do throws(StreamError) {
        try writer.readCSV(text, options: options)
        try writer.finish()
        try first.readCSV(text, options: options)
    } catch {
        return
    }
    let written = writer.bytes
    // Names come from the first record, so an empty text has no header.
    guard !written.isEmpty, options.dialect.quote != nil else { return }
    var again = options
    again.encoding = .utf8
    again.limits = .standard
    (again.recordByteLimit, again.fieldLimit) = (1 << 20, 1_000)
    (again.shortRecords, again.longRecords) = (.omit, .reject)
    do throws(StreamError) { try second.readCSV(written, options: again) } catch {
        let shown = String(decoding: written, as: UTF8.self).debugDescription
        fatalError("what was written is refused: \(error): \(shown)")
    }
    // Missing members are read back as empty ones.
    guard options.shortRecords == .reject else { return }
    check(first.text == second.text, "\(first.text), written and read: \(second.text)")
}
