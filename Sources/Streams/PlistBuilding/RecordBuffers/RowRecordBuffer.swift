// Stores the rows of a table in the record buffer of a builder. It finds the member of each column and the address of the next
// row.

import PlistStreaming

/// The record buffer of a builder for rows, and the reader's progress in it.
///
/// This type is the same for every format with rows of named columns. The reader decides how each cell is stored.
@unsafe
package struct RowRecordBuffer {
    /// The destination of a column's cells.
    @unsafe
    package struct Column {
        /// The kind of the stored values. It is `none` for ignored cells, and `value` for cells that are read as messages.
        package fileprivate(set) var kind = FastKind.none
        /// The index of the member.
        package fileprivate(set) var member = 0
        /// The bit of the member.
        package fileprivate(set) var bit: UInt64 = 0
        /// The offset from the base of a row.
        package fileprivate(set) var offset = 0
        /// The column of a `ColumnsBuilder`.
        package fileprivate(set) var buffer: UnsafeMutableRawPointer?
        /// The shape of the member's type.
        package fileprivate(set) var shape: UnsafePointer<RecordShape>?
    }

    /// The state of the last record buffer.
    package private(set) var records: UnsafeMutablePointer<RecordState>?
    /// The members that the columns belong to.
    private var members: UnsafeMutablePointer<RecordMember>?
    /// The destinations of the cells, one for each column of the rows.
    package private(set) var columns = unsafe UnsafeMutableBufferPointer<Column>(start: nil, count: 0)
    /// A Boolean value that indicates whether all cells that aren't ignored go into columns.
    package private(set) var isOfColumns = false
    /// The address of the next row, or its offset in each column, and the address of the reference to its object.
    package private(set) var base = 0
    private var reference: UnsafeMutableRawPointer?

    package init() {}

    package func deallocate() { unsafe columns.deallocate() }

    /// Discards the record buffer and the columns found for it, before another sink can provide memory.
    package mutating func reset() { unsafe (records, members) = (nil, nil) }

    /// Begins to use a record buffer. Returns false if a column can only be sent as messages, so that all rows have to be sent
    /// as messages.
    ///
    /// - Parameters:
    ///   - count: The number of columns, which is the same each time.
    ///   - name: Returns the name of a column in UTF-8.
    ///   - kind: Returns the kind of the stored cells of a column for the kind of its member, or `none` if only messages can
    ///     store them.
    package mutating func begin(
        _ records: UnsafeMutablePointer<RecordState>, columnCount count: Int,
        name: (Int) -> UnsafeRawBufferPointer, kind: (Int, FastKind) -> FastKind
    ) -> Bool {
        unsafe self.records = unsafe records
        unsafe (base, reference) = unsafe (records.pointee.base, records.pointee.reference)
        // The number of rows isn't known in advance.
        unsafe records.pointee.expectedCount = 0
        if unsafe members != records.pointee.members || members == nil {
            guard unsafe findMembers(records, count, name, kind) else { return false }
            unsafe members = unsafe records.pointee.members
        }
        guard let members = unsafe members else { return false }
        // The values of columns move when the columns grow.
        for index in unsafe columns.indices where unsafe columns[index].buffer != nil {
            unsafe columns[index].offset = unsafe members[columns[index].member].offset
        }
        return true
    }

    private mutating func findMembers(
        _ records: UnsafeMutablePointer<RecordState>, _ count: Int,
        _ name: (Int) -> UnsafeRawBufferPointer, _ kind: (Int, FastKind) -> FastKind
    ) -> Bool {
        unsafe columns.deallocate()
        unsafe columns = .allocate(capacity: count)
        unsafe columns.initialize(repeating: Column())
        // Only objects have a layout. This includes objects without a matching column: their defaults are stored for each
        // row.
        unsafe isOfColumns = unsafe records.pointee.layout == nil
        var found: UInt64 = 0
        for index in 0..<count {
            guard let number = unsafe records.pointee.index(of: name(index)) else {
                guard unsafe records.pointee.skipsUnknown else { return false }
                continue
            }
            guard let member = unsafe records.pointee.members?[number] else { return false }
            let bit = UInt64(1) << UInt64(number)
            let kind = unsafe member.kind == .none ? .none : kind(index, member.kind)
            // If two columns have the same name, the last one is used.
            guard kind != .none, found & bit == 0, unsafe kind != .value || member.shape != nil else { return false }
            found |= bit
            if unsafe member.column == nil { unsafe isOfColumns = false }
            unsafe columns[index] = unsafe Column(
                kind: kind, member: number, bit: bit, offset: member.offset, buffer: member.column, shape: member.shape)
        }
        return unsafe records.pointee.mayComplete(found)
    }

    /// Moves over a number of column rows, starting with the next one, to the last of them.
    package mutating func advance(_ records: UnsafeMutablePointer<RecordState>, by count: Int) {
        unsafe base &+= records.pointee.stride * (records.pointee.doneCount > 0 ? count : count - 1)
    }

    /// Moves to the next row.
    @inline(__always)  // PERF: SQLite/reading, CSV/typed; once a row.
    package mutating func advance(_ records: UnsafeMutablePointer<RecordState>) {
        unsafe base &+= records.pointee.stride
        // SAFETY: the memory has space for one more reference, which is the address of its object.
        guard unsafe records.pointee.makes, let next = unsafe reference.map({ unsafe $0 + MemoryLayout<Int>.stride })
        else { return }
        unsafe records.pointee.make(next)
        unsafe (base, reference) = unsafe (next.load(as: Int.self), next)
    }
}

extension RecordState {
    /// Returns the kind that a member accepts and the shape of its type, even if only messages can store the member. Returns
    /// nil for an unknown name.
    package func taken(by name: UnsafeRawBufferPointer) -> (kind: FastKind, shape: UnsafePointer<RecordShape>?)? {
        guard let layout = unsafe layout else {
            return unsafe index(of: name).flatMap { index in unsafe members.map { unsafe ($0[index].kind, nil) } }
        }
        return unsafe layout._withUnsafeGuaranteedRef { layout in
            guard let member = unsafe layout.members.first(where: { unsafe $0.name.elementsEqual(name) }) else {
                return nil
            }
            // SAFETY: the layout keeps the plan alive, and the builder that owns this state keeps the layout alive.
            let shape = unsafe UnsafePointer(member.plan.record)
            return unsafe (shape.pointee.fast == .none ? .value : shape.pointee.fast, shape)
        }
    }
}
