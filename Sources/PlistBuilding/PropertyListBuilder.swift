// The builder of trees: children wait on a stack until their container closes, and are then stored side by side.

import PlistStreaming
import StringTables

/// A sink that builds a `PropertyList` of any stream.
///
/// ```swift
/// var builder = PropertyListBuilder()
/// // … a reader sends messages …
/// let list = builder.takeResult()
/// ```
public struct PropertyListBuilder: PlistSink {
    private var nodes: [PropertyListNode] = []
    private var bytes: [UInt8] = []
    private var keys = KeySet()
    /// Complete values of open containers, and of the root.
    private var pending: [PropertyListNode] = []
    private var open: [OpenContainer] = []
    /// The key of the value to come.
    private var key: UInt32 = Self.noKey
    /// By number of key: the last dictionary that had it, which finds keys that come twice.
    private var lastDictionary: [UInt32] = []
    private var dictionaryCount: UInt32 = 0
    private let depthLimit: Int

    private static let noKey = UInt32.max

    private struct OpenContainer {
        let firstChild: Int
        let key: UInt32
        let isDictionary: Bool
    }

    /// Makes a builder that refuses containers nested deeper than the limit.
    public init(depthLimit: Int = 1_024) { self.depthLimit = depthLimit }

    /// The number of open containers.
    public var depth: Int { open.count }

    /// Returns the value and forgets everything, or returns nil while it is not complete.
    public mutating func takeResult() -> PropertyList? {
        guard open.isEmpty, let root = pending.first else { return nil }
        let storage = PropertyListStorage(nodes: nodes, bytes: bytes, keys: keys)
        reset()
        return PropertyList(storage, root)
    }

    /// Forgets everything; the next message begins a new value.
    public mutating func reset() { self = PropertyListBuilder(depthLimit: depthLimit) }

    // MARK: Containers

    /// Opens an array.
    public mutating func beginArray() throws(StreamError) { try begin(isDictionary: false) }

    /// Opens a dictionary.
    public mutating func beginDictionary() throws(StreamError) { try begin(isDictionary: true) }

    /// Closes an array.
    public mutating func endArray() throws(StreamError) {
        guard let container = open.last, !container.isDictionary else {
            throw StreamError(.misuse, "got endArray without an open array")
        }
        close(container, .array)
    }

    /// Closes a dictionary, in which the last value of a key that came twice is kept.
    public mutating func endDictionary() throws(StreamError) {
        guard let container = open.last, container.isDictionary, key == Self.noKey else {
            throw StreamError(.misuse, "got endDictionary without an open dictionary")
        }
        removeDuplicates(from: container.firstChild)
        close(container, .dictionary)
    }

    /// Names the value that follows.
    public mutating func writeKey(_ utf8: RawSpan) throws(StreamError) {
        guard let container = open.last, container.isDictionary, key == Self.noKey else {
            throw StreamError(.misuse, "got a key outside a dictionary")
        }
        key = UInt32(truncatingIfNeeded: keys.insert(utf8).index)
    }

    private mutating func begin(isDictionary: Bool) throws(StreamError) {
        guard open.count < depthLimit else {
            throw StreamError(.limitExceeded, "containers are nested deeper than \(depthLimit)")
        }
        try checkKey()
        open.append(OpenContainer(firstChild: pending.count, key: key, isDictionary: isDictionary))
        key = Self.noKey
    }

    private mutating func close(_ container: OpenContainer, _ tag: PropertyListNode.Tag) {
        let count = pending.count - container.firstChild
        let payload = UInt64(nodes.count) << 32 | UInt64(count)
        nodes.append(contentsOf: pending[container.firstChild...])
        pending.removeLast(count)
        open.removeLast()
        pending.append(PropertyListNode(tag, payload, key: container.key))
    }

    /// Leaves the last value of each key that came twice, at the place of the first.
    private mutating func removeDuplicates(from first: Int) {
        dictionaryCount &+= 1
        if lastDictionary.count < keys.count {
            let missing = max(keys.count, 2 * lastDictionary.count) - lastDictionary.count
            lastDictionary.append(contentsOf: repeatElement(0, count: missing))
        }
        var hasDuplicate = false
        for index in first..<pending.count {
            let key = Int(pending[index].key)
            hasDuplicate = hasDuplicate || lastDictionary[key] == dictionaryCount
            lastDictionary[key] = dictionaryCount
        }
        guard hasDuplicate else { return }
        var places: [UInt32: Int] = [:]
        var end = first
        for index in first..<pending.count {
            let node = pending[index]
            if let place = places[node.key] {
                pending[place] = node
            } else {
                places[node.key] = end
                pending[end] = node
                end += 1
            }
        }
        pending.removeLast(pending.count - end)
    }

    // MARK: Scalars

    /// Adds null.
    public mutating func writeNull() throws(StreamError) { try append(.null, 0) }

    /// Adds a Boolean.
    public mutating func writeBool(_ value: Bool) throws(StreamError) { try append(value ? .yes : .no, 0) }

    /// Adds an integer.
    public mutating func writeInteger(_ value: Int64) throws(StreamError) {
        try append(.integer, UInt64(bitPattern: value))
    }

    /// Adds an unsigned integer.
    public mutating func writeUnsigned(_ value: UInt64) throws(StreamError) {
        try append(value > UInt64(Int64.max) ? .unsigned : .integer, value)
    }

    /// Adds a floating-point number.
    public mutating func writeReal(_ value: Double) throws(StreamError) { try append(.real, value.bitPattern) }

    /// Adds a date.
    public mutating func writeDate(secondsSince2001 seconds: Double) throws(StreamError) {
        try append(.date, seconds.bitPattern)
    }

    /// Adds the text of a number.
    public mutating func writeNumber(text: RawSpan) throws(StreamError) { try append(.number, text) }

    /// Adds a string.
    public mutating func writeString(_ utf8: RawSpan) throws(StreamError) { try append(.string, utf8) }

    /// Adds data.
    public mutating func writeData(_ data: RawSpan) throws(StreamError) { try append(.data, data) }

    private mutating func append(_ tag: PropertyListNode.Tag, _ payload: UInt64, length: Int = 0) throws(StreamError) {
        try checkKey()
        pending.append(PropertyListNode(tag, payload, key: key, length: length))
        key = Self.noKey
    }

    private mutating func append(_ tag: PropertyListNode.Tag, _ text: RawSpan) throws(StreamError) {
        let length = text.byteCount
        if length <= 8 {
            var payload: UInt64 = 0
            for index in 0..<length { payload |= UInt64(text.byte(at: index)) << UInt64(8 * index) }
            return try append(tag, payload, length: length)
        }
        let start = UInt64(bytes.count)
        // SAFETY: the pointers do not leave the closures.
        if length >= PropertyListNode.longLength {
            unsafe withUnsafeBytes(of: UInt64(length).littleEndian) { unsafe bytes.append(contentsOf: $0) }
        }
        unsafe text.withUnsafeBytes { unsafe bytes.append(contentsOf: $0) }
        try append(tag, start, length: length)
    }

    @inline(__always)  // PERF: PropertyListBuilder/records; once a value.
    private func checkKey() throws(StreamError) {
        if let container = open.last {
            if container.isDictionary && key == Self.noKey { throw Self.missingKey() }
        } else if !pending.isEmpty {
            throw Self.secondValue()
        }
    }

    @inline(never)
    private static func missingKey() -> StreamError { StreamError(.misuse, "expected a key, found a value") }

    @inline(never)
    private static func secondValue() -> StreamError { StreamError(.misuse, "expected one value, found another") }
}

extension PropertyListBuilder {
    /// Adds any scalar.
    mutating func write(_ message: ScalarMessage) throws(StreamError) {
        switch unsafe message {
        case .null: try writeNull()
        case .bool(let value): try writeBool(value)
        case .integer(let value): try writeInteger(value)
        case .unsigned(let value): try writeUnsigned(value)
        case .real(let value): try writeReal(value)
        case .number(let text): try unsafe writeNumber(text: text.bytes)
        case .string(let text): try unsafe writeString(text.bytes)
        case .data(let data): try unsafe writeData(data.bytes)
        case .date(let seconds): try writeDate(secondsSince2001: seconds)
        }
    }
}

extension PropertyList {
    /// Makes a list of a scalar.
    init(_ message: ScalarMessage) {
        var builder = PropertyListBuilder()
        try? unsafe builder.write(message)
        self = builder.takeResult() ?? PropertyList(.empty, PropertyListNode(.null, 0, key: 0))
    }
}
