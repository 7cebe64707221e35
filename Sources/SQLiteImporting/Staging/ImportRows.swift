// The records of a batch before they are written: rows of cells in flat memory, text in one arena, reused by each batch.

import CSystemSQLite
import PlistStreaming
import SQLiteStreaming

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// One value of a staged row.
struct ImportCell {
    enum Tag: UInt8 {
        /// The record does not have the member.
        case absent
        case null, integer, real, text, blob
        /// The number of a row of another table, for a to-one relationship.
        case link
    }

    /// The integer, the bits of the real, or the offset in the arena.
    var bits: UInt64
    /// The bytes of text and blobs.
    var length: UInt32
    var tag: Tag

    static let absent = ImportCell(bits: 0, length: 0, tag: .absent)
    static let null = ImportCell(bits: 0, length: 0, tag: .null)
    static func integer(_ value: Int64) -> ImportCell {
        ImportCell(bits: UInt64(bitPattern: value), length: 0, tag: .integer)
    }
    static func real(_ value: Double) -> ImportCell { ImportCell(bits: value.bitPattern, length: 0, tag: .real) }
    static func link(_ row: Int) -> ImportCell { ImportCell(bits: UInt64(row), length: 0, tag: .link) }

    var integer: Int64 { Int64(bitPattern: bits) }
    var real: Double { Double(bitPattern: bits) }
    var offset: Int { Int(bits) }
}

/// The bytes of all text and blobs of a batch.
@safe
final class ImportArena {
    // SAFETY: allocated with `capacity` bytes, of which the first `count` are written; freed by the deinitializer.
    private(set) var base: UnsafeMutableRawPointer
    private(set) var count = 0
    private var capacity = 1 << 16

    init() { unsafe base = .allocate(byteCount: capacity, alignment: 16) }

    deinit { unsafe base.deallocate() }

    /// Copies bytes to the end, and returns their offset.
    func append(_ bytes: UnsafeRawBufferPointer) -> Int {
        let offset = count
        if bytes.count > capacity - count { grow(by: bytes.count) }
        // SAFETY: there is room, as was just made sure.
        if let start = bytes.baseAddress {
            unsafe (base + offset).copyMemory(from: start, byteCount: bytes.count)
        }
        count += bytes.count
        return offset
    }

    @inline(never)
    private func grow(by byteCount: Int) {
        let newCapacity = max(capacity * 2, count + byteCount)
        let memory = UnsafeMutableRawPointer.allocate(byteCount: newCapacity, alignment: 16)
        // SAFETY: the new memory is larger, and the old one is not used after this.
        unsafe memory.copyMemory(from: base, byteCount: count)
        unsafe base.deallocate()
        unsafe base = memory
        capacity = newCapacity
    }

    /// Forgets what was appended behind an offset; gives back what an unusually large batch took.
    func truncate(to newCount: Int, keeping byteCount: Int = .max) {
        count = newCount
        guard newCount == 0, capacity > byteCount else { return }
        unsafe base.deallocate()
        capacity = 1 << 16
        unsafe base = .allocate(byteCount: capacity, alignment: 16)
    }

    /// Exchanges what two arenas hold.
    func exchange(with other: ImportArena) {
        unsafe swap(&base, &other.base)
        swap(&count, &other.count)
        swap(&capacity, &other.capacity)
    }

    /// The bytes of a text or blob.
    func bytes(of cell: ImportCell) -> UnsafeRawBufferPointer {
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
    enum State: UInt8 {
        case missing, changed, unchanged
    }

    /// The number of cells of a row.
    let slotCount: Int
    /// The number of those that statements see.
    let columnCount: Int
    let arena: ImportArena
    // SAFETY: both have room for `capacity` rows, of which the first `count` are initialized; freed by the deinitializer.
    private(set) var cells: UnsafeMutablePointer<ImportCell>
    private(set) var headers: UnsafeMutablePointer<Header>
    private(set) var count = 0
    private var capacity = 64
    /// The rows that statements see now.
    var window = Window()
    /// What the upsert that runs found.
    var found = Found()

    /// Whether statements leave alone the rows that have another parent in the table.
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
    struct Window {
        var range = 0..<0
        var mask: UInt64?
        var state: State?
        var flags: UInt32 = 0
    }

    init(slotCount: Int, columnCount: Int, arena: ImportArena) {
        self.slotCount = slotCount
        self.columnCount = columnCount
        self.arena = arena
        unsafe cells = .allocate(capacity: slotCount * capacity)
        unsafe headers = .allocate(capacity: capacity)
    }

    deinit {
        unsafe cells.deallocate()
        unsafe headers.deallocate()
    }

    /// Adds a row without values, and returns its number.
    func append(parent: Int, record: Int) -> Int {
        if count == capacity { grow() }
        let row = count
        // SAFETY: there is room, as was just made sure.
        unsafe headers.advanced(by: row).initialize(to: Header(parent: Int32(parent), record: Int32(record)))
        unsafe cells.advanced(by: row * slotCount).initialize(repeating: .absent, count: slotCount)
        count = row + 1
        return row
    }

    @inline(never)
    private func grow() {
        // SAFETY: the new memory has room for twice the rows, and the old one is not used after this.
        let newCells = UnsafeMutablePointer<ImportCell>.allocate(capacity: slotCount * capacity * 2)
        let newHeaders = UnsafeMutablePointer<Header>.allocate(capacity: capacity * 2)
        unsafe newCells.moveInitialize(from: cells, count: slotCount * count)
        unsafe newHeaders.moveInitialize(from: headers, count: count)
        unsafe cells.deallocate()
        unsafe headers.deallocate()
        unsafe (cells, headers) = (newCells, newHeaders)
        capacity *= 2
    }

    /// Forgets the rows from a number on.
    func truncate(to newCount: Int) { count = newCount }

    /// Moves a row to an earlier place.
    func move(_ row: Int, to place: Int) {
        guard row != place else { return }
        self[header: place] = self[header: row]
        for slot in 0..<slotCount { self[place, slot] = self[row, slot] }
    }

    /// The bytes that a row takes, without its text.
    var rowByteCount: Int { slotCount * MemoryLayout<ImportCell>.stride + MemoryLayout<Header>.stride }

    subscript(row: Int, slot: Int) -> ImportCell {
        get {
            assert(row < count && slot < slotCount)
            // SAFETY: rows are numbered by `append`, slots by the plan of the table.
            return unsafe cells[row * slotCount + slot]
        }
        set {
            assert(row < count && slot < slotCount)
            unsafe cells[row * slotCount + slot] = newValue
        }
    }

    /// Sets the value of a column.
    func set(_ cell: ImportCell, row: Int, slot: Int) {
        self[row, slot] = cell
        // SAFETY: see the subscript.
        unsafe headers[row].mask |= 1 << UInt64(slot)
    }

    subscript(header row: Int) -> Header {
        get {
            assert(row < count)
            return unsafe headers[row]
        }
        set {
            assert(row < count)
            unsafe headers[row] = newValue
        }
    }

    /// The value of a cell, for checks and messages.
    func value(of cell: ImportCell) -> SQLiteValue {
        switch cell.tag {
        case .absent, .null, .link: .null
        case .integer: .integer(cell.integer)
        case .real: .real(cell.real)
        case .text: unsafe .text(String(decoding: arena.bytes(of: cell), as: UTF8.self))
        case .blob: unsafe .blob(Array(arena.bytes(of: cell)))
        }
    }

    // MARK: Keys

    /// The hash of some cells of a row; equal values have equal hashes whether they are integers or reals.
    func hash(row: Int, slots: [Int]) -> Int {
        if slots.count == 1 {
            let cell = self[row, slots[0]]
            if cell.tag == .integer { return Self.hash(cell.integer) }
            if cell.tag == .real, let integer = Int64(exactly: cell.real) { return Self.hash(integer) }
        }
        var hasher = Hasher()
        for slot in slots {
            let cell = self[row, slot]
            switch cell.tag {
            case .integer: hasher.combine(cell.integer)
            case .real:
                if let integer = Int64(exactly: cell.real) {
                    hasher.combine(integer)
                } else {
                    hasher.combine(cell.real)
                }
            case .text, .blob: unsafe hasher.combine(bytes: arena.bytes(of: cell))
            case .absent, .null, .link: break
            }
        }
        return hasher.finalize()
    }

    private static let seed = UInt64.random(in: .min ... .max) | 1

    private static func hash(_ value: Int64) -> Int {
        let product = (UInt64(bitPattern: value) ^ seed).multipliedFullWidth(by: 0x9E37_79B9_7F4A_7C15)
        return Int(truncatingIfNeeded: product.high ^ product.low)
    }

    /// Whether two rows, the second perhaps of another table, have equal values in some cells.
    func isEqual(row: Int, slots: [Int], to other: ImportRows, row otherRow: Int, slots otherSlots: [Int]) -> Bool {
        for index in slots.indices {
            let (cell, otherCell) = (self[row, slots[index]], other[otherRow, otherSlots[index]])
            if !isEqual(cell, otherCell, in: other.arena) { return false }
        }
        return true
    }

    /// Whether two cells are equal as SQLite compares them.
    private func isEqual(_ left: ImportCell, _ right: ImportCell, in otherArena: ImportArena) -> Bool {
        switch (left.tag, right.tag) {
        case (.integer, .integer): return left.integer == right.integer
        case (.real, .real): return left.real == right.real
        case (.integer, .real): return Int64(exactly: right.real) == left.integer
        case (.real, .integer): return Int64(exactly: left.real) == right.integer
        case (.text, .text), (.blob, .blob):
            guard left.length == right.length else { return false }
            let (leftBytes, rightBytes) = unsafe (arena.bytes(of: left), otherArena.bytes(of: right))
            // SAFETY: both have the same length, which was just compared; empty ones may have no address.
            guard let start = leftBytes.baseAddress, let other = rightBytes.baseAddress else { return true }
            return unsafe memcmp(start, other, leftBytes.count) == 0
        default: return left.tag == right.tag
        }
    }
}

/// Finds rows by their unique keys: the numbers of rows in open addressing, emptied for each use.
struct ImportKeyTable {
    private var places: [Int32] = []
    private var mask = 0

    /// Empties the table and makes room for a number of rows.
    mutating func reset(for count: Int) {
        var size = 16
        while size < count * 2 { size *= 2 }
        if size == places.count {
            for index in places.indices { places[index] = -1 }
        } else {
            places = Array(repeating: -1, count: size)
        }
        mask = size - 1
    }

    /// Puts in a row, in place of one with an equal key if there is one.
    ///
    /// - Returns: The row that was there.
    mutating func insert(_ row: Int, of rows: ImportRows, slots: [Int]) -> Int? {
        var place = rows.hash(row: row, slots: slots) & mask
        while places[place] >= 0 {
            let other = Int(places[place])
            if rows.isEqual(row: row, slots: slots, to: rows, row: other, slots: slots) {
                places[place] = Int32(row)
                return other
            }
            place = (place + 1) & mask
        }
        places[place] = Int32(row)
        return nil
    }

    /// Returns the row whose key equals that of a row of another table.
    func row(equalTo row: Int, of other: ImportRows, slots otherSlots: [Int], in rows: ImportRows, slots: [Int]) -> Int?
    {
        var place = other.hash(row: row, slots: otherSlots) & mask
        while places[place] >= 0 {
            let found = Int(places[place])
            if rows.isEqual(row: found, slots: slots, to: other, row: row, slots: otherSlots) { return found }
            place = (place + 1) & mask
        }
        return nil
    }
}
