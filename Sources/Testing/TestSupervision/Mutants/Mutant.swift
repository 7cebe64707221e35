// Describes one small change of a source that its tests should notice.

import TestEvents

/// A change of one operator, literal, condition or statement.
package struct Mutant: Equatable, Sendable {
    /// The place where the changed text begins.
    package var place: SourcePlace
    /// The byte offsets of the replaced text.
    var range: Range<Int>
    var replacement: String
    /// The description of the change, as it is printed: `'<' changed to '<='`.
    package var text: String

    /// Returns the source with the change.
    func applied(to source: [UInt8]) -> [UInt8] {
        source[..<range.lowerBound] + Array(replacement.utf8) + source[range.upperBound...]
    }
}

/// The reason why no mutants can be tried.
package struct MutantError: Error, Equatable, CustomStringConvertible {
    package var description: String
    /// The place of the error in a source, if it has one.
    package var place: SourcePlace?
}
