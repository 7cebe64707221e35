// What an XML writer can be told, once, when it is made.

/// The options of an XML writer.
public struct XMLWriterOptions: Sendable, Hashable {
    /// How the text is laid out.
    public enum Layout: Sendable, Hashable {
        /// Without any whitespace but what is written.
        case compact
        /// A line for each element, comment and processing instruction, indented by a number of spaces a level.
        ///
        /// An element that has text gets no whitespace from the writer. Text behind children that have lines of their own
        /// already is refused, since there is whitespace before them that would be part of it.
        case pretty(indent: Int)
    }

    /// How the text is laid out.
    public var layout: Layout
    /// The namespaces of prefixes, which are declared where a prefix is used and not in scope.
    public var namespaces: [String: String]
    /// A Boolean value that indicates whether names are those of Namespaces in XML: at most one colon, and each prefix
    /// declared.
    public var checksNamespaces: Bool
    /// The deepest nesting of elements that is written.
    public var depthLimit: Int

    /// Creates options; without arguments for compact text with namespaces.
    public init(
        layout: Layout = .compact, namespaces: [String: String] = [:], checksNamespaces: Bool = true,
        depthLimit: Int = 1024
    ) {
        self.layout = layout
        self.namespaces = namespaces
        self.checksNamespaces = checksNamespaces
        self.depthLimit = max(0, depthLimit)
    }

    /// Two spaces a level, and a newline at the end.
    public static let pretty: XMLWriterOptions = XMLWriterOptions(layout: .pretty(indent: 2))
}
