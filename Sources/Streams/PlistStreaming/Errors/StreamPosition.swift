// Where in an input something was found. Offsets are free; lines and columns are counted off the hot path.

/// A place in an input: the byte offset from 0, and in text the line and the column from 1.
///
/// Lines end with LF (so CR LF counts once); the column counts bytes. Binary formats have no lines.
public struct StreamPosition: Sendable, Hashable, CustomStringConvertible {
    /// The number of bytes before this place.
    public var byteOffset: Int
    /// The line, from 1; nil in binary formats.
    public var line: Int?
    /// The column in bytes, from 1; nil in binary formats.
    public var column: Int?

    /// Creates a position from its coordinates, which are only the byte offset in binary formats.
    public init(byteOffset: Int, line: Int? = nil, column: Int? = nil) {
        self.byteOffset = byteOffset
        self.line = line
        self.column = column
    }

    /// The first byte of an input.
    public static let start: StreamPosition = StreamPosition(byteOffset: 0, line: 1, column: 1)

    /// The position in words, such as `line 3, column 7 (byte 52)`, or `byte 52` in binary formats.
    public var description: String {
        guard let line, let column else { return "byte \(byteOffset)" }
        return "line \(line), column \(column) (byte \(byteOffset))"
    }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

extension StreamPosition: SelfTesting {
    /// The tests of this type.
    public static var testSelectors: TestSelectors { ["testDescribesItself": testDescribesItself] }

    private static func testDescribesItself() {
        expectEqual(start.description, "line 1, column 1 (byte 0)", "the first position")
        expectEqual(
            StreamPosition(byteOffset: 52, line: 3, column: 7).description, "line 3, column 7 (byte 52)",
            "a position")
        expectEqual(StreamPosition(byteOffset: 52).description, "byte 52", "a position in a binary format")
    }
}
#endif
