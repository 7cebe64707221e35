// Collects the warnings of a conversion: one line for each kind, with the place of its first occurrence.

import PlistStreaming
import StringTables

/// The warnings of one conversion, in the order of their first occurrences.
final class Warnings {
    private struct Warning {
        let message: String
        let path: StreamPath?
        let position: StreamPosition?
        var count = 1
    }

    private var warnings: [Warning] = []
    /// The known messages, compared by their bytes, because they contain names of columns.
    private var known = KeySet()

    /// Adds a warning. If the message is known, increases its count.
    func add(_ message: String, at path: StreamPath? = nil, in position: StreamPosition? = nil, count: Int = 1) {
        let (isNew, index) = known.insert(message)
        if isNew {
            warnings.append(Warning(message: message, path: path, position: position, count: count))
        } else {
            warnings[index].count += count
        }
    }

    /// Returns a line for each warning in the form of a compiler's message, such as
    /// `in.json: warning: $[3].a: message (and 2 more)`.
    func lines(ofFile file: String) -> [String] {
        warnings.map { warning in
            var line = ""
            if let position = warning.position, let number = position.line, let column = position.column {
                line = ":\(number):\(column)"
            }
            let place = warning.path.map { "\($0): " } ?? ""
            let more = warning.count > 1 ? " (and \(warning.count - 1) more)" : ""
            return "\(file)\(line): warning: \(place)\(warning.message)\(more)"
        }
    }

    /// Returns the first names of a list, and the number of the others.
    static func list(_ names: [String]) -> String {
        let shown = names.prefix(3).joined(separator: ", ")
        return names.count > 3 ? "\(shown) and \(names.count - 3) more" : shown
    }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

extension Warnings: SelfTesting {
    static var testSelectors: TestSelectors { ["testReportsEachWarningOnce": testReportsEachWarningOnce] }

    private static func testReportsEachWarningOnce() {
        let warnings = Warnings()
        warnings.add("a is b", at: StreamPath([.index(1)]))
        warnings.add("c")
        warnings.add("a is b", at: StreamPath([.index(2)]), count: 2)
        warnings.add("d", in: StreamPosition(byteOffset: 9, line: 3, column: 4))
        expectEqual(
            warnings.lines(ofFile: "in"),
            ["in: warning: $[1]: a is b (and 2 more)", "in: warning: c", "in:3:4: warning: d"], "lines")
        expectEqual(list(["a", "b", "c"]), "a, b, c", "all names")
        expectEqual(list(["a", "b", "c", "d"]), "a, b, c and 1 more", "some names")
    }
}
#endif
