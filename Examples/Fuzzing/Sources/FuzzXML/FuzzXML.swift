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
    var reader = XMLReader(sink: XMLTrace(unwanted: unwanted), options: options)
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
