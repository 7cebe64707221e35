// The fast loop scans whole tokens of plain JSON at the speed of the memory. It never reports an error of the input. At
// unexpected text it stops at the beginning of the token, and the plain scanner reads the token or finds the error.

public import PlistStreaming

extension JSONScanner {
    /// The number of bytes that must follow an offset for the loop to examine a token there; a colon, a space, seven
    /// digits, the next byte and a word of eight bytes need fewer.
    @usableFromInline static let margin: Int = 48

    // PERF: one loop without a call for names, strings and numbers of up to seven bytes; inlinable to specialize for
    // the sink, like its steps. `JSONReader/records` in Examples/Benchmarks measures it.
    /// Scans tokens while they are plain, and returns the offset of the first byte that is not scanned.
    ///
    /// It starts in the states of `State.canStartRuns`, and not at a member's value.
    @inlinable
    mutating func scanRuns<Sink: PlistSink & ~Copyable>(
        _ bytes: RawSpan, from start: Int, into sink: inout Sink
    ) throws(StreamError) -> Int {
        var run = Run(bytes, from: start)
        begin(&run)
        do throws(StreamError) {
            scan: while findToken(bytes, &run) {
                // PERF: JSONReader/records; consecutive members don't go through the states above.
                element: while !run.isAfterValue {
                    if run.isInDictionary, try !sendExpectedName(bytes, &run, to: &sink) {
                        guard findName(bytes, &run) else {
                            if run.isAfterValue { continue scan }
                            break scan
                        }
                        guard try sendString(bytes, &run, isKey: true, to: &sink), passColon(bytes, &run) else {
                            break scan
                        }
                        noteName(bytes, &run)
                    }
                    run.token = run.offset
                    if run.byte == UInt8(ascii: "\"") {
                        guard try sendString(bytes, &run, isKey: false, to: &sink) else { break scan }
                    } else if run.byte &- 0x30 <= 9 || run.byte == UInt8(ascii: "-") {
                        guard try sendNumber(bytes, &run, to: &sink) else { break scan }
                    } else if run.byte == UInt8(ascii: "{") {
                        guard nesting.depth < options.limits.depth else {
                            run.end = .value
                            break scan
                        }
                        // PERF: JSONRecords; records of plain members are stored directly in the memory of the sink.
                        if let port = try unsafe sink.beginRecordBuffer(of: .records) {
                            guard try unsafe storeRecords(bytes, &run, port, to: &sink) else { break scan }
                        } else {
                            try beginDictionary(&run, to: &sink)
                        }
                        continue scan
                    } else if run.byte == UInt8(ascii: "[") {
                        guard try beginArray(bytes, &run, to: &sink) else { break scan }
                        continue scan
                    } else if run.byte == UInt8(ascii: "]") && run.isFirst && !run.isInDictionary {
                        run.isAfterValue = true
                        continue scan
                    } else {
                        guard try sendLiteral(bytes, &run, to: &sink) else { break scan }
                    }
                    guard run.offset <= run.last else {
                        run.end = .afterValue
                        break scan
                    }
                    run.byte = bytes.uncheckedByte(run.offset)
                    guard run.byte == UInt8(ascii: ",") else { break element }
                    run.passComma()
                    run.byte = bytes.uncheckedByte(run.offset)
                    if run.byte <= 0x20 && !run.isInDictionary { continue scan }
                }
                guard try sendEnds(bytes, &run, to: &sink) else { break scan }
                run.passComma()
                run.isAfterValue = false
            }
        } catch {
            if let failure { throw failure }
            tokenOffset = chunkOffset + run.token
            throw fail(error, in: bytes)
        }
        hints.suspend(member: run.member, context: run.context, nesting: nesting)
        state = nesting.depth > 0 ? run.next : run.end == .afterValue ? .afterRoot : .beforeRoot
        return run.offset
    }
}
