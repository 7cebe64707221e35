// Builds trees. Children wait on a stack until their container closes, and are then stored next to each other.

import PlistStreaming
import StringTables

/// A sink that builds a `PropertyList` from any stream.
///
/// ```swift
/// var builder = PropertyListBuilder()
/// // … a reader sends messages …
/// let list = try builder.takeResult()
/// ```
///
/// After a reader's error, the builder is empty and accepts the next stream like a new one.
@safe
public struct PropertyListBuilder: PlistSink, ~Copyable {
    private var nodes = unsafe GrowingMemory<PropertyListNode>()
    private var bytes = unsafe GrowingMemory<UInt8>()
    private var keys = KeySet(seeksSeed: false)
    private var expectedKeys = ExpectedKeys()
    /// The complete values in open containers, and the value at the root.
    private var pending = unsafe GrowingMemory<PropertyListNode>()
    private var open = unsafe GrowingMemory<OpenContainer>()
    /// The key of the next value, or one of the constants below.
    private var key: UInt32 = Self.noKey
    // PERF: JSONTree, JSONRecords/tree; the value of `key` after a value of the innermost container.
    private var keyAfterValue: UInt32 = Self.noMore
    /// The number of the last key plus 1, or 0 at the start of a dictionary.
    private var lastKey = 0
    /// The number plus 1 of the key whose value is the innermost dictionary, or the array around it.
    private var owner = 0
    // PERF: JSONTree; keys are numbered in order of appearance. Ascending numbers, which most streams have, therefore belong
    // to different keys.
    /// A Boolean value that indicates whether the innermost dictionary may have repeated keys.
    private var isUnordered = false
    /// The states of keys, indexed by the number of the key plus 1. The first state is for the start of a dictionary.
    private var keyStates = unsafe GrowingMemory<KeyState>()
    private var dictionaryCount: UInt32 = 0
    private let depthLimit: Int

    /// No key is set, and no key is needed.
    private static let noKey = UInt32.max - 2
    /// No key is set, but one is needed.
    private static let missingKey = UInt32.max - 1
    /// The value at the root is complete, and no second value may follow.
    private static let noMore = UInt32.max

    private struct OpenContainer: BitwiseCopyable {
        let firstChild: Int
        let key: UInt32
        let isDictionary: Bool
        /// The flag of the container around this one.
        let isUnordered: Bool
        let owner: UInt32
    }

    private struct KeyState: BitwiseCopyable {
        /// The last key that followed this one, and the first key in the last dictionary that was its value.
        var follower: UInt32 = 0
        var firstInside: UInt32 = 0
        /// The last dictionary with this key that was searched for repeated keys.
        var dictionary: UInt32 = 0
    }

    /// Creates a builder that throws an error for containers that are nested deeper than the limit.
    public init(depthLimit: Int = 1_024) {
        self.depthLimit = depthLimit
        unsafe keyStates.append(KeyState())
    }

    /// The number of open containers.
    public var depth: Int { unsafe open.count }

    /// Returns the value and empties the builder, even if it throws.
    /// - Throws: An error of the kind `unexpectedEnd` if the value isn't complete.
    public mutating func takeResult() throws(StreamError) -> PropertyList {
        guard unsafe open.count == 0, unsafe pending.count > 0 else {
            let error = located(.unexpectedEnd, "the value is not complete")
            reset()
            throw error
        }
        let root = unsafe pending[0]
        unsafe nodes.trim()
        unsafe bytes.trim()
        let storage = unsafe PropertyListStorage(nodes: nodes, bytes: bytes, keys: keys)
        unsafe nodes = unsafe GrowingMemory()
        unsafe bytes = unsafe GrowingMemory()
        reset()
        return PropertyList(storage, root)
    }

    /// Discards all values. The next message begins a new value.
    public mutating func reset() {
        unsafe nodes.removeLast(nodes.count)
        unsafe bytes.removeLast(bytes.count)
        unsafe pending.removeLast(pending.count)
        unsafe open.removeLast(open.count)
        (key, keyAfterValue) = (Self.noKey, Self.noMore)
        (lastKey, owner) = (0, 0)
        isUnordered = false
        keys = KeySet(seeksSeed: false)
        expectedKeys.removeAll()
        unsafe keyStates.removeLast(keyStates.count)
        unsafe keyStates.append(KeyState())
        dictionaryCount = 0
    }

    /// Discards the value, because an error ended the stream.
    public mutating func cancel(with error: StreamError) { reset() }

    deinit {
        unsafe nodes.deallocate()
        unsafe bytes.deallocate()
        unsafe pending.deallocate()
        unsafe open.deallocate()
        unsafe keyStates.deallocate()
    }

    // MARK: Containers

    /// Opens an array.
    public mutating func beginArray() throws(StreamError) { try begin(isDictionary: false) }

    /// Opens a dictionary.
    public mutating func beginDictionary() throws(StreamError) { try begin(isDictionary: true) }

    /// Closes an array.
    public mutating func endArray() throws(StreamError) {
        guard unsafe open.count > 0, unsafe !open[open.count - 1].isDictionary else {
            throw located(.misuse, "got endArray without an open array")
        }
        close(.array)
    }

    /// Closes a dictionary. If a key is repeated, its last value is kept.
    public mutating func endDictionary() throws(StreamError) {
        guard key == Self.missingKey else {
            throw located(.misuse, "got endDictionary without an open dictionary")
        }
        if isUnordered { unsafe removeDuplicates(from: open[open.count - 1].firstChild) }
        close(.dictionary)
    }

    /// Names the value that follows.
    public mutating func writeKey(_ utf8: RawSpan) throws(StreamError) {
        guard key == Self.missingKey else { throw located(.misuse, "got a key outside a dictionary") }
        // PERF: JSONRecords/tree; dictionaries of the same kind have their keys in the same order.
        let guess = unsafe Int(lastKey == 0 ? keyStates[owner].firstInside : keyStates[lastKey].follower)
        let number = expectedKeys.isKey(guess, utf8) ? guess : findKey(utf8)
        isUnordered = isUnordered || number < lastKey
        key = UInt32(truncatingIfNeeded: number)
        lastKey = number &+ 1
    }

    /// Finds the number of an unexpected key, and expects the key from now on.
    @inline(never)
    private mutating func findKey(_ utf8: RawSpan) -> Int {
        let (isNew, number) = keys.insert(utf8)
        if isNew {
            unsafe keyStates.append(KeyState())
            expectedKeys.append(utf8)
        }
        if lastKey == 0 {
            unsafe keyStates[owner].firstInside = UInt32(truncatingIfNeeded: number)
        } else {
            unsafe keyStates[lastKey].follower = UInt32(truncatingIfNeeded: number)
        }
        return number
    }

    private mutating func begin(isDictionary: Bool) throws(StreamError) {
        guard unsafe open.count < depthLimit else {
            throw located(.limitExceeded, "more than \(depthLimit) levels of nesting")
        }
        try checkKey()
        unsafe open.append(
            OpenContainer(
                firstChild: pending.count, key: key, isDictionary: isDictionary, isUnordered: isUnordered,
                owner: UInt32(truncatingIfNeeded: owner)))
        if key < Self.noKey { owner = Int(key) &+ 1 }
        keyAfterValue = isDictionary ? Self.missingKey : Self.noKey
        key = keyAfterValue
        lastKey = 0
        isUnordered = false
    }

    private mutating func close(_ tag: PropertyListNode.Tag) {
        let container = unsafe open[open.count - 1]
        unsafe open.removeLast(1)
        let count = unsafe pending.count &- container.firstChild
        let payload = unsafe UInt64(truncatingIfNeeded: nodes.count) &<< 32 | UInt64(truncatingIfNeeded: count)
        unsafe pending.moveLast(count, to: &nodes)
        unsafe pending.append(PropertyListNode(tag, payload, key: container.key))
        if unsafe open.count == 0 {
            keyAfterValue = Self.noMore
        } else {
            keyAfterValue = unsafe open[open.count - 1].isDictionary ? Self.missingKey : Self.noKey
        }
        key = keyAfterValue
        lastKey = container.key < Self.noKey ? Int(container.key) + 1 : 0
        isUnordered = container.isUnordered
        owner = Int(container.owner)
    }

    /// Keeps only the last value of each repeated key, at the position of the first one.
    private mutating func removeDuplicates(from first: Int) {
        dictionaryCount &+= 1
        var hasDuplicate = false
        for index in unsafe first..<pending.count {
            let place = unsafe Int(pending[index].key) &+ 1
            unsafe hasDuplicate = hasDuplicate || keyStates[place].dictionary == dictionaryCount
            unsafe keyStates[place].dictionary = dictionaryCount
        }
        guard hasDuplicate else { return }
        var kept = KeptMembers<PropertyListNode>()
        for index in unsafe first..<pending.count { unsafe kept.add(pending[index], key: pending[index].key) }
        for (offset, node) in kept.members.enumerated() { unsafe pending[first + offset] = node }
        unsafe pending.removeLast(pending.count - first - kept.members.count)
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

    @inline(__always)  // PERF: JSONTree; once a value.
    private mutating func append(_ tag: PropertyListNode.Tag, _ payload: UInt64, length: Int = 0) throws(StreamError) {
        try checkKey()
        unsafe pending.append(PropertyListNode(tag, payload, key: key, length: length))
        key = keyAfterValue
    }

    private mutating func append(_ tag: PropertyListNode.Tag, _ text: RawSpan) throws(StreamError) {
        let length = text.byteCount
        if length <= 8 {
            // SAFETY: the pointer does not leave the closure.
            let word = unsafe text.withUnsafeBytes { unsafe SmallText.words(of: $0).low }
            return try append(tag, word, length: length)
        }
        let start = unsafe UInt64(bytes.count)
        // SAFETY: the pointers do not leave the closures.
        if length >= PropertyListNode.longLength {
            unsafe withUnsafeBytes(of: UInt64(length).littleEndian) {
                unsafe bytes.append(contentsOf: $0.bindMemory(to: UInt8.self))
            }
        }
        unsafe text.withUnsafeBytes { unsafe bytes.append(contentsOf: $0.bindMemory(to: UInt8.self)) }
        try append(tag, start, length: length)
    }

    @inline(__always)  // PERF: JSONTree; one comparison once a value.
    private mutating func checkKey() throws(StreamError) {
        guard key > Self.noKey else { return }
        throw misplacedValue()
    }

    // MARK: Errors

    // PERF: JSONTree; mutating, because a nonmutating function would get a copy of the builder before each value.
    @inline(never)
    private mutating func misplacedValue() -> StreamError {
        located(.misuse, key == Self.missingKey ? "expected a key, found a value" : "expected one value, found another")
    }

    /// Makes an error with the path of the next value.
    @inline(never)
    private mutating func located(_ kind: StreamError.Kind, _ message: String) -> StreamError {
        var steps: [StreamPath.Step] = []
        for level in unsafe 0..<open.count {
            let container = unsafe open[level]
            let isInnermost = unsafe level + 1 == open.count
            let key = unsafe isInnermost ? key : open[level + 1].key
            let end = unsafe isInnermost ? pending.count : open[level + 1].firstChild
            if !container.isDictionary {
                steps.append(.index(end - container.firstChild))
            } else if key < Self.noKey {
                steps.append(.key(keys[Int(key)]))
            }
        }
        return StreamError(kind, message, path: StreamPath(steps))
    }
}

extension PropertyList {
    /// Makes a property list from a scalar.
    init(_ message: ScalarMessage) {
        var builder = PropertyListBuilder()
        try? unsafe builder.write(message)
        self = (try? builder.takeResult()) ?? PropertyList(.empty, PropertyListNode(.null, 0, key: 0))
    }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

// The tests are in `PropertyListBuilder+Tests`.
extension PropertyListBuilder: SelfTesting {
    /// The in-class tests of the builder.
    public static var testSelectors: TestSelectors {
        [
            "testSendsSameMessagesAsReceived": testSendsSameMessagesAsReceived,
            "testKeepsTheLastOfDuplicateKeys": testKeepsTheLastOfDuplicateKeys,
            "testDistinguishesSimilarKeys": testDistinguishesSimilarKeys,
            "testStoresTextOfEveryLength": testStoresTextOfEveryLength,
            "testRefusesMisuse": testRefusesMisuse,
            "testRefusesDeepNesting": testRefusesDeepNesting,
            "testReturnsNoPartialResult": testReturnsNoPartialResult,
            "testIsEmptyAfterAnError": testIsEmptyAfterAnError,
            "testReportsPathOfErrors": testReportsPathOfErrors,
            "testIsReusable": testIsReusable,
        ]
    }
}
#endif
