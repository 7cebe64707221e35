// Times of day as written in feeds: `8:05:00`, or `25:10:00` for a time after midnight that belongs to the previous day of
// service.

import PlistBuilding
import PlistStreaming

/// A time of a day of service, in seconds since twelve hours before its noon.
public struct ClockTime: StreamRepresentable, Comparable, Hashable, Sendable, CustomStringConvertible {
    /// The seconds since 0:00:00.
    public var seconds: Int32

    /// Creates a time.
    public init(seconds: Int32) { self.seconds = seconds }

    /// Creates a time from text with hours of one to three digits and minutes and seconds of two; nil for other text.
    public init?(utf8 text: some Sequence<UInt8>) {
        var (parts, digits): ([Int32], Int) = ([0], 0)
        for byte in text {
            if byte == UInt8(ascii: ":") {
                guard parts.count == 1 ? digits > 0 : digits == 2, parts.count < 3 else { return nil }
                parts.append(0)
                digits = 0
            } else {
                guard (0x30...0x39).contains(byte), digits < (parts.count == 1 ? 3 : 2) else { return nil }
                parts[parts.count - 1] = parts[parts.count - 1] * 10 + Int32(byte - 0x30)
                digits += 1
            }
            if parts.count > 1, digits == 2, parts[parts.count - 1] > 59 { return nil }
        }
        guard parts.count == 3, digits == 2 else { return nil }
        seconds = parts[0] * 3_600 + parts[1] * 60 + parts[2]
    }

    /// Creates a time from its text.
    ///
    /// - Throws: `unrepresentable` for text that isn't a time.
    public init(representation: String) throws(StreamError) {
        guard let time = ClockTime(utf8: representation.utf8) else {
            throw StreamError(.unrepresentable, "expected a time such as 8:05:00, found other text")
        }
        self = time
    }

    /// The text, with at least two digits for each part.
    public var representation: String {
        func two(_ number: Int32) -> String { number < 10 ? "0\(number)" : "\(number)" }
        return "\(two(seconds / 3_600)):\(two(seconds / 60 % 60)):\(two(seconds % 60))"
    }

    /// The text.
    public var description: String { representation }

    /// Returns whether a time is before another one.
    public static func < (one: ClockTime, other: ClockTime) -> Bool { one.seconds < other.seconds }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

extension ClockTime: SelfTesting {
    public static var testSelectors: TestSelectors {
        [
            "testReadsTimesOfFeeds": testReadsTimesOfFeeds,
            "testRefusesInvalidText": testRefusesInvalidText,
        ]
    }

    private static func testReadsTimesOfFeeds() {
        for (text, seconds, written) in [
            ("08:05:09", 29_109, "08:05:09"), ("8:05:09", 29_109, "08:05:09"), ("0:00:00", 0, "00:00:00"),
            ("25:10:59", 90_659, "25:10:59"), ("100:00:00", 360_000, "100:00:00"),
        ] {
            expectEqual(ClockTime(utf8: text.utf8)?.seconds, Int32(seconds), "\(text)")
            expectEqual(ClockTime(seconds: Int32(seconds)).description, written, "\(text)")
        }
    }

    private static func testRefusesInvalidText() {
        for text in [
            "", ":", "8", "8:05", "8:5:09", "8:05:9", "8:60:00", "8:05:60", "1000:00:00", "8:05:00 ", "-8:05:00",
        ] {
            expectNil(ClockTime(utf8: text.utf8), "\(text)")
        }
        for text in ["8:05:000", "8:05:00:", "8:05:00:00", "8:005:00", "::", "８:05:00"] {
            expectNil(ClockTime(utf8: text.utf8), "\(text)")
        }
    }
}
#endif
