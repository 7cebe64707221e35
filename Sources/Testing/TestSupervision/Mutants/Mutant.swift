// One small change of a source that its tests ought to notice.

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
}
