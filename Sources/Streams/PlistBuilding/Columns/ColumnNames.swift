// Organizes the names of columns as a tree. At each level of a row, it finds the column or the inner dictionary for a key.

import PlistStreaming
import StringTables

/// The paths of columns. A dot separates the names of inner dictionaries: `address.zip` is the member `zip` of `address`.
///
/// A key that itself contains dots stands for the path with the same spelling.
struct ColumnNames {
    /// The column for a key and the level of the dictionary for a key. Each of them is -1 if the key has none.
    @usableFromInline
    struct Target {
        let column: Int
        let level: Int
        static let none = Target(column: -1, level: -1)
    }

    /// The members of a row, or of a dictionary in it.
    private struct Level {
        var keys = KeySet()
        var targets: [Target] = []
        /// The keys on the path from the row.
        var path: [String] = []
    }

    private var levels = [Level()]
    /// The paths of the columns, in their order.
    private(set) var paths = KeySet()
    /// The level of each column, and its name at that level.
    private(set) var places: [(level: Int, name: String)] = []

    /// Adds a column. Returns false if a column with this path exists.
    mutating func add(_ path: String) -> Bool {
        guard paths.insert(path).inserted else { return false }
        let column = paths.count - 1
        var level = 0
        var names = path.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        // A path that begins or ends with a dot, or has two adjacent dots, is only a name.
        if names.contains("") { names = [path] }
        places.append((level, path))
        for (index, name) in names.enumerated() where index < names.count - 1 {
            // The rest of the path can also be one key with dots.
            if index > 0 { set(names[index...].joined(separator: "."), at: level, column: column) }
            level = enter(name, from: level)
        }
        if names.count > 1 { set(path, at: 0, column: column) }
        set(names[names.count - 1], at: level, column: column)
        places[column] = (level, names[names.count - 1])
        return true
    }

    private mutating func set(_ name: String, at level: Int, column: Int) {
        let index = index(of: name, at: level)
        levels[level].targets[index] = Target(column: column, level: levels[level].targets[index].level)
    }

    private mutating func enter(_ name: String, from level: Int) -> Int {
        let index = index(of: name, at: level)
        let target = levels[level].targets[index]
        if target.level >= 0 { return target.level }
        levels.append(Level(path: levels[level].path + [name]))
        levels[level].targets[index] = Target(column: target.column, level: levels.count - 1)
        return levels.count - 1
    }

    private mutating func index(of name: String, at level: Int) -> Int {
        let (inserted, index) = levels[level].keys.insert(name)
        if inserted { levels[level].targets.append(.none) }
        return index
    }

    /// Returns the target of a key at a level.
    func target(of key: RawSpan, at level: Int) -> Target {
        levels[level].keys.index(of: key).map { levels[level].targets[$0] } ?? .none
    }

    /// The keys of rows that stand for columns or for dictionaries with columns.
    var ofRows: KeySet { levels[0].keys }

    /// A Boolean value that indicates whether all columns are members of the row itself.
    var areFlat: Bool { levels.count == 1 }

    /// Returns the path from a row to a column.
    func steps(to column: Int) -> [StreamPath.Step] {
        let path = paths[column]
        guard places[column].level > 0 else { return [.key(path)] }
        return path.split(separator: ".").map { .key(String($0)) }
    }

    /// Returns the path from a row to an inner dictionary.
    func steps(toLevel level: Int) -> [StreamPath.Step] { levels[level].path.map { .key($0) } }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

extension ColumnNames: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testFindsColumnsAtTheirLevels": testFindsColumnsAtTheirLevels,
            "testKeepsUnusualNamesWhole": testKeepsUnusualNamesWhole,
        ]
    }

    private static func names(_ paths: [String]) -> ColumnNames {
        var names = ColumnNames()
        for path in paths { expectTrue(names.add(path), "new path \(path)") }
        return names
    }

    private static func target(_ names: ColumnNames, _ key: String, _ level: Int) -> [Int] {
        let target = key.withUTF8Span { names.target(of: $0, at: level) }
        return [target.column, target.level]
    }

    private static func testFindsColumnsAtTheirLevels() {
        var names = names(["id", "address.zip", "address.street.name", "address"])
        expectFalse(names.add("id"), "the same path again")
        expectEqual(target(names, "id", 0), [0, -1], "id")
        expectEqual(target(names, "address", 0), [3, 1], "a column and a dictionary")
        expectEqual(target(names, "zip", 1), [1, -1], "zip in address")
        expectEqual(target(names, "street", 1), [-1, 2], "street in address")
        expectEqual(target(names, "name", 2), [2, -1], "name in street")
        expectEqual(target(names, "address.zip", 0), [1, -1], "the path as one key")
        expectEqual(target(names, "street.name", 1), [2, -1], "the rest of a path as one key")
        expectEqual(target(names, "zip", 0), [-1, -1], "zip in the row")
        expectEqual(names.steps(to: 2), [.key("address"), .key("street"), .key("name")], "steps")
        expectFalse(names.areFlat, "flat")
    }

    private static func testKeepsUnusualNamesWhole() {
        let names = names(["", ".", "a.", ".a", "a..b"])
        for (column, name) in ["", ".", "a.", ".a", "a..b"].enumerated() {
            expectEqual(target(names, name, 0), [column, -1], name)
            expectEqual(names.steps(to: column), [.key(name)], "steps to \(name)")
        }
        expectTrue(names.areFlat, "flat")
    }
}
#endif
