// Goes from record to record: first the header, then the handling of each column, then rows of equal width. Not
// generic, so that sinks specialize only the loop over messages in CSVCursor+Sending.

import PlistBuilding
import PlistStreaming

/// The records of a delimited text, one after another.
@safe @usableFromInline
final class CSVCursor {
    /// A column that is sent.
    @unsafe @usableFromInline
    struct Column {
        /// The index of the field in each record.
        @usableFromInline let field: Int
        /// The UTF-8 of the name.
        @usableFromInline let key: UnsafeRawBufferPointer
        /// The kind that the options declare for the field, and the kind for the current sink.
        let declared: FieldKind
        let isDeclared: Bool
        var kind: FieldKind
        /// The known shape of the member's type.
        var shape: UnsafePointer<RecordShape>?
    }

    @usableFromInline let options: CSVReaderOptions
    @usableFromInline let scanner: CSVScanner
    @usableFromInline let texts: FieldTexts
    /// The names of the columns, once they are known; nil if records are arrays.
    private(set) var header: CSVHeader?
    /// A Boolean value that indicates whether records have names and are therefore dictionaries.
    @usableFromInline let hasNames: Bool
    /// The number of fields per record, or -1 if it isn't known yet.
    @usableFromInline private(set) var width = -1
    @usableFromInline private(set) var columns = unsafe UnsafeMutableBufferPointer<Column>(start: nil, count: 0)

    /// A Boolean value that indicates whether the columns are the fields in their order.
    @usableFromInline private(set) var isInOrder = true

    /// The index of the current record in the batch.
    @usableFromInline var record = 0
    /// The index of the current record among all sent records; -1 before the first.
    @usableFromInline var row = -1
    /// The number of records of the batch.
    var count = 0
    /// A Boolean value that indicates whether the scanner has received the end of the input.
    private var isFinished = false
    /// The positions of the header's names, until the names were compared with those that the sink expects.
    private var headerPositions: [StreamPosition] = []
    /// A Boolean value that indicates whether the column names must be compared, which happens once per text.
    private var checksHeader: Bool
    /// A Boolean value that indicates whether the array of records has begun.
    @usableFromInline var hasBegun = false

    // The record buffer of a sink; see CSVCursor+RecordBuffer.
    @usableFromInline var mayUseRecordBuffer = true
    @usableFromInline var hasRecordBuffer = false
    @usableFromInline var rest = CSVCursor.untried
    /// A Boolean value that indicates whether the sink's expectations are known.
    @usableFromInline var hasResolved = false
    /// A Boolean value that indicates whether all records of the batch so far can be stored column by column.
    var mayFillColumns = false
    /// A Boolean value that indicates whether unneeded fields are checked too, which only messages do.
    var isStrict = false
    let recordBuffer: UnsafeMutablePointer<RowRecordBuffer>

    /// The number of sent records.
    var rowCount: Int { row + 1 }

    @usableFromInline
    convenience init(options: CSVReaderOptions) {
        self.init(options: options, place: LinePlace(), rowsBefore: 0, isContinuing: false)
    }

    /// Begins at a place after the given number of records, which may be in the middle of a text.
    init(options: CSVReaderOptions, place: LinePlace, rowsBefore: Int, isContinuing: Bool) {
        self.options = options
        checksHeader = !isContinuing
        scanner = CSVScanner(options: options, place: place)
        // The text before this place decides whether empty lines are records.
        scanner.keepsBlankLines = isContinuing && options.names?.count == 1
        row = rowsBefore - 1
        texts = FieldTexts(options)
        hasNames = options.dialect.hasHeader || options.names != nil
        unsafe recordBuffer = .allocate(capacity: 1)
        unsafe recordBuffer.initialize(to: RowRecordBuffer())
    }

    deinit {
        for index in unsafe columns.indices { unsafe columns[index].key.deallocate() }
        unsafe columns.deallocate()
        unsafe recordBuffer.pointee.deallocate()
        unsafe recordBuffer.deallocate()
    }

    /// Advances to the next record of the chunk; returns false after the last complete one.
    @usableFromInline
    func next() throws(StreamError) -> Bool {
        record += 1
        while record >= count {
            do throws(StreamError) {
                guard try scanner.next() else {
                    (record, count) = (0, 0)
                    return false
                }
            } catch {
                throw locate(error)
            }
            try beginBatch()
        }
        row += 1
        return true
    }

    /// Advances to the record that ends with the input; returns false if there is no such record.
    @usableFromInline
    func finish() throws(StreamError) -> Bool {
        do throws(StreamError) {
            guard try scanner.finish() else { return false }
        } catch {
            throw locate(error)
        }
        try beginBatch()
        guard record < count else { return false }
        row += 1
        return true
    }

    /// Refuses further input after an error or the end of the input.
    @usableFromInline
    func checkGoesOn() throws(StreamError) {
        if let failure = scanner.failure { throw failure }
        guard !isFinished else { throw StreamError(.misuse, "the input has ended; call reset to begin another one") }
    }

    /// Ends the input. A text without a header has no records, either.
    @usableFromInline
    func endInput() { isFinished = true }

    private func beginBatch() throws(StreamError) {
        unsafe (record, count, mayFillColumns) = (0, scanner.batch.count, true)
        guard width < 0 else { return }
        do throws(StreamError) {
            if options.dialect.hasHeader {
                try readHeader()
                record = 1
            } else if let names = options.names {
                try take(names)
            } else {
                unsafe width = scanner.batch.fieldCount(of: 0)
                if let name = options.columns?.first ?? options.fieldTypes.keys.sorted().first {
                    _ = try CSVHeader([]).requiredIndex(of: name)
                }
            }
        } catch {
            let error = error.located(at: position(of: -1))
            scanner.failure = error
            throw error
        }
    }

    // MARK: Header

    private func readHeader() throws(StreamError) {
        let count = unsafe scanner.batch.fieldCount(of: 0)
        unsafe headerPositions = scanner.batch.positionsOfFirstRecord()
        if let names = options.names {
            guard names.count == count else {
                throw StreamError(
                    .invalidSyntax, "expected \(names.count) column\(names.count == 1 ? "" : "s"), found \(count)")
            }
            return try take(names)
        }
        var names: [String] = []
        for field in 0..<count {
            guard let text = unsafe texts.text(of: field, in: 0, scanner.batch),
                let name = unsafe String(validating: text.bytes)
            else {
                throw StreamError(.invalidText, "expected UTF-8 in a column name", position: position(of: field))
            }
            names.append(name)
        }
        try take(names)
    }

    private func take(_ names: [String]) throws(StreamError) {
        let header = CSVHeader(names)
        let problem =
            options.duplicateNames == .reject
            ? header.repetition() : options.isForColumns ? header.repetition(among: options.columns) : nil
        if let problem {
            let place = options.names == nil ? position(of: problem.column) : .start
            throw StreamError(.duplicateKey, problem.message, position: place)
        }
        for name in options.fieldTypes.keys.sorted() { _ = try header.requiredIndex(of: name) }
        let chosen = options.columns ?? names
        var fields = Array(names.indices)
        if options.columns != nil {
            fields = try chosen.map { (name) throws(StreamError) in try header.requiredIndex(of: name) }
            isInOrder = fields.elementsEqual(fields.indices)
        }
        let types = Dictionary(uniqueKeysWithValues: options.fieldTypes.map { (Array($0.utf8), $1) })
        unsafe columns = .allocate(capacity: chosen.count)
        for (index, name) in chosen.enumerated() {
            let key = UnsafeMutableRawBufferPointer.allocate(byteCount: name.utf8.count, alignment: 8)
            unsafe key.copyBytes(from: name.utf8)
            let type = types.isEmpty ? nil : types[Array(name.utf8)]
            let known = options.kinds.isEmpty ? nil : options.kinds[index]
            let kind = type.map { FieldKind($0) } ?? known ?? FieldKind(options.fieldType)
            unsafe columns.initializeElement(
                at: index,
                to: Column(
                    field: fields[index], key: UnsafeRawBufferPointer(key), declared: kind,
                    isDeclared: type != nil, kind: kind, shape: nil))
        }
        width = names.count
        scanner.keepsBlankLines = width == 1
        self.header = header
    }

    /// Returns the names of the sent columns once, for comparison with the names that a sink expects.
    @usableFromInline
    func takeNamesToCheck() -> [String]? {
        guard checksHeader, let header else { return nil }
        checksHeader = false
        var names = options.columns ?? header.names
        if case .keep(let name) = options.longRecords { names.append(name) }
        return names
    }

    /// The names of the members of each record, if records are dictionaries.
    @usableFromInline var sentNames: [String]? { header.map { options.columns ?? $0.names } }

    /// Returns the error for a name that the sink doesn't expect, with its position in the header.
    @usableFromInline
    func refused(_ problem: NameProblem) -> StreamError {
        let field = unsafe problem.index < columns.count ? columns[problem.index].field : 0
        let position = headerPositions.indices.contains(field) ? headerPositions[field] : .start
        let error = StreamError(.unknownMember, problem.message, position: position)
        scanner.failure = error
        return error
    }

    // MARK: Fields

    /// Returns the number of fields of the current record that belong to columns.
    ///
    /// - Throws: `invalidSyntax` if the options refuse records with fewer or more fields.
    @usableFromInline
    func checkedFieldCount() throws(StreamError) -> Int {
        let found = unsafe scanner.batch.fieldCount(of: record)
        if found == width { return found }
        if found < width, options.shortRecords == .omit { return found }
        if found > width {
            switch options.longRecords {
            case .reject: break
            case .ignore: return width
            case .keep: return hasNames ? width : found
            }
        }
        let error = StreamError(
            .invalidSyntax, "expected \(width) field\(width == 1 ? "" : "s"), found \(found)",
            position: position(of: min(found - 1, width)), path: StreamPath([.index(row)]))
        scanner.failure = error
        throw error
    }

    /// The number of fields of the current record.
    @usableFromInline var recordFieldCount: Int { unsafe scanner.batch.fieldCount(of: record) }

    /// Returns the message for a field of the current record after the last column.
    @usableFromInline
    func message(ofRest field: Int) throws(StreamError) -> ScalarMessage {
        try unsafe message(field, in: record, .text(emptyIsNull: false), nil)
    }

    /// Returns the message for a field of the current record that belongs to no column.
    @usableFromInline
    func message(ofField field: Int) throws(StreamError) -> ScalarMessage {
        try unsafe message(field, in: record, FieldKind(options.fieldType), nil)
    }

    /// Returns the message for a column in the current record. Its bytes are valid until the next message.
    @usableFromInline
    func message(of index: Int) throws(StreamError) -> ScalarMessage {
        try unsafe message(columns[index].field, in: record, columns[index].kind, columns[index].shape)
    }

    /// Returns whether the fields of a column are text, unless a sink expects another type.
    @usableFromInline
    func isPlainText(_ index: Int) -> Bool {
        unsafe columns[index].kind == .text(emptyIsNull: false) && columns[index].shape == nil
    }

    /// Returns the message for a plain text column in the current record, depending on the type that the sink expects.
    @usableFromInline
    func message(of index: Int, expecting expected: ExpectedValue.Kind) throws(StreamError) -> ScalarMessage {
        let kind = FieldKind(expected) ?? .text(emptyIsNull: false)
        return try unsafe message(columns[index].field, in: record, kind, nil)
    }

    func message(
        _ field: Int, in record: Int, _ kind: FieldKind, _ shape: UnsafePointer<RecordShape>?
    ) throws(StreamError) -> ScalarMessage {
        guard let text = unsafe texts.text(of: field, in: record, scanner.batch) else {
            throw StreamError(.invalidText, "expected UTF-8 in a field")
        }
        let isQuoted = unsafe texts.isQuoted(field, in: record, scanner.batch)
        guard kind == .member, let shape = unsafe shape, let records = unsafe recordBuffer.pointee.records else {
            let message = try unsafe kind.message(text, isQuoted: isQuoted)
            if options.keepsDigits, kind == .number || kind == .real, case .real(let value) = unsafe message,
                unsafe !NumberText.hasDigits(of: text.bytes, value)
            {
                return unsafe .number(text)
            }
            return unsafe message
        }
        // Text, unless the type accepts only the inferred type.
        let message = try unsafe FieldKind.text(emptyIsNull: true).message(text, isQuoted: isQuoted)
        let other = try unsafe FieldKind.member.message(text, isQuoted: isQuoted)
        return unsafe !takes(shape, message, records) && takes(shape, other, records) ? other : message
    }

    private func takes(
        _ shape: UnsafePointer<RecordShape>, _ message: ScalarMessage, _ records: UnsafeMutablePointer<RecordState>
    ) -> Bool {
        guard unsafe shape.pointee.kind == .scalar || shape.pointee.kind == .optional else { return true }
        // SAFETY: the memory is for one value of the type, which is destroyed here.
        let memory = unsafe records.pointee.spareMemory(for: shape)
        guard unsafe shape.pointee.read(message, to: memory) else { return false }
        unsafe shape.pointee.deinitialize(memory)
        return true
    }

    // MARK: Places

    /// Returns an error of a sink that occurs after the last record.
    @usableFromInline
    func atEnd(_ error: StreamError) -> StreamError {
        if let failure = scanner.failure { return failure }
        let error = error.ofSink(at: scanner.chunkPlace.position)
        scanner.failure = error
        return error
    }

    /// Returns the position of a field of the current record, or of the record for -1.
    @usableFromInline
    func position(of field: Int) -> StreamPosition {
        let batch = unsafe scanner.batch
        guard field > 0 else { return unsafe batch.position(of: Int(batch.records[record].start)) }
        return unsafe batch.position(of: batch.range(of: field, in: record).lowerBound)
    }

    /// Returns an error of a sink or a field, with the position of the column, or of the record for -1.
    @usableFromInline @inline(never)
    func located(_ error: StreamError, _ index: Int) -> StreamError {
        // An error of this cursor already has its position.
        if let failure = scanner.failure { return failure }
        var steps = [StreamPath.Step.index(row)]
        var field = -1
        if unsafe hasNames && columns.indices.contains(index) {
            unsafe field = columns[index].field
            unsafe steps.append(.key(String(decoding: columns[index].key, as: UTF8.self)))
        } else if !hasNames && index >= 0 {
            field = index
            steps.append(.index(index))
        }
        if unsafe field >= scanner.batch.fieldCount(of: record) { field = -1 }
        let error = error.ofSink(at: position(of: field)).located(at: StreamPath(steps))
        scanner.failure = error
        return error
    }

    /// Returns an error of the scanner with its record and field, counted after the header.
    private func locate(_ error: StreamError) -> StreamError {
        guard width >= 0 || !options.dialect.hasHeader else { return error }
        let names = header?.names ?? options.names ?? []
        var steps = [StreamPath.Step.index(row + 1)]
        steps.append(scanner.fieldCount < names.count ? .key(names[scanner.fieldCount]) : .index(scanner.fieldCount))
        let error = error.located(at: StreamPath(steps))
        scanner.failure = error
        return error
    }
}
