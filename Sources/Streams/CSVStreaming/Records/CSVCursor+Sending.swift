// Sends records as messages: a dictionary each if columns have names, otherwise an array.

import PlistBuilding
import PlistStreaming

extension CSVCursor {
    // PERF: CSV/typed; inlinable, so that the loop specializes for sinks of other modules.
    /// Sends the records that a chunk completes.
    @inlinable
    func send<Sink: PlistSink & ~Copyable>(_ bytes: RawSpan, to sink: inout Sink) throws(StreamError) {
        try checkGoesOn()
        do throws(StreamError) {
            // SAFETY: the scanner uses the chunk only within the closure.
            try unsafe bytes.withUnsafeBytes { buffer throws(StreamError) in
                unsafe scanner.beginChunk(buffer)
                while try next() { try sendRecord(to: &sink) }
                scanner.endChunk()
            }
            try endRecordBuffer(of: &sink)
            resetSink()
        } catch {
            throw abandon(&sink, error)
        }
    }

    /// Ends the input, and the array of the records.
    @inlinable
    func finish<Sink: PlistSink & ~Copyable>(into sink: inout Sink) throws(StreamError) {
        try checkGoesOn()
        do throws(StreamError) {
            if try finish() { try sendRecord(to: &sink) }
            try endRecordBuffer(of: &sink)
            endInput()
            do throws(StreamError) {
                if !hasBegun { try begin(&sink) }
                try sink.endArray()
            } catch {
                throw atEnd(error)
            }
            resetSink()
        } catch {
            throw abandon(&sink, error)
        }
    }

    /// Tells the sink that the input has ended.
    @inlinable @inline(never)
    func abandon<Sink: PlistSink & ~Copyable>(_ sink: inout Sink, _ error: StreamError) -> StreamError {
        // An error of the record buffer is no longer an error of the text.
        try? endRecordBuffer(of: &sink)
        resetSink()
        sink.cancel(with: error)
        return error
    }

    /// Begins the array of records, and compares the column names with those that the sink expects.
    @inlinable
    func begin<Sink: PlistSink & ~Copyable>(_ sink: inout Sink) throws(StreamError) {
        if let names = sentNames { try sink.expectColumns(names) }
        try sink.beginArray()
        hasBegun = true
        if let names = takeNamesToCheck(), let problem = sink.problem(ofHeader: names) { throw refused(problem) }
    }

    @inlinable
    func sendRecord<Sink: PlistSink & ~Copyable>(to sink: inout Sink) throws(StreamError) {
        var column = -1
        do throws(StreamError) {
            if !hasBegun { try begin(&sink) }
            if hasNames {
                try sendDictionary(to: &sink, &column)
            } else {
                try sendArray(to: &sink, &column)
            }
        } catch {
            throw located(error, column)
        }
    }

    @inlinable @inline(__always)  // PERF: CSV/typed; once a record.
    func sendDictionary<Sink: PlistSink & ~Copyable>(to sink: inout Sink, _ column: inout Int) throws(StreamError) {
        var (first, isOpen) = (0, false)
        // Setting up the record buffer costs time for each column, so a record of another width uses messages.
        if mayUseRecordBuffer && !hasRecordBuffer && (recordFieldCount == width || !hasResolved) {
            if let port = try unsafe sink.beginRecordBuffer(of: .records) {
                unsafe useRecordBuffer(port)
            } else {
                mayUseRecordBuffer = false
            }
        }
        if hasRecordBuffer {
            if rest == Self.untried { fillRows() }
            if rest == Self.untried { return }
            (first, isOpen) = (rest, true)
            try endRecordBuffer(of: &sink)
            if first == Self.done { return }
        }
        let count = try checkedFieldCount()
        if !isOpen { try sink.beginDictionary() }
        let end = unsafe isInOrder ? min(count, columns.count) : columns.count
        for index in first..<max(first, end) where unsafe columns[index].field < count {
            column = index
            guard isPlainText(index) else {
                let message = try unsafe message(of: index)
                try unsafe sink.writeKey(columns[index].key.bytes)
                try unsafe sink.write(message)
                continue
            }
            try unsafe sink.writeKey(columns[index].key.bytes)
            try unsafe sink.write(message(of: index, expecting: sink.expectedValue().kind))
        }
        column = -1
        try sendRest(to: &sink)
        try sink.endDictionary()
    }

    /// Sends the fields after the last column as a separate member, if the options require it.
    @inlinable
    func sendRest<Sink: PlistSink & ~Copyable>(to sink: inout Sink) throws(StreamError) {
        let count = recordFieldCount
        guard case .keep(let name) = options.longRecords, count > width else { return }
        try name.withUTF8Span { (key) throws(StreamError) in try sink.writeKey(key) }
        try sink.beginArray()
        for field in width..<count { try unsafe sink.write(message(ofRest: field)) }
        try sink.endArray()
    }

    @inlinable
    func sendArray<Sink: PlistSink & ~Copyable>(to sink: inout Sink, _ column: inout Int) throws(StreamError) {
        let count = try checkedFieldCount()
        try sink.beginArray()
        for field in 0..<count {
            column = field
            try unsafe sink.write(message(ofField: field))
        }
        column = -1
        try sink.endArray()
    }
}
