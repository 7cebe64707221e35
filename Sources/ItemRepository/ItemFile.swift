// A file with an array of items, which is read and replaced as a whole.

import JSONStreaming
import PlistBuilding
import PlistStreaming
import PropertyListFiles

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// A file that holds items as an array of dictionaries.
final class ItemFile: ItemStorage {
    private let path: String
    private let format: ItemFileFormat

    init(path: String, format: ItemFileFormat) {
        self.path = path
        self.format = format
    }

    // MARK: Reading

    func load<Item: StreamObject & Identifiable>(
        _ type: Item.Type
    ) throws(StreamError) -> (ItemContents<Item>, [ItemProblem]) {
        if case .missing = try OutputPlace(path) { return (ItemContents(), []) }
        let bytes = try bytes()
        if let items = try? items(bytes, Item.self), let contents = ItemContents(items) { return (contents, []) }
        // PERF: a file with nothing wrong in it is read once; one with anything wrong a second time, as a tree.
        let tree: PropertyList
        do throws(StreamError) {
            tree = try self.tree(bytes)
        } catch {
            return (ItemContents(), [.corruptFile(error, movedTo: try CorruptFile.move(path))])
        }
        return try ItemContents.sorted(tree.elements.enumerated().lazy.map { (index: $0.offset, value: $0.element) })
    }

    private func bytes() throws(StreamError) -> [UInt8] {
        let file = try InputFile(path: path)
        var bytes: [UInt8] = []
        bytes.reserveCapacity(file.byteCount ?? 0)
        try file.readChunks { chunk throws(StreamError) in
            // SAFETY: the bytes are copied while the span is valid.
            unsafe chunk.withUnsafeBytes { unsafe bytes.append(contentsOf: $0) }
        }
        return bytes
    }

    /// Reads a file in which all is well.
    private func items<Item: StreamObject>(_ bytes: [UInt8], _ type: Item.Type) throws(StreamError) -> [Item] {
        // PERF: Archive/reload; the readers are specialised here, once for all types, which their own modules never see.
        var builder = try ObjectBuilder<PropertyList>(building: [Item].self, options: BuilderOptions())
        try send(bytes, to: &builder)
        return try builder.takeResult(of: [Item].self)
    }

    private func send<Sink: PlistSink & ~Copyable>(_ bytes: [UInt8], to sink: inout Sink) throws(StreamError) {
        switch format {
        case .json, .sqlite: try sink.readJSON(bytes)
        case .binaryPropertyList: try sink.readBinaryPlist(bytes)
        }
    }

    /// Reads a file whose syntax is right.
    private func tree(_ bytes: [UInt8]) throws(StreamError) -> PropertyList {
        var builder = PropertyListBuilder()
        try send(bytes, to: &builder)
        let tree = try builder.takeResult()
        guard tree.kind == .array else {
            throw StreamError(.typeMismatch, "expected an array of items, found another value", path: StreamPath())
        }
        return tree
    }

    // MARK: Writing

    func save<Item: StreamObject & Identifiable>(_ contents: ItemContents<Item>) throws(StreamError) {
        var options = OutputFile.Options()
        options.replacesAnyFile = true
        let file = try OutputFile(path: path, options: options)
        switch format {
        case .binaryPropertyList:
            // What is no item may have what only such files have.
            // PERF: Archive/flush; to look for values that came before takes half of the time, and few items have any.
            let options = BinaryPlistWriterOptions(nulls: .write, writesUIDs: true, sharedValueLimit: 0)
            var writer = BinaryPlistWriter(descriptor: file.descriptor, options: options)
            try Self.send(contents, to: &writer)
            try writer.finish()
        case .json, .sqlite:
            var writer = JSONWriter(descriptor: file.descriptor)
            try Self.send(contents, to: &writer)
            try writer.finish()
        }
        try file.commit()
    }

    private static func send<Item: StreamObject, Sink: PlistSink & ~Copyable>(
        _ contents: ItemContents<Item>, to sink: inout Sink
    ) throws(StreamError) {
        if contents.foreign.isEmpty { return try sink.write(contents.items) }
        try sink.beginArray()
        for item in contents.items { try sink.write(item) }
        for value in contents.foreign { try value.send(to: &sink) }
        try sink.endArray()
    }
}
