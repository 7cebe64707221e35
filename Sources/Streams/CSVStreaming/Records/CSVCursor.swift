// Goes from record to record: the header first, then what becomes of each column, then rows of the width that all must have.
// Not generic, so that only the loop over messages is specialised by sinks; it is in CSVCursor+Sending.

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
        /// What fields become, as the options say, and as it is with this sink.
        let declared: FieldKind
        let isDeclared: Bool
        var kind: FieldKind
        /// What is known of the type of the member.
        var shape: UnsafePointer<RecordShape>?
    }

    @usableFromInline let options: CSVReaderOptions
    @usableFromInline let scanner: CSVScanner
    @usableFromInline let texts: FieldTexts
    /// The names of the columns, once they are known; nil where records are arrays.
    private(set) var header: CSVHeader?
    /// A Boolean value that indicates whether records have names, and so are dictionaries.
    @usableFromInline let hasNames: Bool
    /// The number of fields that records have; -1 as long as nobody knows.
    @usableFromInline private(set) var width = -1
    @usableFromInline private(set) var columns = unsafe UnsafeMutableBufferPointer<Column>(start: nil, count: 0)

    /// A Boolean value that indicates whether the columns are the fields in their order.
    @usableFromInline private(set) var isInOrder = true

    /// The record at hand in the batch.
    @usableFromInline var record = 0
    /// The index of the record at hand among those that are sent; -1 before the first.
    @usableFromInline var row = -1
    /// The number of records of the batch.
    var count = 0
    /// A Boolean value that indicates whether the end of the input was told.
    private var isFinished = false
    /// Where the names of the header are, until they were compared with those that the sink wants.
    private var headerPositions: [StreamPosition] = []
    /// A Boolean value that indicates whether the names of the columns are to be compared: not again in a later part of a text.
    private var checksHeader: Bool
    /// A Boolean value that indicates whether the array of the records is begun.
    @usableFromInline var hasBegun = false

    // What a sink has lent; see CSVCursor+Loan.
    @usableFromInline var mayBorrow = true
    @usableFromInline var isLent = false
    @usableFromInline var rest = CSVCursor.untried
    /// A Boolean value that indicates whether it is known what the sink wants.
    @usableFromInline var hasResolved = false
    /// A Boolean value that indicates whether no record of the batch was found that cannot be stored column by column.
    var mayFillColumns = false
    /// A Boolean value that indicates whether fields that no one wants are looked at as well, which only messages do.
    var isStrict = false
    let loan: UnsafeMutablePointer<RowLoan>

    /// The number of records that were sent.
    var rowCount: Int { row + 1 }

    @usableFromInline
    convenience init(options: CSVReaderOptions) {
        self.init(options: options, place: LinePlace(), rowsBefore: 0, isContinuing: false)
    }

    /// Begins at a place behind so many records, which may be that of a record in the middle of a text.
    init(options: CSVReaderOptions, place: LinePlace, rowsBefore: Int, isContinuing: Bool) {
        self.options = options
        checksHeader = !isContinuing
        scanner = CSVScanner(options: options, place: place)
        // What comes before decides on lines without a byte.
        scanner.keepsBlankLines = isContinuing && options.names?.count == 1
        row = rowsBefore - 1
        texts = FieldTexts(options)
        hasNames = options.dialect.hasHeader || options.names != nil
        unsafe loan = .allocate(capacity: 1)
        unsafe loan.initialize(to: RowLoan())
    }

    deinit {
        for index in unsafe columns.indices { unsafe columns[index].key.deallocate() }
        unsafe columns.deallocate()
        unsafe loan.pointee.deallocate()
        unsafe loan.deallocate()
    }

    /// Goes on to the next record of the chunk; false behind the last one that is whole.
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

    /// Goes on to the record that the end of the input ends; false where there is none.
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

    /// Refuses what comes behind an error, or the end of the input.
    @usableFromInline
    func checkGoesOn() throws(StreamError) {
        if let failure = scanner.failure { throw failure }
        guard !isFinished else { throw StreamError(.misuse, "the input has ended; `reset` begins another one") }
    }

    /// Ends the input, behind which nothing more comes. One without a header has no records, either.
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

    // MARK: The header

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
                throw StreamError(.invalidText, "expected UTF-8 in a name of a column", position: position(of: field))
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
            throw StreamError(.duplicateKey, problem.words, position: place)
        }
        for name in options.fieldTypes.keys.sorted() { _ = try header.requiredIndex(of: name) }
        let chosen = options.columns ?? names
        let types = Dictionary(uniqueKeysWithValues: options.fieldTypes.map { (Array($0.utf8), $1) })
        unsafe columns = .allocate(capacity: chosen.count)
        for (index, name) in chosen.enumerated() {
            let field = options.columns == nil ? index : try field(of: name, header, index)
            if field != index { isInOrder = false }
            let key = UnsafeMutableRawBufferPointer.allocate(byteCount: name.utf8.count, alignment: 8)
            unsafe key.copyBytes(from: name.utf8)
            let type = types.isEmpty ? nil : types[Array(name.utf8)]
            let known = options.kinds.isEmpty ? nil : options.kinds[index]
            let kind = type.map { FieldKind($0) } ?? known ?? FieldKind(options.fieldType)
            unsafe columns.initializeElement(
                at: index,
                to: Column(
                    field: field, key: UnsafeRawBufferPointer(key), declared: kind,
                    isDeclared: type != nil, kind: kind, shape: nil))
        }
        width = names.count
        scanner.keepsBlankLines = width == 1
        self.header = header
    }

    /// The field of a chosen column; those before are made.
    private func field(of name: String, _ header: CSVHeader, _ index: Int) throws(StreamError) -> Int {
        do throws(StreamError) {
            return try header.requiredIndex(of: name)
        } catch {
            for made in 0..<index { unsafe columns[made].key.deallocate() }
            unsafe columns.deallocate()
            unsafe columns = UnsafeMutableBufferPointer(start: nil, count: 0)
            throw error
        }
    }

    /// The names of the columns that are sent, to be compared with those that a sink wants, once.
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

    /// The error of a name that no sink wants, at its place in the header.
    @usableFromInline
    func refused(_ problem: NameProblem) -> StreamError {
        let field = unsafe problem.index < columns.count ? columns[problem.index].field : 0
        let position = headerPositions.indices.contains(field) ? headerPositions[field] : .start
        let error = StreamError(.unknownMember, problem.message, position: position)
        scanner.failure = error
        return error
    }

    // MARK: Fields

    /// The number of fields of the record at hand that its columns may have.
    ///
    /// - Throws: `invalidSyntax` where the options refuse a record with fewer or more.
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

    /// The number of fields of the record at hand.
    @usableFromInline var recordFieldCount: Int { unsafe scanner.batch.fieldCount(of: record) }

    /// The message for a field of the record at hand behind those of the columns.
    @usableFromInline
    func message(ofRest field: Int) throws(StreamError) -> ScalarMessage {
        try unsafe message(field, in: record, .text(emptyIsNull: false), nil)
    }

    /// The message for a field of the record at hand that is no column's.
    @usableFromInline
    func message(ofField field: Int) throws(StreamError) -> ScalarMessage {
        try unsafe message(field, in: record, FieldKind(options.fieldType), nil)
    }

    /// The message for a column in the record at hand; bytes are valid until the next one is made.
    @usableFromInline
    func message(of index: Int) throws(StreamError) -> ScalarMessage {
        try unsafe message(columns[index].field, in: record, columns[index].kind, columns[index].shape)
    }

    /// Returns whether the fields of a column are text, unless a sink expects another type.
    @usableFromInline
    func isPlainText(_ index: Int) -> Bool {
        unsafe columns[index].kind == .text(emptyIsNull: false) && columns[index].shape == nil
    }

    /// The message for a column of plain text in the record at hand, by what the sink expects.
    @usableFromInline
    func message(of index: Int, expecting expected: ExpectedValue.Kind) throws(StreamError) -> ScalarMessage {
        let kind = FieldKind(expected) ?? .text(emptyIsNull: false)
        return try unsafe message(columns[index].field, in: record, kind, nil)
    }

    func message(
        _ field: Int, in record: Int, _ kind: FieldKind, _ shape: UnsafePointer<RecordShape>?
    ) throws(StreamError) -> ScalarMessage {
        guard let text = unsafe texts.text(of: field, in: record, scanner.batch) else {
            throw StreamError(.invalidText, "expected UTF-8 in a field that is sent")
        }
        let isQuoted = unsafe texts.isQuoted(field, in: record, scanner.batch)
        guard kind == .member, let shape = unsafe shape, let records = unsafe loan.pointee.records else {
            return try unsafe kind.message(text, isQuoted: isQuoted)
        }
        // Text, unless the type takes only what it looks like.
        let message = try unsafe FieldKind.text(emptyIsNull: true).message(text, isQuoted: isQuoted)
        let other = try unsafe FieldKind.member.message(text, isQuoted: isQuoted)
        return unsafe !takes(shape, message, records) && takes(shape, other, records) ? other : message
    }

    private func takes(
        _ shape: UnsafePointer<RecordShape>, _ message: ScalarMessage, _ records: UnsafeMutablePointer<RecordState>
    ) -> Bool {
        guard unsafe shape.pointee.kind == .scalar || shape.pointee.kind == .optional else { return true }
        // SAFETY: the memory is for a value of the type, whose life ends here.
        let memory = unsafe records.pointee.spareMemory(for: shape)
        guard unsafe shape.pointee.read(message, to: memory) else { return false }
        unsafe shape.pointee.deinitialize(memory)
        return true
    }

    // MARK: Places

    /// An error of a sink behind the last record.
    @usableFromInline
    func atEnd(_ error: StreamError) -> StreamError {
        if let failure = scanner.failure { return failure }
        let error = error.ofSink(at: scanner.chunkPlace.position)
        scanner.failure = error
        return error
    }

    /// The position of a field of the record at hand; of the record for -1.
    @usableFromInline
    func position(of field: Int) -> StreamPosition {
        let batch = unsafe scanner.batch
        guard field > 0 else { return unsafe batch.position(of: Int(batch.records[record].start)) }
        return unsafe batch.position(of: batch.range(of: field, in: record).lowerBound)
    }

    /// An error of a sink or a field, with the place of the column; of the record for -1.
    @usableFromInline @inline(never)
    func located(_ error: StreamError, _ index: Int) -> StreamError {
        // An error of this cursor, which has its place.
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

    /// An error of the scanner, with the record and the field that it is in, behind the header.
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
