// What separates, quotes and comments in a delimited text: RFC 4180 unless said otherwise.

/// The bytes that have a meaning in a delimited text.
///
/// Lines end with CR, LF or CR LF, whichever comes, also mixed; within quotes all of these are text. The last line may have an
/// end or not. A line without a single byte is no record, unless records have one field: see ``CSVReaderOptions``.
///
/// SPEC: RFC 4180 section 2; the other delimiters, comments and bare line ends are what files in the field have besides.
public struct CSVDialect: Sendable, Hashable {
    /// The byte between two fields.
    public let delimiter: UInt8
    /// The byte around fields that contain delimiters, line ends or quotes, which are doubled; nil where no byte quotes.
    public let quote: UInt8?
    /// The byte that begins a line which is no record; nil where no line is a comment.
    public let comment: UInt8?
    /// A Boolean value that indicates whether the first record has the names of the fields.
    public var hasHeader: Bool

    /// Creates a dialect.
    ///
    /// - Precondition: The bytes are ASCII, different from each other, and no line ends.
    public init(
        delimiter: UInt8 = UInt8(ascii: ","), quote: UInt8? = UInt8(ascii: "\""), comment: UInt8? = nil,
        hasHeader: Bool = true
    ) {
        let bytes = [delimiter] + [quote, comment].compactMap(\.self)
        precondition(Set(bytes).count == bytes.count, "the bytes of a dialect must be different")
        precondition(
            bytes.allSatisfy { $0 < 0x80 && $0 != 0x0A && $0 != 0x0D }, "the bytes of a dialect are ASCII, no line ends"
        )
        self.delimiter = delimiter
        self.quote = quote
        self.comment = comment
        self.hasHeader = hasHeader
    }

    /// Commas, double quotes and a header.
    public static let standard: CSVDialect = CSVDialect()
    /// Tabs, double quotes and a header.
    public static let tabs: CSVDialect = CSVDialect(delimiter: UInt8(ascii: "\t"))
    /// Semicolons, double quotes and a header, as where the comma is the decimal point.
    public static let semicolons: CSVDialect = CSVDialect(delimiter: UInt8(ascii: ";"))

    /// The same bytes, but the first record is one like the others.
    public var withoutHeader: CSVDialect {
        CSVDialect(delimiter: delimiter, quote: quote, comment: comment, hasHeader: false)
    }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

extension CSVDialect: SelfTesting {
    public static var testSelectors: TestSelectors { ["testRefusesBytesOfTwoMeanings": testRefusesBytesOfTwoMeanings] }

    private static func testRefusesBytesOfTwoMeanings() {
        expectTrap("a delimiter that quotes") { _ = CSVDialect(delimiter: 0x22) }
        expectTrap("a line end") { _ = CSVDialect(delimiter: 0x0A) }
        expectTrap("a byte beyond ASCII") { _ = CSVDialect(comment: 0x80) }
        expectEqual(CSVDialect(quote: nil, comment: 0x22).comment, 0x22, "a comment where no byte quotes")
        expectFalse(CSVDialect.tabs.withoutHeader.hasHeader, "without a header")
    }
}
#endif
