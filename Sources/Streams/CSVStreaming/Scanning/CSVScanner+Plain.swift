// The plain machine: byte by byte, all that a delimited text may be, errors and the ends of chunks included. It is the
// specification; the fast machine must only never differ.
//
// SPEC: RFC 4180 section 2, as this grammar, in which a mark is at the beginning only:
//
//     input   = [mark] *(comment / blank / record) [record without its end]
//     record  = field *(delimiter field) end
//     field   = quote *(text / delimiter / CR / LF / quote quote) quote / *text
//     comment = comment-byte *(text / delimiter / quote) end
//     blank   = end
//     end     = CR LF / CR / LF

import PlistStreaming

extension CSVScanner {
    /// Scans to the end of a record, or of the chunk; true when a record is whole.
    func scanPlainly() throws(StreamError) -> Bool {
        while offset < chunkCount {
            // SAFETY: the offset is below the number of bytes of the chunk.
            let byte = unsafe chunk.load(fromByteOffset: offset, as: UInt8.self)
            switch state {
            case .mark:
                scanMark(byte)
            case .lineFeed:
                state = .record
                if byte == 0x0A { skip(byte) }
            case .record:
                beginRecord(byte)
            case .field:
                field = place
                try countField()
                guard Int(byte) == quote else {
                    state = .bare
                    continue
                }
                try checkRecord()
                state = .quoted
                offset += 1
            case .bare:
                if try scanBare() { return true }
            case .quoted:
                try scanQuoted()
            case .quote:
                if try scanBehindQuote(byte) { return true }
            case .comment:
                if byte == 0x0A || byte == 0x0D { state = byte == 0x0D ? .lineFeed : .record }
                skip(byte)
            }
        }
        return false
    }

    /// Goes on behind a byte, which may end a line.
    func skip(_ byte: UInt8) {
        offset += 1
        if byte == 0x0A { chunkPlace.beginLine(at: inputOffset) }
    }

    /// Skips a byte of a mark at the beginning; what turns out to be none is the first field.
    private func scanMark(_ byte: UInt8) {
        let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
        let index = inputOffset
        guard index < 3, byte == mark[index] else {
            state = index == 0 ? .record : .bare
            field = record
            if index == 0 { forgetPart() }
            return
        }
        offset += 1
        guard index == 2 else { return }
        state = .record
        forgetPart()
        // The column counts what is seen.
        chunkPlace.lineOffset = inputOffset
    }

    /// Begins a record, unless the line is a comment or has no byte.
    private func beginRecord(_ byte: UInt8) {
        record = place
        if Int(byte) == comment {
            state = .comment
            offset += 1
        } else if byte == 0x0A || byte == 0x0D, !keepsBlankLines {
            state = byte == 0x0D ? .lineFeed : .record
            skip(byte)
        } else {
            state = .field
        }
    }

    /// Scans a field without quotes; true when its record ends.
    private func scanBare() throws(StreamError) -> Bool {
        while offset < chunkCount {
            // SAFETY: as above.
            let byte = unsafe chunk.load(fromByteOffset: offset, as: UInt8.self)
            if byte == delimiter {
                try checkRecord()
                endField()
                offset += 1
                state = .field
                return false
            }
            if byte == 0x0A || byte == 0x0D { return try endLine(byte) }
            if Int(byte) == quote, options.bareQuotes == .reject {
                throw fail(
                    .invalidSyntax,
                    "expected a delimiter or the end of the line, found a quote in a field without quotes",
                    place)
            }
            try checkField()
            offset += 1
        }
        return false
    }

    /// Scans what is within quotes, to a quote.
    private func scanQuoted() throws(StreamError) {
        while offset < chunkCount {
            // SAFETY: as above.
            let byte = unsafe chunk.load(fromByteOffset: offset, as: UInt8.self)
            try checkField()
            if Int(byte) == quote {
                state = .quote
                offset += 1
                return
            }
            skip(byte)
        }
    }

    /// Looks at the byte behind a quote within quotes; true when the record ends.
    private func scanBehindQuote(_ byte: UInt8) throws(StreamError) -> Bool {
        if Int(byte) == quote {
            try checkField()
            state = .quoted
            offset += 1
        } else if byte == delimiter {
            try checkRecord()
            endField()
            offset += 1
            state = .field
        } else if byte == 0x0A || byte == 0x0D {
            return try endLine(byte)
        } else {
            throw fail(
                .invalidSyntax,
                "expected a delimiter or the end of the line behind a closing quote, found another byte",
                place)
        }
        return false
    }

    /// Ends the record at the end of its line.
    private func endLine(_ byte: UInt8) throws(StreamError) -> Bool {
        endField()
        try endRecord()
        state = byte == 0x0D ? .lineFeed : .record
        skip(byte)
        return true
    }

    /// Refuses the next byte of a field that has as many as may be.
    private func checkField() throws(StreamError) {
        guard inputOffset - field.offset >= fieldLimit else { return try checkRecord() }
        let isQuoted = state != .bare
        let words = "more than \(fieldLimit) bytes in a field" + (isQuoted ? "; is the closing quote missing?" : "")
        throw fail(.limitExceeded, words, field)
    }

    /// Refuses the next byte of a record that has as many as may be.
    private func checkRecord() throws(StreamError) {
        guard inputOffset - record.offset >= recordLimit else { return }
        throw fail(.limitExceeded, "more than \(recordLimit) bytes in a record", record)
    }
}
