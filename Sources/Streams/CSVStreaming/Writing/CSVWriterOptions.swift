// The options of a CSV writer.

/// The options of a writer of delimited text.
public struct CSVWriterOptions: Sendable, Hashable {
    /// The characters that end a line.
    public enum LineEnd: String, Sendable, Hashable {
        /// CR LF, as RFC 4180 requires.
        case crlf = "\r\n"
        /// LF.
        case lf = "\n"
    }

    /// A policy for quoting fields.
    public enum Quoting: Sendable, Hashable {
        /// Quotes fields that need quotes, and strings that would otherwise be read as null, a Boolean or a number.
        case needed
        /// Quotes all fields except null. Numbers and Booleans are read back as strings, unless the reader knows their
        /// types.
        case all
    }

    /// A policy for members of a record without a column.
    public enum UnknownMembers: Sendable, Hashable {
        /// Reports an error.
        case reject
        /// Ignores these members.
        case ignore
    }

    /// The delimiter, quote and comment bytes, and whether the names of columns are written.
    public var dialect: CSVDialect
    /// The columns in their order; nil for the columns of the first record.
    public var columns: [String]?
    /// The characters that end a line.
    public var lineEnd: LineEnd
    /// The policy for quoting fields.
    public var quoting: Quoting
    /// The policy for members of a record without a column.
    public var unknownMembers: UnknownMembers

    /// Creates options. The defaults are RFC 4180 with a header that contains the names of the first record.
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
