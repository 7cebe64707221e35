// The state behind a `RecordPort`: the memory for the members of the next records, and the reader's progress. Builders provide
// the memory, and readers of text store values in it. Both rely on these fields, so that only this package can access them.

import PlistStreaming

/// A member of a record, with its form in text and in memory.
@unsafe @usableFromInline
package struct RecordMember {
    /// The first 16 bytes of the quoted name and its colon, and masks for the bytes that are compared.
    package let words: (UInt64, UInt64)
    package let masks: (UInt64, UInt64)
    /// The quoted name with its colon, padded with zeros to at least 16 bytes. The owner is the code that made the member.
    package let text: UnsafeRawPointer
    /// The number of bytes of the quoted name with its colon.
    package let length: Int
    /// A nonzero value if the name has more than 16 bytes, so that comparing the words isn't sufficient.
    package private(set) var isLong: UInt64
    /// The kind of value that is stored, or `none` for members that only messages can store.
    package let kind: FastKind
    /// The offset from the base of a record, or the address of a column's values if the base is an offset in columns.
    package var offset: Int
    /// The column that has the text of strings.
    package var column: UnsafeMutableRawPointer?
    /// The shape of the member's type if the member is in an object.
    package let shape: UnsafePointer<RecordShape>?

    /// Makes a member and copies its name.
    init(name: String, kind: FastKind, offset: Int, shape: UnsafePointer<RecordShape>? = nil) {
        let quoted = Array("\"\(name)\":".utf8)
        let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: max(quoted.count, 16), alignment: 8)
        unsafe memory.initializeMemory(as: UInt8.self, repeating: 0)
        unsafe memory.copyBytes(from: quoted)
        // SAFETY: the memory has at least 16 bytes, and it lives until `deallocate`.
        unsafe words = (
            memory.loadUnaligned(fromByteOffset: 0, as: UInt64.self).littleEndian,
            memory.loadUnaligned(fromByteOffset: 8, as: UInt64.self).littleEndian
        )
        unsafe masks = (Self.mask(quoted.count), Self.mask(quoted.count - 8))
        unsafe text = UnsafeRawPointer(memory.baseAddress.unsafelyUnwrapped)
        unsafe length = quoted.count
        unsafe isLong = quoted.count > 16 ? 1 : 0
        // A name that text has to escape must not be compared with its plain form.
        let isPlain = name.utf8.allSatisfy { $0 >= 0x20 && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "\\") }
        unsafe self.kind = isPlain && quoted.count <= Self.longestText ? kind : .none
        unsafe self.offset = offset
        unsafe column = nil
        unsafe self.shape = unsafe shape
    }

    /// Makes the end marker after the last member. No name is equal to it, not even an empty one: long names are always
    /// searched for, and the marker isn't among the members that are searched.
    static func end() -> RecordMember {
        var member = unsafe RecordMember(name: "", kind: .none, offset: 0)
        unsafe member.isLong = 1
        return unsafe member
    }

    /// The maximum length of a quoted name that is compared.
    package static let longestText = 256

    /// Returns the mask of the lowest bytes of a word, for a number of bytes.
    private static func mask(_ count: Int) -> UInt64 {
        count >= 8 ? .max : count <= 0 ? 0 : 1 << UInt64(8 * count) - 1
    }

    func deallocate() { unsafe text.deallocate() }

    /// The index plus one of another member with the same slot in the table, or 0.
    package internal(set) var sibling: Int = 0

    /// Returns the slot of a name in a table of names. The slot depends on the eight bytes after the name's first quote,
    /// without those after its last quote.
    @inlinable @inline(__always)  // PERF: JSONTyped/posts; once a name that is not the expected one.
    package static func place(of word: UInt64) -> Int {
        let ones: UInt64 = 0x0101_0101_0101_0101
        let others = word ^ (ones &* 0x22)
        let quotes = (others &- ones) & ~others & (ones &* 0x80)
        // Up to the lowest bit, or all bits. The higher bits may be wrong.
        let letters = word & (quotes ^ (quotes &- 1))
        return Int(truncatingIfNeeded: (letters &* 0x9E37_79B9_7F4A_7C15) &>> 57)
    }

    /// The number of slots in a table of names.
    package static var placeCount: Int { 128 }
}

/// The members of records, followed by an end marker that readers don't store.
@unsafe
struct RecordMembers {
    let start: UnsafeMutablePointer<RecordMember>
    let count: Int
    /// The index plus one of the member in each slot, or 0 for empty slots.
    let table: UnsafeMutablePointer<UInt8>
    /// A Boolean value that indicates whether these are all members of the type, so that any other name is unknown.
    let areAll: Bool
    /// The length of the longest name in bytes.
    let longestName: Int

    /// Makes the members of columns.
    init(_ members: [(name: String, kind: FastKind, offset: Int)]) {
        unsafe self.init(members.map { ($0.name, $0.kind, $0.offset, nil) })
    }

    /// Makes the members. Members after the 64th are left to messages.
    init(_ members: [(name: String, kind: FastKind, offset: Int, shape: UnsafePointer<RecordShape>?)]) {
        let plain = unsafe members.prefix(64)
        unsafe count = plain.count
        unsafe areAll = unsafe members.count == plain.count
        unsafe longestName = unsafe plain.lazy.map { unsafe $0.name.utf8.count }.max() ?? 0
        unsafe start = .allocate(capacity: plain.count + 1)
        unsafe table = .allocate(capacity: RecordMember.placeCount)
        unsafe table.initialize(repeating: 0, count: RecordMember.placeCount)
        for unsafe(index, member) in unsafe plain.enumerated() {
            var made = unsafe RecordMember(
                name: member.name, kind: member.kind, offset: member.offset, shape: member.shape)
            let word = unsafe made.text.loadUnaligned(fromByteOffset: 1, as: UInt64.self).littleEndian
            let place = unsafe RecordMember.place(of: word)
            unsafe made.sibling = Int(table[place])
            unsafe table[place] = UInt8(index + 1)
            unsafe (start + index).initialize(to: made)
        }
        unsafe (start + plain.count).initialize(to: RecordMember.end())
    }

    func deallocate() {
        for index in unsafe 0...count { unsafe start[index].deallocate() }
        unsafe start.deallocate()
        unsafe table.deallocate()
    }
}

/// The white space between two members, which probably is the same before the next members.
@unsafe
package struct LineGap {
    /// The number of bytes, or 0 if no white space is expected.
    package private(set) var count = 0
    /// The masks of the spaces among the 32 bytes after the first one.
    package private(set) var masks: (UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0)

    /// Sets the length of the next expected gap.
    package mutating func note(_ length: Int) {
        guard (1...33).contains(length) else { return }
        func mask(_ count: Int) -> UInt64 { count >= 8 ? .max : count <= 0 ? 0 : 1 << UInt64(8 * count) - 1 }
        unsafe count = length
        unsafe masks = (mask(length - 1), mask(length - 9), mask(length - 17), mask(length - 25))
    }
}

/// The memory for records that a reader may store, and the records that it has stored.
@unsafe
package struct RecordState {
    /// The kind of record buffer that a reader has at present, or nil. The reader has to return it before anything else
    /// happens.
    private(set) var bufferKind: RecordBufferKind?

    // Set by the builder.
    /// The members, followed by an end marker that readers don't store.
    package var members: UnsafeMutablePointer<RecordMember>?
    package var memberCount = 0
    /// The address of the first record, or the offset of its values in each column.
    package var base = 0
    /// The number of bytes from one record to the next.
    package var stride = 0
    /// The number of records that fit into the memory, at least 1.
    package var capacity = 0
    /// A Boolean value that indicates whether members have a value before one is stored, so that strings must be released.
    package var isInitialized = false
    /// The members that make a record complete. The builder completes other records.
    package var complete: UInt64 = 0
    /// A Boolean value that indicates whether each record is a separate object.
    package var makes = false
    /// Makes the object of a record after the first one and stores the reference to it at an address.
    package var make: (UnsafeMutableRawPointer) -> Void = { _ in }
    /// The address of the reference to the first record's object. The other references follow it.
    package var reference: UnsafeMutableRawPointer
    /// A Boolean value that indicates whether each record is delivered to a closure.
    package var delivers = false
    /// Delivers a complete record. Returns false if the reader has to stop after it.
    package var deliver: () -> Bool = { true }
    /// The slots of the members' names, or nil if the names are compared one by one.
    package var table: UnsafeMutablePointer<UInt8>?
    /// The length of the longest member name in bytes. A reader with a lower limit leaves all records to messages.
    package var longestName = 0
    /// A Boolean value that indicates whether unknown members are skipped.
    package var skipsUnknown = false
    /// The maximum number of container levels within a record.
    package var depth = 0
    /// A Boolean value that indicates whether the record is the whole document. Large parts of it are not built at once.
    package var isRoot = false
    /// The type of a sequence of arrays if the memory is for arrays instead of records.
    package var arrays: UnsafePointer<RecordShape>?
    /// The layout that completes records with missing members, if the type has one.
    var layout: Unmanaged<ObjectLayout>?
    /// The members that every record must have.
    var required: UInt64 = 0
    /// The treatment of missing and unknown members, as in the options of the builder.
    var rejectsMissing = false
    var ignoresUnknown = false

    // Used only by the reader.
    /// The maximum length of a string in bytes.
    package var limit = 0
    /// The last offset that is read within a record, so that only small parts are discarded and read again.
    package var last = 0
    /// The expected white space before a member.
    package var gap = unsafe LineGap()
    /// The unescaped text of a string.
    package var text: [UInt8] = []
    /// The state of the outermost records if the reader sets it. It is the same on all levels.
    package var outermost: UnsafeMutablePointer<RecordState>?
    /// Trivial memory that the reader needs for the outermost records. It is freed with them.
    package var memory: UnsafeMutableRawPointer?
    /// The number of levels around this one, or 0 for outermost records.
    package internal(set) var level = 0
    var inner: UnsafeMutablePointer<RecordState>?
    var elements: UnsafeMutableRawPointer?
    var prefixes: UnsafeMutablePointer<RepeatedPrefixes>?
    var spare = unsafe ScratchMemory()
    var wrapped = unsafe ScratchMemory()

    // Set by the reader.
    /// The number of complete records.
    package var doneCount = 0
    /// A Boolean value that indicates whether a record after the complete ones has begun.
    package var isOpen = false
    /// The stored members of the open record.
    package var seen: UInt64 = 0
    /// The index of the next expected member of the open record.
    package var next = 0
    /// The estimated number of records after the complete ones.
    package var expectedCount = 0

    /// The error of `deliver`.
    var failure: StreamError?

    package init() {
        // SAFETY: the pointer isn't read before memory is provided.
        unsafe reference = UnsafeMutableRawPointer(bitPattern: MemoryLayout<Int>.alignment).unsafelyUnwrapped
    }

    // PERF: JSONTyped/documents; by address, so that the state is not copied for the call.
    /// Returns whether a state has at most a number of levels and no long text.
    static func isSmall(_ state: UnsafeMutablePointer<RecordState>, levels: Int) -> Bool {
        guard levels > 0, unsafe state.pointee.text.capacity <= elementByteCount else { return false }
        guard let inner = unsafe state.pointee.inner else { return true }
        return unsafe isSmall(inner, levels: levels - 1)
    }

    package func deallocate() {
        unsafe elements?.deallocate()
        unsafe spare.deallocate()
        unsafe wrapped.deallocate()
        unsafe deallocatePrefixes()
        unsafe memory?.deallocate()
        guard let inner = unsafe inner else { return }
        unsafe inner.pointee.deallocate()
        unsafe inner.deinitialize(count: 1)
        unsafe inner.deallocate()
    }
}

extension RecordState {
    /// Provides the memory without any stored records. The results of an earlier reader are discarded.
    ///
    /// - Returns: The port for the reader.
    static func begin(_ kind: RecordBufferKind, _ state: UnsafeMutablePointer<RecordState>) -> RecordPort {
        unsafe (state.pointee.bufferKind, state.pointee.doneCount, state.pointee.isOpen) = (kind, 0, false)
        unsafe (state.pointee.seen, state.pointee.next) = (0, 0)
        return unsafe RecordPort(UnsafeMutableRawPointer(state))
    }

    // All changes to a state that other code has the address of are static functions of the address. Swift 6.3 can't compile
    // a mutating call through a pointer property in a noncopyable type for TSan.
    /// Takes the memory back and returns the kind of the record buffer. Returns nil without a record buffer, or if the reader
    /// has exceeded its capacity.
    static func end(_ state: UnsafeMutablePointer<RecordState>) -> RecordBufferKind? {
        let (ended, capacity, doneCount) = unsafe (
            state.pointee.bufferKind, state.pointee.capacity, state.pointee.doneCount
        )
        let (memberCount, next) = unsafe (state.pointee.memberCount, state.pointee.next)
        let others = unsafe state.pointee.seen & ~bits(memberCount)
        let isOpenWithinCapacity =
            ended == .records && doneCount < capacity && others == 0 && (0...memberCount).contains(next)
        guard (0...capacity).contains(doneCount), unsafe !state.pointee.isOpen || isOpenWithinCapacity else {
            return nil
        }
        unsafe state.pointee.bufferKind = nil
        return ended
    }

    /// Returns the index of the member with a name, for readers whose names aren't quoted.
    package func index(of name: UnsafeRawBufferPointer) -> Int? {
        guard let members = unsafe members else { return nil }
        return unsafe (0..<memberCount).first { index in
            unsafe members[index].length == name.count + 3
                && UnsafeRawBufferPointer(start: members[index].text + 1, count: name.count).elementsEqual(name)
        }
    }

    /// Returns whether records with these members may be complete.
    package func mayComplete(_ seen: UInt64) -> Bool { unsafe layout != nil || complete & ~seen == 0 }

    /// Ends the record buffer of a reader that doesn't return the memory.
    static func discard(_ state: UnsafeMutablePointer<RecordState>) { unsafe state.pointee.bufferKind = nil }

    /// Returns a word with a number of its lowest bits set.
    static func bits(_ count: Int) -> UInt64 { count >= 64 ? .max : 1 << UInt64(count) - 1 }
}

extension RecordBufferKind {
    /// The message for a record buffer that is requested or returned at the wrong time.
    static let misuseMessage = "a record buffer was begun or ended in the wrong order, or filled beyond its capacity"
}

extension RecordPort {
    /// The state behind the port.
    package var records: UnsafeMutablePointer<RecordState> {
        // SAFETY: ports are made only from such states, and valid for one call.
        unsafe state.assumingMemoryBound(to: RecordState.self)
    }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

enum RecordStateTests {}

extension RecordStateTests: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testMembersHaveTheirQuotedNames": testMembersHaveTheirQuotedNames,
            "testEscapedNamesUseMessages": testEscapedNamesUseMessages,
        ]
    }

    private static func testMembersHaveTheirQuotedNames() {
        for count in [0, 1, 4, 5, 6, 12, 13, 14, 40] {
            let name = String(repeating: "n", count: count)
            let member = unsafe RecordMember(name: name, kind: .integer, offset: 8)
            let quoted = Array("\"\(name)\":".utf8)
            unsafe expectEqual(member.length, quoted.count, "length of \(count)")
            unsafe expectEqual(member.isLong, quoted.count > 16 ? 1 : 0, "whether \(count) is long")
            let text = unsafe UnsafeRawBufferPointer(start: member.text, count: member.length)
            expectTrue(unsafe text.elementsEqual(quoted), "text of \(count)")
            var bytes = quoted + [UInt8](repeating: 0xFF, count: 16)
            for place in 0..<min(quoted.count, 16) {
                expectTrue(unsafe matches(member, bytes), "the same name of \(count)")
                bytes[place] ^= 1
                expectFalse(unsafe matches(member, bytes), "another byte at \(place) of \(count)")
                bytes[place] ^= 1
            }
            unsafe member.deallocate()
        }
    }

    private static func matches(_ member: RecordMember, _ bytes: [UInt8]) -> Bool {
        let (first, second) = unsafe bytes.withUnsafeBytes { bytes in
            unsafe (
                bytes.loadUnaligned(as: UInt64.self), bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self)
            )
        }
        return unsafe (first ^ member.words.0) & member.masks.0 == 0 && (second ^ member.words.1) & member.masks.1 == 0
    }

    private static func testEscapedNamesUseMessages() {
        let rows: [(String, FastKind)] = [
            ("name", .integer), ("größe", .integer), ("a b", .integer), ("a\"b", .none), ("a\\b", .none),
            ("a\nb", .none),
            (String(repeating: "n", count: 300), .none),
        ]
        for (name, kind) in rows {
            let member = unsafe RecordMember(name: name, kind: .integer, offset: 0)
            unsafe expectEqual(member.kind, kind, "kind of \(name)")
            unsafe member.deallocate()
        }
        let many = (0..<70).map { (name: "n\($0)", kind: FastKind.integer, offset: 8 * $0) }
        let members = unsafe RecordMembers(many)
        unsafe expectEqual(members.count, 64, "members")
        unsafe expectEqual(members.start[64].kind, .none, "kind behind the last one")
        unsafe members.deallocate()
    }
}
#endif
