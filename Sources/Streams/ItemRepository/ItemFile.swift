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
final class ItemFile<Item: StreamObject & Identifiable>: ItemStorage {
    private let path: String
    private let format: ItemFileFormat
    /// The unreadable file that was renamed, or nil.
    private var corrupt: CorruptFile?

    init(path: String, format: ItemFileFormat) {
        // To `OutputFile` a dash is standard output.
        self.path = path == "-" ? "./-" : path
        self.format = format
    }

    // MARK: Reading

    func load() throws(StreamError) -> (ItemContents<Item>, [LoadIssue]) {
        let place = try OutputPlace(path)
        if case .missing = place { return (ItemContents(), []) }
        let bytes = try bytes()
        if let items = try? items(bytes), let contents = ItemContents(items) { return (contents, []) }
        // PERF: a valid file is decoded once; an invalid file is decoded a second time, as a tree.
        let tree: PropertyList
        do throws(StreamError) {
            tree = try self.tree(bytes)
        } catch {
            // A file beyond a limit and a file of another format are not damaged.
            if error.kind == .limitExceeded { throw error }
            if let other = Self.format(of: bytes), other != format {
                throw StreamError(.cannotRead, "expected a file of the format \(format), found one of \(other)")
            }
            guard let moved = try CorruptFile.move(path, asRead: place) else { return try load() }
            corrupt = moved
            return (ItemContents(), [.corruptFile(error, movedTo: moved.path)])
        }
        return try ItemContents.sorted(tree.elements.enumerated().lazy.map { (index: $0.offset, value: $0.element) })
    }

    /// Reads the file. If it should be a binary property list and has another beginning, returns only the first chunk.
    func bytes() throws(StreamError) -> [UInt8] {
        let file = try InputFile(path: path)
        // The reported size of a file may be wrong.
        let capacity = min(file.byteCount ?? 0, 64 << 20)
        var bytes = try Self.bytes(of: file, capacity) { format == .json || Self.format(of: $0) == .binaryPropertyList }
        // Some editors write a byte order mark before JSON, which isn't part of the text.
        if format == .json, bytes.starts(with: [0xEF, 0xBB, 0xBF]) { bytes.removeFirst(3) }
        return bytes
    }

    /// Reads a file to its end, or until a closure returns false.
    ///
    /// - Parameter wantsMore: Called when at least 16 bytes were read, which are enough to detect the format.
    private static func bytes(
        of file: borrowing InputFile, _ capacity: Int, while wantsMore: ([UInt8]) -> Bool
    ) throws(StreamError) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(capacity)
        do throws(StreamError) {
            try file.readChunks { chunk throws(StreamError) in
                // SAFETY: the bytes are copied while the span is valid.
                unsafe chunk.withUnsafeBytes { unsafe bytes.append(contentsOf: $0) }
                if bytes.count >= 16, !wantsMore(bytes) { throw .stopRequest() }
            }
        } catch {
            guard error.isStopRequest else { throw error }
        }
        return bytes
    }

    /// Decodes a valid file.
    private func items(_ bytes: [UInt8]) throws(StreamError) -> [Item] {
        try ObjectBuilder.build(ItemRules.building) { (builder) throws(StreamError) in try send(bytes, to: &builder) }
    }

    private func send<Sink: PlistSink & ~Copyable>(_ bytes: [UInt8], to sink: inout Sink) throws(StreamError) {
        switch format {
        case .json, .sqlite: try sink.readJSON(bytes, options: ItemRules.jsonReader)
        case .binaryPropertyList: try sink.readBinaryPlist(bytes, options: ItemRules.plistReader)
        }
    }

    /// Returns whether a file that is not a database has another known format.
    static func isOfAnotherFormat(_ path: String) throws(StreamError) -> Bool {
        let bytes = try Self.bytes(of: InputFile(path: path), 0) { _ in false }
        return Self.format(of: bytes) ?? .sqlite != .sqlite
    }

    /// Returns the format that the first bytes of a file indicate, or nil for any other file.
    private static func format(of bytes: [UInt8]) -> ItemFileFormat? {
        if bytes.starts(with: "bplist".utf8) { return .binaryPropertyList }
        if bytes.starts(with: "SQLite format 3\0".utf8) { return .sqlite }
        let first = bytes.first { ![0x20, 0x09, 0x0A, 0x0D].contains($0) }
        return first == UInt8(ascii: "[") || first == UInt8(ascii: "{") ? .json : nil
    }

    /// Decodes a file with valid syntax as a tree.
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

    func save(_ contents: ItemContents<Item>) throws(StreamError) {
        var options = OutputFile.Options()
        options.replacesAnyFile = true
        options.model = corrupt?.state
        let file = try OutputFile(path: path, options: options)
        switch format {
        case .binaryPropertyList:
            var writer = BinaryPlistWriter(descriptor: file.descriptor, options: ItemRules.plistWriter)
            try Self.send(contents, to: &writer)
            do throws(StreamError) { try writer.finish(for: ItemRules.plistReader) } catch {
                guard error.kind == .limitExceeded else { throw error }
                throw StreamError(
                    .limitExceeded,
                    "long keys are repeated so often that a reader would reject the file: \(error.message)",
                    path: StreamPath(Array(error.path?.steps.prefix(1) ?? [])))
            }
        case .json, .sqlite:
            var writer = JSONWriter(descriptor: file.descriptor, options: ItemRules.jsonWriter)
            try Self.send(contents, to: &writer)
            try writer.finish()
        }
        try file.commit()
    }

    private static func send<Sink: PlistSink & ~Copyable>(
        _ contents: ItemContents<Item>, to sink: inout Sink
    ) throws(StreamError) {
        let foreign = contents.foreign
        if foreign.isEmpty { return try sink.write(contents.items, options: ItemRules.writing) }
        try sink.beginArray()
        for (index, item) in contents.items.enumerated() {
            do throws(StreamError) { try sink.write(item, options: ItemRules.writing) } catch {
                throw error.within(.index(index))
            }
        }
        for case .tree(let value) in foreign { try value.send(to: &sink) }
        try sink.endArray()
    }
}
