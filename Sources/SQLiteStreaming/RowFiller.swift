// Rows straight into structures: the shortest way for the commonest case, in which each member is a column. All other cases go
// by messages, with equal results and errors.

import CSystemSQLite
import PlistBuilding
import PlistStreaming

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// Initializes structures with the cells of rows, member by member.
@usableFromInline @safe
final class RowFiller {
    /// Where the cells of a column go.
    @unsafe
    private struct Slot {
        let storage: MemberColumn.Storage
        let isBoolean: Bool
        let isMapped: Bool
        /// The offset in the structure; -1 for a column that is no member.
        let offset: Int
        let member: Int
    }

    private let cursor: RowCursor
    private let members: MemberColumns
    private let handle: OpaquePointer
    private let slots: UnsafeMutableBufferPointer<Slot>

    /// Prepares to fill structures from the row that a cursor is on; nil when that needs more than members and columns of the
    /// same names.
    init?(_ cursor: RowCursor, _ members: MemberColumns) {
        guard members.isFilledMemberwise else { return nil }
        let (names, handle) = unsafe (cursor.keys, cursor.state.pointee.handle)
        let found = names.map { name in members.columns.firstIndex { $0.name == name } }
        guard Set(found.compactMap { $0 }).count == members.columns.count,
            found.compactMap({ $0 }).count == members.columns.count
        else { return nil }
        self.cursor = cursor
        self.members = members
        unsafe self.handle = unsafe handle
        unsafe slots = .allocate(capacity: names.count)
        for (index, member) in found.enumerated() {
            let column = unsafe cursor.state.pointee.columns[index]
            unsafe slots.initializeElement(
                at: index,
                to: Slot(
                    storage: member.map { members.columns[$0].storage } ?? .other, isBoolean: column.isBoolean,
                    isMapped: column.isMapped, offset: member.map { members.columns[$0].offset } ?? -1,
                    member: member ?? 0))
        }
    }

    deinit { unsafe slots.deallocate() }

    // PERF: SQLite/reading; one call for a row, which stores what has the type of its member at once.
    /// Initializes a structure with the cells of the row.
    ///
    /// - Throws: What building the value by messages throws; the memory is uninitialized then.
    @usableFromInline
    func fill(_ base: UnsafeMutableRawPointer) throws(StreamError) {
        // SAFETY: the statement is on a row, and the slots are those of its columns; each member is initialized once, in the
        // storage that its type has. A value of SQLite is used by this thread only, as the whole connection is.
        for index in unsafe 0..<slots.count {
            let slot = unsafe slots[index]
            if unsafe slot.offset < 0 { continue }
            let place = unsafe base + slot.offset
            let value = unsafe sqlite3_column_value(handle, Int32(truncatingIfNeeded: index))
            let type = unsafe sqlite3_value_type(value)
            switch unsafe (slot.storage, type) {
            case (.integer, SQLITE_INTEGER) where unsafe !slot.isMapped:
                unsafe place.storeBytes(of: sqlite3_value_int64(value), as: Int64.self)
                continue
            case (.string, SQLITE_TEXT) where unsafe !slot.isMapped:
                if let string = unsafe string(value) {
                    unsafe place.initializeMemory(as: String.self, to: string)
                    continue
                }
            case (.bool, SQLITE_INTEGER) where unsafe slot.isBoolean:
                let integer = unsafe sqlite3_value_int64(value)
                if integer == 0 || integer == 1 {
                    unsafe place.storeBytes(of: integer == 1, as: Bool.self)
                    continue
                }
            case (.real, SQLITE_FLOAT) where unsafe !slot.isMapped:
                unsafe place.storeBytes(of: sqlite3_value_double(value), as: Double.self)
                continue
            case (.optionalInteger, SQLITE_INTEGER) where unsafe !slot.isMapped:
                unsafe place.initializeMemory(as: Int64?.self, to: sqlite3_value_int64(value))
                continue
            case (.optionalString, SQLITE_TEXT) where unsafe !slot.isMapped:
                if let string = unsafe string(value) {
                    unsafe place.initializeMemory(as: String?.self, to: string)
                    continue
                }
            default:
                break
            }
            do throws(StreamError) {
                try unsafe read(index, into: place)
            } catch {
                for earlier in 0..<index { unsafe deinitialize(earlier, base) }
                throw error.located(at: cursor.path(index))
            }
        }
    }

    /// The text of a value; nil when it is not UTF-8, or SQLite has no memory.
    @inline(__always)  // PERF: SQLite/reading; once a string.
    private func string(_ value: OpaquePointer?) -> String? {
        guard let address = unsafe sqlite3_value_text(value) else { return nil }
        let bytes = unsafe UnsafeBufferPointer(start: address, count: Int(sqlite3_value_bytes(value)))
        // PERF: SQLite/reading; the standard library's initializer that refuses takes twice the time of the one that repairs:
        // what that made of bytes which are no UTF-8 differs from them.
        let string = unsafe String(decoding: bytes, as: UTF8.self)
        if unsafe TextCheck.isASCII(UnsafeRawBufferPointer(bytes)) { return string }
        let isSame = unsafe string.utf8.withContiguousStorageIfAvailable { made in
            guard let first = made.baseAddress, made.count == bytes.count else { return false }
            return unsafe memcmp(first, address, made.count) == 0
        }
        return isSame ?? false ? string : nil
    }

    /// Reads a cell as the message that it would be.
    @inline(never)
    private func read(_ index: Int, into place: UnsafeMutableRawPointer) throws(StreamError) {
        let member = unsafe slots[index].member
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
        guard unsafe slots[index].offset >= 0 else { return }
        unsafe members.deinitialize(slots[index].member, at: base + slots[index].offset)
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
        do throws(StreamError) {
            let cursor = try RowCursor(self, options)
            do {
                defer { cursor.end() }
                guard try cursor.next() else { return [] }
                if let filler = try cursor.makeFiller(for: type, builderOptions) {
                    var rows: [Row] = []
                    // SAFETY: `fill` initializes the memory, of which the value is moved out at once, or throws.
                    let memory = UnsafeMutablePointer<Row>.allocate(capacity: 1)
                    defer { unsafe memory.deallocate() }
                    repeat {
                        try unsafe filler.fill(UnsafeMutableRawPointer(memory))
                        unsafe rows.append(memory.move())
                    } while try cursor.next()
                    return rows
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

extension RowCursor {
    /// Makes what fills structures of a type from the row that this is on and all after it; nil when only messages will do.
    @usableFromInline
    func makeFiller<Row: StreamValue>(
        for type: Row.Type, _ options: BuilderOptions
    ) throws(StreamError) -> RowFiller? {
        guard let objectType = type as? any StreamObject.Type, options.nulls == .reject,
            options.unknownMembers == .ignore
        else { return nil }
        func open<Object: StreamObject>(_ type: Object.Type) throws(StreamError) -> MemberColumns {
            try MemberColumns(type, keyMapping: options.keyMapping)
        }
        return RowFiller(self, try open(objectType))
    }
}
