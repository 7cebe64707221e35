// Reads documents into columns. In any pieces, they must give the same rows or the same error, and the rows must be those of
// the tree.

import FuzzInputs
import JSONStreaming
import PlistBuilding
import PlistStreaming

@main
enum FuzzColumns {
    static func main() {
        FuzzInput.run { start, count in
            fuzzColumns(Array(UnsafeRawBufferPointer(start: start, count: count)))
            return 0
        }
    }
}

private let types: KeyValuePairs<String, ColumnType> = [
    "integer": .integer, "real": .real, "flag": .bool, "text": .string, "a name of more bytes": .integer, "": .string,
]

// Computed, since the leak checker doesn't see the references of an enumeration in a global variable.
private var shape: Shape {
    Shape.array(
        .object([
            ("integer", .optional(.integer)), ("real", .real), ("flag", .bool), ("text", .text),
            ("a name of more bytes", .integer), ("", .optional(.text)),
        ]))
}

private func fuzzColumns(_ bytes: [UInt8]) {
    guard let input = FuzzInput(bytes, shape: shape) else { return }
    let depth = Int(input.choices & 3)
    let whole = rows(input.document, pieces: [max(1, input.document.count)], depth: depth)
    let inPieces = rows(input.document, pieces: input.pieceSizes, depth: depth)
    check(whole == inPieces, "whole: \(whole), in pieces: \(inPieces)")
    let byByte = rows(input.document, pieces: [1], depth: depth)
    check(whole == byByte, "whole: \(whole), by byte: \(byByte)")
    guard depth == 1, whole.error == nil, !DuplicateFinder.hasDuplicates(input.document) else { return }
    var builder = PropertyListBuilder()
    let tree: PropertyList
    do {
        try builder.readJSON(input.document)
        tree = try builder.takeResult()
    } catch {
        fatalError("the tree refuses \(error)")
    }
    let elements = tree.kind == .array ? Array(tree.elements) : tree.members.map(\.value)
    let expected = elements.map(row)
    check(whole.rows == expected, "columns: \(whole.rows), tree: \(expected)")
}

private struct Outcome: Equatable {
    var rows: [String] = []
    var error: StreamError?
}

private func rows(_ document: [UInt8], pieces: [Int], depth: Int) -> Outcome {
    do throws(StreamError) {
        var builder = ColumnsBuilder(types, depth: depth)
        try builder.read(document, pieces: pieces)
        let columns = try builder.takeResult()
        for column in columns.columns {
            check(column.count == columns.rowCount, "a column of \(column.count) rows")
            let nullCount = (0..<column.count).reduce(0) { $0 + (column.isNull($1) ? 1 : 0) }
            check(column.nullCount == nullCount, "\(column.nullCount) nulls, but \(nullCount) rows are null")
        }
        return Outcome(
            rows: (0..<columns.rowCount).map { row in columns.columns.map { text($0, row) }.joined(separator: "|") })
    } catch {
        check(error.kind != .misuse, "\(error)")
        return Outcome(error: error)
    }
}

private func text(_ column: Column, _ row: Int) -> String {
    switch column.type {
    case .integer: column.integer(row).map { "\($0)" } ?? "-"
    case .real: column.real(row).map { "\($0)" } ?? "-"
    case .bool: column.bool(row).map { "\($0)" } ?? "-"
    case .string: column.string(row).map { "'\($0)'" } ?? "-"
    }
}

/// Returns the row that a dictionary of the tree represents.
private func row(_ tree: PropertyList) -> String {
    types.map { name, type in
        guard let value = tree[name], !value.isNull else { return "-" }
        switch type {
        case .integer: return value.integerValue.map { "\($0)" } ?? "?"
        case .real: return value.realValue.map { "\($0)" } ?? "?"
        case .bool: return value.boolValue.map { "\($0)" } ?? "?"
        case .string: return value.stringValue.map { "'\($0)'" } ?? "?"
        }
    }.joined(separator: "|")
}
