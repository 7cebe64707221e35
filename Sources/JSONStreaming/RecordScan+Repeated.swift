// Members that no one wants and that were there before: their text is compared with the one of an earlier record, and only
// values that differ are read. What is the same as valid text, from the beginning of a name on, is as valid as that.

import PlistBuilding
import PlistStreaming

extension RecordScan {
    /// The largest text that is remembered, in bytes.
    private static var largestText: Int { 8_192 }

    // PERF: JSONTyped/posts; 32 bytes in about 20 instructions, where reading takes five times as many.
    /// Skips members that are not wanted, from a name on, as far as they are those that are remembered.
    ///
    /// - Returns: The offset behind all of them, and true; else the offset of the last name before which all is skipped,
    ///   which may be `start`, and false.
    @inline(never)
    static func skipRepeated(
        _ bytes: RawSpan, from start: Int, last: Int, _ repeated: UnsafeMutablePointer<RepeatedText>,
        _ state: UnsafeMutablePointer<RecordState>
    ) -> (offset: Int, isComplete: Bool) {
        let limit = unsafe state.pointee.limit
        // What is remembered is valid within the bounds that it was read with.
        guard unsafe repeated.pointee.limit == limit, unsafe repeated.pointee.depth == state.pointee.depth else {
            return (start, false)
        }
        let (text, masks, parts) = unsafe (repeated.pointee.text, repeated.pointee.masks, repeated.pointee.parts)
        var offset = start
        var resume = start
        var index = 0
        while true {
            // Bounds: 32 bytes from an offset up to `last` on are within the span, and so are those of the text and masks.
            let part = unsafe parts + index
            let count = unsafe part.pointee.count
            let place = unsafe text + part.pointee.start
            guard offset &+ count <= last else { return (resume, false) }
            var done = 0
            while count &- done > 32 {
                let first = unsafe bytes.uncheckedWord(offset &+ done) ^ word(place, done)
                let second = unsafe bytes.uncheckedWord(offset &+ done &+ 8) ^ word(place, done &+ 8)
                let third = unsafe bytes.uncheckedWord(offset &+ done &+ 16) ^ word(place, done &+ 16)
                let fourth = unsafe bytes.uncheckedWord(offset &+ done &+ 24) ^ word(place, done &+ 24)
                if (first | second) | (third | fourth) != 0 { break }
                done &+= 32
            }
            // The last ones, or those with the difference.
            let mask = unsafe masks + max(0, 32 &- (count &- done))
            let first = unsafe (bytes.uncheckedWord(offset &+ done) ^ word(place, done)) & word(mask, 0)
            let second = unsafe (bytes.uncheckedWord(offset &+ done &+ 8) ^ word(place, done &+ 8)) & word(mask, 8)
            let third = unsafe (bytes.uncheckedWord(offset &+ done &+ 16) ^ word(place, done &+ 16)) & word(mask, 16)
            let fourth = unsafe (bytes.uncheckedWord(offset &+ done &+ 24) ^ word(place, done &+ 24)) & word(mask, 24)
            if (first | second) | (third | fourth) == 0 {
                let boundary = unsafe part.pointee.boundary
                if boundary >= 0 { resume = offset &+ boundary }
                offset &+= count
                index &+= 1
                if unsafe index == repeated.pointee.partCount { return (offset, true) }
            } else {
                let half = first | second == 0 ? 16 : 0
                let (low, high) = half == 0 ? (first, second) : (third, fourth)
                done &+= half &+ (low == 0 ? 8 &+ high.trailingZeroBitCount &>> 3 : low.trailingZeroBitCount &>> 3)
                switch unsafe repeated.pointee.note(differenceAt: done, in: index) {
                case .value:
                    // The part is shorter now, and all that is left of it is the same.
                    let boundary = unsafe part.pointee.boundary
                    if boundary >= 0 { resume = offset &+ boundary }
                    offset &+= unsafe part.pointee.count
                    index &+= 1
                case .members(let boundary):
                    return (boundary < 0 ? resume : offset &+ boundary, false)
                }
            }
            let byte = bytes.uncheckedByte(offset)
            if byte == UInt8(ascii: "\"") {
                offset = PlainSkip.endOfString(bytes, from: offset, limit: limit)
            } else if byte &- 0x30 <= 9 {
                offset = PlainSkip.endOfNumber(bytes, from: offset)
            } else {
                let depth = unsafe state.pointee.depth &- part.pointee.level
                offset = PlainSkip.endOfValue(bytes, from: offset, depth: depth, limit: limit)
            }
            guard offset >= 0, offset <= last else { return (resume, false) }
        }
    }

    /// Eight bytes of remembered text.
    @inline(__always)  // PERF: see above.
    private static func word(_ text: UnsafeRawPointer, _ offset: Int) -> UInt64 {
        // SAFETY: behind the text and its masks there are as many bytes as are compared at once.
        UInt64(littleEndian: unsafe text.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
    }

    /// Remembers members that were skipped before another one, or before the end of the record.
    ///
    /// - Parameters:
    ///   - start: The offset of the name of the first one.
    ///   - found: The member behind them, or -1 at the end of the record, and the offset of its name or of the brace.
    ///   - expected: The member that was expected, which is the place in memory.
    @inline(never)
    static func remember(
        _ bytes: RawSpan, from start: Int, to found: (index: Int, offset: Int), expected: Int,
        _ members: UnsafeMutablePointer<RecordMember>, _ state: UnsafeMutablePointer<RecordState>
    ) {
        guard unsafe found.offset &- start < largestText && state.pointee.repeated.hasRoom,
            let place = unsafe state.pointee.repeated.makePlace(before: members + expected),
            unsafe place.pointee.isToRemember()
        else { return }
        var end = found.offset
        let ending: RepeatedText.Ending
        if found.index < 0 {
            ending = .record
            end &+= 1
        } else if found.index == expected {
            ending = .value
            end = StringRuns.endOfWhitespace(in: bytes, from: unsafe end &+ members[expected].length)
        } else {
            ending = .name
        }
        let text = bytes.extracting(start..<end)
        let (values, boundaries) = values(of: text)
        guard unsafe state.pointee.repeated.takeRoom(for: text.byteCount, valueCount: values.count) else { return }
        unsafe place.pointee.remember(
            RepeatedText(
                text, values: values, boundaries: boundaries, ending: ending, depth: state.pointee.depth,
                limit: state.pointee.limit))
    }

    /// The values in the valid text of members, and where members begin that are within no other.
    static func values(of text: RawSpan) -> (values: [RepeatedText.Value], boundaries: [Int]) {
        var values: [RepeatedText.Value] = []
        var boundaries: [Int] = []
        var containers: [(value: Int, isDictionary: Bool)] = []
        var isName = true
        var offset = 0
        func append(to end: Int, isOpenEnded: Bool = false) {
            values.append(
                RepeatedText.Value(
                    start: offset, end: end, parent: containers.last?.value ?? -1, level: containers.count,
                    isOpenEnded: isOpenEnded))
        }
        while offset < text.byteCount {
            let byte = text.uncheckedByte(offset)
            switch byte {
            case UInt8(ascii: "\""):
                let end = endOfString(text, from: offset)
                if !isName {
                    append(to: end)
                } else if containers.isEmpty {
                    boundaries.append(offset)
                }
                isName = false
                offset = end
                continue
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                append(to: offset)
                isName = byte == UInt8(ascii: "{")
                containers.append((values.count - 1, isName))
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                if let container = containers.popLast() { values[container.value].end = offset + 1 }
            case UInt8(ascii: ","):
                isName = containers.last?.isDictionary ?? true
            case 0x20, 0x0A, 0x0D, 0x09, UInt8(ascii: ":"):
                break
            default:
                var end = offset
                while end < text.byteCount, !Self.endsScalar(text.uncheckedByte(end)) { end += 1 }
                append(to: end, isOpenEnded: byte <= UInt8(ascii: "9"))
                offset = end
                continue
            }
            offset += 1
        }
        return (values, boundaries)
    }

    private static func endsScalar(_ byte: UInt8) -> Bool {
        byte <= 0x20 || byte == UInt8(ascii: ",") || byte == UInt8(ascii: "}") || byte == UInt8(ascii: "]")
    }

    private static func endOfString(_ text: RawSpan, from start: Int) -> Int {
        var offset = start + 1
        while offset < text.byteCount {
            if offset + 8 <= text.byteCount {
                let special = StringRuns.specialBytes(in: text.uncheckedWord(offset) & 0x7F7F_7F7F_7F7F_7F7F)
                offset += special.trailingZeroBitCount >> 3
                if special == 0 { continue }
            }
            let byte = text.uncheckedByte(offset)
            if byte == UInt8(ascii: "\"") { return offset + 1 }
            offset += byte == UInt8(ascii: "\\") ? 2 : 1
        }
        return text.byteCount
    }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

enum RecordScanRepeatedTests {}

extension RecordScanRepeatedTests: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testFindsTheValuesOfMembers": testFindsTheValuesOfMembers,
            "testBuildsWhatMessagesBuild": testBuildsWhatMessagesBuild,
            "testKeepsToTheLimits": testKeepsToTheLimits,
            "testAgreesOnMutatedTexts": testAgreesOnMutatedTexts,
        ]
    }

    private struct Few: StreamObject {
        var id = 0
        var aNameOfMoreThanSixteenBytes = ""
        var inner = Inner()
    }

    private struct Inner: StreamObject {
        var x = 0
        var rows: [Inner] = []
    }

    private static func testFindsTheValuesOfMembers() {
        let text = #""a" : -1,"b\"":{"c":[true, "d\\"],"e":{}},"f":"g""#
        let found = text.withUTF8Span { RecordScan.values(of: $0) }
        let values = found.values.map { value in
            let start = text.utf8.index(text.startIndex, offsetBy: value.start)
            let end = text.utf8.index(text.startIndex, offsetBy: value.end)
            return "\(value.level) \(value.parent) \(text[start..<end])\(value.isOpenEnded ? "…" : "")"
        }
        let expected = [
            "0 -1 -1…", #"0 -1 {"c":[true, "d\\"],"e":{}}"#, #"1 1 [true, "d\\"]"#, "2 2 true", #"2 2 "d\\""#, "1 1 {}",
            #"0 -1 "g""#,
        ]
        expectEqual(values, expected, "values")
        expectEqual(found.boundaries, [0, 9, 42], "members")
    }

    /// Members that are not wanted, some of them missing now and then, with values that differ now and then.
    static func record(_ number: Int, _ gap: String, isPlain: Bool = false) -> String {
        let word = String(repeating: "ab", count: number % 9)
        var members = [
            "\"one\":\(number % 3 == 0 ? "null" : "\(number)")", "\"id\":\(number)", "\"same\":[1,{\"a\":true}]",
            "\"a name that is longer than a word of the text\":\"the same value\"", "\"text\":\"\(word)\"",
            "\"aNameOfMoreThanSixteenBytes\":\"\(word)\(word)\"", "\"e\":-1.5e3", "\"f\":\(number % 2 == 0)",
            "\"deep\":{\"a\":{\"b\":[\(number / 4),{\"c\":\"\(word)\"}],\"d\":1},\"e\":\"é\\n\(number / 2)\"}",
            "\"list\":[\((0..<number % 4).map { "{\"x\":\($0)}" }.joined(separator: ","))]",
            "\"inner\":{\"y\":[],\"x\":\(number),\"z\":\"same\",\"rows\":[{\"x\":1,\"y\":2},{\"y\":\(number)}],\"w\":0}",
            "\"last\":12\(number % 5 == 0 ? "3" : "")",
        ]
        if !isPlain {
            if number % 5 == 4 { members.remove(at: 8) }
            if number % 7 == 3 { members.insert("\"more\":{\"x\":[\(number)]}", at: 3) }
            if number % 11 == 10 { members.swapAt(2, 6) }
        }
        return "{\(gap)\(members.joined(separator: ",\(gap)"))\(gap.dropLast())}"
    }

    private static func expectOneOutcome(
        _ text: String, limits: StreamLimits = .standard, line: UInt = #line
    ) {
        RecordScan.expectOneOutcome(text, "records", limits: limits, line: line) {
            try ObjectBuilder<[Few]>()
        } describe: { builder in
            (try? builder.takeResult()).map { "\($0)" } ?? "nothing"
        }
    }

    /// Takes about 500 ms: texts that are read byte by byte and in two pieces.
    private static func testBuildsWhatMessagesBuild() throws {
        for gap in ["", "\n  ", " "] {
            let plain = (0..<3).map { record($0, gap, isPlain: true) }
            expectOneOutcome("[\(plain.joined(separator: ","))]")
            let records = (0..<50).map { record($0, gap) }
            let bytes = Array("[\(records.joined(separator: ","))]".utf8)
            let expected = outcome(bytes, isPlain: true, inPiecesOf: bytes.count)
            for size in [100, 1_000, 5_003, bytes.count] {
                expectTrue(outcome(bytes, isPlain: false, inPiecesOf: size) == expected, "in pieces of \(size)")
            }
        }
    }

    private static func outcome(_ bytes: [UInt8], isPlain: Bool, inPiecesOf size: Int) -> String {
        var options = JSONReaderOptions()
        options.usesPlainScan = isPlain
        do {
            var scanner = JSONScanner(options: options)
            var builder = try ObjectBuilder<[Few]>()
            for start in stride(from: 0, to: bytes.count, by: size) {
                // SAFETY: the span does not leave the closure.
                try unsafe bytes[start..<min(start + size, bytes.count)].withUnsafeBytes {
                    try scanner.scan(unsafe $0.bytes, into: &builder)
                }
            }
            try scanner.finish(into: &builder)
            return try "\(builder.takeResult())"
        } catch {
            return "\(error)"
        }
    }

    /// Values that are too long or too deep are found behind others that are not.
    private static func testKeepsToTheLimits() {
        var limits = StreamLimits.standard
        (limits.depth, limits.stringByteCount) = (6, 60)
        let records = (0..<6).map { record($0, "", isPlain: true) }.joined(separator: ",")
        expectOneOutcome("[\(records)]", limits: limits)
        let long = String(repeating: "long", count: 16)
        for (old, new) in [("\"d\":1", "\"d\":[[]]"), ("\"d\":1", "\"d\":[[[]]]"), ("\"ab\"", "\"\(long)\"")] {
            let other = record(1, "", isPlain: true).replacing(old, with: new)
            expectOneOutcome("[\(records),\(other)]", limits: limits)
        }
    }

    /// Takes about 300 ms, for 400 texts that are each read twice.
    private static func testAgreesOnMutatedTexts() throws {
        var state: UInt64 = 7
        func random(below bound: Int) -> Int {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int(truncatingIfNeeded: state >> 33) % bound
        }
        let odd = Array("{}[]\",:\\ 0123456789.eE+-tfnu\u{0}\u{1}\nxé".utf8) + [0x80, 0xFF]
        for round in 0..<400 {
            let records = (0..<4).map { record($0, round % 2 == 0 ? "" : "\n ", isPlain: round % 4 < 2) }
            var bytes = Array("[\(records.joined(separator: ","))]".utf8)
            // In one of the last two records.
            let place = bytes.count / 2 + random(below: bytes.count / 2)
            switch random(below: 3) {
            case 0: bytes[place] = odd[random(below: odd.count)]
            case 1: bytes.insert(odd[random(below: odd.count)], at: place)
            default: bytes.remove(at: place)
            }
            let text = bytes + [UInt8](repeating: 0x20, count: 60)
            let got = outcome(text, isPlain: false, inPiecesOf: text.count)
            let expected = outcome(text, isPlain: true, inPiecesOf: text.count)
            if got != expected {
                expectEqual(got, expected, "text \(round): \(String(decoding: bytes, as: UTF8.self))")
            }
        }
    }
}
#endif
