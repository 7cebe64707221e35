// Tests of `ImportRows`, of the arena with their text, and of the table that finds rows by their keys.

#if DEBUG || IN_CLASS_TESTS
import InClassTesting
import SQLiteStreaming

extension ImportRows: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testArenaKeepsCopiedBytes": testArenaKeepsCopiedBytes,
            "testKeepsRowsAsItGrows": testKeepsRowsAsItGrows,
            "testFindsEqualKeys": testFindsEqualKeys,
        ]
    }

    private static func append(_ bytes: [UInt8], to arena: ImportArena, _ tag: StagedCell.Tag = .blob) -> StagedCell {
        let offset = unsafe bytes.withUnsafeBytes { unsafe arena.append($0) }
        return StagedCell(bits: UInt64(offset), length: UInt32(bytes.count), tag: tag)
    }

    private static func testArenaKeepsCopiedBytes() {
        let (arena, other) = (ImportArena(), ImportArena())
        func expectAll(_ cells: [StagedCell], _ when: String) {
            for (index, cell) in cells.enumerated() {
                let isThere = unsafe arena.bytes(of: cell).allSatisfy { $0 == UInt8(index) }
                expectTrue(isThere, "bytes of \(index) \(when)")
            }
        }
        var cells: [StagedCell] = []
        var sum = 0
        // The first text fills the memory, the next one exceeds it by a byte, and a later one exceeds twice its size.
        for (index, count) in [1 << 16, 1, 0, 60_000, 700_000, 3].enumerated() {
            cells.append(append([UInt8](repeating: UInt8(index), count: count), to: arena))
            // Allocations that reuse the freed memory must not be read.
            let decoys = (0..<3).map { [UInt8](repeating: 0xFF, count: 1 << (15 + $0)) }
            expectEqual(cells[index].offset, sum, "offset \(index)")
            expectEqual(decoys.map(\.count), [1 << 15, 1 << 16, 1 << 17])
            sum += count
            expectEqual(arena.count, sum, "bytes so far")
            expectAll(cells, "after \(index)")
        }
        other.exchange(with: arena)
        expectEqual([arena.count, other.count], [0, sum], "exchanged")
        arena.exchange(with: other)
        arena.truncate(to: cells[3].offset)
        expectEqual(append([3, 3], to: arena).offset, cells[3].offset, "in place of what was forgotten")
        expectAll(Array(cells[..<3]), "after truncation")
        arena.truncate(to: 0, keeping: 1 << 16)
        for count in [1 << 16, 1 << 15] { _ = append([UInt8](repeating: 0, count: count), to: arena) }
        expectAll([StagedCell(bits: 0, length: 3 << 15, tag: .blob)], "from the start")
    }

    private static func testKeepsRowsAsItGrows() {
        let rows = ImportRows(slotCount: 3, columnCount: 2, arena: ImportArena())
        for row in 0..<300 {
            expectEqual(rows.append(parent: row - 1, record: row * 2), row)
            expectEqual((0..<3).map { rows[row, $0].tag }, [.absent, .absent, .absent], "row \(row)")
            rows.set(.integer(Int64(row)), row: row, slot: 0)
            rows.set(.real(Double(row)), row: row, slot: 2)
        }
        func expectRow(_ row: Int, is other: Int) {
            let header = rows[header: row]
            expectEqual(
                [rows[row, 0].integer, Int64(rows[row, 2].real)], [Int64(other), Int64(other)], "cells of \(row)")
            expectEqual(rows[row, 1].tag, .absent, "cell of \(row) without a value")
            expectEqual([Int(header.parent), Int(header.record)], [other - 1, other * 2], "header of \(row)")
            expectEqual(header.mask, 0b101, "mask of \(row)")
        }
        for row in 0..<300 { expectRow(row, is: row) }
        rows.move(299, to: 5)
        rows.move(7, to: 7)
        rows.truncate(to: 299)
        for row in 0..<299 { expectRow(row, is: row == 5 ? 299 : row) }
        expectEqual(rows.append(parent: 0, record: 0), 299, "in place of what was forgotten")
        expectEqual(rows[header: 299].mask, 0, "new")
    }

    private static func testFindsEqualKeys() {
        let (arena, otherArena) = (ImportArena(), ImportArena())
        _ = append([0], to: otherArena)
        func keys(_ arena: ImportArena) -> [[StagedCell]] {
            func text(_ text: String) -> StagedCell { append(Array(text.utf8), to: arena, .text) }
            let cells: [[StagedCell]] = [
                [.integer(1)], [.integer(-1)], [.integer(.max)], [.real(1.5)], [.real(-0.5)], [text("a")], [text("b")],
                [text("ab")], [text("")], [append(Array("a".utf8), to: arena)], [.null], [.link(1)],
            ]
            return cells + cells.map { $0 + [.integer(1)] } + cells.map { [.integer(1)] + $0 }
        }
        // Integers written as reals are equal to integers.
        let wholes: [[StagedCell]] = [[.real(1)], [.real(-1)], [.real(1), .real(1)]]
        let (rows, others) = (make(keys(arena) + wholes, arena), make(keys(otherArena), otherArena))
        for row in 0..<rows.count {
            for other in 0..<others.count {
                let (slots, otherSlots) = (slots(rows, row), slots(others, other))
                guard slots.count == otherSlots.count else { continue }
                let whole = row - others.count
                let isExpected =
                    whole < 0
                    ? values(rows, row) == values(others, other) : [[0], [1], [12, 24]][whole].contains(other)
                let keys = [
                    rows.withKey(row: row, slots: slots) { Array(copying: $0) },
                    others.withKey(row: other, slots: otherSlots) { Array(copying: $0) },
                ]
                expectEqual(keys[0] == keys[1], isExpected, "\(values(rows, row)) and \(values(others, other))")
            }
        }
    }

    private static func make(_ keys: [[StagedCell]], _ arena: ImportArena) -> ImportRows {
        let rows = ImportRows(slotCount: 2, columnCount: 2, arena: arena)
        for key in keys {
            let row = rows.append(parent: -1, record: 0)
            for (slot, cell) in key.enumerated() { rows.set(cell, row: row, slot: slot) }
        }
        return rows
    }

    private static func slots(_ rows: ImportRows, _ row: Int) -> [Int] {
        Array(0..<rows[header: row].mask.nonzeroBitCount)
    }

    /// Returns the parts that distinguish keys; links are distinguished only by their kind.
    private static func values(_ rows: ImportRows, _ row: Int) -> [String] {
        slots(rows, row).map { "\(rows[row, $0].tag) \(rows.value(of: rows[row, $0]))" }
    }
}

extension ImportKeyTable: SelfTesting {
    static var testSelectors: TestSelectors { ["testFindsTheLastRowOfAKey": testFindsTheLastRowOfAKey] }

    private static func testFindsTheLastRowOfAKey() {
        let rows = ImportRows(slotCount: 2, columnCount: 2, arena: ImportArena())
        let keys: [[Int64]] = (0..<100).map { (number: Int64) -> [Int64] in [number % 40, number % 40 / 7] }
        for key in keys {
            let row = rows.append(parent: -1, record: 0)
            for (slot, number) in key.enumerated() { rows.set(.integer(number), row: row, slot: slot) }
        }
        for (slots, count) in [([0], 100), ([1, 0], 100), ([1], 3), ([0, 1], 100)] {
            var table = ImportKeyTable(minimumCapacity: count)
            var last: [[Int64]: Int] = [:]
            for row in 0..<count {
                let key = slots.map { keys[row][$0] }
                expectEqual(table.insert(row, of: rows, slots: slots), last[key], "row \(row) of slots \(slots)")
                last[key] = row
            }
            for row in 0..<100 {
                let found = table.row(equalTo: row, of: rows, slots: slots)
                expectEqual(found, last[slots.map { keys[row][$0] }], "found \(row) of slots \(slots)")
            }
        }
    }
}
#endif
