// Remembers the text between the values of records: white space, a name and its colon. It is probably the same in the next
// record.

import PlistStreaming

/// A text of up to 48 bytes that probably precedes the value of a member.
@unsafe
package struct RepeatedPrefix {
    /// The bytes, and masks for the bytes that are compared.
    package private(set) var words: (SIMD2<UInt64>, SIMD2<UInt64>, SIMD2<UInt64>) = (.zero, .zero, .zero)
    package private(set) var masks: (SIMD2<UInt64>, SIMD2<UInt64>, SIMD2<UInt64>) = (.zero, .zero, .zero)
    /// The member after the text. It may also be one of the two places after the last member, for the end of a record and the
    /// beginning of the next record. It is nil if no text is expected.
    package private(set) var member: UnsafeMutablePointer<RecordMember>?
    /// The number of bytes.
    package private(set) var count = 0
    private var missCount = 0

    package static let capacity = 48
    private static let largestMissCount = 64

    package init() {}

    /// Expects a text of up to 48 bytes from now on, unless too many earlier texts were different.
    package mutating func note(_ text: RawSpan, before member: UnsafeMutablePointer<RecordMember>) {
        guard unsafe text.byteCount <= Self.capacity && missCount < Self.largestMissCount else { return }
        unsafe missCount += 1
        func words(_ byte: (Int) -> UInt8) -> (SIMD2<UInt64>, SIMD2<UInt64>, SIMD2<UInt64>) {
            func word(_ start: Int) -> UInt64 {
                (0..<8).reduce(0) { $0 | UInt64(byte(start + $1)) << UInt64(8 * $1) }
            }
            return (SIMD2(word(0), word(8)), SIMD2(word(16), word(24)), SIMD2(word(32), word(40)))
        }
        let count = text.byteCount
        // SAFETY: the offset is below the count.
        unsafe self.words = words { $0 < count ? unsafe text.unsafeLoad(fromByteOffset: $0, as: UInt8.self) : 0 }
        unsafe masks = words { $0 < count ? 0xFF : 0 }
        unsafe (self.count, self.member) = unsafe (count, member)
        // If the texts vary, comparing them would cost more than reading them.
        if unsafe missCount == Self.largestMissCount { unsafe self.member = nil }
    }
}

/// The prefixes of the members of one type.
@unsafe
struct RepeatedPrefixes {
    let members: UnsafeMutablePointer<RecordMember>
    let first: UnsafeMutablePointer<RepeatedPrefix>
    let next: UnsafeMutablePointer<RepeatedPrefixes>?
}

extension RecordState {
    /// Returns the texts before members, in order, including the end marker after the last member.
    ///
    /// They are followed by the ends of records and the beginnings of the next ones.
    package mutating func prefixes(
        of members: UnsafeMutablePointer<RecordMember>
    ) -> UnsafeMutablePointer<RepeatedPrefix> {
        var known = unsafe prefixes
        while let one = unsafe known {
            if unsafe one.pointee.members == members { return unsafe one.pointee.first }
            unsafe known = unsafe one.pointee.next
        }
        let count = unsafe memberCount + 3
        let first = UnsafeMutablePointer<RepeatedPrefix>.allocate(capacity: count)
        unsafe first.initialize(repeating: RepeatedPrefix(), count: count)
        let memory = UnsafeMutablePointer<RepeatedPrefixes>.allocate(capacity: 1)
        unsafe memory.initialize(to: RepeatedPrefixes(members: members, first: first, next: prefixes))
        unsafe prefixes = unsafe memory
        return unsafe first
    }

    func deallocatePrefixes() {
        var known = unsafe prefixes
        while let one = unsafe known {
            unsafe known = unsafe one.pointee.next
            unsafe one.pointee.first.deallocate()
            unsafe one.deallocate()
        }
    }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

enum RepeatedPrefixTests {}

extension RepeatedPrefixTests: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testExpectsPrefixUntilItVaries": testExpectsPrefixUntilItVaries,
            "testEachTypeHasItsOwnPrefix": testEachTypeHasItsOwnPrefix,
        ]
    }

    private static func testExpectsPrefixUntilItVaries() {
        let member = UnsafeMutablePointer<RecordMember>.allocate(capacity: 1)
        defer { unsafe member.deallocate() }
        var prefix = unsafe RepeatedPrefix()
        expectTrue(unsafe prefix.member == nil, "nothing at first")
        func note(_ text: String) {
            text.withUTF8Span { unsafe prefix.note($0, before: member) }
        }
        note(String(repeating: "x", count: 49))
        expectTrue(unsafe prefix.member == nil, "a text that is too long")
        for count in [0, 1, 7, 8, 9, 16, 31, 32, 47, 48] {
            note(String(repeating: "x", count: count))
            unsafe expectEqual(prefix.count, count, "bytes")
            unsafe expectTrue(prefix.member == member, "the member")
            let (words, masks) = unsafe (prefix.words, prefix.masks)
            let counts = [masks.0, masks.1, masks.2].map { $0.x.nonzeroBitCount + $0.y.nonzeroBitCount }
            expectEqual(counts, [0, 16, 32].map { 8 * min(max(count - $0, 0), 16) }, "bits of \(count)")
            let isText = words.0 == masks.0 & SIMD2(repeating: 0x7878_7878_7878_7878)
            expectTrue(isText && words.2 == masks.2 & SIMD2(repeating: 0x7878_7878_7878_7878), "text of \(count)")
        }
        for count in 0..<60 { note(String(repeating: "y", count: count % 48)) }
        expectTrue(unsafe prefix.member == nil, "nothing where texts vary")
    }

    private static func testEachTypeHasItsOwnPrefix() {
        let members = UnsafeMutablePointer<RecordMember>.allocate(capacity: 2)
        var state = unsafe RecordState()
        defer {
            unsafe members.deallocate()
            unsafe state.deallocate()
        }
        unsafe state.memberCount = 1
        let (first, second) = unsafe (state.prefixes(of: members), state.prefixes(of: members + 1))
        expectTrue(unsafe first != second, "two types")
        expectTrue(unsafe state.prefixes(of: members) == first, "the first one again")
        expectTrue(unsafe state.prefixes(of: members + 1) == second, "the second one again")
    }
}
#endif
