// Joins the columns that several readers have made, one after the other.

import PlistStreaming

extension Columns {
    /// Joins columns of the same names and types, in the order of the parts.
    ///
    /// - Precondition: All parts have the same columns, like those of builders with the same arguments.
    /// - Complexity: O(*n*) in the bytes, which are copied.
    package init(joining parts: [Columns]) {
        let rowCount = parts.reduce(0) { $0 + $1.rowCount }
        let columns = (parts.first?.columns ?? []).indices.map { index in
            let columns = parts.map { $0.columns[index] }
            precondition(
                columns.allSatisfy { $0.name.utf8.elementsEqual(columns[0].name.utf8) && $0.type == columns[0].type },
                "expected parts with the same columns")
            return Column(joining: columns, rowCount: rowCount)
        }
        self.init(columns: columns, rowCount: rowCount)
    }
}

extension Column {
    fileprivate init(joining parts: [Column], rowCount: Int) {
        let first = unsafe parts[0].memory.buffer
        // The name of a buffer belongs to its builder, which no longer exists. Members aren't looked up here.
        let noName = unsafe UnsafeRawBufferPointer(start: nil, count: 0)
        var joined = unsafe ColumnBuffer(name: noName, type: first.type, level: first.level, inner: first.inner)
        if rowCount > 0 { unsafe joined.reserve(rowCount) }
        if unsafe joined.type == .string {
            unsafe joined.growText(by: max(1, parts.reduce(0) { unsafe $0 + $1.memory.buffer.textCount }))
        }
        for part in parts {
            unsafe joined.append(part.memory.buffer)
            withExtendedLifetime(part.memory) {}
        }
        self.init(unsafe ColumnMemory(joined), name: parts[0].name)
    }
}

extension ColumnBuffer {
    /// Adds the rows of another column of the same type.
    fileprivate mutating func append(_ other: ColumnBuffer) {
        guard unsafe other.count > 0 else { return }
        precondition(unsafe capacity - count >= other.count, "expected reserved capacity for all rows")
        // SAFETY: the column has space for the rows, and the other column has as many.
        let place = unsafe values + count * stride
        unsafe place.copyMemory(from: other.values, byteCount: other.count * stride)
        if unsafe type == .string {
            let before = unsafe Int64(textCount)
            unsafe appendText(UnsafeRawBufferPointer(start: other.text, count: other.textCount).bytes)
            let ends = unsafe place.assumingMemoryBound(to: Int64.self)
            for row in unsafe 0..<other.count { unsafe ends[row] += before }
        }
        if unsafe other.nullCount > 0 {
            for row in unsafe 0..<other.count where unsafe other.nulls[row / 64] & 1 << UInt64(row % 64) != 0 {
                let index = unsafe count + row
                unsafe nulls[index / 64] |= 1 << UInt64(index % 64)
            }
            unsafe nullCount += other.nullCount
        }
        unsafe count += other.count
    }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

enum ColumnsJoiningTests {}

extension ColumnsJoiningTests: SelfTesting {
    static var testSelectors: TestSelectors { ["testJoinsRowsInOrder": testJoinsRowsInOrder] }

    private static func columns(_ rows: Range<Int>) throws -> Columns {
        var builder = ColumnsBuilder(["n": .integer, "s": .string, "b": .bool, "r": .real])
        try builder.beginArray()
        for row in rows {
            try builder.beginDictionary()
            try builder.writeKey("n")
            if row % 3 == 0 { try builder.writeNull() } else { try builder.writeInteger(Int64(row)) }
            try builder.writeKey("s")
            try String(repeating: "é", count: row % 30).withUTF8Span { try builder.writeString($0) }
            if row % 5 != 0 {
                try builder.writeKey("b")
                try builder.writeBool(row % 2 == 0)
                try builder.writeKey("r")
                try builder.writeReal(Double(row) / 4)
            }
            try builder.endDictionary()
        }
        try builder.endArray()
        return try builder.takeResult()
    }

    private static func testJoinsRowsInOrder() throws {
        for cuts in [[0, 0], [0, 1, 1, 64, 65], [0, 1_500, 2_100, 5_000], [0, 3_000], [0, 9_000, 18_001]] {
            let count = cuts.last ?? 0
            let parts = try (1..<cuts.count).map { try columns(cuts[$0 - 1]..<cuts[$0]) }
            let (joined, expected) = (Columns(joining: parts), try columns(0..<count))
            expectEqual(joined.rowCount, count, "rows")
            for (column, other) in zip(joined.columns, expected.columns) {
                expectEqual(column.nullCount, other.nullCount, "nulls of \(column.name)")
                let isSame = (0..<count).allSatisfy { row in
                    column.isNull(row) == other.isNull(row) && column.integer(row) == other.integer(row)
                        && column.string(row) == other.string(row) && column.bool(row) == other.bool(row)
                        && column.real(row) == other.real(row)
                }
                expectTrue(isSame, "rows of \(column.name) in \(cuts)")
            }
        }
    }
}
#endif
