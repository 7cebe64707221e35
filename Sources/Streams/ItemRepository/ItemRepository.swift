// The items of a file, found by their keys: what a program with some thousand records needs instead of a database.
// This file owns the items in memory; how a file is read and replaced is in `ItemFile`, `ItemDatabase` is SQLite's.

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
/// The file is read by the initializer and by ``reload()``, and written by ``flush()``, as a whole: it is replaced when the new
/// one is complete and on the disk, so that whatever ends the program or the machine, the file is the old one or the new one.
/// What happens between two flushes is lost with the program.
///
/// A member that was added to the type later has the value that `init()` gives it, in items that were written before, unless
/// it is required. One that is nil is null in the file, and nil again, or as if it were added later when the type does not take nil
/// any more. A file that cannot be read is kept aside under another name, and an item that the type cannot hold, or that has
/// the key of one before it, stays in the file, and is written again by the next flush; ``problems`` tells of both. It is written as
/// the same values: numbers may be spelled otherwise, and of members with the same name the last one is kept. Nothing else in the
/// file is kept: of an item, that are the members that the type does not have.
///
/// The items are a tree each, without references to one another. A repository is for one thread or task at a time, and its
/// file for one repository: of two that write to the same file the later one wins.
public final class ItemRepository<Item: StreamObject & Identifiable> {
    /// The path of the file.
    public let path: String
    /// What the file is.
    public let format: ItemFileFormat
    /// What was wrong with the file when it was read the last time; empty when all was well.
    public private(set) var problems: [LoadIssue] = []
    private var contents = ItemContents<Item>()
    private let file: any ItemStorage<Item>

    /// Makes a repository of the items of a file; of none, when there is no file.
    ///
    /// - Throws: What ``reload()`` throws.
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

    /// The items in the order in which they were added.
    ///
    /// - Complexity: O(*n*).
    public var items: [Item] { contents.items }

    /// The item with a key, or nil.
    public subscript(id: Item.ID) -> Item? { contents[id] }

    /// Adds an item, or puts it into the place of the one with its key.
    ///
    /// The key is the one that the item has now; it must not change while the item is here.
    /// - Returns: The item whose place it took.
    /// - Complexity: O(1) on average.
    @discardableResult
    public func add(_ item: Item) -> Item? { contents.add(item) }

    /// Removes the item with a key, and returns it; nil when there is none. Memory may hold it until the next flush.
    ///
    /// - Complexity: O(1) on average.
    @discardableResult
    public func remove(id: Item.ID) -> Item? {
        let item = contents.remove(id)
        if contents.isSparse { replaceContents(contents.withoutGaps()) }
        return item
    }

    /// Removes all items, and what was in the file besides.
    public func removeAll() { replaceContents(ItemContents()) }

    /// Replaces the contents; items are released when that has happened, since what their `deinit` does may come here again.
    private func replaceContents(_ new: ItemContents<Item>) {
        let old = contents
        contents = new
        withExtendedLifetime(old) {}
    }

    // MARK: The file

    /// Reads the file again, and forgets what was not written; without a file there are no items.
    ///
    /// - Throws: `cannotRead` when the system refuses, and `cannotWrite` when a file that cannot be read cannot be kept aside; then
    ///   items and file are as before. What is wrong with the contents is no error, but told by ``problems``.
    /// - Complexity: O(*n*).
    public func reload() throws(StreamError) {
        let (new, found) = try file.load()
        problems = found
        replaceContents(new)
    }

    /// Writes all items; the file is replaced when the new one is complete and on the disk.
    ///
    /// - Throws: `cannotWrite` when the system refuses; what the format cannot hold, with the path of the value; `limitExceeded` for
    ///   what ``reload()`` would refuse, more than 512 levels or, in a property list, long keys that come too often. Then the file is
    ///   as before.
    /// - Complexity: O(*n*).
    public func flush() throws(StreamError) {
        replaceContents(contents.withoutGaps())
        try file.save(contents)
    }
}
