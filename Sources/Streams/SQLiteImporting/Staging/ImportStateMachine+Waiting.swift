// Keeps records that refer to missing records: they stay staged when their batch is written, and come first in the next one.

import PlistStreaming

extension ImportStateMachine {
    /// Keeps the rows of some records as the first ones of the next batch, and removes all others.
    ///
    /// - Parameter waiting: The numbers of the records in the batch, in order.
    mutating func keep(_ waiting: [Int]) {
        let places = nodes.map { keptPlaces(of: $0, waiting) }
        let kept = ImportArena()
        let numbers = Dictionary(uniqueKeysWithValues: waiting.enumerated().map { ($1, $0) })
        for (index, node) in nodes.enumerated() where !places[index].isEmpty {
            let parentPlaces = parentIndex(of: node).map { places[$0] } ?? [:]
            for (row, place) in places[index].sorted(by: { $0.key < $1.key }) {
                node.rows.move(row, to: place)
                node.rows[header: place].record = Int32(numbers[Int(node.rows[header: place].record)] ?? 0)
                let parent = Int(node.rows[header: place].parent)
                node.rows[header: place].parent = Int32(parentPlaces[parent] ?? -1)
                moveCells(of: node, place, to: kept, places)
            }
        }
        for (index, node) in nodes.enumerated() { node.rows.truncate(to: places[index].count) }
        if waiting.isEmpty {
            arena.truncate(to: 0, keeping: 2 * options.batchByteLimit)
        } else {
            arena.exchange(with: kept)
        }
        stagedRecords = waiting.map { stagedRecords[$0] }
        waitingCount = waiting.count
        waitingByteCount = waiting.isEmpty ? 0 : stagedByteCount
    }

    /// Returns the new indexes of the rows of kept records.
    private func keptPlaces(of node: ImportNode, _ waiting: [Int]) -> [Int: Int] {
        var places: [Int: Int] = [:]
        for number in waiting {
            for row in node.range(of: number..<(number + 1)) { places[row] = places.count }
        }
        return places
    }

    private func parentIndex(of node: ImportNode) -> Int? {
        nodes.firstIndex { parent in parent.relationships.contains { !$0.isToOne && $0.node === node } }
    }

    /// Copies the text of a row, and updates the indexes of the rows it refers to.
    private func moveCells(of node: ImportNode, _ row: Int, to kept: ImportArena, _ places: [[Int: Int]]) {
        for slot in node.slotNames.indices {
            var cell = node.rows[row, slot]
            guard cell.tag == .text || cell.tag == .blob else { continue }
            cell.bits = UInt64(unsafe kept.append(arena.bytes(of: cell)))
            node.rows[row, slot] = cell
        }
        for relationship in node.relationships where relationship.isToOne {
            let cell = node.rows[row, relationship.link]
            guard cell.tag == .link, let index = nodes.firstIndex(where: { $0 === relationship.node }) else { continue }
            node.rows[row, relationship.link] = .link(places[index][cell.offset] ?? 0)
        }
    }
}
