// The rows of a table into the memory that a builder lends: which member each column belongs to, and where the next row lies.

import PlistStreaming

/// What a builder has lent for rows, and how far they are.
///
/// The same for every format with rows of named columns; what a cell is stored as is the reader's business.
@unsafe
package struct RowLoan {
    /// Where the cells of a column go.
    @unsafe
    package struct Column {
        /// What is stored; `none` for cells that no one wants, `value` for those that are read as messages.
        package fileprivate(set) var kind = FastKind.none
        /// The index of the member.
        package fileprivate(set) var member = 0
        /// The bit of the member.
        package fileprivate(set) var bit: UInt64 = 0
        /// The offset from the base of a row.
        package fileprivate(set) var offset = 0
        /// The column of a `ColumnsBuilder`.
        package fileprivate(set) var buffer: UnsafeMutableRawPointer?
        /// What is known of the member's type.
        package fileprivate(set) var shape: UnsafePointer<RecordShape>?
    }

    /// The state of the last loan.
    package private(set) var records: UnsafeMutablePointer<RecordState>?
    /// The members that the columns were found for.
    private var members: UnsafeMutablePointer<RecordMember>?
    /// Where the cells go, one for each column of the rows.
    package private(set) var columns = unsafe UnsafeMutableBufferPointer<Column>(start: nil, count: 0)
    /// A Boolean value that indicates whether all cells that are wanted go into columns.
    package private(set) var isOfColumns = false
    /// The address of the row to come, or its offset in every column, and the reference to its object.
    package private(set) var base = 0
    private var reference: UnsafeMutableRawPointer?

    package init() {}

    package func deallocate() { unsafe columns.deallocate() }

    /// Forgets the loan and what was found for it, before another sink may lend something.
    package mutating func forget() { unsafe (records, members) = (nil, nil) }

    /// Takes a loan; false when rows have to go as messages, since there is a column that only messages can tell.
    ///
    /// - Parameters:
    ///   - count: The number of columns, which is the same for all loans.
    ///   - name: The UTF-8 of the name of a column.
    ///   - kind: What is stored of the cells of a column, of which a member has a kind; `none` where only messages will do.
    package mutating func begin(
        _ records: UnsafeMutablePointer<RecordState>, columnCount count: Int,
        name: (Int) -> UnsafeRawBufferPointer, kind: (Int, FastKind) -> FastKind
    ) -> Bool {
        unsafe self.records = unsafe records
        unsafe (base, reference) = unsafe (records.pointee.base, records.pointee.reference)
        // How many rows there will be is not known.
        unsafe records.pointee.expectedCount = 0
        if unsafe members != records.pointee.members || members == nil {
            guard unsafe findMembers(records, count, name, kind) else { return false }
            unsafe members = unsafe records.pointee.members
        }
        guard let members = unsafe members else { return false }
        // The values of columns move when they grow.
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
        // Only objects have a layout, also those of which no column is a member: their defaults are stored row by row.
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
            // Of two columns with one name the last one counts.
            guard kind != .none, found & bit == 0, unsafe kind != .value || member.shape != nil else { return false }
            found |= bit
            if unsafe member.column == nil { unsafe isOfColumns = false }
            unsafe columns[index] = unsafe Column(
                kind: kind, member: number, bit: bit, offset: member.offset, buffer: member.column, shape: member.shape)
        }
        return unsafe records.pointee.mayComplete(found)
    }

    /// Goes on behind so many rows of columns, of which the first is the next one, to the last of them.
    package mutating func advance(_ records: UnsafeMutablePointer<RecordState>, by count: Int) {
        unsafe base &+= records.pointee.stride * (records.pointee.doneCount > 0 ? count : count - 1)
    }

    /// Goes on to the next row.
    @inline(__always)  // PERF: SQLite/reading, CSV/typed; once a row.
    package mutating func advance(_ records: UnsafeMutablePointer<RecordState>) {
        unsafe base &+= records.pointee.stride
        // SAFETY: there is room for one more reference, which is the address of its object.
        guard unsafe records.pointee.makes, let next = unsafe reference.map({ unsafe $0 + MemoryLayout<Int>.stride })
        else { return }
        unsafe records.pointee.make(next)
        unsafe (base, reference) = unsafe (next.load(as: Int.self), next)
    }
}

extension RecordState {
    /// What a member with a name takes, and what is known of its type, also of one that only messages can store; nil for a name
    /// that no member has.
    package func taken(by name: UnsafeRawBufferPointer) -> (kind: FastKind, shape: UnsafePointer<RecordShape>?)? {
        guard let layout = unsafe layout else {
            return unsafe index(of: name).flatMap { index in unsafe members.map { unsafe ($0[index].kind, nil) } }
        }
        return unsafe layout._withUnsafeGuaranteedRef { layout in
            guard let member = unsafe layout.members.first(where: { unsafe $0.name.elementsEqual(name) }) else {
                return nil
            }
            // SAFETY: the plan lives as long as the layout, and that as long as the builder whose state this is.
            let shape = unsafe UnsafePointer(member.plan.record)
            return unsafe (shape.pointee.fast == .none ? .value : shape.pointee.fast, shape)
        }
    }
}
