// The public type for the items of a file, found by their keys: an alternative to a database for some thousand records.
// `ItemFile` reads and replaces files, and `ItemDatabase` does the same for SQLite.

public import PlistBuilding
public import PlistStreaming

/// Keyed items of a bound type, kept in memory and in one file.
///
/// ```swift
/// struct Bookmark: StreamObject, Identifiable {
///     var id = ""
///     var createdAt = Date()
///     var note: String? = nil
/// }
///
/// let bookmarks = try ItemRepository<Bookmark>(path: "bookmarks.plist")
/// bookmarks.add(Bookmark(id: "swift.org"))
/// try bookmarks.flush()
/// ```
///
/// The initializer and ``reload()`` read the whole file, and ``flush()`` writes the whole file. The old file is replaced when
/// the new one is complete and on the disk. If the program or the system crashes, the file is therefore either the old one or
/// the new one. Changes after the last flush are lost if the program ends.
///
/// If you add a member to the type later, items that were written before have the value that `init()` gives it, unless the
/// member is required. A member that is nil is null in the file, and is nil again when it is read. If the type no longer
/// accepts nil, the member is treated as a missing one.
///
/// A file that cannot be read is renamed. An item that the type cannot represent, or that has the key of an earlier item, stays
/// in the file, and is written again by the next flush. ``problems`` reports both. Such an item is written with the same
/// values, but numbers may be spelled differently, and if members have the same name, only the last one is kept. All other
/// unknown data in the file is lost, such as members of an item that the type does not have.
///
/// Each item is a tree, without references to other items. Use a repository from one thread or task at a time, and a file with
/// one repository. If two repositories write to the same file, the last flush replaces the file of the other.
public final class ItemRepository<Item: StreamObject & Identifiable> {
    /// The path of the file.
    public let path: String
    /// The format of the file.
    public let format: ItemFileFormat
    /// The problems found when the file was last read; empty if there were no problems.
    public private(set) var problems: [LoadIssue] = []
    private var contents = ItemContents<Item>()
    private let file: any ItemStorage<Item>

    /// Creates a repository with the items of a file. If the file doesn't exist, the repository is empty.
    ///
    /// - Throws: The errors of ``reload()``.
    public init(path: String, format: ItemFileFormat = .binaryPropertyList) throws(StreamError) {
        self.path = path
        self.format = format
        file =
            switch format {
            case .sqlite: ItemDatabase<Item>(path: path)
            case .binaryPropertyList, .json: ItemFile<Item>(path: path, format: format)
            }
        try reload()
    }

    /// The number of items.
    public var count: Int { contents.count }

    /// The items in the order of insertion.
    ///
    /// - Complexity: O(*n*).
    public var items: [Item] { contents.items }

    /// The item with a key, or nil.
    public subscript(id: Item.ID) -> Item? { contents[id] }

    /// Adds an item, or replaces the item with the same key.
    ///
    /// The key is read once. It must not change while the item is in the repository.
    /// - Returns: The replaced item, or nil.
    /// - Complexity: O(1) on average.
    @discardableResult
    public func add(_ item: Item) -> Item? { contents.add(item) }

    /// Removes the item with a key and returns it, or nil if the key is unknown. The item may stay in memory until the next
    /// flush.
    ///
    /// - Complexity: O(1) on average.
    @discardableResult
    public func remove(id: Item.ID) -> Item? {
        let item = contents.remove(id)
        if contents.isSparse { replaceContents(contents.withoutGaps()) }
        return item
    }

    /// Removes all items and all other elements of the file.
    public func removeAll() { replaceContents(ItemContents()) }

    /// Replaces the contents, and then releases the old items, because their `deinit` may access the repository.
    private func replaceContents(_ new: ItemContents<Item>) {
        let old = contents
        contents = new
        withExtendedLifetime(old) {}
    }

    // MARK: File

    /// Reads the file again, and discards unwritten changes. If the file doesn't exist, the repository is empty.
    ///
    /// - Throws: `cannotRead` if the system refuses, and `cannotWrite` if an unreadable file cannot be renamed. Then the
    ///   items and the file are unchanged. Invalid contents are not an error, but are reported by ``problems``.
    /// - Complexity: O(*n*).
    public func reload() throws(StreamError) {
        let (new, found) = try file.load()
        problems = found
        replaceContents(new)
    }

    /// Writes all items. The file is replaced when the new one is complete and on the disk.
    ///
    /// - Throws: `cannotWrite` if the system refuses. An error with the path of the value if the format cannot represent it.
    ///   `limitExceeded` for items that ``reload()`` would refuse: more than 512 levels or, in a property list, long keys that
    ///   are repeated too often. Then the file is unchanged.
    /// - Complexity: O(*n*).
    public func flush() throws(StreamError) {
        replaceContents(contents.withoutGaps())
        try file.save(contents)
    }
}
