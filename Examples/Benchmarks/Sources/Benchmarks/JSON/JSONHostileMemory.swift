// Checks hostile input at sizes that an unoptimized test can't read. The reader must return the value or a clear error
// at the right byte, within a memory limit.
//
//     swift run -c release --package-path Examples/Benchmarks Benchmarks JSONHostileMemory

import JSONStreaming
import PlistStreaming

/// Reads a gigabyte of brackets and similar input, or a hundredth of it in a smoke run.
let jsonHostileMemory = Check(name: "JSONHostileMemory") { scale, _ in
    let size = scale.amount(full: 1 << 30, smoke: 10 << 20)
    let rows = rows(size, scale.amount(full: 100 << 20, smoke: 1 << 20))
    for row in rows { try row.check() }
    return "\(rows.count) inputs of up to \(size >> 20) MiB, each ended as it must within its memory"
}

/// An input that is too large for memory: a beginning, a repeated piece, and an end.
private struct Row {
    let name: String
    var beginning = ""
    let piece: String
    let byteCount: Int
    var end = ""
    var limits = StreamLimits.standard
    /// The expected error and its byte offset, or nil if the input is valid.
    let expected: (kind: StreamError.Kind, byteOffset: Int)?
    /// The largest allowed growth of the resident memory, in bytes.
    let memoryLimit: Int

    func check() throws {
        let chunk = Array(String(repeating: piece, count: max(1, 65_536 / piece.utf8.count)).utf8)
        let canMeasure = resetPeakMemory()
        let before = memory("VmRSS:") ?? 0
        let error = read(chunk)
        let growth = canMeasure ? (memory("VmHWM:") ?? 0) - before : 0
        guard error?.kind == expected?.kind, error == nil || error?.position?.byteOffset == expected?.byteOffset else {
            throw DifferentResults(
                description: "JSONHostileMemory: \(name): got \(error.map(String.init(describing:)) ?? "no error") "
                    + "instead of \(expected.map { "\($0.kind) at byte \($0.byteOffset)" } ?? "none")")
        }
        guard growth <= memoryLimit else {
            throw DifferentResults(
                description: "JSONHostileMemory: \(name): memory grew by \(growth >> 10) KiB, "
                    + "more than \(memoryLimit >> 10)")
        }
    }

    private func read(_ chunk: [UInt8]) -> StreamError? {
        var reader = JSONReader(sink: NullSink(), options: JSONReaderOptions(limits: limits))
        do throws(StreamError) {
            try beginning.withUTF8Span { bytes throws(StreamError) in try reader.feed(bytes) }
            for _ in 0..<byteCount / chunk.count {
                try chunk.withUnsafeBufferPointer { buffer throws(StreamError) in
                    try reader.feed(UnsafeRawBufferPointer(buffer).bytes)
                }
            }
            try end.withUTF8Span { bytes throws(StreamError) in try reader.feed(bytes) }
            try reader.finish()
            return nil
        } catch {
            return error
        }
    }
}

private func rows(_ size: Int, _ valueSize: Int) -> [Row] {
    let small = 4 << 20
    let unlimited = StreamLimits(depth: .max, stringByteCount: .max, numberByteCount: .max)
    return [
        Row(
            name: "brackets", piece: "[", byteCount: size, expected: (.limitExceeded, 1_024), memoryLimit: small),
        // The reader stores one bit per level, in memory that grows by doubling.
        Row(
            name: "brackets without a limit", piece: "[", byteCount: size, limits: unlimited,
            expected: (.unexpectedEnd, size), memoryLimit: size / 8 * 3 + small),
        Row(
            name: "objects", piece: "{\"a\":", byteCount: size, expected: (.limitExceeded, 5 * 1_024),
            memoryLimit: small
        ),
        Row(name: "spaces", piece: " \n\t\r", byteCount: size, end: "[]", expected: nil, memoryLimit: small),
        Row(
            name: "elements", beginning: "[0", piece: ",1", byteCount: size, end: "]", expected: nil, memoryLimit: small
        ),
        Row(
            name: "the name that comes again", beginning: "{\"a\":0", piece: ",\"a\":1", byteCount: size, end: "}",
            expected: nil, memoryLimit: small),
        Row(
            name: "a string", beginning: "\"", piece: "abcdefg ", byteCount: valueSize, end: "\"", limits: unlimited,
            expected: nil, memoryLimit: valueSize * 4 + small),
        Row(
            name: "a string beyond the limit", beginning: "\"", piece: "\\u00e9", byteCount: valueSize, end: "\"",
            limits: StreamLimits(stringByteCount: 65_536), expected: (.limitExceeded, 32_768 * 6 + 6),
            memoryLimit: small),
        Row(
            name: "a number", piece: "1234567890123456", byteCount: 1 << 20, limits: unlimited, expected: nil,
            memoryLimit: 8 * small),
        Row(
            name: "a fraction", beginning: "0.", piece: "1234567890123456", byteCount: 1 << 20, limits: unlimited,
            expected: nil, memoryLimit: 8 * small),
        Row(
            name: "a number beyond the limit", piece: "1234567890123456", byteCount: 1 << 20,
            expected: (.limitExceeded, 4_096), memoryLimit: small),
    ]
}
