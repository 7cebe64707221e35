// The plain scanner: it handles every possible delimited text byte by byte, including errors and the ends of chunks. It
// is the specification; the fast scanner must never differ from it.
//
// SPEC: RFC 4180 section 2, as this grammar. The byte order mark is allowed only at the beginning:
//
//     input   = [mark] *(comment / blank / record) [record without its end]
//     record  = field *(delimiter field) end
//     field   = quote *(text / delimiter / CR / LF / quote quote) quote / *text
//     comment = comment-byte *(text / delimiter / quote) end
//     blank   = end
//     end     = CR LF / CR / LF

import PlistStreaming

extension CSVScanner {
    /// Scans to the end of a record or of the chunk; returns true if a record is complete.
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
                try beginRecord(byte)
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

    /// Moves past a byte, which may end a line.
    func skip(_ byte: UInt8) {
        offset += 1
        if byte == 0x0A { chunkPlace.beginLine(at: inputOffset) }
    }

    /// Skips a byte of a byte order mark at the beginning; an incomplete mark becomes the start of the first field.
    private func scanMark(_ byte: UInt8) {
        let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
        let index = inputOffset
        guard index < 3, byte == mark[index] else {
            state = index == 0 ? .record : .bare
            field = record
            if index == 0 { discardPart() }
            return
        }
        offset += 1
        guard index == 2 else { return }
        state = .record
        discardPart()
        // The byte order mark does not count in the column.
        chunkPlace.lineOffset = inputOffset
    }

    /// Begins a record, unless the line is a comment or empty.
    private func beginRecord(_ byte: UInt8) throws(StreamError) {
        record = place
        // These bytes never occur in UTF-8. The first one of a text is part of a byte order mark.
        if inputOffset == 0, byte >= 0xFE, options.encoding == .utf8 {
            throw fail(.invalidText, "expected UTF-8, found UTF-16", record)
        }
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

    /// Scans a field without quotes; returns true if its record ends.
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
                    "expected a delimiter or the end of the line, found a quote in an unquoted field",
                    place)
            }
            try checkField()
            offset += 1
        }
        return false
    }

    /// Scans text within quotes, up to a quote.
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

    /// Examines the byte after a quote within quotes; returns true if the record ends.
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
                "expected a delimiter or the end of the line after a closing quote, found another byte",
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

    /// Throws if the field already has the maximum number of bytes.
    private func checkField() throws(StreamError) {
        guard inputOffset - field.offset >= fieldLimit else { return try checkRecord() }
        let isQuoted = state != .bare
        let message = "more than \(fieldLimit) bytes in a field" + (isQuoted ? "; is the closing quote missing?" : "")
        throw fail(.limitExceeded, message, field)
    }

    /// Throws if the record already has the maximum number of bytes.
    private func checkRecord() throws(StreamError) {
        guard inputOffset - record.offset >= recordLimit else { return }
        throw fail(.limitExceeded, "more than \(recordLimit) bytes in a record", record)
    }
}
