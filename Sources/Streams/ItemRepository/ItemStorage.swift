// What a repository wants of its file, and what it tells of it.

import JSONStreaming
import PlistBuilding
public import PlistStreaming
import PropertyListFiles

/// What the file of a repository is.
public enum ItemFileFormat: Sendable, Hashable, CaseIterable {
    /// A binary property list, an array of dictionaries: the smallest and quickest one, exact for every type. Of nil it has the null
    /// that not all readers of such lists know.
    case binaryPropertyList
    /// JSON, an array of objects, which people can read: dates, to a nanosecond, and data are strings in it.
    case json
    /// A database with a table `items`, in which each item is a row, its JSON a column: only what changed is written.
    ///
    /// Other tables of the database are not touched. The table has the columns `number`, which is `INTEGER PRIMARY KEY` and by which
    /// rows are in order, those that are no items behind the others, `id`, in which there can be no NUL, and `item`.
    case sqlite
}

/// What was wrong with the file of a repository.
public enum LoadIssue: Sendable, CustomStringConvertible {
    /// An element of the file, counted from 0, is no item, or has the key of one before it. It stays in the file.
    case invalidItem(index: Int, StreamError)
    /// The file could not be read at all, and was moved to another path.
    case corruptFile(StreamError, movedTo: String)

    /// The problem in words.
    public var description: String {
        switch self {
        case .invalidItem(let index, let error): "item \(index) is left out: \(error)"
        case .corruptFile(let error, let path): "the file cannot be read, and is now \(path): \(error)"
        }
    }
}

/// How items are written and read, the same in all formats: whatever was written is read again, as it was,
/// except that `.some(nil)` of a nested optional becomes nil, and a URL with a base the absolute URL.
enum ItemRules {
    /// What is nil is null, since a member that does not come has its default, which may be another value.
    static var writing: WritingOptions { WritingOptions(nilMembers: .writeNull, depthLimit: limits.depth) }
    /// What was nil has its default in a type that has something else in its place now.
    static var building: BuilderOptions { BuilderOptions(nulls: .treatAsMissing) }
    /// The levels that are written, and texts and numbers of any size.
    static var limits: StreamLimits { StreamLimits(depth: 512, stringByteCount: .max, numberByteCount: .max) }

    static var jsonReader: JSONReaderOptions { JSONReaderOptions(limits: limits) }
    static var jsonWriter: JSONWriterOptions { JSONWriterOptions(depthLimit: limits.depth) }
    static var plistReader: BinaryPlistReaderOptions { BinaryPlistReaderOptions(limits: limits) }
    /// What is no item may have what only such files have.
    static var plistWriter: BinaryPlistWriterOptions {
        // PERF: Archive/flush; to look for values that came before takes half of the time, and few items have any.
        BinaryPlistWriterOptions(nulls: .write, writesUIDs: true, sharedValueLimit: 0, depthLimit: limits.depth)
    }
}

/// A file that holds the items of a repository.
protocol ItemStorage<Item>: AnyObject {
    associatedtype Item: StreamObject & Identifiable

    /// Reads the file; without one there are no items.
    func load() throws(StreamError) -> (ItemContents<Item>, [LoadIssue])
    /// Replaces what is in the file.
    func save(_ contents: ItemContents<Item>) throws(StreamError)
}

extension ItemContents where Item: StreamObject {
    /// Takes an element of a file: as an item, or, with what is wrong, as one that is none.
    ///
    /// - Parameter body: Makes the item.
    mutating func take(
        _ element: @autoclosure () -> ForeignElement, _ body: () throws(StreamError) -> Item
    ) -> StreamError? {
        let item: Item
        do throws(StreamError) { item = try body() } catch {
            addForeign(element())
            return error
        }
        let id = item.id
        guard self[id] == nil else {
            addForeign(element(), repeating: id)
            return StreamError(.duplicateKey, "there is an item with the key \(String(reflecting: id)) before it")
        }
        add(item)
        return nil
    }

    /// Makes contents of the elements of a file one by one, where not all of them are items.
    static func sorted(
        _ elements: some Sequence<(index: Int, value: PropertyList)>
    ) throws(StreamError) -> (ItemContents, [LoadIssue]) {
        var contents = ItemContents()
        var problems: [LoadIssue] = []
        var builder = try ObjectBuilder<Item>(options: ItemRules.building)
        for (index, value) in elements {
            let error = contents.take(.tree(value)) { () throws(StreamError) in
                try value.send(to: &builder)
                return try builder.takeResult()
            }
            if let error { problems.append(.invalidItem(index: index, error)) }
        }
        return (contents, problems)
    }
}
