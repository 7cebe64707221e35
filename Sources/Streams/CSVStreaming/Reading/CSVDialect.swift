// The delimiter, quote and comment bytes of a delimited text; the default is RFC 4180.

/// The bytes with a special meaning in a delimited text.
///
/// Lines end with CR, LF or CR LF, which may be mixed; within quotes all of these are text. The line end of the last
/// line is optional. An empty line isn't a record, unless records have one field: see ``CSVReaderOptions``.
///
/// SPEC: RFC 4180 section 2. The other delimiters, comments and single CR or LF as line ends occur in real files.
public struct CSVDialect: Sendable, Hashable {
    /// The byte between two fields.
    public let delimiter: UInt8
    /// The byte around fields that contain delimiters, line ends or quotes, which are doubled; nil if no byte quotes.
    public let quote: UInt8?
    /// The byte that begins a comment line, which isn't a record; nil if the text has no comments.
    public let comment: UInt8?
    /// A Boolean value that indicates whether the first record contains the names of the fields.
    public var hasHeader: Bool

    /// Creates a dialect.
    ///
    /// - Precondition: The bytes are ASCII, different from each other, and not line ends.
    public init(
        delimiter: UInt8 = UInt8(ascii: ","), quote: UInt8? = UInt8(ascii: "\""), comment: UInt8? = nil,
        hasHeader: Bool = true
    ) {
        let bytes = [delimiter] + [quote, comment].compactMap(\.self)
        precondition(Set(bytes).count == bytes.count, "the bytes of a dialect must be different")
        precondition(
            bytes.allSatisfy { $0 < 0x80 && $0 != 0x0A && $0 != 0x0D },
            "the bytes of a dialect must be ASCII, without line ends")
        self.delimiter = delimiter
        self.quote = quote
        self.comment = comment
        self.hasHeader = hasHeader
    }

    /// Commas, double quotes and a header.
    public static let standard: CSVDialect = CSVDialect()
    /// Tabs, double quotes and a header.
    public static let tabs: CSVDialect = CSVDialect(delimiter: UInt8(ascii: "\t"))
    /// Semicolons, double quotes and a header, for regions where the comma is the decimal point.
    public static let semicolons: CSVDialect = CSVDialect(delimiter: UInt8(ascii: ";"))

    /// The same bytes, without a header: the first record contains values.
    public var withoutHeader: CSVDialect {
        CSVDialect(delimiter: delimiter, quote: quote, comment: comment, hasHeader: false)
    }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

extension CSVDialect: SelfTesting {
    public static var testSelectors: TestSelectors { ["testRefusesConflictingBytes": testRefusesConflictingBytes] }

    private static func testRefusesConflictingBytes() {
        expectTrap("a delimiter that quotes") { _ = CSVDialect(delimiter: 0x22) }
        expectTrap("a line end") { _ = CSVDialect(delimiter: 0x0A) }
        expectTrap("a byte beyond ASCII") { _ = CSVDialect(comment: 0x80) }
        expectEqual(CSVDialect(quote: nil, comment: 0x22).comment, 0x22, "a comment where no byte quotes")
        expectFalse(CSVDialect.tabs.withoutHeader.hasHeader, "without a header")
    }
}
#endif
