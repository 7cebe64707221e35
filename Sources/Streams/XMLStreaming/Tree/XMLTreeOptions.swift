// The options for building a tree.

/// Options for building a tree.
public struct XMLTreeOptions: Sendable {
    /// The options of the reader.
    public var reader: XMLReaderOptions
    /// The number of levels of elements that are made at once. The root is the first level. Deeper elements are made when you
    /// access them.
    ///
    /// To make them, the tree reads the bytes of an element again. It makes at least as many levels as there are elements
    /// around this one.
    public var depth: Int
    /// A Boolean value that indicates whether white space between tags becomes nodes. Otherwise it is written back, but it
    /// isn't among the children.
    public var keepsWhitespace: Bool

    /// Creates options.
    public init(reader: XMLReaderOptions = XMLReaderOptions(), depth: Int = .max, keepsWhitespace: Bool = false) {
        self.reader = reader
        self.depth = max(0, depth)
        self.keepsWhitespace = keepsWhitespace
    }
}
