// Rows straight into structures: the shortest way for the commonest case, in which each member is a column. All other cases go
// by messages, with equal results and errors.

import CSystemSQLite
import PlistBuilding
import PlistStreaming

/// Initializes structures with the cells of rows, member by member.
@usableFromInline @safe
final class RowFiller {
    /// What a cell must be to be stored at once.
    private enum Kind: UInt8 {
        /// The column is no member.
        case none
        /// Only as a message.
        case other
        case integer, real, bool, string, optionalInteger, optionalReal, optionalBool, optionalString

        init(_ storage: MemberColumn.Storage, isMapped: Bool, isBoolean: Bool) {
            self =
                switch storage {
                case .integer where !isMapped: .integer
                case .real where !isMapped: .real
                case .bool where isBoolean: .bool
                case .string where !isMapped: .string
                case .optionalInteger where !isMapped: .optionalInteger
                case .optionalReal where !isMapped: .optionalReal
                case .optionalBool where isBoolean: .optionalBool
                case .optionalString where !isMapped: .optionalString
                default: .other
                }
        }
    }

    /// Where the cells of a column go.
    @unsafe
    private struct Slot {
        let kind: Kind
        let member: Int32
        /// The offset in the structure.
        let offset: Int
    }

    private let cursor: RowCursor
    private let members: MemberColumns
    private let state: UnsafeMutablePointer<RowState>
    private let slots: UnsafeMutableBufferPointer<Slot>
    @usableFromInline let rows: FilledRows

    /// Prepares to fill structures from the rows of a cursor that knows its columns; nil when that needs more than members and
    /// columns of the same names.
    init?(_ cursor: RowCursor, _ members: MemberColumns) {
        guard members.isFilledMemberwise else { return nil }
        let names = cursor.keys
        let found = names.map { name in members.columns.firstIndex { $0.name == name } }
        guard Set(found.compactMap { $0 }).count == members.columns.count,
            found.compactMap({ $0 }).count == members.columns.count
        else { return nil }
        self.cursor = cursor
        self.members = members
        rows = FilledRows(stride: members.stride)
        unsafe state = unsafe cursor.state
        unsafe slots = .allocate(capacity: names.count)
        for (index, member) in found.enumerated() {
            let column = unsafe cursor.state.pointee.columns[index]
            var slot = unsafe Slot(kind: .none, member: 0, offset: 0)
            if let member {
                let kind = unsafe Kind(
                    members.columns[member].storage, isMapped: column.isMapped, isBoolean: column.isBoolean)
                unsafe slot = Slot(kind: kind, member: Int32(member), offset: members.columns[member].offset)
            }
            unsafe slots.initializeElement(at: index, to: slot)
        }
    }

    deinit {
        // Rows are left when an error ended the reading.
        unsafe rows.takeAll { row in for index in unsafe slots.indices { unsafe deinitialize(index, row) } }
        unsafe slots.deallocate()
    }

    /// Adds a structure with the cells of the row.
    ///
    /// - Throws: What building the value by messages throws.
    @usableFromInline @inline(__always)  // PERF: SQLite/reading; once a row.
    func append() throws(StreamError) {
        try unsafe fill(rows.next())
        rows.addNext()
    }

    /// Returns a structure with the cells of the row, and keeps none.
    ///
    /// - Throws: As `append`.
    func row<Row>(as type: Row.Type) throws(StreamError) -> Row {
        let place = unsafe rows.next()
        try unsafe fill(place)
        // SAFETY: filled as a structure of the type that the members are of, and not counted, so that the next one is filled here.
        return unsafe place.assumingMemoryBound(to: Row.self).move()
    }

    /// Adds a structure as `append` does, and returns its error.
    @inline(__always)  // PERF: SQLite/reading; once a row.
    func appendOrError() -> StreamError? {
        do throws(StreamError) {
            try append()
            return nil
        } catch {
            return error
        }
    }

    // PERF: SQLite/reading; inlinable, so that structures are moved into their array without a look at their metadata.
    /// Returns all structures, and forgets them.
    @inlinable
    func takeRows<Row>(as type: Row.Type) -> [Row] { rows.takeAll(as: type) }

    // PERF: SQLite/reading; one call for a row, which stores what has the type of its member at once.
    /// Initializes a structure with the cells of the row.
    ///
    /// - Throws: What building the value by messages throws; the memory is uninitialized then.
    private func fill(_ base: UnsafeMutableRawPointer) throws(StreamError) {
        // SAFETY: the slots are those of the row's columns; each member is initialized once, in the storage that its type has.
        let values = unsafe state.pointee.values
        for index in unsafe 0..<slots.count {
            let slot = unsafe slots[index]
            if unsafe slot.kind == .none { continue }
            let place = unsafe base + slot.offset
            let value = unsafe values.map { unsafe $0[index] } ?? RowCursor.value(state, index)
            let type = unsafe sqlite3_value_type(value)
            switch unsafe slot.kind {
            case .integer where type == SQLITE_INTEGER:
                unsafe place.storeBytes(of: sqlite3_value_int64(value), as: Int64.self)
                continue
            case .string where type == SQLITE_TEXT:
                if unsafe storeText(value, to: place, isOptional: false) { continue }
            case .bool where type == SQLITE_INTEGER:
                let integer = unsafe UInt64(bitPattern: sqlite3_value_int64(value))
                if integer <= 1 {
                    unsafe place.storeBytes(of: integer == 1, as: Bool.self)
                    continue
                }
            case .real where type == SQLITE_FLOAT:
                unsafe place.storeBytes(of: sqlite3_value_double(value), as: Double.self)
                continue
            case .none, .other, .integer, .string, .bool, .real: break
            default: if unsafe storeOptional(value, type, slot, to: place) { continue }
            }
            do throws(StreamError) {
                try unsafe read(index, into: place)
            } catch {
                for earlier in 0..<index { unsafe deinitialize(earlier, base) }
                throw error.located(at: cursor.path(index))
            }
        }
    }

    /// Stores a cell as an optional; false when that takes a message.
    @inline(never)
    private func storeOptional(
        _ value: OpaquePointer?, _ type: Int32, _ slot: Slot, to place: UnsafeMutableRawPointer
    ) -> Bool {
        // SAFETY: see fill.
        switch unsafe (slot.kind, type) {
        case (.optionalInteger, SQLITE_INTEGER):
            unsafe place.initializeMemory(as: Int64?.self, to: sqlite3_value_int64(value))
        case (.optionalReal, SQLITE_FLOAT):
            unsafe place.initializeMemory(as: Double?.self, to: sqlite3_value_double(value))
        case (.optionalBool, SQLITE_INTEGER):
            let integer = unsafe UInt64(bitPattern: sqlite3_value_int64(value))
            guard integer <= 1 else { return false }
            unsafe place.initializeMemory(as: Bool?.self, to: integer == 1)
        case (.optionalString, SQLITE_TEXT): return unsafe storeText(value, to: place, isOptional: true)
        case (.optionalInteger, SQLITE_NULL): unsafe place.initializeMemory(as: Int64?.self, to: nil)
        case (.optionalReal, SQLITE_NULL): unsafe place.initializeMemory(as: Double?.self, to: nil)
        case (.optionalBool, SQLITE_NULL): unsafe place.initializeMemory(as: Bool?.self, to: nil)
        case (.optionalString, SQLITE_NULL): unsafe place.initializeMemory(as: String?.self, to: nil)
        default: return false
        }
        return true
    }

    /// Stores the text of a value; false when it is not UTF-8, or SQLite has no memory.
    @inline(__always)  // PERF: SQLite/reading; once a string.
    private func storeText(_ value: OpaquePointer?, to place: UnsafeMutableRawPointer, isOptional: Bool) -> Bool {
        // SAFETY: the bytes are those of the value, which stays until the next row; the caller says what the memory is for.
        guard let address = unsafe sqlite3_value_text(value) else { return false }
        let bytes = unsafe UnsafeBufferPointer(start: address, count: Int(sqlite3_value_bytes(value)))
        let raw = UnsafeRawBufferPointer(bytes)
        if unsafe bytes.count <= 15 && TextCheck.isASCII(raw) {
            if isOptional {
                unsafe SmallText.store(raw.bytes, toOptional: place, isInitialized: false)
            } else {
                unsafe SmallText.store(raw.bytes, to: place, isInitialized: false)
            }
            return true
        }
        guard unsafe TextCheck.isUTF8(raw) else { return false }
        let string = unsafe CheckedText.string(raw)
        if isOptional {
            unsafe place.initializeMemory(as: String?.self, to: string)
        } else {
            unsafe place.initializeMemory(as: String.self, to: string)
        }
        return true
    }

    /// Reads a cell as the message that it would be.
    @inline(never)
    private func read(_ index: Int, into place: UnsafeMutableRawPointer) throws(StreamError) {
        let member = unsafe Int(slots[index].member)
        switch unsafe try cursor.cell(at: index) {
        case .null: try unsafe members.read(.null, member, into: place)
        case .integer(let value): try unsafe members.read(.integer(value), member, into: place)
        case .real(let value): try unsafe members.read(.real(value), member, into: place)
        case .text(let text): try unsafe members.read(.string(text), member, into: place)
        case .blob(let bytes): try unsafe members.read(.data(bytes), member, into: place)
        case .bool(let value): try unsafe members.read(.bool(value), member, into: place)
        case .date(let seconds): try unsafe members.read(.date(seconds), member, into: place)
        }
    }

    private func deinitialize(_ index: Int, _ base: UnsafeMutableRawPointer) {
        guard unsafe slots[index].kind != .none else { return }
        unsafe members.deinitialize(Int(slots[index].member), at: base + slots[index].offset)
    }
}

extension SQLiteStatement {
    // PERF: SQLite/reading; inlinable, so that structures are moved into their array without a look at their metadata.
    /// Returns all rows as values of a type, with the values that the parameters have.
    ///
    /// - Throws: What SQLite throws; the error of a row that is no such value, with its path, as `streamError`.
    /// - Complexity: O(cells), one allocation for each text of more than 15 bytes.
    @inlinable
    public func values<Row: StreamValue>(
        as type: Row.Type, options: SQLiteReadingOptions = SQLiteReadingOptions(),
        builderOptions: BuilderOptions = BuilderOptions()
    ) throws(SQLiteError) -> [Row] {
        try values(as: type, scan: nil, options: options, builderOptions: builderOptions)
    }

    // PERF: see above.
    /// Returns all rows as values of a type, read by a scan if there is one and it can.
    @inlinable
    func values<Row: StreamValue>(
        as type: Row.Type, scan: RowScan?, options: SQLiteReadingOptions, builderOptions: BuilderOptions
    ) throws(SQLiteError) -> [Row] {
        do throws(StreamError) {
            if let rows = try scan?.values(as: type, builderOptions) { return rows }
            let cursor = try RowCursor(self, options)
            do {
                defer { cursor.end() }
                guard try cursor.next() else { return [] }
                if let filler = try cursor.makeFiller(for: type, builderOptions) {
                    repeat { try filler.append() } while try cursor.next()
                    return filler.takeRows(as: type)
                }
            }
            var builder = try ObjectBuilder<[Row]>(options: builderOptions)
            try send(to: &builder, options: options)
            return try builder.takeResult()
        } catch {
            throw SQLiteError(error)
        }
    }
}

extension RowScan {
    // PERF: see above.
    /// Returns the rows as values of a type; nil when the statement is to be stepped.
    @inlinable
    func values<Row: StreamValue>(
        as type: Row.Type, _ options: BuilderOptions
    ) throws(StreamError) -> [Row]? {
        guard let filler = try cursor.makeFiller(for: type, options) else {
            var builder = try ObjectBuilder<[Row]>(options: options)
            return try send(to: &builder) ? try builder.takeResult() : nil
        }
        return try fill(filler) ? filler.takeRows(as: type) : nil
    }
}

extension RowCursor {
    /// Makes what fills structures of a type from the rows; nil when only messages will do.
    @usableFromInline
    func makeFiller<Row: StreamValue>(
        for type: Row.Type, _ options: BuilderOptions
    ) throws(StreamError) -> RowFiller? {
        guard let objectType = type as? any StreamObject.Type, options.nulls == .reject,
            options.unknownMembers == .ignore, !omitsNulls
        else { return nil }
        func open<Object: StreamObject>(_ type: Object.Type) throws(StreamError) -> MemberColumns {
            try MemberColumns(type, keyMapping: options.keyMapping)
        }
        return RowFiller(self, try open(objectType))
    }
}
