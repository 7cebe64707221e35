// The names of columns: found once, checked, and looked up by those who choose columns or give them types.

import PlistStreaming

/// The columns of delimited text.
public struct CSVHeader: Sendable, Equatable {
    /// The names of the columns in the order of the text.
    public let names: [String]

    init(_ names: [String]) { self.names = names }

    /// The index of the first column with a name, nil when there is none.
    ///
    /// - Complexity: O(*n*) in the number of columns.
    public func index(of name: String) -> Int? { names.firstIndex(of: name) }

    /// The index of a column that somebody asks for.
    ///
    /// - Throws: `unknownMember`, with the names that are near.
    func requiredIndex(of name: String) throws(StreamError) -> Int {
        if let index = index(of: name) { return index }
        let near =
            NearestName.find(
                name, among: names.prefix(1_000).filter { $0.utf8.count <= 64 }
            ).map { ", did you mean \($0.debugDescription)?" } ?? ""
        throw StreamError(.unknownMember, "there is no column \(name.debugDescription)\(near)")
    }

    /// The first column whose name is empty or that of an earlier one, with what is wrong.
    func problem() -> (column: Int, words: String)? {
        var known: [String: Int] = [:]
        for (index, name) in names.enumerated() {
            if name.isEmpty { return (index, "expected a name of a column, found an empty field") }
            if let other = known.updateValue(index, forKey: name) {
                let shown = name.utf8.count <= 64 ? " \(name.debugDescription)" : ""
                return (index, "the name\(shown) of column \(index + 1) is that of column \(other + 1)")
            }
        }
        return nil
    }
}
