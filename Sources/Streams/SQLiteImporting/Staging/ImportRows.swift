// The records of a batch before they are written: rows of cells in flat memory, text in one arena, reused by each batch.

import PlistBuilding
import SQLiteStreaming
import StringTables

/// The bytes of all text and blobs of a batch.
@safe
final class ImportArena {
    // PERF: SQLiteImport; behind a pointer, here and in the rows, since access to a property of an object is checked.
    // SAFETY: made and freed with this object; there is always some memory.
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

    /// Copies bytes to the end, and returns their offset.
    func append(_ bytes: UnsafeRawBufferPointer) -> Int {
        let offset = count
        unsafe memory.pointee.append(contentsOf: bytes.bindMemory(to: UInt8.self))
        return offset
    }

    /// Forgets what was appended behind an offset; gives back what an unusually large batch took.
    func truncate(to newCount: Int, keeping byteCount: Int = .max) {
        unsafe memory.pointee.removeLast(count - newCount)
        guard newCount == 0, unsafe memory.pointee.capacity > byteCount else { return }
        unsafe memory.pointee.deallocate()
        unsafe memory.pointee = GrowingMemory()
        unsafe memory.pointee.reserve(Self.smallestCapacity)
    }

    /// Exchanges what two arenas hold.
    func exchange(with other: ImportArena) { unsafe swap(&memory.pointee, &other.memory.pointee) }

    /// The bytes of a text or blob.
    func bytes(of cell: StagedCell) -> UnsafeRawBufferPointer {
        // SAFETY: the cell was made by `append`, and what it made is not truncated while cells refer to it.
        unsafe UnsafeRawBufferPointer(start: base + cell.offset, count: Int(cell.length))
    }
}

/// The staged rows of one table.
@safe
final class ImportRows {
    /// What is known of a row besides its cells.
    struct Header {
        /// The slots that have a value or null, one bit each.
        var mask: UInt64 = 0
        /// The row above, for the children of a to-many relationship; -1 for others.
        var parent: Int32
        /// The number of its record in the batch.
        var record: Int32
        /// The to-many relationships that the record has, one bit each, and `isLast`.
        var flags: UInt32 = Header.isLast
        var state: State = .missing

        /// Set while no later row of the batch has the same unique key.
        static let isLast: UInt32 = 1 << 31
    }

    /// What a look-up found of a row.
    enum State: UInt8, BitwiseCopyable {
        case missing, changed, unchanged
    }

    /// The number of cells of a row.
    let slotCount: Int
    /// The number of those that statements see.
    let columnCount: Int
    let arena: ImportArena
    // SAFETY: made and freed with this object; each row has so many cells and a header.
    private let memory = UnsafeMutablePointer<Memory>.allocate(capacity: 1)
    var count: Int { unsafe memory.pointee.headers.count }
    /// The rows that statements see now.
    var window = Window()
    /// What the upsert that runs found.
    var found = Found()

    /// A Boolean value that indicates whether statements leave alone the rows that have another parent in the table.
    var holdsMoved = false

    /// The rows that an upsert found in the table, those of them that differed, those that it left to another one, and those
    /// that it left alone because they have another parent.
    struct Found {
        var all = 0
        var changed = 0
        var kept = 0
        var held = 0
    }

    /// The rows that the virtual table gives: those in the range that are in the state, have exactly the slots of the mask,
    /// and all the flags; nil is any.
    struct Window: BitwiseCopyable {
        let start: Int
        let end: Int
        var mask: UInt64?
        var state: State?
        var flags: UInt32

        init(range: Range<Int> = 0..<0, mask: UInt64? = nil, flags: UInt32 = 0) {
            (start, end) = (range.lowerBound, range.upperBound)
            (self.mask, self.flags) = (mask, flags)
        }

        @inline(__always)  // PERF: SQLiteImport; once a row.
        func shows(_ header: Header) -> Bool {
            (mask == nil || header.mask == mask) && (state == nil || header.state == state)
                && header.flags & flags == flags
        }
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

    /// The cells of all rows, and their headers; valid until the next change.
    var cells: UnsafeBufferPointer<StagedCell> { unsafe memory.pointee.cells.values }
    var headers: UnsafeBufferPointer<Header> { unsafe memory.pointee.headers.values }

    /// Adds a row without values, and returns its number.
    func append(parent: Int, record: Int) -> Int {
        let row = count
        unsafe memory.pointee.headers.append(Header(parent: Int32(parent), record: Int32(record)))
        for _ in 0..<slotCount { unsafe memory.pointee.cells.append(.absent) }
        return row
    }

    /// Forgets the rows from a number on.
    func truncate(to newCount: Int) {
        unsafe memory.pointee.headers.removeLast(count - newCount)
        unsafe memory.pointee.cells.removeLast(cells.count - newCount * slotCount)
    }

    /// Moves a row to an earlier place.
    func move(_ row: Int, to place: Int) {
        guard row != place else { return }
        self[header: place] = self[header: row]
        for slot in 0..<slotCount { self[place, slot] = self[row, slot] }
    }

    /// The bytes that a row takes, without its text.
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

    /// The value of a cell, for checks and messages.
    func value(of cell: StagedCell) -> SQLiteValue {
        switch cell.tag {
        case .absent, .null, .link: .null
        case .integer: .integer(cell.integer)
        case .real: .real(cell.real)
        case .text: unsafe .text(String(decoding: arena.bytes(of: cell), as: UTF8.self))
        case .blob: unsafe .blob(Array(arena.bytes(of: cell)))
        }
    }

    /// Takes note of a row that is in the table; returns whether the upsert is to set it.
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

    /// Calls a closure with bytes that are equal for cells that are equal as SQLite compares them, and for no others.
    func withKey<Result>(row: Int, slots: [Int], _ body: (RawSpan) -> Result) -> Result {
        let byteCount = slots.reduce(0) { $0 + 9 + Int(self[row, $1].length) }
        // SAFETY: a cell takes a byte, a word, and the bytes of its text; the span does not leave the closure.
        return unsafe withUnsafeTemporaryAllocation(byteCount: byteCount, alignment: 1) { key in
            var count = 0
            for slot in slots {
                let cell = self[row, slot]
                // Integers that are written as reals are equal to others; links and what is missing are told by their kind only.
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
    /// By the number of a key: its row.
    private var rows: [Int] = []

    init(minimumCapacity: Int) { keys = KeySet(seeksSeed: false, minimumCapacity: minimumCapacity) }

    /// Puts in a row, in place of one with an equal key if there is one.
    ///
    /// - Returns: The row that was there.
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
