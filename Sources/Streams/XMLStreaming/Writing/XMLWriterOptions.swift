// The options that an XML writer is created with.

/// Options for writing XML.
public struct XMLWriterOptions: Sendable, Hashable {
    /// The ways to lay out the text.
    public enum Layout: Sendable, Hashable {
        /// No white space except the white space that you write.
        case compact
        /// A line for each element, comment and processing instruction, indented by a number of spaces for each level.
        ///
        /// The writer adds no white space to an element with text. Text after children on their own lines is an error,
        /// because the white space before them would become a part of the text.
        case pretty(indent: Int)
    }

    /// The layout of the text.
    public var layout: Layout
    /// The namespaces of prefixes. A prefix is declared when it is used and isn't in scope.
    public var namespaces: [String: String]
    /// A Boolean value that indicates whether names must conform to Namespaces in XML: at most one colon, and every prefix
    /// declared.
    public var checksNamespaces: Bool
    /// The maximum depth of written elements.
    public var depthLimit: Int

    /// Creates options. The defaults write compact text with namespaces.
    public init(
        layout: Layout = .compact, namespaces: [String: String] = [:], checksNamespaces: Bool = true,
        depthLimit: Int = 1024
    ) {
        self.layout = layout
        self.namespaces = namespaces
        self.checksNamespaces = checksNamespaces
        self.depthLimit = max(0, depthLimit)
    }

    /// Two spaces for each level, and a newline at the end.
    public static let pretty: XMLWriterOptions = XMLWriterOptions(layout: .pretty(indent: 2))
}
