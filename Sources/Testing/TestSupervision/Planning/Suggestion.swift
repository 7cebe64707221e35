// Finds the known name that is most similar to an unknown name.

/// Returns `; did you mean 'x'?` with the known name that is most similar to an unknown name, or an empty string if no name is
/// similar.
package func suggestion(for name: String, among known: [String]) -> String {
    let scored = known.lazy.filter { $0 != name }
        .map { (name: $0, distance: editDistance(Array(name.utf8), Array($0.utf8))) }
    guard let nearest = scored.min(by: { $0.distance < $1.distance }), nearest.distance <= max(2, name.utf8.count / 3)
    else { return "" }
    return "; did you mean '\(nearest.name)'?"
}

/// Returns the Levenshtein distance of two texts.
func editDistance(_ one: [UInt8], _ other: [UInt8]) -> Int {
    var row = Array(0...other.count)
    for (index, byte) in one.enumerated() {
        var diagonal = row[0]
        row[0] = index + 1
        for (column, otherByte) in other.enumerated() {
            let substituted = diagonal + (byte == otherByte ? 0 : 1)
            diagonal = row[column + 1]
            row[column + 1] = min(substituted, row[column] + 1, diagonal + 1)
        }
    }
    return row[other.count]
}

// MARK: - In-class tests

#if SELF_TESTS && (DEBUG || IN_CLASS_TESTS)
import InClassTesting

enum SuggestionTests {}

extension SuggestionTests: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testSuggestsTheNearestName": testSuggestsTheNearestName,
            "testComputesEditDistances": testComputesEditDistances,
        ]
    }

    private static func testSuggestsTheNearestName() {
        // Two letters of a short name may differ. A third may differ in a long name.
        let rows = [
            ("ab", "b", true), ("abc", "", false), ("xy", "ab", true), ("xyz", "abc", false),
            ("abcdefgh", "abcdexxx", false),
            ("abcdefghi", "abcdefxxx", true), ("abcdefghi", "abcdexxxx", false), ("abcdefghijkl", "abcdefghxxxx", true),
        ]
        for (name, known, isNear) in rows {
            let expected = isNear ? "; did you mean '\(known)'?" : ""
            expectEqual(suggestion(for: name, among: ["entirely different", known, "another"]), expected, name)
        }
        expectEqual(suggestion(for: "a", among: []), "", "none")
        expectEqual(suggestion(for: "abc", among: ["abc", "abd"]), "; did you mean 'abd'?", "not itself")
    }

    private static func testComputesEditDistances() {
        let rows = [("", "", 0), ("a", "", 1), ("", "ab", 2), ("kitten", "sitting", 3), ("same", "same", 0)]
        for (one, other, distance) in rows { expectEqual(editDistance(Array(one.utf8), Array(other.utf8)), distance) }
    }
}
#endif
