// Stores a tree: nodes of 16 bytes, the text that doesn't fit into them, and the interned keys. Children of a container are
// adjacent. An element is found by its index, and a member by comparing numbers.

import PlistStreaming
import StringTables

/// One value: a tag, the number of its key in a dictionary, and eight bytes of value.
@usableFromInline
package struct PropertyListNode: Sendable, BitwiseCopyable {
    /// The type of a node, which determines the meaning of its payload.
    @usableFromInline
    package enum Tag: UInt8, Sendable, BitwiseCopyable {
        case null, no, yes, integer, unsigned, real, number, string, data, date, array, dictionary

        /// The type of a value with this tag.
        package var kind: PropertyList.Kind {
            switch self {
            case .null: .null
            case .no, .yes: .bool
            case .integer: .integer
            case .unsigned: .unsigned
            case .real: .real
            case .number: .number
            case .string: .string
            case .data: .data
            case .date: .date
            case .array: .array
            case .dictionary: .dictionary
            }
        }
    }

    /// The value. For text of up to eight bytes, it is the text, otherwise its offset. For containers, it is the first child
    /// and the count.
    var payload: UInt64
    /// The number of the key, for members of dictionaries.
    var key: UInt32
    /// The tag in the low byte, the length of text above it.
    private var info: UInt32

    /// The length that indicates that the real length precedes the text.
    static let longLength = 0xFF_FFFF

    init(_ tag: Tag, _ payload: UInt64, key: UInt32, length: Int = 0) {
        self.payload = payload
        self.key = key
        info = UInt32(tag.rawValue) | UInt32(min(length, Self.longLength)) << 8
    }

    var tag: Tag { Tag(rawValue: UInt8(truncatingIfNeeded: info)) ?? .null }
    var length: Int { Int(info >> 8) }
    var count: Int { Int(payload & 0xFFFF_FFFF) }
    var firstChild: Int { Int(payload >> 32) }
    var children: Range<Int> { firstChild..<firstChild + count }
    var isContainer: Bool { UInt8(truncatingIfNeeded: info) >= Tag.array.rawValue }
}

/// A complete, immutable tree.
@safe
final class PropertyListStorage: @unchecked Sendable {
    let nodes: GrowingMemory<PropertyListNode>
    private let bytes: GrowingMemory<UInt8>
    let keys: KeySet
    /// The indexes of members in large dictionaries that were searched, by the first member of each dictionary.
    private var indexes: [Int: [UInt32: Int]] = [:]
    private static let lock = Lock()
    /// The maximum number of members that are searched for a key without an index.
    private static let scannedCount = 64

    /// Makes the storage, which then owns the memory.
    init(nodes: GrowingMemory<PropertyListNode>, bytes: GrowingMemory<UInt8>, keys: KeySet) {
        unsafe self.nodes = nodes
        unsafe self.bytes = bytes
        self.keys = keys
    }

    deinit {
        unsafe nodes.deallocate()
        unsafe bytes.deallocate()
    }

    static let empty = unsafe PropertyListStorage(nodes: GrowingMemory(), bytes: GrowingMemory(), keys: KeySet())

    /// Returns the node at an index. The index is checked.
    func node(_ index: Int) -> PropertyListNode { unsafe nodes[index] }

    /// Returns the value of the key with the number in a dictionary.
    ///
    /// - Complexity: O(1); O(*n*) in the members for the first look-up in a large dictionary.
    func member(of dictionary: PropertyListNode, key: Int) -> PropertyListNode? {
        let key = UInt32(truncatingIfNeeded: key)
        let children = dictionary.children
        if children.count > Self.scannedCount { return indexed(children, key).map { node($0) } }
        for index in children where node(index).key == key { return node(index) }
        return nil
    }

    private func indexed(_ children: Range<Int>, _ key: UInt32) -> Int? {
        Self.lock.withLock {
            if let members = indexes[children.lowerBound] { return members[key] }
            let members = Dictionary(uniqueKeysWithValues: children.map { (node($0).key, $0) })
            indexes[children.lowerBound] = members
            return members[key]
        }
    }

    /// Calls a closure with the text or data of a node.
    func withBytes<Result>(of node: PropertyListNode, _ body: (UnsafeRawBufferPointer) throws -> Result) rethrows
        -> Result
    {
        if node.length <= 8 {
            // SAFETY: the bytes belong to a local value, and the length is checked.
            return try unsafe withUnsafeBytes(of: node.payload.littleEndian) { bytes in
                try unsafe body(UnsafeRawBufferPointer(rebasing: bytes[..<node.length]))
            }
        }
        var start = Int(node.payload)
        var length = node.length
        let bytes = unsafe UnsafeRawBufferPointer(bytes.values)
        if length == PropertyListNode.longLength {
            length = unsafe Int(UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: start, as: UInt64.self)))
            start += 8
        }
        // SAFETY: slicing checks the range; the pointer is used only within the closure.
        return try unsafe body(UnsafeRawBufferPointer(rebasing: bytes[start..<start + length]))
    }
}
