// What a CSV reader can be told, once, when it is made.

public import PlistStreaming

/// What the text of a field is read as.
public enum CSVFieldType: Sendable, Hashable {
    /// A string, whatever is in it.
    case text
    /// What a bare field looks like: a number, `true` or `false`, or null if it is empty. Any other field, and every field in
    /// quotes, is a string.
    ///
    /// A field is a number only if writing the number gives the same text: `42`, `-2.5` and `0.0` are numbers. `1.10`, `12345e6`,
    /// `007`, `-0`, and numbers that neither 64 bits nor a double hold, are strings.
    case inferred
    /// A number in the grammar of JSON; null where the field is empty.
    case number
    /// An integer; null where the field is empty.
    case integer
    /// A number; null where the field is empty.
    case real
    /// `true`, `false`, `1` or `0`; null where the field is empty.
    case bool
    /// A date and time of ISO 8601, such as `2026-11-21T06:38:16Z`; null where the field is empty.
    case date
}

/// The options of a reader of delimited text.
public struct CSVReaderOptions: Sendable {
    /// What becomes of a record that has fewer fields than the header, or than the first record.
    public enum MissingFieldPolicy: Sendable, Hashable {
        /// It is an error.
        case reject
        /// The missing fields are absent: no members of a dictionary, no elements of an array.
        case omit
    }

    /// What becomes of the fields of a record beyond those of the header, or of the first record.
    public enum ExtraFieldPolicy: Sendable, Hashable {
        /// They are an error.
        case reject
        /// They are left out.
        case ignore
        /// They are an array of strings, the member with this name; in arrays they are elements like the others.
        case keep(under: String)
    }

    /// What becomes of quotes within a field that does not begin with one.
    public enum StrayQuotePolicy: Sendable, Hashable {
        /// They are an error, as RFC 4180 has it.
        case reject
        /// They are text.
        case keep
    }

    /// What becomes of columns that have the same name.
    public enum DuplicateNames: Sendable, Hashable {
        /// They are an error.
        case reject
        /// They are sent as they are. Columns that are made of such a text have names of which each comes once.
        case keep
    }

    /// The encoding of the text.
    public enum Encoding: Sendable, Hashable {
        /// UTF-8; bytes that are none are an error.
        case utf8
        /// ISO 8859-1, whose bytes are the first 256 characters.
        case latin1
        /// Windows-1252; its five bytes without a character are the control characters with their numbers.
        case windows1252
        /// Bytes that are not looked at, for rows only: what gets messages gets UTF-8, and an error for a field that is none.
        case bytes
    }

    /// The bytes that have a meaning.
    public var dialect: CSVDialect
    /// The names of the fields where the text has none; those of a header are not looked at.
    public var names: [String]?
    /// The names of the columns that are sent, in their order; all where there are none.
    public var columns: [String]?
    /// What fields are read as, unless they have a type of their own, or the sink knows one.
    public var fieldType: CSVFieldType
    /// What the fields of some names are read as.
    public var fieldTypes: [String: CSVFieldType]
    /// What becomes of records with too few fields.
    public var shortRecords: MissingFieldPolicy
    /// What becomes of records with too many fields.
    public var longRecords: ExtraFieldPolicy
    /// What becomes of quotes within fields without quotes.
    public var bareQuotes: StrayQuotePolicy
    /// What becomes of names that come twice.
    public var duplicateNames: DuplicateNames
    /// The encoding of the text.
    public var encoding: Encoding
    /// A Boolean value that indicates whether a byte order mark before the first byte is skipped; else it is text.
    public var skipsByteOrderMark: Bool
    /// The bounds of the input. Those of strings count the bytes of a field with its quotes, those of depth none.
    public var limits: StreamLimits
    /// The longest record in bytes, which is what is kept of a record that comes in pieces.
    public var recordByteLimit: Int
    /// The highest number of fields of a record.
    public var fieldLimit: Int
    /// What the fields of each of `columns` become where no sink says otherwise, as columns of known types want them.
    var kinds: [FieldKind] = []
    /// A Boolean value that indicates whether what is read becomes columns, of which no two have the same name.
    var isForColumns: Bool = false
    /// A Boolean value that indicates whether every byte goes through the plain machine, which tests compare with the fast one.
    package var usesPlainScan: Bool = false
    /// The number of blocks that the fast machine begins with, which tests make small.
    package var firstBlockCount: Int = 16

    /// A Boolean value that indicates whether a sink that lends memory gets messages all the same, which tests compare with
    /// what is stored.
    package var usesMessages: Bool = false

    /// Creates options; without arguments for RFC 4180 with a header, whose fields are strings.
    ///
    /// A record has at most 64 MiB unless something else is given that is less than 4 GiB, and at most 65,536 fields.
    public init(
        dialect: CSVDialect = .standard, names: [String]? = nil, columns: [String]? = nil,
        fieldType: CSVFieldType = .text, fieldTypes: [String: CSVFieldType] = [:],
        shortRecords: MissingFieldPolicy = .reject,
        longRecords: ExtraFieldPolicy = .reject, bareQuotes: StrayQuotePolicy = .reject,
        duplicateNames: DuplicateNames = .reject,
        encoding: Encoding = .utf8, skipsByteOrderMark: Bool = true, limits: StreamLimits = .standard,
        recordByteLimit: Int = 64 << 20, fieldLimit: Int = 65_536
    ) {
        self.dialect = dialect
        self.names = names
        self.columns = columns
        self.fieldType = fieldType
        self.fieldTypes = fieldTypes
        self.shortRecords = shortRecords
        self.longRecords = longRecords
        self.bareQuotes = bareQuotes
        self.duplicateNames = duplicateNames
        self.encoding = encoding
        self.skipsByteOrderMark = skipsByteOrderMark
        self.limits = limits
        self.recordByteLimit = recordByteLimit
        self.fieldLimit = fieldLimit
    }
}
