// What the making of a tree can be told.

/// The options of a tree.
public struct XMLTreeOptions: Sendable {
    /// The options of the reader.
    public var reader: XMLReaderOptions
    /// The number of levels of elements that are made at once, the root being the first; what is deeper is made when it is asked for.
    ///
    /// Then the bytes of an element are read again, and at least as many levels are made as there are around it.
    public var depth: Int
    /// A Boolean value that indicates whether white space between tags makes nodes; without, it is written back, and not among
    /// the children.
    public var keepsWhitespace: Bool

    /// Creates options.
    public init(reader: XMLReaderOptions = XMLReaderOptions(), depth: Int = .max, keepsWhitespace: Bool = false) {
        self.reader = reader
        self.depth = max(0, depth)
        self.keepsWhitespace = keepsWhitespace
    }
}
