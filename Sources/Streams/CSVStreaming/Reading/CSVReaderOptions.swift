// The options of a CSV reader.

public import PlistStreaming

/// The type as which the text of a field is read.
public enum CSVFieldType: Sendable, Hashable {
    /// A string, regardless of its contents.
    case text
    /// A type inferred from the text: a bare field is a number, `true`, `false`, or null if it is empty. Any other
    /// field, and every field in quotes, is a string.
    ///
    /// A field is a number only if writing the number produces the same text: `42`, `-2.5` and `0.0` are numbers. The
    /// fields `1.10`, `12345e6`, `007` and `-0` are strings. So are numbers that fit neither into 64 bits nor into a
    /// double.
    case inferred
    /// A number in the grammar of JSON; null if the field is empty.
    case number
    /// An integer; null if the field is empty.
    case integer
    /// A number; null if the field is empty.
    case real
    /// `true`, `false`, `1` or `0`; null if the field is empty.
    case bool
    /// An ISO 8601 date and time, such as `2026-11-21T06:38:16Z`; null if the field is empty.
    case date
}

/// The options of a reader of delimited text.
public struct CSVReaderOptions: Sendable {
    /// A policy for records with fewer fields than the header, or than the first record if there is no header.
    public enum MissingFieldPolicy: Sendable, Hashable {
        /// Reports an error.
        case reject
        /// Omits the missing fields: the dictionary or array gets no values for them.
        case omit
    }

    /// A policy for records with more fields than the header, or than the first record if there is no header.
    public enum ExtraFieldPolicy: Sendable, Hashable {
        /// Reports an error.
        case reject
        /// Ignores the extra fields.
        case ignore
        /// Sends the extra fields as an array of strings, in a member with this name. In arrays, they are ordinary
        /// elements.
        case keep(under: String)
    }

    /// A policy for quotes within a field that doesn't begin with a quote.
    public enum StrayQuotePolicy: Sendable, Hashable {
        /// Reports an error, as RFC 4180 requires.
        case reject
        /// Treats the quotes as text.
        case keep
    }

    /// A policy for columns that have the same name.
    public enum DuplicateNames: Sendable, Hashable {
        /// Reports an error.
        case reject
        /// Sends the names unchanged. If the text is read into columns, the columns get unique names.
        case keep
    }

    /// The encoding of the text.
    public enum Encoding: Sendable, Hashable {
        /// UTF-8; invalid bytes are an error. So is UTF-16, which some spreadsheets call Unicode text.
        case utf8
        /// ISO 8859-1, whose bytes are the first 256 characters.
        case latin1
        /// Windows-1252; its five bytes without a character are the control characters with their numbers.
        case windows1252
        /// Unchecked bytes, for rows only. Sinks that receive messages get UTF-8, and an error for a field that isn't
        /// UTF-8.
        case bytes
    }

    /// The delimiter, quote and comment bytes, and whether the text has a header.
    public var dialect: CSVDialect
    /// The names of the fields if the text has no header. If it has a header, its names are ignored.
    public var names: [String]?
    /// The names of the columns to send, in this order; nil for all columns.
    public var columns: [String]?
    /// The type as which fields are read, unless a field has its own type or the sink expects one.
    public var fieldType: CSVFieldType
    /// The types of fields with particular names.
    public var fieldTypes: [String: CSVFieldType]
    /// The policy for records with too few fields.
    public var shortRecords: MissingFieldPolicy
    /// The policy for records with too many fields.
    public var longRecords: ExtraFieldPolicy
    /// The policy for quotes within unquoted fields.
    public var bareQuotes: StrayQuotePolicy
    /// The policy for duplicate column names.
    public var duplicateNames: DuplicateNames
    /// The encoding of the text.
    public var encoding: Encoding
    /// A Boolean value that indicates whether a byte order mark at the start is skipped. Otherwise, it is text.
    public var skipsByteOrderMark: Bool
    /// The limits of the input. String limits count the bytes of a field including its quotes. The depth limit has no
    /// effect.
    public var limits: StreamLimits
    /// The maximum length of a record in bytes, which also limits the memory for a record that arrives in several
    /// chunks.
    public var recordByteLimit: Int
    /// The maximum number of fields in a record.
    public var fieldLimit: Int
    /// The field kinds for `columns`, if columns of known types require them and the sink doesn't set them.
    var kinds: [FieldKind] = []
    /// A Boolean value that indicates whether the records are read into columns, which need unique names.
    var isForColumns: Bool = false
    /// A Boolean value that indicates whether a number is sent as text if its double hasn't all of its digits.
    package var keepsDigits: Bool = false
    /// A Boolean value that indicates whether the plain scanner handles every byte. Tests compare it with the fast
    /// scanner.
    package var usesPlainScan: Bool = false
    /// The number of blocks that the fast scanner starts with. Tests set it to a small number.
    package var firstBlockCount: Int = 16

    /// A Boolean value that indicates whether a sink with a record buffer receives messages anyway. Tests compare the
    /// messages with the stored values.
    package var usesMessages: Bool = false

    /// Creates options. The defaults are RFC 4180 with a header and string fields.
    ///
    /// By default, a record has at most 64 MiB and 65,536 fields. The byte limit of a record must be less than 4 GiB.
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
