// Feeds arbitrary bytes to the reader of binary property lists, unchanged and with a matching header and trailer. The reader
// must not trap. Everything it reads must be equal after writing and reading it again, and so must its tree.

import FuzzInputs
import PlistBuilding
import PlistStreaming
import PropertyListFiles

@main
enum FuzzBinaryPlist {
    static func main() {
        FuzzInput.run { start, count in
            fuzzBinaryPlist(Array(UnsafeRawBufferPointer(start: start, count: count)))
            return 0
        }
    }
}

private func fuzzBinaryPlist(_ bytes: [UInt8]) {
    expectKept(bytes)
    guard bytes.count > 2 else { return }
    expectKept(list(of: Array(bytes.dropFirst()), offsetByteCount: Int(bytes[0] & 1) + 1))
}

/// Makes a list of objects with references of one byte. Each object begins where the previous one may end, by the length in
/// its first byte.
private func list(of content: [UInt8], offsetByteCount: Int) -> [UInt8] {
    var bytes = Array("bplist00".utf8)
    var offsets: [Int] = []
    var index = 0
    while index < content.count, offsets.count < 255 {
        let marker = content[index]
        let low = Int(marker & 15)
        let count =
            switch marker >> 4 {
            case 1: 1 << min(low, 4)
            case 2, 3: 1 << min(low, 3)
            case 4, 5, 0xA, 0xB, 0xC: min(low, 14)
            case 6, 0xD: 2 * min(low, 14)
            case 8: low + 1
            default: 0
            }
        offsets.append(bytes.count)
        bytes += content[index..<min(content.count, index + 1 + count)]
        index += 1 + count
    }
    let start = bytes.count
    for offset in offsets {
        if offsetByteCount == 2 { bytes.append(UInt8(truncatingIfNeeded: offset >> 8)) }
        bytes.append(UInt8(truncatingIfNeeded: offset))
    }
    bytes += [0, 0, 0, 0, 0, 0, UInt8(offsetByteCount), 1]
    for number in [offsets.count, 0, start] {
        bytes += (0..<8).reversed().map { UInt8(truncatingIfNeeded: number >> (8 * $0)) }
    }
    return bytes
}

private func expectKept(_ bytes: [UInt8]) {
    let options = BinaryPlistReaderOptions(
        limits: StreamLimits(depth: 40), valueLimit: 5_000, contentByteLimit: 1 << 20)
    var trace = EventTrace()
    do throws(StreamError) {
        try trace.readBinaryPlist(bytes, options: options)
    } catch {
        check(error.kind != .misuse, "the reader broke the grammar: \(error)")
        check((error.position?.byteOffset ?? -1) <= bytes.count && error.position != nil, "an offset behind the end")
        return
    }
    check(trace.grammar.isComplete, "the trace ends inside a container")
    var reader = BinaryPlistReader(sink: EventTrace(), options: options)
    do throws(StreamError) {
        for piece in bytes.pieces([7]) { try reader.feed(Array(bytes[piece])) }
        try reader.finish()
        var builder = PropertyListBuilder()
        try builder.readBinaryPlist(bytes, options: options)
        _ = try builder.takeResult()
    } catch {
        fatalError("in pieces, or into a tree: \(error)")
    }
    check(reader.sink.text == trace.text, "in pieces")
    for isUID in [false, true] {
        var writer = BinaryPlistWriter(options: BinaryPlistWriterOptions(nulls: .write, writesUIDs: isUID))
        do throws(StreamError) {
            try writer.readBinaryPlist(bytes, options: options)
            try writer.finish()
        } catch {
            check(error.kind == .duplicateKey, "not written: \(error)")
            return
        }
        var again = EventTrace()
        do throws(StreamError) { try again.readBinaryPlist(writer.bytes) } catch {
            fatalError("not read again: \(error)")
        }
        check(again.text == trace.text, "\(again.text) instead of \(trace.text)")
    }
}
