// What a JSON writer can be told, once, when it is made.

/// The options of a JSON writer.
public struct JSONWriterOptions: Sendable, Hashable {
    /// How the text is laid out.
    public enum Layout: Sendable, Hashable {
        /// Without any whitespace.
        case compact
        /// A line for each element and member, indented by a number of spaces a level.
        case pretty(indent: Int)
    }

    /// What becomes of NaN and the infinities, which JSON does not have.
    public enum NonFinite: Sendable, Hashable {
        /// They are refused with an error.
        case reject
        /// They are written as null.
        case null
        /// They are written as the strings `NaN`, `Infinity` and `-Infinity`.
        case string
    }

    /// What becomes of dates, which JSON does not have.
    public enum Dates: Sendable, Hashable {
        /// A string of RFC 3339 in UTC, with as many digits of a second, nine at most, as read back the same: `2001-01-01T00:00:00Z`.
        case rfc3339
        /// A number of seconds since 2001.
        case secondsSince2001
    }

    /// How the text is laid out.
    public var layout: Layout
    /// A Boolean value that indicates whether members are sorted by the UTF-8 bytes of their names; the outermost dictionary is
    /// then held in memory.
    public var sortsKeys: Bool
    /// What becomes of NaN and the infinities.
    public var nonFinite: NonFinite
    /// What becomes of dates.
    public var dates: Dates
    /// A Boolean value that indicates whether any number of values may be written, a newline after each, as in JSON lines.
    public var allowsMultipleValues: Bool
    /// The deepest nesting that is written.
    public var depthLimit: Int

    /// Creates options; without arguments for one compact value.
    public init(
        layout: Layout = .compact,
        sortsKeys: Bool = false,
        nonFinite: NonFinite = .reject,
        dates: Dates = .rfc3339,
        allowsMultipleValues: Bool = false,
        depthLimit: Int = 1024
    ) {
        self.layout = layout
        self.sortsKeys = sortsKeys
        self.nonFinite = nonFinite
        self.dates = dates
        self.allowsMultipleValues = allowsMultipleValues
        self.depthLimit = depthLimit
    }

    /// Two spaces a level, and a newline at the end.
    public static let pretty: JSONWriterOptions = JSONWriterOptions(layout: .pretty(indent: 2))
}
