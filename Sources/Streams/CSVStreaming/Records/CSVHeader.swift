// The names of columns: read once, checked, and looked up to select columns or to set their types.

import PlistStreaming

/// The columns of delimited text.
///
/// Names are equal if their bytes are equal, even if Unicode treats two spellings of a character as equivalent.
public struct CSVHeader: Sendable, Equatable {
    /// The names of the columns in the order of the text.
    public let names: [String]
    /// The first column with each name, by its bytes.
    private let indexes: [[UInt8]: Int]

    init(_ names: [String]) {
        self.names = names
        indexes = Dictionary(
            zip(names.map { Array($0.utf8) }, names.indices), uniquingKeysWith: { first, _ in first })
    }

    public static func == (left: CSVHeader, right: CSVHeader) -> Bool {
        left.names.elementsEqual(right.names) { $0.utf8.elementsEqual($1.utf8) }
    }

    /// Returns the index of the first column with a name, or nil if there isn't one.
    ///
    /// - Complexity: O(1) in the number of columns.
    public func index(of name: String) -> Int? { indexes[Array(name.utf8)] }

    /// Returns the index of a requested column.
    ///
    /// - Throws: `unknownMember`, with similar names.
    func requiredIndex(of name: String) throws(StreamError) -> Int {
        if let index = index(of: name) { return index }
        let near =
            NearestName.find(
                name, among: names.prefix(1_000).filter { $0.utf8.count <= 64 }
            ).map { ", did you mean \($0.debugDescription)?" } ?? ""
        throw StreamError(.unknownMember, "there is no column \(name.debugDescription)\(near)")
    }

    /// Returns the first column with the same name as an earlier requested one, and a description of the problem. With
    /// nil, all columns are requested.
    func repetition(among wanted: [String]? = nil) -> (column: Int, message: String)? {
        let wanted = wanted.map { Set($0.compactMap { index(of: $0) }) }
        for (index, name) in names.enumerated() {
            guard let other = self.index(of: name), other != index, wanted?.contains(other) ?? true else { continue }
            return (index, repetition(of: other, by: index))
        }
        return nil
    }

    private func repetition(of other: Int, by index: Int) -> String {
        "columns \(other + 1) and \(index + 1) have the same name, \(ShownText.quoted(names[index].utf8))"
    }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting
import PlistBuilding

extension CSVHeader: SelfTesting {
    public static var testSelectors: TestSelectors {
        [
            "testFindsColumnsAmongThousands": testFindsColumnsAmongThousands,
            "testComparesNamesByBytes": testComparesNamesByBytes,
        ]
    }

    /// This number of columns would take minutes if each column were searched for among the others.
    private static func testFindsColumnsAmongThousands() throws {
        let count = 20_000
        let names = (0..<count).map { "column\($0)" }
        let text = names.joined(separator: ",") + "\n" + (0..<count).map { "\($0)" }.joined(separator: ",") + "\n"
        var types: [String: CSVFieldType] = [:]
        for name in names { types[name] = .integer }
        var builder = ColumnsBuilder(["column19999": .integer])
        try builder.readCSV(text, options: CSVReaderOptions(columns: names, fieldTypes: types))
        expectEqual(try builder.takeResult()["column19999"]?.integer(0), 19_999, "a chosen column with a type")
        let columns = try CSV.columns(from: Array(text.utf8))
        expectEqual(columns.columns.count, count, "columns")
        expectEqual(columns.columns[count - 2].integer(0), 19_998, "a column whose type was found")
    }

    /// Two names of the same character, as one and as two code points.
    private static func testComparesNamesByBytes() throws {
        let (composed, decomposed) = ("\u{E9}", "e\u{301}")
        let header = CSVHeader([decomposed, composed])
        expectNil(header.repetition()?.message, "what is wrong")
        expectEqual(header.index(of: composed), 1, "the one")
        expectEqual(header.index(of: decomposed), 0, "the other")
        expectFalse(header == CSVHeader([composed, decomposed]), "equal to those in another order")
        let text = "\(decomposed),\(composed)\n1,2\n"
        var trace = EventTrace()
        try trace.readCSV(text, options: CSVReaderOptions(columns: [composed], fieldTypes: [composed: .integer]))
        expectEqual(trace.text, "[ { key \"\(composed)\" integer 2 } ]", "a chosen column")
        trace = EventTrace()
        try trace.readCSV(text, options: CSVReaderOptions(fieldTypes: [composed: .integer]))
        expectEqual(
            trace.text, "[ { key \"\(decomposed)\" string \"1\" key \"\(composed)\" integer 2 } ]", "a type of one")
        let columns = try CSV.columns([composed: .integer, decomposed: .string], from: Array(text.utf8))
        expectEqual(columns.columns.map { $0.integer(0) ?? -1 }, [2, -1], "columns")
    }
}
#endif
