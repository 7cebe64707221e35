// The options of a JSON writer.

/// The options of a JSON writer.
public struct JSONWriterOptions: Sendable, Hashable {
    /// A layout of the text.
    public enum Layout: Sendable, Hashable {
        /// Without any whitespace.
        case compact
        /// A line for each element and member, indented by a number of spaces a level.
        case pretty(indent: Int)
    }

    /// A policy for NaN and the infinities, which JSON doesn't have.
    public enum NonFinite: Sendable, Hashable {
        /// Reports an error.
        case reject
        /// Writes null.
        case null
        /// Writes the strings `NaN`, `Infinity` and `-Infinity`.
        case string
    }

    /// A format for dates, which JSON doesn't have.
    public enum Dates: Sendable, Hashable {
        /// A string in RFC 3339 format in UTC, with as many digits of a second as needed to read back the same date, at
        /// most nine: `2001-01-01T00:00:00Z`.
        case rfc3339
        /// A number of seconds since 2001.
        case secondsSince2001
    }

    /// The layout of the text.
    public var layout: Layout
    /// A Boolean value that indicates whether members are sorted by the UTF-8 bytes of their names. The outermost
    /// dictionary is then kept in memory.
    public var sortsKeys: Bool
    /// The policy for NaN and the infinities.
    public var nonFinite: NonFinite
    /// The format for dates.
    public var dates: Dates
    /// A Boolean value that indicates whether any number of values may be written, each followed by a newline, as in
    /// JSON lines.
    public var allowsMultipleValues: Bool
    /// The maximum nesting depth to write.
    public var depthLimit: Int

    /// Creates options. The defaults are for one compact value.
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
