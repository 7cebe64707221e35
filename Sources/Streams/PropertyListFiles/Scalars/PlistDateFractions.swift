// The dates of the text forms of property lists, which have whole seconds only.

import PlistStreaming

/// A policy for the fraction of a second of a date, which the text forms don't have.
public enum PlistDateFractions: Sendable, Hashable {
    /// Reports an error for a date with a fraction.
    case reject
    /// Rounds the date down to a second, as Foundation and plistlib do.
    case roundDown
}

extension PlistDateFractions {
    /// Returns the text of a date in UTC, such as `2001-01-01T00:00:00`.
    ///
    /// - Throws: `unrepresentable` for a date outside the years 0 to 9999, or for a rejected fraction.
    func text(secondsSince2001 seconds: Double) throws(StreamError) -> String {
        let whole = seconds.rounded(.down)
        guard whole == seconds || self == .roundDown || !seconds.isFinite else {
            throw StreamError(
                .unrepresentable, "expected whole seconds, found \(seconds) seconds since 2001")
        }
        guard let text = DateText.rfc3339(secondsSince2001: whole) else {
            throw StreamError(
                .unrepresentable, "expected a date in the years 0 to 9999, found \(seconds) seconds since 2001")
        }
        return String(text.dropLast())
    }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

enum PlistDateFractionsTests {}

extension PlistDateFractionsTests: SelfTesting {
    static var testSelectors: TestSelectors { ["testFollowsPolicyForFractions": testFollowsPolicyForFractions] }

    private static func testFollowsPolicyForFractions() throws {
        for policy in [PlistDateFractions.reject, .roundDown] {
            expectEqual(try policy.text(secondsSince2001: 0), "2001-01-01T00:00:00", "a date")
            for seconds in [1e12, .nan, .infinity] {
                let error = expectThrows(StreamError.self, "\(seconds)") {
                    _ = try policy.text(secondsSince2001: seconds)
                }
                expectEqual(error?.kind, .unrepresentable, "kind")
            }
        }
        expectEqual(try PlistDateFractions.roundDown.text(secondsSince2001: -0.25), "2000-12-31T23:59:59", "rounded")
        let error = expectThrows(StreamError.self, "a fraction") {
            _ = try PlistDateFractions.reject.text(secondsSince2001: 0.5)
        }
        expectEqual(error?.kind, .unrepresentable, "kind")
    }
}
#endif
