// How elements become members, values and arrays of messages that know nothing of elements.

/// How an XML document becomes the values of members, for builders of objects and other sinks of property-list messages.
public struct XMLObjectOptions: Sendable, Hashable {
    /// What names become keys.
    public enum Names: Sendable, Hashable {
        /// Names without their prefixes.
        ///
        /// If names in one element differ only in their namespaces, the one without a prefix is the key, and others are spelled with
        /// theirs: `title` and `media:title`. If all have prefixes, or the one without comes later than records that were sent, that
        /// is an error.
        case local
        /// Names as they are spelled.
        case qualified
    }

    /// What the root element is.
    public enum Root: Sendable, Hashable {
        /// The value of the document; its name is not sent.
        case value
        /// The only member of a dictionary, by its name.
        case member
    }

    /// Which elements are elements of an array, where the sink does not say.
    public enum Arrays: Sendable, Hashable {
        /// Those that are repeated.
        ///
        /// Whether an element is repeated is known at the end of the root, so that children of the root are held in memory, except
        /// those with the name of the first one.
        case repeated
        /// Those that are repeated, and the children of the root, even when there is one only.
        ///
        /// The children are records, in an array for each name. The root is a dictionary, also when it has none.
        case records
        /// Those with these names, as keys, even when there is one only; all others come once, or are an error.
        ///
        /// Nothing is held in memory to find out. In elements around records, those of one name have to come side by side.
        case named(Set<String>)
    }

    /// What names become keys.
    public var names: Names
    /// What the root element is.
    public var root: Root
    /// Which elements are elements of an array, where the sink does not say.
    public var arrays: Arrays
    /// The keys of elements whose children, whatever their names, are the elements of an array: `<phones><p>1</p><p>2</p></phones>`.
    public var wrappedArrays: Set<String>
    /// What comes before the names of attributes in keys.
    public var attributePrefix: String
    /// The key of the text of an element that has attributes or children as well.
    public var textKey: String
    /// A Boolean value that indicates whether the attributes of the root become members, where the root becomes a dictionary.
    ///
    /// Without them, a sink that takes only records, such as the rows of a table, gets what else is in a document.
    public var keepsRootAttributes: Bool
    /// The most bytes, about, of elements held at a time, and of all names in the document that differ.
    ///
    /// A record has to fit, and so do children of the root that are not side by side, with all that is between them.
    public var maxBufferedBytes: Int

    /// Creates options.
    ///
    /// Without a prefix for attributes, an attribute and a child with the same key are an error. Of elements 64 MiB are held, unless
    /// something else is given.
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
