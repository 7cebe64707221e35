// Turns messages into staged records. It tracks the position of each message in the records, and the row and slot that it
// sets. Scalars are handled in `+Scalars`, batches are written in `+Batches`.

import PlistStreaming
import SQLiteStreaming

/// The state of an import.
struct ImportStateMachine {
    /// An open dictionary or array within a record.
    struct Frame {
        let node: ImportNode
        /// The row of the dictionary, or of the parent for an array.
        let row: Int
        let isArray: Bool
        /// For a dictionary, the last named member, or -1 before the first one or for an unknown one. For an array, the
        /// relationship.
        var member: Int
        /// For an array, the number of children so far.
        var childCount = 0
    }

    let connection: SQLiteConnection
    let options: ImportOptions
    let arena: ImportArena
    let root: ImportNode
    /// All tables, beginning with the root.
    let nodes: [ImportNode]
    /// A Boolean value that indicates whether a table occurs in more than one place of a record. Its rows are then written
    /// record by record. Table by table, all rows of one place would come before those of the other.
    let hasRepeatedTables: Bool
    /// The length limit of texts and blobs.
    let lengthLimit: Int

    // The document that contains the records.
    /// The number of open dictionaries of the root path.
    private var pathDepth = 0
    /// A Boolean value that indicates whether the last key was the next one of the root path.
    private var isOnPath = false
    /// A Boolean value that indicates whether the array of records is open.
    private var isInRecords = false
    var hasFoundRecords = false

    // The record.
    var frames: [Frame] = []
    /// The number of open containers within an ignored value.
    var skippedDepth = 0
    /// The index of the record, from 0.
    private(set) var recordIndex = 0
    /// The numbers of rows of each table and of bytes before the current record.
    private var rowMarks: [Int]
    private var arenaMark = 0

    // The batch.
    /// The staged records, by their indexes in the input.
    var stagedRecords: [Int] = []
    /// The number of staged records at the beginning that wait for records they refer to.
    var waitingCount = 0
    /// The number of bytes of the waiting records.
    var waitingByteCount = 0
    var batchSize: ImportBatchSize
    /// The number of records that earlier runs imported.
    var resumedCount = 0
    var report = ImportReport()
    /// A Boolean value that indicates whether an error has ended the import.
    /// The transaction of other code that contains the earlier batches.
    var surrounding = SurroundingTransaction()
    var isBroken = false
    var isFinished = false

    init(_ table: ImportTable, connection: SQLiteConnection, options: ImportOptions) throws(SQLiteError) {
        self.connection = connection
        self.options = options
        arena = ImportArena()
        batchSize = ImportBatchSize(startingWith: options.batchSize, largest: options.batchSizeLimit)
        lengthLimit = connection.limit(.length)
        var nodes: [ImportNode] = []
        root = try ImportNode.makeTree(
            table, needs: ImportNode.Needs(), arena: arena, connection: connection, into: &nodes)
        self.nodes = nodes
        hasRepeatedTables = Set(nodes.map { SQLiteName.folded($0.table.name) }).count < nodes.count
        rowMarks = Array(repeating: 0, count: nodes.count)
        if options.createsTables {
            try connection.atomically { () throws(SQLiteError) in try ImportSchema.create(table, in: connection) }
        }
        for node in nodes {
            try node.begin(ImportSchema.check(node))
        }
        try readProgress()
    }

    /// Ends all statements.
    func end() {
        for node in nodes { node.end() }
    }

    // MARK: Containers

    /// Counts a container that begins or ends within an ignored value. Returns false outside of ignored values.
    private mutating func skips(_ change: Int) throws(StreamError) -> Bool {
        try checkIsUsable()
        guard skippedDepth > 0 else { return false }
        skippedDepth += change
        return true
    }

    mutating func beginArray() throws(StreamError) {
        if try skips(1) { return }
        guard let frame = frames.last else { return try beginDocumentArray() }
        guard !frame.isArray else { return try fail(.typeMismatch, "expected a record, found an array", opened: 1) }
        guard frame.member >= 0 else { return skippedDepth = 1 }
        guard case .relationship(let index) = frame.node.members[frame.member],
            !frame.node.relationships[index].isToOne
        else {
            return try fail(.typeMismatch, "expected \(expectation(frame)), found an array", opened: 1)
        }
        guard try markGiven(frame, index, opened: 1) else { return }
        frames.append(Frame(node: frame.node, row: frame.row, isArray: true, member: index))
    }

    mutating func endArray() throws(StreamError) {
        if try skips(-1) { return }
        guard frames.last?.isArray ?? isInRecords else { throw misuse("got endArray without an open array") }
        if frames.popLast() == nil { (isInRecords, isOnPath) = (false, false) }
    }

    mutating func beginDictionary() throws(StreamError) {
        if try skips(1) { return }
        guard let frame = frames.last else { return try beginDocumentDictionary() }
        if frame.isArray {
            let child = frame.node.relationships[frame.member].node
            let row = child.rows.append(parent: frame.row, record: stagedRecords.count)
            frames.append(Frame(node: child, row: row, isArray: false, member: -1))
            return
        }
        guard frame.member >= 0 else { return skippedDepth = 1 }
        guard case .relationship(let index) = frame.node.members[frame.member],
            frame.node.relationships[index].isToOne
        else {
            return try fail(.typeMismatch, "expected \(expectation(frame)), found a dictionary", opened: 1)
        }
        let relationship = frame.node.relationships[index]
        let row = relationship.node.rows.append(parent: -1, record: stagedRecords.count)
        frame.node.rows[frame.row, relationship.link] = .link(row)
        frames.append(Frame(node: relationship.node, row: row, isArray: false, member: -1))
    }

    mutating func endDictionary() throws(StreamError) {
        if try skips(-1) { return }
        guard let frame = frames.last else {
            guard pathDepth > 0 else { throw misuse("got endDictionary without an open dictionary") }
            pathDepth -= 1
            isOnPath = false
            return
        }
        guard !frame.isArray else { throw misuse("got endDictionary without an open dictionary") }
        // The innermost container is already closed.
        guard try endRow(frame.node, frame.row, opened: -1) else { return }
        frames.removeLast()
        try endChild()
    }

    /// Counts a complete child. After a complete record, writes the batch if it is full.
    private mutating func endChild() throws(StreamError) {
        if !frames.isEmpty {
            if frames[frames.count - 1].isArray { frames[frames.count - 1].childCount += 1 }
            return
        }
        stagedRecords.append(recordIndex)
        recordIndex += 1
        if stagedRecords.count - waitingCount >= batchSize.count
            || stagedByteCount - waitingByteCount >= options.batchByteLimit
        {
            try writeBatch()
        }
    }

    var stagedByteCount: Int { nodes.reduce(arena.count) { $0 + $1.rows.count * $1.rows.rowByteCount } }

    /// Checks that a row has all required values.
    private mutating func endRow(_ node: ImportNode, _ row: Int, opened: Int) throws(StreamError) -> Bool {
        let missing = node.requiredMask & ~node.rows[header: row].mask
        guard missing != 0 else { return true }
        let key = node.key(ofSlot: missing.trailingZeroBitCount)
        if !frames.isEmpty, !frames[frames.count - 1].isArray { frames[frames.count - 1].member = -1 }
        try fail(.missingMember, "expected a value, found none", member: key, opened: opened)
        return false
    }

    /// Records that a record has a to-many relationship, which may occur only once.
    mutating func markGiven(_ frame: Frame, _ index: Int, opened: Int) throws(StreamError) -> Bool {
        let flag: UInt32 = 1 << UInt32(index)
        guard frame.node.rows[header: frame.row].flags & flag == 0 else {
            try fail(.duplicateKey, "the record contains the relationship twice", opened: opened)
            return false
        }
        frame.node.rows[header: frame.row].flags |= flag
        return true
    }

    // MARK: Containers around records

    /// A Boolean value that indicates whether the next value contains the records.
    var expectsRecords: Bool {
        isInRecords || (pathDepth == options.rootPath.count && (pathDepth == 0 || isOnPath))
    }

    private mutating func beginDocumentArray() throws(StreamError) {
        guard expectsRecords else { return try skipDocumentValue("an array", opened: 1) }
        guard !isInRecords else { return try fail(.typeMismatch, "expected a record, found an array", opened: 1) }
        isInRecords = true
        hasFoundRecords = true
    }

    private mutating func beginDocumentDictionary() throws(StreamError) {
        if !expectsRecords {
            guard pathDepth == 0 || isOnPath else { return skippedDepth = 1 }
            pathDepth += 1
            isOnPath = false
            return
        }
        hasFoundRecords = true
        if recordIndex < resumedCount {
            recordIndex += 1
            skippedDepth = 1
            return
        }
        for (index, node) in nodes.enumerated() { rowMarks[index] = node.rows.count }
        arenaMark = arena.count
        let row = root.rows.append(parent: -1, record: stagedRecords.count)
        frames.append(Frame(node: root, row: row, isArray: false, member: -1))
    }

    /// Ignores a value outside of the root path. A value on the root path that can't contain the records is an error.
    mutating func skipDocumentValue(_ found: String, opened: Int) throws(StreamError) {
        guard pathDepth > 0, !isOnPath else {
            let path = StreamPath(options.rootPath.prefix(pathDepth).map { .key($0) })
            throw broken(
                StreamError(
                    .typeMismatch, "expected a dictionary on the path to the records, found \(found)", path: path))
        }
        skippedDepth = opened
    }

    mutating func writeKey(_ utf8: RawSpan) throws(StreamError) {
        try checkIsUsable()
        guard skippedDepth == 0 else { return }
        let last = frames.count - 1
        guard last >= 0 else {
            guard pathDepth > 0 else { throw misuse("got writeKey outside of a dictionary") }
            isOnPath = pathDepth <= options.rootPath.count && utf8.equals(options.rootPath[pathDepth - 1])
            return
        }
        guard !frames[last].isArray else { throw misuse("got writeKey outside of a dictionary") }
        let member = frames[last].node.keys.index(of: utf8)
        frames[last].member = member ?? -1
        if member == nil, options.unknownMembers == .reject {
            try fail(
                .unknownMember, "the table has no column or relationship for this key",
                member: String(validating: utf8) ?? "?", opened: 0)
        }
    }

    // MARK: Failures

    func checkIsUsable() throws(StreamError) {
        if isBroken { throw StreamError(.misuse, "the import ended with an error") }
        if isFinished { throw StreamError(.misuse, "the import is finished") }
    }

    private mutating func misuse(_ found: String) -> StreamError { broken(StreamError(.misuse, "got \(found)")) }

    /// Ends the import with an error.
    mutating func broken(_ error: StreamError) -> StreamError {
        isBroken = true
        return error
    }

    func expectation(_ frame: Frame) -> String {
        switch frame.node.members[frame.member] {
        case .column(let slot): frame.node.table.columns[slot].type.typeDescription
        case .relationship(let index): frame.node.relationships[index].isToOne ? "a record" : "an array"
        }
    }

    /// Returns the path of the current value.
    private func path(_ member: String?) -> StreamPath {
        var path = path(ofRecord: recordIndex)
        for frame in frames {
            if frame.isArray {
                path = path.element(frame.childCount)
            } else if frame.member >= 0 {
                path = path.member(frame.node.keys[frame.member])
            }
        }
        return member.map(path.member) ?? path
    }

    func path(ofRecord index: Int) -> StreamPath {
        StreamPath(options.rootPath.map { .key($0) } + [.index(index)])
    }

    /// Leaves out the current record, or ends the import if too many records have failed.
    ///
    /// - Parameter opened: The number of containers that were opened without a frame.
    @inline(never)
    mutating func fail(
        _ kind: StreamError.Kind, _ message: String, member: String? = nil, opened: Int
    ) throws(StreamError) {
        try recordFailure(recordIndex, StreamError(kind, message, path: path(member)))
        if !frames.isEmpty {
            for (node, mark) in zip(nodes, rowMarks) { node.rows.truncate(to: mark) }
            arena.truncate(to: arenaMark)
        }
        skippedDepth = frames.count + opened
        frames.removeAll(keepingCapacity: true)
        recordIndex += 1
    }

    /// Counts a failed record.
    mutating func recordFailure(_ index: Int, _ error: StreamError) throws(StreamError) {
        report.failedCount += 1
        if report.failures.count < 100 {
            report.failures.append(ImportReport.Failure(recordIndex: index, error: error))
        }
        if report.failedCount > options.failureLimit { throw broken(error) }
    }

    mutating func finish() throws(StreamError) -> ImportReport {
        try checkIsUsable()
        guard frames.isEmpty, skippedDepth == 0, pathDepth == 0, !isInRecords else {
            throw broken(StreamError(.unexpectedEnd, "the records are not complete"))
        }
        guard hasFoundRecords || options.rootPath.isEmpty else {
            throw broken(
                StreamError(
                    .missingMember, "expected records, found none", path: StreamPath(options.rootPath.map { .key($0) }))
            )
        }
        try writeBatch(isLast: true)
        try removeProgress()
        // Values that no column accepts were found while their batch was read.
        report.failures.sort { $0.recordIndex < $1.recordIndex }
        report.recordCount = recordIndex
        report.resumedCount = min(resumedCount, recordIndex)
        isFinished = true
        end()
        return report
    }
}
