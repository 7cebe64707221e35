// What a CSV writer can be told, once, when it is made.

/// The options of a writer of delimited text.
public struct CSVWriterOptions: Sendable, Hashable {
    /// What ends a line.
    public enum LineEnd: String, Sendable, Hashable {
        /// CR LF, as RFC 4180 has it.
        case crlf = "\r\n"
        /// LF.
        case lf = "\n"
    }

    /// Which fields are in quotes.
    public enum Quoting: Sendable, Hashable {
        /// Those that have to be, and strings that would else be read as null, a Boolean or a number.
        case needed
        /// All but null; numbers and Booleans are read back as strings, unless the reader knows their types.
        case all
    }

    /// What becomes of members of a record that are no columns.
    public enum UnknownMembers: Sendable, Hashable {
        /// They are refused.
        case reject
        /// They are left out.
        case ignore
    }

    /// The bytes that have a meaning, and whether the names of columns are written.
    public var dialect: CSVDialect
    /// The columns in their order; those of the first record where there are none.
    public var columns: [String]?
    /// What ends a line.
    public var lineEnd: LineEnd
    /// Which fields are in quotes.
    public var quoting: Quoting
    /// What becomes of members of a record that are no columns.
    public var unknownMembers: UnknownMembers

    /// Creates options; without arguments for RFC 4180 with a header of the first record's names.
    public init(
        dialect: CSVDialect = .standard, columns: [String]? = nil, lineEnd: LineEnd = .crlf, quoting: Quoting = .needed,
        unknownMembers: UnknownMembers = .reject
    ) {
        self.dialect = dialect
        self.columns = columns
        self.lineEnd = lineEnd
        self.quoting = quoting
        self.unknownMembers = unknownMembers
    }
}
