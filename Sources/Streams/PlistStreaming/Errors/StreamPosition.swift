// Positions in an input. Offsets are always known; lines and columns are counted outside of the hot path.

/// A position in an input: the byte offset from 0, and in text the line and the column from 1.
///
/// Lines end with LF (so CR LF counts once). Columns are counted in bytes. Binary formats have no lines.
public struct StreamPosition: Sendable, Hashable, CustomStringConvertible {
    /// The number of bytes before this position.
    public var byteOffset: Int
    /// The line, counted from 1; nil in binary formats.
    public var line: Int?
    /// The column in bytes, counted from 1; nil in binary formats.
    public var column: Int?

    /// Creates a position. In binary formats, pass only the byte offset.
    public init(byteOffset: Int, line: Int? = nil, column: Int? = nil) {
        self.byteOffset = byteOffset
        self.line = line
        self.column = column
    }

    /// The first byte of an input.
    public static let start: StreamPosition = StreamPosition(byteOffset: 0, line: 1, column: 1)

    /// A description, such as `line 3, column 7 (byte 52)`, or `byte 52` in binary formats.
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
    public static var testSelectors: TestSelectors {
        ["testDescribesLineColumnAndByte": testDescribesLineColumnAndByte]
    }

    private static func testDescribesLineColumnAndByte() {
        expectEqual(start.description, "line 1, column 1 (byte 0)", "the first position")
        expectEqual(
            StreamPosition(byteOffset: 52, line: 3, column: 7).description, "line 3, column 7 (byte 52)",
            "a position")
        expectEqual(StreamPosition(byteOffset: 52).description, "byte 52", "a position in a binary format")
    }
}
#endif
