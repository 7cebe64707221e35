// The protocol of repository files, their formats, and the errors found in them.

import JSONStreaming
import PlistBuilding
public import PlistStreaming
import PropertyListFiles

/// The format of a repository's file.
public enum ItemFileFormat: Sendable, Hashable, CaseIterable {
    /// A binary property list, an array of dictionaries: the smallest and fastest format, exact for every type. A member that
    /// is nil is written as null, which some readers of such lists don't support.
    case binaryPropertyList
    /// JSON, an array of objects: a readable format. Dates, to a nanosecond, and data are strings.
    case json
    /// A database with a table `items`, in which each item is a row with its JSON in a column. Only changed rows are written.
    ///
    /// Other tables of the database are not changed. The table has three columns. `number` is `INTEGER PRIMARY KEY` and defines
    /// the order of rows; rows that are not items come last. `id` is the key, which can't contain NUL. `item` is the JSON.
    case sqlite
}

/// A problem found in the file of a repository.
public enum LoadIssue: Sendable, CustomStringConvertible {
    /// An element of the file, counted from 0, is not an item, or has the key of an earlier item. It stays in the file.
    case invalidItem(index: Int, StreamError)
    /// The file could not be read at all, and was moved to another path.
    case corruptFile(StreamError, movedTo: String)

    /// A description of the problem.
    public var description: String {
        switch self {
        case .invalidItem(let index, let error): "item \(index) is left out: \(error)"
        case .corruptFile(let error, let path): "the file can't be read and was moved to \(path): \(error)"
        }
    }
}

/// How items are written and read, the same in all formats: whatever was written is read again, as it was,
/// except that `.some(nil)` of a nested optional becomes nil, and a URL with a base the absolute URL.
enum ItemRules {
    /// Members that are nil are written as null, because a missing member would get its default, which may be another value.
    static var writing: WritingOptions { WritingOptions(nilMembers: .writeNull, depthLimit: limits.depth) }
    /// If a member was written as nil and its type no longer accepts nil, the member gets its default.
    static var building: BuilderOptions { BuilderOptions(nulls: .treatAsMissing) }
    /// The same depth as for writing, and texts and numbers of any size.
    static var limits: StreamLimits { StreamLimits(depth: 512, stringByteCount: .max, numberByteCount: .max) }

    static var jsonReader: JSONReaderOptions { JSONReaderOptions(limits: limits) }
    static var jsonWriter: JSONWriterOptions { JSONWriterOptions(depthLimit: limits.depth) }
    static var plistReader: BinaryPlistReaderOptions { BinaryPlistReaderOptions(limits: limits) }
    /// Elements that are not items may contain values that only these files have, such as UIDs.
    static var plistWriter: BinaryPlistWriterOptions {
        // PERF: Archive/flush; the search for repeated values takes half of the time, and few items have repeated values.
        BinaryPlistWriterOptions(nulls: .write, writesUIDs: true, sharedValueLimit: 0, depthLimit: limits.depth)
    }
}

/// A file that holds the items of a repository.
protocol ItemStorage<Item>: AnyObject {
    associatedtype Item: StreamObject & Identifiable

    /// Reads the file. If it doesn't exist, the contents are empty.
    func load() throws(StreamError) -> (ItemContents<Item>, [LoadIssue])
    /// Replaces the contents of the file.
    func save(_ contents: ItemContents<Item>) throws(StreamError)
}

extension ItemContents where Item: StreamObject {
    /// Adds an element of a file as an item. If that fails, adds it as a foreign element and returns the error.
    ///
    /// - Parameter body: Creates the item.
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
            return StreamError(.duplicateKey, "an earlier item has the key \(String(reflecting: id))")
        }
        add(item)
        return nil
    }

    /// Creates contents from the elements of a file one by one, if some elements are not items.
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
