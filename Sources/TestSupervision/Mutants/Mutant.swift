// One small change of a source that its tests ought to notice, and the marks by which a source says that they need not.

import TestEvents

/// A change of one operator, literal, condition or statement.
package struct Mutant: Equatable, Sendable {
    /// Where the text that is changed begins.
    package var place: SourcePlace
    /// Byte offsets of what is replaced.
    var range: Range<Int>
    var replacement: String
    /// What becomes of it, as it is printed: `'<' changed to '<='`.
    package var text: String

    /// The source with the change.
    func applied(to source: [UInt8]) -> [UInt8] {
        source[..<range.lowerBound] + Array(replacement.utf8) + source[range.upperBound...]
    }
}

/// Why no mutants can be tried.
package struct MutantError: Error, Equatable, CustomStringConvertible {
    package var description: String
    /// Where the reason is in a source, if it is in one.
    package var place: SourcePlace?

    init(_ description: String, at place: SourcePlace? = nil) {
        self.description = description
        self.place = place
    }
}

/// The marks in a source: `// no mutants: both orders are right` is of its own line, or of the next where it is alone.
enum MutantMarks {
    private static let mark: StaticString = "// no mutants"

    /// Finds the lines of which no mutants are to be made.
    ///
    /// - Throws: `MutantError` for a mark without a reason.
    static func lines(in source: UnsafeRawBufferPointer, _ tokens: [SwiftToken], path: String) throws(MutantError)
        -> Set<Int>
    {
        var lines: Set<Int> = []
        let pattern = UnsafeRawBufferPointer(start: mark.utf8Start, count: mark.utf8CodeUnitCount)
        var (line, lineStart, offset, token) = (1, 0, 0, 0)
        while let found = ByteSearch.offset(of: pattern, in: source, from: offset) {
            for index in lineStart..<found where source[index] == 0x0A { (line, lineStart) = (line + 1, index + 1) }
            offset = found + pattern.count
            // What is in a string is no comment.
            while token < tokens.count, tokens[token].end <= found { token += 1 }
            if token < tokens.count, tokens[token].start <= found { continue }
            let rest = source[offset...].prefix { $0 != 0x0A }
            guard rest.first == UInt8(ascii: ":"), rest.dropFirst().contains(where: { $0 > 0x20 }) else {
                throw MutantError(
                    "expected a reason, as in '// no mutants: both orders are right'",
                    at: SourcePlace(path: path, line: line, column: found - lineStart + 1))
            }
            let isAlone = source[lineStart..<found].allSatisfy { $0 <= 0x20 }
            lines.insert(isAlone ? line + 1 : line)
        }
        return lines
    }
}

// MARK: - In-class tests

#if SELF_TESTS && (DEBUG || IN_CLASS_TESTS)
import InClassTesting

extension MutantMarks: SelfTesting {
    static var testSelectors: TestSelectors {
        ["testMarksItsLineOrTheNext": testMarksItsLineOrTheNext, "testWantsAReason": testWantsAReason]
    }

    private static func lines(_ source: String) throws -> Set<Int> {
        try Array(source.utf8).withUnsafeBytes { try lines(in: $0, SwiftLexer.split($0), path: "/s.swift") }
    }

    private static func testMarksItsLineOrTheNext() throws {
        let rows: [(source: String, lines: Set<Int>)] = [
            ("", []), ("a\nb", []), ("a\nb  // no mutants: c\nd", [2]), ("a\n\t // no mutants: c\nd", [3]),
            ("// no mutants: a", [2]), ("a // no mutants: b\n\n// no mutants:c\n", [1, 4]),
            ("\"// no mutants\"\nb", []), ("\"\"\"\n// no mutants\n\"\"\" // no mutants: b", [3]),
        ]
        for (source, found) in rows { expectEqual(try lines(source), found, source) }
    }

    private static func testWantsAReason() {
        for end in ["", ":", ": \t", ":\nx", " of this"] {
            let error = expectThrows(MutantError.self, end) { _ = try lines("a\n  b // no mutants\(end)") }
            expectEqual(error?.place, SourcePlace(path: "/s.swift", line: 2, column: 5), end)
        }
    }
}
#endif
