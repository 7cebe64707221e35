// Writes all formats except databases.

import CSVStreaming
import JSONStreaming
import PlistStreaming
import PropertyListFiles
import XMLStreaming

extension JSONWriter: TextWriter {}
extension CSVWriter: TextWriter {}
extension XMLPlistWriter: TextWriter {}
extension BinaryPlistWriter: TextWriter {}
extension OpenStepPlistWriter: TextWriter {}
extension XMLRepresentationWriter: TextWriter {}

/// An output in a text format.
struct TextOutput {
    private let descriptor: Int32
    private let arguments: Arguments
    private let warnings: Warnings

    init(descriptor: Int32, _ arguments: Arguments, _ warnings: Warnings) {
        self.descriptor = descriptor
        self.arguments = arguments
        self.warnings = warnings
    }

    func write(_ source: some ValueSource) throws(StreamError) {
        switch arguments.to {
        case .json, .jsonLines:
            if arguments.from.isJSON, arguments.records == nil, let text = source as? TextSource {
                return try sendJSON(text)
            }
            try send(source, to: JSONWriter(descriptor: descriptor, options: jsonOptions))
        case .csv, .tsv:
            try send(source, to: CSVWriter(descriptor: descriptor, options: delimitedOptions))
        case .propertyList:
            let options = XMLPlistWriterOptions(dateFractions: .roundDown)
            try send(source, to: XMLPlistWriter(descriptor: descriptor, options: options))
        case .binaryPropertyList:
            // Apple's tools write a UID as `{CF$UID: 5}` in XML. Such a dictionary becomes a UID again.
            let options = BinaryPlistWriterOptions(writesUIDs: true)
            try send(source, to: BinaryPlistWriter(descriptor: descriptor, options: options))
        case .openStep:
            let options = OpenStepPlistWriterOptions(
                layout: arguments.isPretty ? .pretty(indent: 4) : .compact, dateFractions: .roundDown)
            try send(source, to: OpenStepPlistWriter(descriptor: descriptor, options: options))
        case .xml:
            let writer = XMLWriter(
                descriptor: descriptor, options: arguments.isPretty ? .pretty : XMLWriterOptions())
            try send(source, to: XMLRepresentationWriter(writer))
        case .sqlite: throw StreamError(.misuse, "a database isn't text")
        }
    }

    private var jsonOptions: JSONWriterOptions {
        guard arguments.to == .json else {
            return JSONWriterOptions(sortsKeys: arguments.sortsKeys, allowsMultipleValues: true)
        }
        return JSONWriterOptions(
            layout: arguments.isPretty ? .pretty(indent: 2) : .compact, sortsKeys: arguments.sortsKeys)
    }

    private var delimitedOptions: CSVWriterOptions {
        CSVWriterOptions(
            dialect: arguments.dialect(
                delimiter: arguments.writtenDelimiter ?? arguments.delimiter, of: arguments.to),
            columns: arguments.writtenColumns,
            unknownMembers: arguments.writtenColumns == nil ? .reject : .ignore)
    }

    private func send<Writer: TextWriter & ~Copyable>(
        _ source: some ValueSource, to writer: consuming Writer
    ) throws(StreamError) {
        let sink = SinkReference(GapFilter(writer, arguments, warnings))
        try sink.target.begin()
        try source.send(to: sink)
        try sink.target.finish()
    }

    // PERF: Converting JSON to JSON is three times as fast, because the reader is specialized for the filter and the
    // writer.
    private func sendJSON(_ source: TextSource) throws(StreamError) {
        var filter = GapFilter(JSONWriter(descriptor: descriptor, options: jsonOptions), arguments, warnings)
        try filter.begin()
        try source.sendJSON(to: &filter)
        try filter.finish()
    }
}
