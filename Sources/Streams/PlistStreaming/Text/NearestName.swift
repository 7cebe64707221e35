// The known name that is most similar to an unknown name, for error messages.

/// A search for the known name with the fewest edits.
package enum NearestName {
    /// Returns the nearest of several names, or nil if the distance of all names exceeds a third of the word's length.
    package static func find(_ word: String, among names: [String]) -> String? {
        let ranked = names.map { (distance(Array(word.utf8), Array($0.utf8)), $0) }.min { $0.0 < $1.0 }
        guard let ranked, ranked.0 <= max(1, word.utf8.count / 3) else { return nil }
        return ranked.1
    }

    /// Returns the number of insertions, deletions, replacements and swaps of adjacent letters between two words.
    package static func distance(_ left: [UInt8], _ right: [UInt8]) -> Int {
        var rows = [Array(0...right.count)]
        for (i, letter) in left.enumerated() {
            var row = [i + 1]
            for (j, other) in right.enumerated() {
                var best = min(row[j] + 1, rows[i][j + 1] + 1, rows[i][j] + (letter == other ? 0 : 1))
                if i > 0, j > 0, letter == right[j - 1], left[i - 1] == other {
                    best = min(best, rows[i - 1][j - 1] + 1)
                }
                row.append(best)
            }
            rows.append(row)
        }
        return rows[left.count][right.count]
    }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

extension NearestName: SelfTesting {
    package static var testSelectors: TestSelectors { ["testFindsNearestName": testFindsNearestName] }

    private static func testFindsNearestName() {
        let names = ["--from", "--to", "--pretty"]
        for (word, name) in [("--form", "--from"), ("--prety", "--pretty"), ("--tp", "--to"), ("--pretyt", "--pretty")]
        {
            expectEqual(find(word, among: names), name, word)
        }
        expectNil(find("--verbose", among: names), "nothing near")
        expectEqual(distance([], [1, 2]), 2, "insertions")
        expectEqual(distance([1, 2, 3], [1, 3]), 1, "a deletion")
        expectEqual(distance([1, 2], [2, 1]), 1, "a swap")
    }
}
#endif
