// Rows that are being inserted, and how their cells are read from memory: by the virtual table, or to bind them to the
// parameters of a statement. No user code runs meanwhile: values that only the plan of their member can read, such as
// computed properties, are copied into a `RowBuffer` first.

import CSystemSQLite
import PlistBuilding

/// The layout of a column's values in memory.
@unsafe
struct SourceColumn {
    let storage: FastKind
    let offset: Int
}

/// The source of the rows that are inserted.
@unsafe
struct RowSource {
    enum Kind: UInt8 { case none, buffer, staged, values, objects }

    var kind = Kind.none
    /// A Boolean value that indicates whether `StringBytes` can read the strings.
    private(set) var knowsStrings = StringBytes.isLayoutKnown
    var rowCount = 0
    /// The row that is being read.
    var row = 0
    /// The first row that the virtual table returns.
    var firstRow = 0
    /// The number of cells of a row, or -1 without rows.
    private(set) var columnCount = -1
    /// A Boolean value that indicates whether a statement is reading the rows from the virtual table, or has done so.
    var isScanned = false
    /// The sequence of the ids that SQLite chooses.
    var rowIDs = RowIDSequence()
    /// The cells of a `RowBuffer` and its bytes.
    private var cells: UnsafePointer<StagedCell>?
    private var bytes: UnsafeRawPointer?
    /// The indices of the staged rows that are read, or nil for all rows in order.
    private var indices: UnsafePointer<Int>?
    /// The first value of an array, and the layout of its columns.
    private var values: UnsafeRawPointer?
    /// The number of bytes of a value, or the number of cells of a staged row.
    private var stride = 0
    private var columns: UnsafePointer<SourceColumn>?

    /// Creates an empty source.
    init() {}

    /// Creates a source for the rows of a buffer, which must not change while they are read.
    init(_ buffer: borrowing RowBuffer) {
        unsafe kind = .buffer
        unsafe rowCount = buffer.rowCount
        unsafe columnCount = buffer.columnCount
        unsafe cells = buffer.cells
        unsafe bytes = buffer.bytes
    }

    /// Creates a source for staged rows, which must not change while they are read.
    ///
    /// - Parameters:
    ///   - cells: The cells of all rows. The first cells of a row are columns of the virtual table.
    ///   - stride: The number of cells of a row.
    ///   - range: The rows that are read, or the elements of `indices` if it isn't nil.
    init(
        staged cells: UnsafePointer<StagedCell>?, _ bytes: UnsafeRawPointer, stride: Int, columnCount: Int,
        _ range: Range<Int>, _ indices: UnsafePointer<Int>?
    ) {
        unsafe kind = .staged
        unsafe (firstRow, rowCount) = (range.lowerBound, range.upperBound)
        unsafe (self.columnCount, self.stride) = (columnCount, stride)
        unsafe (self.cells, self.bytes, self.indices) = unsafe (cells, bytes, indices)
    }

    /// Creates a source for the values of an array. The array must not change while it is read, nor may a caller be modifying
    /// the objects that it refers to.
    ///
    /// - Parameters:
    ///   - values: The address of the first value.
    ///   - columns: The layout of their columns in memory.
    init(_ values: UnsafeRawPointer, count: Int, columns: UnsafePointer<SourceColumn>, of members: MemberColumns) {
        unsafe kind = members.isClass ? .objects : .values
        unsafe rowCount = count
        unsafe columnCount = members.columns.count
        unsafe self.values = unsafe values
        unsafe stride = members.stride
        unsafe self.columns = unsafe columns
        guard members.isClass, unsafe ObjectAccess.isModifying() else { return }
        for row in 0..<count { unsafe members.checkRead(ofObjectAt: values + row * members.stride) }
    }
}

extension RowSource {
    /// Returns the index of a staged row.
    @inline(__always)  // PERF: SQLiteImport; once a cell.
    private func index(ofRow row: Int) -> Int { unsafe indices.map { unsafe $0[row] } ?? row }

    /// Returns whether a column can only contain integers.
    func hasOnlyIntegers(_ column: Int) -> Bool {
        guard let columns = unsafe columns, column >= 0 else { return false }
        return unsafe columns[column].storage == .integer
    }

    /// Returns the id of a row, from the column of the sequence.
    @inline(__always)  // PERF: SQLite/insert; once a row.
    func rowID(_ row: Int) -> RowID {
        // SAFETY: the callers pass existing rows, and the column belongs to them.
        if unsafe kind == .staged { return unsafe .integer(Int64(index(ofRow: row))) }
        let column = unsafe rowIDs.column
        guard column >= 0 else { return .other }
        switch unsafe kind {
        case .buffer:
            guard let cells = unsafe cells else { return .other }
            let cell = unsafe cells + (row &* columnCount &+ column)
            switch unsafe cell.pointee.tag {
            case .integer: return unsafe .integer(cell.pointee.integer)
            case .null: return .null
            default: return .other
            }
        case .values, .objects:
            guard let values = unsafe values, let columns = unsafe columns else { return .other }
            let value = unsafe values + row &* stride
            let members = unsafe kind == .objects ? value.load(as: UnsafeRawPointer.self) : value
            let place = unsafe members + columns[column].offset
            switch unsafe columns[column].storage {
            case .integer: return unsafe .integer(place.load(as: Int64.self))
            case .optionalInteger: return unsafe place.load(as: Int64?.self).map { .integer($0) } ?? .null
            default: return .other
            }
        case .none, .staged: return .other
        }
    }
}

extension RowSource {
    // PERF: SQLite/insert; no reference is counted and no variable of an object is read here. Either would cost as much as
    // the rest of a cell. The function is inlined into the virtual table's function and into the loop that binds.
    /// Passes a cell of the current row to a destination.
    ///
    /// - Returns: The result code of the destination, or `SQLITE_ERROR` if the value can't be stored; the reader then has the
    ///   error.
    @inline(__always)
    static func pass<Destination: CellDestination>(
        _ column: Int, of source: UnsafeMutablePointer<RowSource>, to destination: Destination,
        _ reader: Unmanaged<RowReader>
    ) -> Int32 {
        // SAFETY: callers pass only existing columns, and rows below the count; the rows don't change while the source refers
        // to them.
        switch unsafe source.pointee.kind {
        case .values:
            guard let values = unsafe source.pointee.values else { return SQLITE_ERROR }
            let value = unsafe values + source.pointee.row &* source.pointee.stride
            return unsafe passMember(column, of: source, value, to: destination, reader)
        case .objects:
            guard let values = unsafe source.pointee.values else { return SQLITE_ERROR }
            let value = unsafe values + source.pointee.row &* source.pointee.stride
            return unsafe passMember(column, of: source, value.load(as: UnsafeRawPointer.self), to: destination, reader)
        case .buffer:
            guard let cells = unsafe source.pointee.cells, let bytes = unsafe source.pointee.bytes else {
                return SQLITE_ERROR
            }
            let cell = unsafe cells + (source.pointee.row &* source.pointee.columnCount &+ column)
            switch unsafe cell.pointee.tag {
            case .integer: return unsafe passInteger(cell.pointee.integer, column, of: source, to: destination)
            case .null: return unsafe passNull(column, of: source, to: destination)
            default:
                // SQLite converts it to an integer whose value isn't known here.
                if unsafe column == source.pointee.rowIDs.column { unsafe source.pointee.rowIDs.stop() }
                return unsafe cell.pointee.pass(to: destination, bytes)
            }
        case .staged:
            guard let cells = unsafe source.pointee.cells, let bytes = unsafe source.pointee.bytes else {
                return SQLITE_ERROR
            }
            let row = unsafe source.pointee.index(ofRow: source.pointee.row)
            return unsafe cells[row &* source.pointee.stride &+ column].pass(to: destination, bytes)
        case .none:
            return SQLITE_MISUSE
        }
    }

    @inline(__always)  // PERF: see give.
    private static func passMember<Destination: CellDestination>(
        _ column: Int, of source: UnsafeMutablePointer<RowSource>, _ members: UnsafeRawPointer,
        to destination: Destination,
        _ reader: Unmanaged<RowReader>
    ) -> Int32 {
        // SAFETY: see give; the members are those of a value, which has each of them at its offset.
        guard let columns = unsafe source.pointee.columns else { return SQLITE_ERROR }
        let place = unsafe members + columns[column].offset
        switch unsafe columns[column].storage {
        case .integer:
            return unsafe passInteger(place.load(as: Int64.self), column, of: source, to: destination)
        case .string:
            return unsafe passText(place, column, of: source, to: destination, reader)
        case .bool:
            return unsafe destination.set(integer: place.load(as: Bool.self) ? 1 : 0)
        case .real:
            return unsafe passReal(place.load(as: Double.self), column, to: destination, reader)
        case .optionalInteger:
            guard let integer = unsafe place.load(as: Int64?.self) else {
                return unsafe passNull(column, of: source, to: destination)
            }
            return unsafe passInteger(integer, column, of: source, to: destination)
        case .optionalReal:
            guard let real = unsafe place.load(as: Double?.self) else { return destination.setNull() }
            return unsafe passReal(real, column, to: destination, reader)
        case .optionalBool:
            guard let bool = unsafe place.load(as: Bool?.self) else { return destination.setNull() }
            return destination.set(integer: bool ? 1 : 0)
        case .optionalString:
            // An optional string has the same address as its string.
            let isNil =
                unsafe source.pointee.knowsStrings
                ? StringBytes.isNil(place) : place.assumingMemoryBound(to: String?.self).pointee == nil
            return unsafe isNil ? destination.setNull() : passText(place, column, of: source, to: destination, reader)
        default:
            // Such rows are copied into a buffer first.
            return SQLITE_MISUSE
        }
    }

    @inline(__always)  // PERF: see give.
    private static func passInteger<Destination: CellDestination>(
        _ value: Int64, _ column: Int, of source: UnsafeMutablePointer<RowSource>, to destination: Destination
    ) -> Int32 {
        if unsafe column == source.pointee.rowIDs.column, unsafe source.pointee.rowIDs.isChosen(value) {
            return destination.setNull()
        }
        return destination.set(integer: value)
    }

    @inline(__always)  // PERF: see give.
    private static func passNull<Destination: CellDestination>(
        _ column: Int, of source: UnsafeMutablePointer<RowSource>, to destination: Destination
    ) -> Int32 {
        if unsafe column == source.pointee.rowIDs.column { unsafe source.pointee.rowIDs.choose() }
        return destination.setNull()
    }

    @inline(__always)  // PERF: see give.
    private static func passReal<Destination: CellDestination>(
        _ value: Double, _ column: Int, to destination: Destination, _ reader: Unmanaged<RowReader>
    ) -> Int32 {
        guard !value.isNaN else { return unsafe reader._withUnsafeGuaranteedRef { $0.refuseNaN(column) } }
        return destination.set(real: value)
    }

    @inline(__always)  // PERF: see give.
    private static func passText<Destination: CellDestination>(
        _ string: UnsafeRawPointer, _ column: Int, of source: UnsafeMutablePointer<RowSource>,
        to destination: Destination,
        _ reader: Unmanaged<RowReader>
    ) -> Int32 {
        // SAFETY: the bytes of a string stay at their address while the caller's array retains it.
        guard unsafe source.pointee.knowsStrings, let (start, count) = unsafe StringBytes.find(string) else {
            return unsafe reader._withUnsafeGuaranteedRef {
                unsafe $0.passForeign(string.assumingMemoryBound(to: String.self).pointee, column, to: destination)
            }
        }
        guard count <= Int(Int32.max) else { return SQLITE_TOOBIG }
        if let offset = unsafe TextCheck.firstNUL(in: UnsafeRawBufferPointer(start: start, count: count).bytes) {
            return unsafe reader._withUnsafeGuaranteedRef { $0.refuseNUL(at: offset, column) }
        }
        return unsafe destination.set(text: start, byteCount: Int32(truncatingIfNeeded: count), isPassing: false)
    }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

enum RowSourceTests {
    /// Records the values as text.
    fileprivate final class RecordedCells: CellDestination {
        var texts: [String] = []

        private func record(_ word: String) -> Int32 {
            texts.append(word)
            return SQLITE_OK
        }

        func setNull() -> Int32 { record("null") }
        func set(integer: Int64) -> Int32 { record("\(integer)") }
        func set(real: Double) -> Int32 { record("\(real)") }
        func set(text: UnsafeRawPointer, byteCount: Int32, isPassing: Bool) -> Int32 {
            // SAFETY: that many bytes are valid during the call.
            record(unsafe String(decoding: UnsafeRawBufferPointer(start: text, count: Int(byteCount)), as: UTF8.self))
        }
        func set(blob: UnsafeRawPointer, byteCount: Int32, isPassing: Bool) -> Int32 { record("\(byteCount) bytes") }
    }
}

extension RowSource {
    /// Creates a source of adjacent optional strings.
    fileprivate init(_ strings: UnsafeRawPointer?, _ column: UnsafePointer<SourceColumn>, knowsStrings: Bool) {
        unsafe kind = .values
        unsafe values = strings
        unsafe stride = MemoryLayout<String?>.stride
        unsafe columns = column
        unsafe self.knowsStrings = knowsStrings
    }
}

extension RowSourceTests: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testReadsStringsOfAnyLayout": testReadsStringsOfAnyLayout,
            "testTrapsForObjectsUnderModification": testTrapsForObjectsUnderModification,
        ]
    }

    private final class Plain: StreamObject {
        var id: Int? = nil
        var title = "a title of more than fifteen bytes"
        init() {}
    }

    /// An object whose level only its plan can read, so that its cells are collected first.
    private final class Buffered: StreamObject {
        var title = "a title of more than fifteen bytes"
        var level: UInt16 = 1
        init() {}
    }

    @_optimize(none)  // The optimizer ends an access early if nothing uses the value.
    private static func modify<Value>(_ value: inout Value, _ body: () throws -> Void) rethrows { try body() }

    private static func testTrapsForObjectsUnderModification() throws {
        let connection = try SQLiteConnection(path: ":memory:")
        let (plain, buffered) = (Plain(), Buffered())
        try connection.execute(
            "CREATE TABLE plain (id INTEGER PRIMARY KEY, title NOT NULL); CREATE TABLE buffered (title NOT NULL, level NOT NULL)"
        )
        let plains = try SQLiteTable<Plain>(connection, "plain")
        let buffereds = try SQLiteTable<Buffered>(connection, "buffered")
        expectExit(.signal(SIGABRT), "a string") { modify(&plain.title) { _ = try? plains.insert([Plain(), plain]) } }
        expectExit(.signal(SIGABRT), "a string of a row that is collected") {
            modify(&buffered.title) { _ = try? buffereds.insert([buffered]) }
        }
        try modify(&plain.title) { try plains.insert([Plain(), Plain()]) }
        expectEqual(try plains.count(), 2, "rows of other objects")
    }

    private static func testReadsStringsOfAnyLayout() {
        let strings = [nil, "", "short", nil, "a text of more than fifteen bytes", "größer als fünfzehn Bytes"]
        // If the layout of strings isn't known, they are read like any other value.
        for knowsStrings in [true, false] where !knowsStrings || StringBytes.isLayoutKnown {
            let reader = RowReader()
            let taken = RecordedCells()
            unsafe withUnsafePointer(to: SourceColumn(storage: .optionalString, offset: 0)) { column in
                unsafe strings.withUnsafeBytes { bytes in
                    // SAFETY: the source has the rows of the array and its one column, and is used only in this closure.
                    unsafe reader.source.pointee = RowSource(bytes.baseAddress, column, knowsStrings: knowsStrings)
                    for row in strings.indices {
                        unsafe reader.source.pointee.row = row
                        let code = unsafe RowSource.pass(
                            0, of: reader.source, to: taken, Unmanaged.passUnretained(reader))
                        expectEqual(code, SQLITE_OK, "row \(row)")
                    }
                }
            }
            expectEqual(taken.texts, strings.map { $0 ?? "null" }, "the layout is known: \(knowsStrings)")
        }
    }
}
#endif
