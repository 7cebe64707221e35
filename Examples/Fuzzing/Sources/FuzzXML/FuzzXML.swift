// Feeds arbitrary bytes to the XML reader: whole, byte by byte, and in pieces chosen by the first bytes. All ways must give
// the same trace, or the same error at the same offset.

import FuzzInputs
import PlistStreaming
import XMLStreaming

@main
enum FuzzXML {
    static func main() {
        FuzzInput.run { start, count in
            fuzzXML(Array(UnsafeRawBufferPointer(start: start, count: count)))
            return 0
        }
    }
}

private func fuzzXML(_ bytes: [UInt8]) {
    guard let first = bytes.first else { return }
    var options = XMLReaderOptions(
        limits: first & 1 == 0 ? .standard : StreamLimits(depth: 5, stringByteCount: 70),
        knowsNamespaces: first & 2 == 0, externalEntities: first & 4 == 0 ? .skip : .reject)
    if first & 8 != 0 { (options.expansionByteLimit, options.expansionFactorLimit) = (100, 2) }
    let unwanted: Set<String> = first & 16 == 0 ? [] : ["a"]
    let document = Array(bytes.dropFirst())
    let whole = outcome(document, pieces: [document.count], options, unwanted)
    let inPieces = outcome(document, pieces: bytes.prefix(16).map { Int($0) + 1 }, options, unwanted)
    check(inPieces == whole, "pieces: \(inPieces) and whole: \(whole)")
    let byByte = outcome(document, pieces: [1], options, unwanted)
    check(byByte == whole, "by byte: \(byByte) and whole: \(whole)")
}

/// Returns the trace and the error of reading in pieces with repeating sizes.
private func outcome(
    _ bytes: [UInt8], pieces: [Int], _ options: XMLReaderOptions, _ unwanted: Set<String>
) -> String {
    var reader = XMLReader(sink: Trace(unwanted: unwanted), options: options)
    do throws(StreamError) {
        for piece in bytes.pieces(pieces) { try reader.feed(Array(bytes[piece])) }
        try reader.finish()
        return reader.sink.line
    } catch {
        check(error.kind != .misuse, "the reader broke the grammar: \(error)")
        check(reader.sink.abandonment == error, "the sink was told something else than \(error)")
        check((error.position?.byteOffset ?? -1) <= bytes.count, "an offset behind the end")
        return reader.sink.line + " ! \(error.kind) \(error)"
    }
}

/// Records messages as text. Adjacent pieces of text are joined, because chunks may divide them.
private struct Trace: XMLSink {
    let unwanted: Set<String>
    private(set) var line = ""
    private(set) var abandonment: StreamError?
    /// Whether the last message was text from a CDATA section, or nil if it wasn't text.
    private var isCDATA: Bool?

    init(unwanted: Set<String>) { self.unwanted = unwanted }

    private mutating func record(_ parts: String...) {
        line += " " + parts.joined(separator: " ")
        isCDATA = nil
    }

    private func text(_ name: borrowing XMLName) -> String {
        "{\(String(xml: name.namespace))}\(String(xml: name.qualified))"
    }

    private func text(_ attributes: borrowing XMLAttributes) -> String {
        (0..<attributes.count).map { index in
            "\(text(attributes[index].name))=\(String(xml: attributes[index].value)) \(attributes[index].isDefaulted)"
        }.joined(separator: ", ")
    }

    mutating func declaration(_ declaration: borrowing XMLDeclaration) throws(StreamError) {
        record("xml", String(xml: declaration.version), String(xml: declaration.encoding))
    }

    mutating func documentType(_ type: borrowing XMLDocumentType) throws(StreamError) {
        record("doctype", String(xml: type.name), String(xml: type.publicID), String(xml: type.systemID))
        record(String(xml: type.internalSubset))
    }

    mutating func startElement(_ tag: borrowing XMLStartTag) throws(StreamError) -> XMLInterest {
        record("<" + text(tag.name), text(tag.attributes), text(tag.declarations), tag.isEmptyElement ? "/>" : ">")
        return unwanted.contains(String(xml: tag.name.qualified)) ? .skipChildren : .content
    }

    mutating func endElement(_ tag: borrowing XMLEndTag) throws(StreamError) { record("</" + text(tag.name)) }

    mutating func text(_ text: borrowing XMLText) throws(StreamError) {
        check(text.utf8.byteCount > 0, "an empty piece of text")
        if isCDATA != text.isCDATA { record(text.isCDATA ? "cdata" : "text", "") }
        isCDATA = text.isCDATA
        line += String(xml: text.utf8)
    }

    mutating func comment(_ comment: borrowing XMLComment) throws(StreamError) {
        record("<!--" + String(xml: comment.utf8))
    }

    mutating func processingInstruction(_ instruction: borrowing XMLProcessingInstruction) throws(StreamError) {
        record("<?" + String(xml: instruction.target), String(xml: instruction.data))
    }

    mutating func skippedEntity(_ reference: borrowing XMLSkippedEntity) throws(StreamError) {
        record("&" + String(xml: reference.name))
    }

    mutating func endDocument() throws(StreamError) { record("end") }

    mutating func cancel(with error: StreamError) { abandonment = error }
}
