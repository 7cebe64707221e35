// Text that probably comes again: the members that no one wants between two that are stored, as a record before had them.
// It is compared instead of read; where values differ, they are told apart once, and from then on read as values.

import PlistStreaming

/// Text in which some values may differ.
@unsafe
package struct RepeatedText {
    /// Text that is the same, and behind it a value that may differ, except behind the last part.
    package struct Part: BitwiseCopyable {
        /// The offset in the text and the number of bytes.
        package let start: Int
        package let count: Int
        /// The offset in the part of the last member that begins in it and is within no other, or -1.
        package let boundary: Int
        /// The number of containers around the value behind it.
        package let level: Int
    }

    /// A value in the text.
    package struct Value {
        package let start: Int
        package var end: Int
        /// The index of the container around it, or -1.
        package let parent: Int
        /// The number of containers around it.
        package let level: Int
        /// Whether it ends where it does only because of what follows, as numbers do.
        package let isOpenEnded: Bool
        fileprivate var isHole = false

        package init(start: Int, end: Int, parent: Int, level: Int, isOpenEnded: Bool) {
            (self.start, self.end, self.parent) = (start, end, parent)
            (self.level, self.isOpenEnded) = (level, isOpenEnded)
        }
    }

    /// What is behind the text.
    package enum Ending {
        /// The name of some member, or whitespace before one.
        case name
        /// The value of the member that was expected.
        case value
        /// The text ends with the record.
        case record
    }

    /// What is done about text that differs.
    package enum Difference {
        /// A value of the part differs; the part now ends before it.
        case value
        /// Members differ, or a value that is too large; those before an offset of the part are the same, if it is not
        /// negative.
        case members(Int)
    }

    /// The text, with as many bytes behind it as are compared at once, `padding`.
    package let text: UnsafeMutableRawPointer
    /// So many bytes of ones as are compared at once, and as many of zeros.
    package let masks: UnsafeMutableRawPointer
    package let parts: UnsafeMutablePointer<Part>
    package private(set) var partCount = 0
    /// The bounds that its values were found to be within.
    package let depth: Int
    package let limit: Int
    package let ending: Ending
    /// Another text that is there instead of this one or of its end.
    package fileprivate(set) var next: UnsafeMutablePointer<RepeatedText>?

    private let count: Int
    private var values: [Value]
    /// Where members begin that are within no other.
    private let boundaries: [Int]

    /// Bytes that may be compared behind the end of a part.
    package static let padding = 32

    /// Copies a text, of which all values are expected to be the same.
    package init(
        _ bytes: RawSpan, values: [Value], boundaries: [Int], ending: Ending, depth: Int, limit: Int
    ) {
        unsafe (count, self.values, self.boundaries) = (bytes.byteCount, values, boundaries)
        unsafe (self.ending, self.depth, self.limit) = (ending, depth, limit)
        unsafe text = .allocate(byteCount: bytes.byteCount + 3 * Self.padding, alignment: 8)
        unsafe masks = text + bytes.byteCount + Self.padding
        // One part before each value and one behind the last are the most.
        unsafe parts = .allocate(capacity: values.count + 1)
        // SAFETY: the memory is as large as what goes there.
        unsafe bytes.withUnsafeBytes { source in
            guard let start = source.baseAddress else { return }
            unsafe text.copyMemory(from: start, byteCount: source.count)
        }
        unsafe (text + count).initializeMemory(as: UInt8.self, repeating: 0, count: 3 * Self.padding)
        unsafe masks.initializeMemory(as: UInt8.self, repeating: 0xFF, count: Self.padding)
        unsafe setParts()
    }

    package func deallocate() {
        unsafe text.deallocate()
        unsafe parts.deallocate()
    }

    /// Finds out what differs at an offset of a part.
    package mutating func note(differenceAt offset: Int, in index: Int) -> Difference {
        let part = unsafe parts[index]
        let place = part.start + offset
        // The innermost value in which the difference is.
        var value = unsafe Self.count(values, place) { $0.start } - 1
        while value >= 0 {
            let found = unsafe values[value]
            if !found.isHole, place < found.end || found.isOpenEnded && place == found.end { break }
            value = found.parent
        }
        guard value >= 0 else { return unsafe .members(boundary(atMost: place) - part.start) }
        unsafe values[value].isHole = true
        let (start, end) = unsafe (values[value].start, values[value].end)
        if start >= part.start && end <= part.start + part.count {
            unsafe split(index, around: values[value])
        } else {
            unsafe setParts()
        }
        return unsafe start >= part.start ? .value : .members(boundary(atMost: place) - part.start)
    }

    /// Takes a value out of a part.
    private mutating func split(_ index: Int, around value: Value) {
        let part = unsafe parts[index]
        unsafe (parts + index + 2).update(from: parts + index + 1, count: partCount - index - 1)
        let firstBoundary = unsafe max(-1, boundary(atMost: value.start) - part.start)
        let secondBoundary = part.boundary < 0 ? -1 : max(-1, part.start + part.boundary - value.end)
        unsafe parts[index] = Part(
            start: part.start, count: value.start - part.start, boundary: firstBoundary, level: value.level)
        unsafe parts[index + 1] = Part(
            start: value.end, count: part.start + part.count - value.end, boundary: secondBoundary, level: part.level)
        unsafe partCount += 1
    }

    private mutating func setParts() {
        var start = 0
        var index = 0
        func append(_ end: Int, _ level: Int) {
            let boundary = unsafe max(-1, boundary(atMost: end) - start)
            unsafe (parts + index).initialize(
                to: Part(start: start, count: end - start, boundary: boundary, level: level))
            index += 1
        }
        for value in unsafe values where value.isHole && value.start >= start {
            append(value.start, value.level)
            start = value.end
        }
        unsafe append(count, 0)
        unsafe partCount = index
    }

    /// The last place up to another one where a member begins that is within no other, or -1.
    private func boundary(atMost place: Int) -> Int {
        let count = unsafe Self.count(boundaries, place) { $0 }
        return unsafe count == 0 ? -1 : boundaries[count - 1]
    }

    /// The number of sorted elements that are at most at a place.
    private static func count<Element>(_ elements: [Element], _ place: Int, _ start: (Element) -> Int) -> Int {
        var (low, high) = (0, elements.count)
        while low < high {
            let middle = (low + high) / 2
            if start(elements[middle]) <= place { low = middle + 1 } else { high = middle }
        }
        return low
    }
}

/// The texts that probably come again in records of all types that lie in each other at one level.
@unsafe
package struct RepeatedTexts {
    /// The texts before a member.
    @unsafe
    package struct Place {
        package fileprivate(set) var member: UnsafeMutablePointer<RecordMember>?
        /// The first one; others follow it.
        package fileprivate(set) var text: UnsafeMutablePointer<RepeatedText>?
        /// How often there was text to be read, before it is remembered.
        fileprivate var missCount = 0
        /// How often no text was of use since one was.
        package var failureCount = 0
        /// How often they were forgotten, since they did not come again.
        fileprivate var lossCount = 0
    }

    package private(set) var places: UnsafeMutablePointer<Place>?
    /// The bytes that may still be remembered.
    private var room = 1 << 20
    private static let placeCount = 64

    /// Where the texts before a member are remembered, or nil if there are none.
    @inlinable @inline(__always)  // PERF: JSONTyped/posts; once a member that is not the expected one.
    package func place(before member: UnsafeMutablePointer<RecordMember>) -> UnsafeMutablePointer<Place>? {
        guard let places = unsafe places else { return nil }
        let place = unsafe places + Self.index(member)
        return unsafe place.pointee.member == member ? place : nil
    }

    @inlinable @inline(__always)  // PERF: see above.
    package static func index(_ member: UnsafeMutablePointer<RecordMember>) -> Int {
        Int(truncatingIfNeeded: (UInt64(UInt(bitPattern: member)) &>> 3 &* 0x9E37_79B9_7F4A_7C15) &>> 58)
    }

    /// Makes a place for the texts before a member; nil when another member has it.
    package mutating func makePlace(
        before member: UnsafeMutablePointer<RecordMember>
    ) -> UnsafeMutablePointer<Place>? {
        if unsafe places == nil {
            unsafe places = .allocate(capacity: Self.placeCount)
            unsafe places?.initialize(repeating: Place(), count: Self.placeCount)
        }
        guard let places = unsafe places else { return nil }
        let place = unsafe places + Self.index(member)
        if unsafe place.pointee.member == nil { unsafe place.pointee.member = unsafe member }
        return unsafe place.pointee.member == member ? place : nil
    }

    /// Whether more may be remembered.
    package var hasRoom: Bool { unsafe room > 0 }

    /// Takes the memory for a text with so many values; false when all that there may be is taken.
    package mutating func takeRoom(for byteCount: Int, valueCount: Int) -> Bool {
        let valueSize = MemoryLayout<RepeatedText.Value>.stride + MemoryLayout<RepeatedText.Part>.stride
        let needed = byteCount + valueCount * valueSize
        let isRoom = unsafe needed <= room
        unsafe room = isRoom ? room - needed : 0
        return isRoom
    }

    func deallocate() {
        guard let places = unsafe places else { return }
        for index in unsafe 0..<Self.placeCount { unsafe places[index].forgetAll() }
        unsafe places.deallocate()
    }
}

extension RepeatedTexts.Place {
    /// The number of texts before one member, where some members are missing now and then.
    private static var largestCount: Int { 4 }
    /// The times that texts are forgotten because they did not come again.
    private static var largestLossCount: Int { 4 }
    /// The times in a row that no text is of use before they are forgotten.
    private static var largestFailureCount: Int { 16 }

    /// Whether the text that was read now is worth remembering: not the first one, since there may be no second, and not
    /// where it is always another one.
    package mutating func isToRemember() -> Bool {
        unsafe missCount += 1
        return unsafe missCount > 1 && lossCount < Self.largestLossCount && count < Self.largestCount
    }

    private var count: Int {
        var count = 0
        var text = unsafe text
        while let memory = unsafe text { unsafe (count, text) = unsafe (count + 1, memory.pointee.next) }
        return count
    }

    /// Remembers a text behind the other ones.
    package mutating func remember(_ text: RepeatedText) {
        let memory = UnsafeMutablePointer<RepeatedText>.allocate(capacity: 1)
        unsafe memory.initialize(to: text)
        guard var last = unsafe self.text else { return unsafe self.text = unsafe memory }
        while let next = unsafe last.pointee.next { unsafe last = unsafe next }
        unsafe last.pointee.next = unsafe memory
    }

    /// Notes that no text was of use, and forgets them when that is often so.
    package mutating func noteFailure() {
        unsafe failureCount += 1
        guard unsafe failureCount > Self.largestFailureCount else { return }
        unsafe forgetAll()
        unsafe (failureCount, lossCount) = unsafe (0, lossCount + 1)
    }

    mutating func forgetAll() {
        while let memory = unsafe text {
            unsafe text = unsafe memory.pointee.next
            unsafe memory.pointee.deallocate()
            unsafe memory.deinitialize(count: 1)
            unsafe memory.deallocate()
        }
    }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

enum RepeatedTextTests {}

extension RepeatedTextTests: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testTakesOutValuesThatDiffer": testTakesOutValuesThatDiffer,
            "testForgetsWhatIsOfNoUse": testForgetsWhatIsOfNoUse,
        ]
    }

    /// The members `a:12,b:[3,[x]],c:5`, with values of open and of closed ends.
    private static func text() -> RepeatedText {
        let values = [
            (2, 4, -1, 0, true), (7, 14, -1, 0, false), (8, 9, 1, 1, true), (10, 13, 1, 1, false),
            (11, 12, 3, 2, false),
            (17, 18, -1, 0, true),
        ].map { RepeatedText.Value(start: $0, end: $1, parent: $2, level: $3, isOpenEnded: $4) }
        let bytes = Array("a:12,b:[3,[x]],c:5".utf8)
        // SAFETY: the span does not leave the closure.
        return unsafe bytes.withUnsafeBytes {
            unsafe RepeatedText(
                $0.bytes, values: values, boundaries: [0, 5, 15], ending: .record, depth: 1, limit: 1)
        }
    }

    private static func parts(_ text: RepeatedText) -> [String] {
        (0..<(unsafe text.partCount)).map { index in
            let part = unsafe text.parts[index]
            let bytes = unsafe UnsafeRawBufferPointer(start: text.text + part.start, count: part.count)
            return unsafe "\(String(decoding: bytes, as: UTF8.self)) \(part.boundary) \(part.level)"
        }
    }

    private static func testTakesOutValuesThatDiffer() {
        var text = unsafe text()
        defer { unsafe text.deallocate() }
        func note(_ offset: Int, _ index: Int) -> String { unsafe "\(text.note(differenceAt: offset, in: index))" }
        expectEqual(unsafe parts(text), ["a:12,b:[3,[x]],c:5 15 0"], "at first")
        expectEqual(note(5, 0), "members(5)", "another name")
        expectEqual(note(4, 0), "value", "a longer number")
        expectEqual(unsafe parts(text), ["a: 0 0", ",b:[3,[x]],c:5 11 0"], "without the number")
        expectEqual(note(0, 1), "members(-4)", "no comma")
        expectEqual(note(7, 1), "value", "another element")
        expectEqual(unsafe parts(text), ["a: 0 0", ",b:[3,[ 1 2", "]],c:5 3 0"], "without the element")
        expectEqual(note(0, 2), "members(-7)", "an element more, which the inner array did not have")
        expectEqual(unsafe parts(text), ["a: 0 0", ",b:[3, 1 1", "],c:5 2 0"], "without the inner array")
        expectEqual(note(3, 1), "value", "another array")
        expectEqual(unsafe parts(text), ["a: 0 0", ",b: 1 0", ",c:5 1 0"], "without the array")
    }

    private static func testForgetsWhatIsOfNoUse() {
        var texts = unsafe RepeatedTexts()
        defer { unsafe texts.deallocate() }
        let member = UnsafeMutablePointer<RecordMember>.allocate(capacity: 1)
        defer { unsafe member.deallocate() }
        expectTrue(unsafe texts.place(before: member) == nil, "no place at first")
        guard let place = unsafe texts.makePlace(before: member) else { return fail("expected a place") }
        for round in 0..<4 {
            expectEqual(unsafe place.pointee.isToRemember(), round > 0, "round \(round)")
            for _ in 0..<4 { unsafe place.pointee.remember(text()) }
            expectFalse(unsafe place.pointee.isToRemember(), "a fifth text")
            for _ in 0..<17 { unsafe place.pointee.noteFailure() }
            expectTrue(unsafe place.pointee.text == nil, "forgotten in round \(round)")
        }
        expectFalse(unsafe place.pointee.isToRemember(), "forgotten too often")
        expectTrue(unsafe texts.takeRoom(for: 1_000_000, valueCount: 100), "much memory")
        expectFalse(unsafe texts.takeRoom(for: 1_000, valueCount: 1_000), "too much")
        expectTrue(unsafe texts.place(before: member) == place, "the place")
    }
}
#endif
