// Feeds arbitrary bytes to the JSON reader: whole, at the end of a document, with padding for the fast loop, byte by byte, in
// pieces chosen by the first bytes, and several times in one array with small changes. All ways must give the same trace, or
// the same error at the same offset.

import FuzzInputs
import JSONStreaming
import PlistStreaming

@main
enum FuzzJSONReader {
    static func main() {
        FuzzInput.run { start, count in
            fuzzJSONReader(Array(UnsafeRawBufferPointer(start: start, count: count)))
            return 0
        }
    }
}

private func fuzzJSONReader(_ bytes: [UInt8]) {
    guard let first = bytes.first else { return }
    let options = JSONReaderOptions(
        limits: first & 1 == 0 ? .standard : StreamLimits(depth: 5, stringByteCount: 70, numberByteCount: 66),
        allowsMultipleValues: first & 2 != 0)
    let document = Array(bytes.dropFirst())
    let whole = outcome(document, pieces: [document.count], options)
    let inPieces = outcome(document, pieces: bytes.prefix(16).map { Int($0 & 63) + 1 }, options)
    check(inPieces == whole, "pieces: \(inPieces) and whole: \(whole)")
    let sizes = bytes.prefix(16).map { Int($0) * 2 + 1 }
    let withLast = outcome(document, pieces: sizes, options, endsWithLast: true)
    check(withLast == whole, "pieces and the last: \(withLast) and whole: \(whole)")
    let byByte = outcome(document, pieces: [1], options)
    check(byByte == whole, "by byte: \(byByte) and whole: \(whole)")
    let asLast = outcome(document, pieces: [document.count], options, endsWithLast: true)
    check(asLast == whole, "as the last: \(asLast) and whole: \(whole)")
    // With trailing spaces, the fast loop can read the whole document.
    expectSamePlain(document + [UInt8](repeating: 0x20, count: 128), options)
    // The document again, and then with one changed byte, so that the reader's knowledge of its members is almost right. The
    // reader learns nothing in the first 2 KiB.
    var other = document
    if bytes.count > 3 { other[Int(bytes[1]) &* Int(bytes[2]) % other.count] = bytes[3] }
    let comma = [UInt8(ascii: ",")]
    let again =
        [UInt8](repeating: 0x20, count: 2_048) + [UInt8(ascii: "[")] + document + comma + document + comma + other + [
            UInt8(ascii: "]")
        ]
    expectSamePlain(again + [UInt8](repeating: 0x20, count: 128), options)
}

private func expectSamePlain(_ text: [UInt8], _ options: JSONReaderOptions) {
    let whole = outcome(text, pieces: [text.count], options)
    // The fast loop doesn't read pieces of less than 48 bytes.
    let inPieces = outcome(text, pieces: [40], options)
    check(inPieces == whole, "pieces: \(inPieces) and whole: \(whole)")
}

/// Returns the trace and the error of reading in pieces with repeating sizes.
private func outcome(
    _ bytes: [UInt8], pieces: [Int], _ options: JSONReaderOptions, endsWithLast: Bool = false
) -> String {
    var scanner = JSONScanner(options: options)
    var trace = EventTrace()
    do throws(StreamError) {
        for place in bytes.pieces(pieces) {
            try bytes.withUnsafeBufferPointer { buffer throws(StreamError) in
                let piece = UnsafeRawBufferPointer(buffer).bytes.extracting(place)
                if endsWithLast && place.upperBound == bytes.count {
                    try scanner.scanLast(piece, into: &trace)
                } else {
                    try scanner.scan(piece, into: &trace)
                }
            }
        }
        if !endsWithLast || bytes.isEmpty { try scanner.finish(into: &trace) }
        check(trace.grammar.isComplete, "the trace ends inside a container")
        return trace.text
    } catch {
        check(error.kind != .misuse, "the reader broke the grammar: \(error)")
        check((error.position?.byteOffset ?? -1) <= bytes.count, "an offset behind the end")
        return trace.text + " ! \(error.kind) \(error)"
    }
}
