// What a conversion changes though it is no error: said in one line for each kind, with the place of the first.

import PlistStreaming

/// The warnings of one conversion, in the order in which they came up.
final class Warnings {
    private struct Warning {
        let words: String
        let path: StreamPath?
        var count = 1
    }

    private var warnings: [Warning] = []
    private var indexes: [String: Int] = [:]

    /// Adds a warning, or counts it when its words are known.
    func add(_ words: String, at path: StreamPath? = nil, count: Int = 1) {
        if let index = indexes[words] {
            warnings[index].count += count
        } else {
            indexes[words] = warnings.count
            warnings.append(Warning(words: words, path: path, count: count))
        }
    }

    /// A line for each: `$[3].a: what became of it (and 2 more)`.
    var lines: [String] {
        warnings.map { warning in
            let place = warning.path.map { "\($0): " } ?? ""
            return place + warning.words + (warning.count > 1 ? " (and \(warning.count - 1) more)" : "")
        }
    }

    /// A few of many names.
    static func list(_ names: [String]) -> String {
        let shown = names.prefix(3).joined(separator: ", ")
        return names.count > 3 ? "\(shown) and \(names.count - 3) more" : shown
    }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

extension Warnings: SelfTesting {
    static var testSelectors: TestSelectors { ["testSaysEachOnce": testSaysEachOnce] }

    private static func testSaysEachOnce() {
        let warnings = Warnings()
        warnings.add("a is b", at: StreamPath([.index(1)]))
        warnings.add("c")
        warnings.add("a is b", at: StreamPath([.index(2)]), count: 2)
        expectEqual(warnings.lines, ["$[1]: a is b (and 2 more)", "c"], "lines")
        expectEqual(list(["a", "b", "c"]), "a, b, c", "all names")
        expectEqual(list(["a", "b", "c", "d"]), "a, b, c and 1 more", "some names")
    }
}
#endif
