// The staged records of a batch: rows of cells in flat memory, and text in one arena. Batches reuse the memory.

import PlistBuilding
import SQLiteStreaming
import StringTables

/// The bytes of all text and blobs of a batch.
@safe
final class ImportArena {
    // PERF: SQLiteImport; accessed through a pointer, as in the rows, since accesses to a property of an object are checked.
    // SAFETY: allocated and freed with this object; the memory is never empty.
    private let memory = UnsafeMutablePointer<GrowingMemory<UInt8>>.allocate(capacity: 1)
    private static let smallestCapacity = 1 << 16

    init() {
        unsafe memory.initialize(to: GrowingMemory())
        unsafe memory.pointee.reserve(Self.smallestCapacity)
    }

    deinit {
        unsafe memory.pointee.deallocate()
        unsafe memory.deallocate()
    }

    var base: UnsafeMutableRawPointer { unsafe UnsafeMutableRawPointer(memory.pointee.start.unsafelyUnwrapped) }
    var count: Int { unsafe memory.pointee.count }

    /// Appends bytes and returns their offset.
    func append(_ bytes: UnsafeRawBufferPointer) -> Int {
        let offset = count
        unsafe memory.pointee.append(contentsOf: bytes.bindMemory(to: UInt8.self))
        return offset
    }

    /// Removes the bytes after an offset. Frees memory if a batch was unusually large.
    func truncate(to newCount: Int, keeping byteCount: Int = .max) {
        unsafe memory.pointee.removeLast(count - newCount)
        guard newCount == 0, unsafe memory.pointee.capacity > byteCount else { return }
        unsafe memory.pointee.deallocate()
        unsafe memory.pointee = GrowingMemory()
        unsafe memory.pointee.reserve(Self.smallestCapacity)
    }

    /// Exchanges the contents of two arenas.
    func exchange(with other: ImportArena) { unsafe swap(&memory.pointee, &other.memory.pointee) }

    /// Returns the bytes of a text or blob.
    func bytes(of cell: StagedCell) -> UnsafeRawBufferPointer {
        // SAFETY: `append` made the cell, and its bytes are not truncated while cells refer to them.
        unsafe UnsafeRawBufferPointer(start: base + cell.offset, count: Int(cell.length))
    }
}

/// The staged rows of one table.
@safe
final class ImportRows {
    /// The facts about a row in addition to its cells.
    struct Header {
        /// The slots that have a value or null, one bit each.
        var mask: UInt64 = 0
        /// The parent's row for children of a to-many relationship, or -1.
        var parent: Int32
        /// The index of its record in the batch.
        var record: Int32
        /// The to-many relationships that the record contains, one bit each, and `isLast`.
        var flags: UInt32 = Header.isLast
        var state: State = .missing

        /// Set while no later row of the batch has the same unique key.
        static let isLast: UInt32 = 1 << 31
    }

    /// The result of looking up a row in the table.
    enum State: UInt8, BitwiseCopyable {
        case missing, changed, unchanged
    }

    /// The number of cells of a row.
    let slotCount: Int
    /// The number of cells that statements can read.
    let columnCount: Int
    let arena: ImportArena
    // SAFETY: allocated and freed with this object; each row has `slotCount` cells and a header.
    private let memory = UnsafeMutablePointer<Memory>.allocate(capacity: 1)
    var count: Int { unsafe memory.pointee.headers.count }
    /// The counts of the running upsert.
    var found = Found()

    /// A Boolean value that indicates whether statements skip rows with a different parent in the table.
    var holdsMoved = false

    /// The numbers of rows that an upsert found in the table, of those that differed, of those left to another upsert, and of
    /// those skipped because they have a different parent.
    struct Found {
        var all = 0
        var changed = 0
        var kept = 0
        var held = 0
    }

    @unsafe
    private struct Memory {
        var cells = unsafe GrowingMemory<StagedCell>()
        var headers = unsafe GrowingMemory<Header>()
    }

    init(slotCount: Int, columnCount: Int, arena: ImportArena) {
        self.slotCount = slotCount
        self.columnCount = columnCount
        self.arena = arena
        unsafe memory.initialize(to: Memory())
    }

    deinit {
        unsafe memory.pointee.cells.deallocate()
        unsafe memory.pointee.headers.deallocate()
        unsafe memory.deallocate()
    }

    /// Runs a statement that reads the rows of a range, or those of them that a closure accepts by their headers.
    func read<Value>(
        _ range: Range<Int>, in connection: SQLiteConnection, where isRead: ((Header) -> Bool)? = nil,
        _ body: () throws(SQLiteError) -> Value
    ) throws(SQLiteError) -> Value {
        // SAFETY: the statement runs within the call, and doesn't change the number of rows.
        func read(_ range: Range<Int>, _ indices: UnsafePointer<Int>?) throws(SQLiteError) -> Value {
            try unsafe connection.readingStagedRows(
                memory.pointee.cells.values.baseAddress, arena.base, stride: slotCount, columnCount: columnCount, range,
                indices, body)
        }
        guard let isRead else { return try read(range, nil) }
        let indices = range.filter { isRead(self[header: $0]) }
        return try unsafe indices.withUnsafeBufferPointer { (indices) throws(SQLiteError) in
            try unsafe read(0..<indices.count, indices.baseAddress)
        }
    }

    /// Adds a row without values and returns its index.
    func append(parent: Int, record: Int) -> Int {
        let row = count
        unsafe memory.pointee.headers.append(Header(parent: Int32(parent), record: Int32(record)))
        for _ in 0..<slotCount { unsafe memory.pointee.cells.append(.absent) }
        return row
    }

    /// Removes the rows from an index on.
    func truncate(to newCount: Int) {
        unsafe memory.pointee.headers.removeLast(count - newCount)
        unsafe memory.pointee.cells.removeLast(memory.pointee.cells.count - newCount * slotCount)
    }

    /// Moves a row to an earlier index.
    func move(_ row: Int, to place: Int) {
        guard row != place else { return }
        self[header: place] = self[header: row]
        for slot in 0..<slotCount { self[place, slot] = self[row, slot] }
    }

    /// The number of bytes of a row without its text.
    var rowByteCount: Int { slotCount * MemoryLayout<StagedCell>.stride + MemoryLayout<Header>.stride }

    subscript(row: Int, slot: Int) -> StagedCell {
        get {
            assert(slot < slotCount)
            return unsafe memory.pointee.cells[row * slotCount + slot]
        }
        set {
            assert(slot < slotCount)
            unsafe memory.pointee.cells[row * slotCount + slot] = newValue
        }
    }

    /// Sets the value of a column.
    func set(_ cell: StagedCell, row: Int, slot: Int) {
        self[row, slot] = cell
        self[header: row].mask |= 1 << UInt64(slot)
    }

    subscript(header row: Int) -> Header {
        get { unsafe memory.pointee.headers[row] }
        set { unsafe memory.pointee.headers[row] = newValue }
    }

    /// Returns the value of a cell, for checks and messages.
    func value(of cell: StagedCell) -> SQLiteValue {
        switch cell.tag {
        case .absent, .null, .link: .null
        case .integer: .integer(cell.integer)
        case .real: .real(cell.real)
        case .text: unsafe .text(String(decoding: arena.bytes(of: cell), as: UTF8.self))
        case .blob: unsafe .blob(Array(arena.bytes(of: cell)))
        }
    }

    /// Counts a row that exists in the table. Returns whether the upsert has to set it.
    func note(differs: Bool, isKept: Bool, isMoved: Bool) -> Bool {
        found.all += 1
        if isMoved, holdsMoved {
            found.held += 1
            return false
        }
        if differs || isKept { found.changed += 1 }
        if isKept { found.kept += 1 }
        return differs && !isKept
    }

    // MARK: Keys

    /// Calls a closure with bytes that are equal exactly for cells that SQLite compares as equal.
    func withKey<Result>(row: Int, slots: [Int], _ body: (RawSpan) -> Result) -> Result {
        let byteCount = slots.reduce(0) { $0 + 9 + Int(self[row, $1].length) }
        // SAFETY: a cell needs a byte, a word, and the bytes of its text; the span does not leave the closure.
        return unsafe withUnsafeTemporaryAllocation(byteCount: byteCount, alignment: 1) { key in
            var count = 0
            for slot in slots {
                let cell = self[row, slot]
                // Integers written as reals are equal to integers; links and missing values are distinguished only by their
                // kind.
                let integer = cell.tag == .real ? Int64(exactly: cell.real).map { StagedCell.integer($0) } : nil
                let (tag, length) = ((integer ?? cell).tag, Int(cell.length))
                let word = length > 0 || tag == .text || tag == .blob ? UInt64(length) : (integer ?? cell).bits
                unsafe key.storeBytes(of: tag.rawValue, toByteOffset: count, as: UInt8.self)
                unsafe key.storeBytes(of: tag == .link ? 0 : word, toByteOffset: count + 1, as: UInt64.self)
                let text = unsafe UnsafeMutableRawBufferPointer(rebasing: key[(count + 9)..<(count + 9 + length)])
                unsafe text.copyMemory(from: arena.bytes(of: length > 0 ? cell : .null))
                count += 9 + length
            }
            return unsafe body(UnsafeRawBufferPointer(key).bytes)
        }
    }
}

/// Finds rows by their unique keys.
struct ImportKeyTable: ~Copyable {
    private var keys: KeySet
    /// The row of each key, by the key's number.
    private var rows: [Int] = []

    init(minimumCapacity: Int) { keys = KeySet(seeksSeed: false, minimumCapacity: minimumCapacity) }

    /// Inserts a row, or replaces a row with an equal key.
    ///
    /// - Returns: The replaced row, or nil.
    mutating func insert(_ row: Int, of rows: ImportRows, slots: [Int]) -> Int? {
        let (isNew, number) = rows.withKey(row: row, slots: slots) { keys.insert($0) }
        guard !isNew else {
            self.rows.append(row)
            return nil
        }
        defer { self.rows[number] = row }
        return self.rows[number]
    }

    /// Returns the row whose key equals that of a row of another table.
    func row(equalTo row: Int, of other: ImportRows, slots: [Int]) -> Int? {
        other.withKey(row: row, slots: slots) { keys.index(of: $0) }.map { rows[$0] }
    }
}
