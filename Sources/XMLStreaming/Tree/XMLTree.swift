// A document as a tree: the doors, and what belongs to the whole of it.

public import PlistStreaming

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// A document as a tree of nodes, to look around in and to change.
///
/// ```swift
/// let tree = try XMLTree("<people><person id='1'>Ada</person></people>")
/// for person in tree.root.elements("person") { print(person.attribute("id") ?? "", person.text) }
/// try tree.root.first("person")?.setAttribute("id", "2")
/// tree.text  // <people><person id="2">Ada</person></people>
/// ```
///
/// Nodes are values in arrays of the tree, with their places in the document, whose bytes the tree keeps; texts are made where they are
/// asked for. What was not changed is written back byte for byte; a tag or text that was changed is written anew, and the whole is well-formed.
/// Elements below a depth are not made until they are asked for, if the options say so: ``XMLTreeOptions/depth``.
///
/// A tree is for one thread or task at a time, also where nothing is changed, since elements may be made as they are asked for.
public final class XMLTree {
    var memory: TreeMemory
    /// The bytes of the document, in UTF-8.
    let document: [UInt8]
    let options: XMLTreeOptions
    /// The bytes of the document where they are not UTF-8.
    private let original: [UInt8]?
    let declarationPlace: Range<Int>?
    let doctypePlace: Range<Int>?
    /// The parts of the document that were removed, in no order.
    var removals: [Range<Int>] = []
    /// The error of an element that could not be made when it was asked for, and has no children therefore; nil unless there is a
    /// defect in this library, since all was checked before.
    public internal(set) var expansionFailure: StreamError?

    /// Makes the tree of a document in an array of bytes, which it keeps.
    ///
    /// - Throws: The first error of the document, with its position; `limitExceeded` beyond 2 GiB of nodes or 4 GiB of text.
    /// - Complexity: O(*n*) in the bytes.
    public init(_ bytes: [UInt8], options: XMLTreeOptions = XMLTreeOptions()) throws(StreamError) {
        let decoded = DocumentText.decode(bytes, options.reader)
        document = decoded ?? bytes
        original = decoded == nil ? nil : bytes
        guard document.count <= Int(UInt32.max) else {
            throw StreamError(.limitExceeded, "a tree has at most 4 GiB of text")
        }
        self.options = options
        var builder = TreeBuilder(document: document, options: options)
        try builder.readXML(bytes, options: options.reader)
        (declarationPlace, doctypePlace) = (builder.declarationPlace, builder.doctypePlace)
        memory = builder.memory
    }

    /// Makes the tree of a document in a string.
    ///
    /// - Throws: What the other forms throw.
    public convenience init(_ text: String, options: XMLTreeOptions = XMLTreeOptions()) throws(StreamError) {
        try self.init(Array(text.utf8), options: options)
    }

    /// Makes the tree of a document in data.
    ///
    /// - Throws: What the other forms throw.
    public convenience init(_ data: Data, options: XMLTreeOptions = XMLTreeOptions()) throws(StreamError) {
        try self.init(Array(data), options: options)
    }

    /// Makes the tree of a document in a file, which is held in memory.
    ///
    /// - Throws: What the other forms throw, and ``PlistStreaming/StreamError/Kind/cannotRead`` when the file cannot be read.
    public convenience init(
        contentsOfFile path: String, options: XMLTreeOptions = XMLTreeOptions()
    ) throws(StreamError) {
        let file = try InputFile(path: path)
        var bytes: [UInt8] = []
        // A file may claim any size.
        bytes.reserveCapacity(min(file.byteCount ?? 0, 64 << 20))
        try file.readChunks { chunk throws(StreamError) in
            guard bytes.count + chunk.byteCount <= Int(UInt32.max) else {
                throw StreamError(.limitExceeded, "a tree has at most 4 GiB of text")
            }
            // SAFETY: the bytes are copied within the closure.
            unsafe chunk.withUnsafeBytes { unsafe bytes.append(contentsOf: $0) }
        }
        try self.init(bytes, options: options)
    }

    /// The document: the parent of the root element, and of comments and processing instructions outside it.
    public var documentNode: XMLNode { XMLNode(tree: self, index: 0) }

    /// The root element.
    public var root: XMLNode {
        var child = memory.nodes[0].firstChild
        while child >= 0, memory.nodes[Int(child)].kind != .element { child = memory.nodes[Int(child)].next }
        return XMLNode(tree: self, index: max(0, child))
    }

    /// Whether anything is not as it is in the document.
    public var isChanged: Bool { memory.nodes[0].flags.contains(.hasChanges) }

    /// The document as text, with all changes.
    public var text: String { String(decoding: bytes, as: UTF8.self) }

    /// The document as bytes: those it was made of unless something was changed, else UTF-8.
    public var bytes: [UInt8] {
        var output = ByteOutput(capacity: document.count + 1024)
        do throws(StreamError) { try write(to: &output) } catch {
            // Only descriptors refuse bytes.
            return []
        }
        return output.withBytes { Array(copying: $0) }
    }

    /// Writes the document: the bytes it was made of unless something was changed, else UTF-8.
    ///
    /// - Throws: ``PlistStreaming/StreamError/Kind/cannotWrite`` when the descriptor refuses.
    public func write(to output: inout ByteOutput) throws(StreamError) {
        if let original, !isChanged {
            return try original.withRawSpan { (bytes) throws(StreamError) in try output.append(bytes) }
        }
        var writer = TreeWriter(self, removals: removals)
        if original != nil { try writer.writeDeclaration(declarationPlace, to: &output) }
        try writer.write(0, to: &output)
    }

    /// Makes the nodes within an element that were not made yet.
    func expand(_ index: Int32) {
        guard memory.nodes[Int(index)].flags.contains(.isLazy) else { return }
        memory.nodes[Int(index)].flags.remove(.isLazy)
        do throws(StreamError) { try expandContent(index) } catch { expansionFailure = error }
    }

    /// Reads the bytes of an element again, within one that declares the namespaces in scope and behind the document type.
    private func expandContent(_ index: Int32) throws(StreamError) {
        let place = memory.nodes[Int(index)].place
        var head: [UInt8] = []
        if let doctypePlace { head += document[doctypePlace] }
        head += Array("<scope".utf8)
        for (prefix, uri) in namespacesInScope(of: memory.nodes[Int(index)].parent) {
            head += Array((prefix.isEmpty ? " xmlns" : " xmlns:").utf8) + prefix + Array("=\"".utf8)
            var output = ByteOutput()
            try uri.withRawSpan { (uri) throws(StreamError) in
                try WrittenText.append(uri, in: .attribute, to: &output)
            }
            head += output.withBytes { Array(copying: $0) }
            head.append(UInt8(ascii: "\""))
        }
        head.append(UInt8(ascii: ">"))
        var readerOptions = options.reader
        readerOptions.limits.depth = max(readerOptions.limits.depth, 2)
        readerOptions.limits.totalByteCount = .max
        // What was checked with the whole document is not counted against a part of it.
        readerOptions.expansionByteCount = .max / 4
        // The memory moves to the builder and back, so that it is never copied.
        var moved = TreeMemory()
        swap(&moved, &memory)
        let builder = TreeBuilder(
            moved, document: document, of: index, shift: place.lowerBound - head.count, options: options)
        moved = TreeMemory()
        var reader = XMLReader(sink: builder, options: readerOptions)
        defer { memory = reader.sink.memory }
        try reader.feed(head)
        try document.withRawSpan { (bytes) throws(StreamError) in try reader.feed(bytes.extracting(place)) }
        try reader.feed("</scope>")
        try reader.finish()
    }

    /// The namespaces that are declared for a node and what is within it, by their prefixes.
    func namespacesInScope(of node: Int32) -> [(prefix: [UInt8], uri: [UInt8])] {
        var found: [(prefix: [UInt8], uri: [UInt8])] = []
        var seen: Set<[UInt8]> = []
        var node = node
        while node > 0 {
            for attribute in attributes(of: node) where attribute.isDeclaration {
                let name = memory.names.withName(attribute.name) { Array(copying: $0) }
                let prefix = Array(name.dropFirst(6))
                guard seen.insert(prefix).inserted else { continue }
                found.append((prefix, Array(memory.copies[attribute.value])))
            }
            node = memory.nodes[Int(node)].parent
        }
        // What was declared as none is not declared.
        return found.filter { !$0.uri.isEmpty }
    }

    /// The attributes and declarations of an element.
    func attributes(of node: Int32) -> ArraySlice<TreeAttribute> {
        let element = memory.nodes[Int(node)]
        return memory.attributes[Int(element.firstAttribute)..<Int(element.firstAttribute + element.attributeCount)]
    }
}
