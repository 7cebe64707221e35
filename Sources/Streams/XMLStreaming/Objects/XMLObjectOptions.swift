// The options for turning elements into members, values and arrays of property-list messages.

/// Options that control how an XML document becomes values, for object builders and other sinks of property-list messages.
public struct XMLObjectOptions: Sendable, Hashable {
    /// The rules for turning names into keys.
    public enum Names: Sendable, Hashable {
        /// Names without their prefixes.
        ///
        /// If names in one element differ only in their namespaces, the name without a prefix is the key, and other names
        /// keep their prefixes: `title` and `media:title`. It is an error if all of them have prefixes, or if the name
        /// without a prefix comes after records that were already sent.
        case local
        /// Names with their prefixes, as in the document.
        case qualified
    }

    /// The ways to send the root element.
    public enum Root: Sendable, Hashable {
        /// The value of the document; its name is not sent.
        case value
        /// The only member of a dictionary, by its name.
        case member
    }

    /// The rules for elements that become arrays, used if the sink doesn't expect a specific type.
    public enum Arrays: Sendable, Hashable {
        /// Repeated elements become arrays.
        ///
        /// The end of the root shows which elements are repeated. Until then, the children of the root are buffered in memory,
        /// except the children with the same name as the first child.
        case repeated
        /// Repeated elements become arrays, and so do all children of the root, even if there is only one.
        ///
        /// The children are records, in an array for each name. The root is always a dictionary, even if it has no children.
        case records
        /// Elements with these keys become arrays, even if there is only one. It is an error if any other element is
        /// repeated.
        ///
        /// No elements are buffered in memory to detect repetitions. In elements around records, elements with the same name
        /// have to be adjacent.
        case named(Set<String>)
    }

    /// The rule for turning names into keys.
    public var names: Names
    /// The way to send the root element.
    public var root: Root
    /// The rule for elements that become arrays, used if the sink doesn't expect a specific type.
    public var arrays: Arrays
    /// The keys of elements whose children become the elements of an array, regardless of their names:
    /// `<phones><p>1</p><p>2</p></phones>`.
    public var wrappedArrays: Set<String>
    /// The prefix for keys of attributes.
    public var attributePrefix: String
    /// The key for the text of an element that also has attributes or children.
    public var textKey: String
    /// A Boolean value that indicates whether the attributes of the root become members if the root becomes a dictionary.
    ///
    /// Without the attributes, a sink that takes only records, such as the rows of a table, can receive the rest of the
    /// document.
    public var keepsRootAttributes: Bool
    /// The approximate maximum size, in bytes, of the elements buffered at a time and of all different names in the document.
    ///
    /// A record has to fit within this limit. Children of the root that aren't adjacent have to fit too, including all
    /// elements between them.
    public var maxBufferedBytes: Int

    /// Creates options.
    ///
    /// If the prefix for attributes is empty, an attribute and a child with the same key are an error. By default, up to 64
    /// MiB of elements are buffered.
    public init(
        names: Names = .local, root: Root = .value, arrays: Arrays = .repeated, wrappedArrays: Set<String> = [],
        attributePrefix: String = "", textKey: String = "#text", keepsRootAttributes: Bool = true,
        maxBufferedBytes: Int = 64 << 20
    ) {
        self.names = names
        self.root = root
        self.arrays = arrays
        self.wrappedArrays = wrappedArrays
        self.attributePrefix = attributePrefix
        self.textKey = textKey
        self.keepsRootAttributes = keepsRootAttributes
        self.maxBufferedBytes = max(0, maxBufferedBytes)
    }
}
