// What is behind a `RecordPort`: where the members of the records to come lie in memory, and how far a reader got.
// Builders lend it, readers of text store through it; both trust these fields, so only this package can reach them.

import PlistStreaming

/// A member of a record, as text has it and as memory has it.
@unsafe @usableFromInline
package struct RecordMember {
    /// The first 16 bytes of the quoted name and its colon, and which of them count.
    package let words: (UInt64, UInt64)
    package let masks: (UInt64, UInt64)
    /// The quoted name with its colon, with zeros up to 16 bytes; owned by whoever made the member.
    package let text: UnsafeRawPointer
    /// The number of bytes of the quoted name with its colon.
    package let length: Int
    /// Other than 0 for a name of more than 16 bytes, which is more than the words tell.
    package private(set) var isLong: UInt64
    /// What is stored; `none` for members that only messages can store.
    package let kind: FastKind
    /// The offset from the base of a record, or the address of a column's values when the base is counted from 0.
    package var offset: Int
    /// The text of a column of strings.
    package var column: UnsafeMutableRawPointer?
    /// What is known of the type of a member that lies in an object.
    package let shape: UnsafePointer<RecordShape>?

    /// Makes a member; its name is copied.
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
        // A name that text has to escape is never compared with its plain form.
        let isPlain = name.utf8.allSatisfy { $0 >= 0x20 && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "\\") }
        unsafe self.kind = isPlain && quoted.count <= Self.longestText ? kind : .none
        unsafe self.offset = offset
        unsafe column = nil
        unsafe self.shape = unsafe shape
    }

    /// Makes the one behind the last member: no name is taken for its, also not an empty one, since a long one is always
    /// searched for, and this one is not among those that are.
    static func end() -> RecordMember {
        var member = unsafe RecordMember(name: "", kind: .none, offset: 0)
        unsafe member.isLong = 1
        return unsafe member
    }

    /// The longest quoted name that is compared.
    package static let longestText = 256

    /// The mask of so many of the lowest eight bytes.
    private static func mask(_ count: Int) -> UInt64 {
        count >= 8 ? .max : count <= 0 ? 0 : 1 << UInt64(8 * count) - 1
    }

    func deallocate() { unsafe text.deallocate() }

    /// One more than the index of another member with the same place in the table, or 0.
    package internal(set) var sibling: Int = 0

    /// The place in a table of names where a name belongs, given by the eight bytes behind its first quote, of which those
    /// behind its last one do not count.
    @inlinable @inline(__always)  // PERF: JSONTyped/posts; once a name that is not the expected one.
    package static func place(of word: UInt64) -> Int {
        let ones: UInt64 = 0x0101_0101_0101_0101
        let others = word ^ (ones &* 0x22)
        let quotes = (others &- ones) & ~others & (ones &* 0x80)
        // Up to the lowest bit, or all; above it may be wrong ones.
        let letters = word & (quotes ^ (quotes &- 1))
        return Int(truncatingIfNeeded: (letters &* 0x9E37_79B9_7F4A_7C15) &>> 57)
    }

    /// The number of places in a table of names.
    package static var placeCount: Int { 128 }
}

/// The members of records, with one behind the last that no reader stores.
@unsafe
struct RecordMembers {
    let start: UnsafeMutablePointer<RecordMember>
    let count: Int
    /// One more than the index of a member, at the place of its name; 0 at the places of no name.
    let table: UnsafeMutablePointer<UInt8>
    /// A Boolean value that indicates whether these are all members, so that any other name is unknown.
    let areAll: Bool
    /// The length of the longest name in bytes.
    let longestName: Int

    /// Makes the members of columns.
    init(_ members: [(name: String, kind: FastKind, offset: Int)]) {
        unsafe self.init(members.map { ($0.name, $0.kind, $0.offset, nil) })
    }

    /// Makes the members; those beyond the 64th are left to messages.
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

/// The whitespace between two members, which probably is the same between the next ones.
@unsafe
package struct LineGap {
    /// The number of bytes; 0 when nothing is expected.
    package private(set) var count = 0
    /// Those of the 32 bytes behind the first one that are spaces.
    package private(set) var masks: (UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0)

    /// Notes the length of another gap.
    package mutating func note(_ length: Int) {
        guard (1...33).contains(length) else { return }
        func mask(_ count: Int) -> UInt64 { count >= 8 ? .max : count <= 0 ? 0 : 1 << UInt64(8 * count) - 1 }
        unsafe count = length
        unsafe masks = (mask(length - 1), mask(length - 9), mask(length - 17), mask(length - 25))
    }
}

/// The records that a reader may store, and those it has stored.
@unsafe
package struct RecordState {
    /// What is lent to a reader now, which has to give it back before anything else.
    private(set) var loan: LoanKind?

    // What the builder lends.
    /// The members, with one behind the last that no reader stores.
    package var members: UnsafeMutablePointer<RecordMember>?
    package var memberCount = 0
    /// The address of the first record, or the offset of its values in every column.
    package var base = 0
    /// The number of bytes from one record to the next.
    package var stride = 0
    /// The number of records that there is memory for, at least 1.
    package var room = 0
    /// A Boolean value that indicates whether members have a value before one is stored, which strings must release.
    package var isInitialized = false
    /// The members with which a record is complete; others are for the builder to complete.
    package var complete: UInt64 = 0
    /// A Boolean value that indicates whether each record is an object of its own.
    package var makes = false
    /// Makes the object of a record behind the first, at the place of the reference to it.
    package var make: (UnsafeMutableRawPointer) -> Void = { _ in }
    /// Where the reference to the object of the first record is; the others lie side by side behind it.
    package var reference: UnsafeMutableRawPointer
    /// A Boolean value that indicates whether each record is handed over.
    package var delivers = false
    /// Hands over a complete record; false when the reader is to stop behind it.
    package var deliver: () -> Bool = { true }
    /// The places of the names of the members; nil where they are compared one by one.
    package var table: UnsafeMutablePointer<UInt8>?
    /// The length of the longest of their names in bytes; a reader with a lower limit leaves all to messages.
    package var longestName = 0
    /// A Boolean value that indicates whether members that the type does not have are skipped.
    package var skipsUnknown = false
    /// The levels of containers that may be within a record.
    package var depth = 0
    /// A Boolean value that indicates whether the record is the whole document, of which large parts are not built at once.
    package var isRoot = false
    /// The type of arrays that follow each other, when there is memory for such instead of records.
    package var arrays: UnsafePointer<RecordShape>?
    /// What completes records of which members are missing, if anything does.
    var layout: Unmanaged<ObjectLayout>?
    /// The members without which a record is an error.
    var required: UInt64 = 0
    /// Which members are missed, and what is unknown; as in the options of the builder.
    var rejectsMissing = false
    var ignoresUnknown = false

    // What the reader keeps for itself.
    /// The longest string in bytes.
    package var limit = 0
    /// Within a record, the last offset that is looked at, so that what may be given up again is no large part.
    package var last = 0
    /// The whitespace before a member.
    package var gap = unsafe LineGap()
    /// The unescaped text of a string.
    package var text: [UInt8] = []
    /// The state of the records that are within no others, where the reader says so; the same on all levels.
    package var outermost: UnsafeMutablePointer<RecordState>?
    /// Memory that the reader wants for records, trivial, of the outermost ones; given back with them.
    package var memory: UnsafeMutableRawPointer?
    /// The number of levels around this one; 0 for records that are within no other.
    package internal(set) var level = 0
    var inner: UnsafeMutablePointer<RecordState>?
    var elements: UnsafeMutableRawPointer?
    var prefixes: UnsafeMutablePointer<RepeatedPrefixes>?
    var spare = unsafe ScratchMemory()
    var wrapped = unsafe ScratchMemory()

    // What the reader says.
    /// The number of complete records.
    package var doneCount = 0
    /// A Boolean value that indicates whether a record behind the complete ones is begun.
    package var isOpen = false
    /// The members of the open record that are stored.
    package var seen: UInt64 = 0
    /// The member of the open record that is expected next.
    package var next = 0
    /// The number of records that probably follow the complete ones, as far as can be told.
    package var expectedCount = 0

    /// What `deliver` was refused with.
    var failure: StreamError?

    package init() {
        // SAFETY: nobody looks behind it before it is lent.
        unsafe reference = UnsafeMutableRawPointer(bitPattern: MemoryLayout<Int>.alignment).unsafelyUnwrapped
    }

    // PERF: JSONTyped/documents; by address, so that the state is not copied for the call.
    /// Returns whether a state has no more levels than so many, and no long text.
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
    /// Begins a loan, of which nothing is stored; what an earlier reader said counts no more.
    ///
    /// - Returns: The handle for the reader.
    static func begin(_ kind: LoanKind, _ state: UnsafeMutablePointer<RecordState>) -> RecordPort {
        unsafe (state.pointee.loan, state.pointee.doneCount, state.pointee.isOpen) = (kind, 0, false)
        unsafe (state.pointee.seen, state.pointee.next) = (0, 0)
        return unsafe RecordPort(UnsafeMutableRawPointer(state))
    }

    // Whatever changes a state that somebody has the address of is a static function of the address: Swift 6.3 cannot compile
    // a mutating call by a property that is a pointer under TSan, where the property is in a type that is not copyable.
    /// Ends the loan and returns what it was for; nil without one, and when a reader says it has stored more than was lent.
    static func end(_ state: UnsafeMutablePointer<RecordState>) -> LoanKind? {
        let (ended, room, doneCount) = unsafe (state.pointee.loan, state.pointee.room, state.pointee.doneCount)
        let (memberCount, next) = unsafe (state.pointee.memberCount, state.pointee.next)
        let others = unsafe state.pointee.seen & ~bits(memberCount)
        let isOpenInRoom = ended == .records && doneCount < room && others == 0 && (0...memberCount).contains(next)
        guard (0...room).contains(doneCount), unsafe !state.pointee.isOpen || isOpenInRoom else { return nil }
        unsafe state.pointee.loan = nil
        return ended
    }

    /// The index of the member with a name, for readers that have no quoted names.
    package func index(of name: UnsafeRawBufferPointer) -> Int? {
        guard let members = unsafe members else { return nil }
        return unsafe (0..<memberCount).first { index in
            unsafe members[index].length == name.count + 3
                && UnsafeRawBufferPointer(start: members[index].text + 1, count: name.count).elementsEqual(name)
        }
    }

    /// Returns whether records of which these members come may be complete.
    package func mayComplete(_ seen: UInt64) -> Bool { unsafe layout != nil || complete & ~seen == 0 }

    /// Forgets a loan that no reader gives back.
    static func forget(_ state: UnsafeMutablePointer<RecordState>) { unsafe state.pointee.loan = nil }

    /// So many of the lowest bits.
    static func bits(_ count: Int) -> UInt64 { count >= 64 ? .max : 1 << UInt64(count) - 1 }
}

extension LoanKind {
    /// The words for a loan that begins or ends where it cannot.
    static let notInTurn = "memory was lent and taken back out of turn, or more of it filled than there was"
}

extension RecordPort {
    /// The state behind the handle.
    package var records: UnsafeMutablePointer<RecordState> {
        // SAFETY: handles are made of such states only, and lent for one call.
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
            "testLeavesNamesWithEscapesToMessages": testLeavesNamesWithEscapesToMessages,
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

    private static func testLeavesNamesWithEscapesToMessages() {
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
