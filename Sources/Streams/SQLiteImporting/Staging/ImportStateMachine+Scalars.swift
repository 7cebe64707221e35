// Stages scalars in rows: values of columns, bare keys, and null for a relationship.

import PlistBuilding
import PlistStreaming

extension ImportStateMachine {
    mutating func write(_ scalar: ScalarMessage) throws(StreamError) {
        try checkIsUsable()
        guard skippedDepth == 0 else { return }
        guard let frame = frames.last else { return try unsafe writeDocumentScalar(scalar) }
        if frame.isArray {
            return try unsafe writeBareKey(scalar, frame.node.relationships[frame.member].node, frame.row)
        }
        guard frame.member >= 0 else { return }
        switch frame.node.members[frame.member] {
        case .column(let slot): _ = try unsafe write(scalar, frame.node, frame.row, slot)
        case .relationship(let index):
            let relationship = frame.node.relationships[index]
            switch (unsafe scalar.isNull, relationship.isToOne) {
            case (true, true): frame.node.rows[frame.row, relationship.link] = .null
            case (true, false): _ = try markGiven(frame, index, opened: 0)
            case (false, true):
                frame.node.rows[frame.row, relationship.link] = .link(relationship.node.rows.count)
                try unsafe writeBareKey(scalar, relationship.node, -1)
            case (false, false):
                try fail(.typeMismatch, "expected an array, found \(unsafe scalar.typeDescription)", opened: 0)
            }
        }
    }

    private mutating func writeDocumentScalar(_ scalar: ScalarMessage) throws(StreamError) {
        guard expectsRecords else { return try unsafe skipDocumentValue(scalar.typeDescription, opened: 0) }
        hasFoundRecords = true
        try fail(.typeMismatch, "expected a record, found \(unsafe scalar.typeDescription)", opened: 0)
    }

    /// Stages a record that consists only of its key.
    private mutating func writeBareKey(_ scalar: ScalarMessage, _ node: ImportNode, _ parent: Int) throws(StreamError) {
        guard let slot = node.bareKeySlot else {
            return try fail(.typeMismatch, "expected a record, found \(unsafe scalar.typeDescription)", opened: 0)
        }
        let row = node.rows.append(parent: parent, record: stagedRecords.count)
        guard try unsafe write(scalar, node, row, slot) else { return }
        if let last = frames.indices.last, frames[last].isArray { frames[last].childCount += 1 }
    }

    /// Stages the value of a column.
    private mutating func write(
        _ scalar: ScalarMessage, _ node: ImportNode, _ row: Int, _ slot: Int
    ) throws(StreamError) -> Bool {
        let column = node.table.columns[slot]
        switch unsafe scalar.converted(to: column.type, arena: arena, limit: lengthLimit) {
        case .cell(let cell):
            if cell.tag == .null, node.requiredMask & 1 << UInt64(slot) != 0 {
                try fail(.typeMismatch, "expected \(column.type.typeDescription), found null", opened: 0)
                return false
            }
            if !column.checks.isEmpty, cell.tag != .null {
                let value = node.rows.value(of: cell)
                if let check = column.checks.first(where: { !$0.isValid(value) }) {
                    try fail(.unrepresentable, "expected \(check.expectation)", opened: 0)
                    return false
                }
            }
            node.rows.set(cell, row: row, slot: slot)
            return true
        case .refusal(let kind, let message):
            try fail(kind, message, opened: 0)
            return false
        }
    }
}
