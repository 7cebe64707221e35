// Feeds arbitrary bytes to the readers of property lists in XML and in the old text format: whole, byte by byte, and in
// pieces chosen by the first bytes. All ways must give the same trace, or the same error at the same place. Everything that
// is read must be equal after writing and reading it again.

import FuzzInputs
import PlistStreaming
import PropertyListFiles

@main
enum FuzzTextPlist {
    static func main() {
        FuzzInput.run { start, count in
            fuzzTextPlist(Array(UnsafeRawBufferPointer(start: start, count: count)))
            return 0
        }
    }
}

private func fuzzTextPlist(_ bytes: [UInt8]) {
    guard bytes.count > 4 else { return }
    let limits =
        bytes[0] & 1 == 0 ? StreamLimits.standard : StreamLimits(depth: 5, stringByteCount: 70, numberByteCount: 20)
    let sizes = bytes[1..<4].map { Int($0 & 31) + 1 }
    let rest = Array(bytes[4...])
    // Half of the XML documents are enclosed in the required element.
    let isXML = bytes[0] & 2 != 0
    let document = bytes[0] & 6 == 6 ? Array("<plist>".utf8) + rest + Array("</plist>".utf8) : rest
    let whole = outcome(document, [document.count], isXML, limits)
    for pieces in [[1], sizes] {
        let inPieces = outcome(document, pieces, isXML, limits)
        check(inPieces.text == whole.text, "pieces \(pieces): \(inPieces.text) and whole: \(whole.text)")
    }
    guard whole.isGood else { return }
    isXML ? expectKeptInXML(document, whole.text) : expectKeptInOldText(document, whole.text)
}

private func outcome(
    _ bytes: [UInt8], _ pieces: [Int], _ isXML: Bool, _ limits: StreamLimits
) -> (text: String, isGood: Bool) {
    var xml = XMLPlistReader(sink: EventTrace(), options: XMLPlistReaderOptions(limits: limits))
    var old = OpenStepPlistReader(sink: EventTrace(), options: OpenStepPlistReaderOptions(limits: limits))
    do throws(StreamError) {
        for piece in bytes.pieces(pieces) {
            if isXML { try xml.feed(Array(bytes[piece])) } else { try old.feed(Array(bytes[piece])) }
        }
        if isXML { try xml.finish() } else { try old.finish() }
    } catch {
        let trace = isXML ? xml.sink : old.sink
        check(error.kind != .misuse, "the reader broke the grammar: \(error)")
        check(
            (error.position?.byteOffset ?? -1) <= bytes.count && error.position != nil, "no offset, or behind the end")
        return (trace.text + " ! \(error.kind) \(error)", false)
    }
    let trace = isXML ? xml.sink : old.sink
    check(trace.grammar.isComplete, "the trace ends inside a container")
    return (trace.text, true)
}

private func expectKeptInXML(_ document: [UInt8], _ expected: String) {
    var writer = XMLPlistWriter()
    var again = EventTrace()
    do throws(StreamError) {
        try writer.readXMLPlist(document)
        try writer.finish()
    } catch {
        // Numbers beyond 128 bits.
        check(error.kind == .unrepresentable, "not written: \(error)")
        return
    }
    do throws(StreamError) { try again.readXMLPlist(writer.bytes) } catch { fatalError("not read again: \(error)") }
    check(again.text == expected, "\(again.text) instead of \(expected)")
}

private func expectKeptInOldText(_ document: [UInt8], _ expected: String) {
    var writer = OpenStepPlistWriter(options: OpenStepPlistWriterOptions(layout: .pretty(indent: 1)))
    var again = EventTrace()
    do throws(StreamError) {
        try writer.readOpenStepPlist(document)
        try writer.finish()
    } catch {
        // Numbers beyond 128 bits, and fractions of seconds.
        check(error.kind == .unrepresentable, "not written: \(error)")
        return
    }
    do throws(StreamError) { try again.readOpenStepPlist(writer.bytes) } catch {
        fatalError("not read again: \(error)")
    }
    check(again.text == expected, "\(again.text) instead of \(expected)")
}
