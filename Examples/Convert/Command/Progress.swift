// Shows the amount and speed of long work on the terminal. Nothing is shown for short work, or outside of a terminal.

/// A progress line on standard error, if that is a terminal.
final class Progress {
    private let isShown: Bool
    /// The unit of the count, or nil for bytes.
    private let unit: String?
    private let total: Int?
    private let start = ContinuousClock.now
    private var lastUpdate = ContinuousClock.now
    private var count: Int = 0
    private var isOnScreen: Bool = false

    init(total: Int?, unit: String? = nil) {
        self.total = total
        self.unit = unit
        isShown = isatty(STDERR_FILENO) == 1
    }

    /// Adds to the count. Updates the line at most ten times a second, after the first half second.
    func advance(by more: Int) {
        count += more
        guard isShown else { return }
        let now = ContinuousClock.now
        guard now - start > .milliseconds(500), now - lastUpdate > .milliseconds(100) else { return }
        lastUpdate = now
        isOnScreen = true
        printError("\r\u{1B}[K" + Self.line(count, of: total, unit, after: now - start))
    }

    /// Removes the line.
    func finish() {
        guard isOnScreen else { return }
        printError("\r\u{1B}[K")
        isOnScreen = false
    }

    /// Returns the text of the line, such as `45 % of 1200 MB, 540 MB/s`, or `3000 rows, 1500 rows/s`.
    static func line(_ count: Int, of total: Int?, _ unit: String? = nil, after elapsed: Duration) -> String {
        let seconds = Double(elapsed.components.seconds) + Double(elapsed.components.attoseconds) * 1e-18
        if let unit { return "\(count) \(unit), \(Int(Double(count) / max(seconds, 1e-9))) \(unit)/s" }
        let rate = "\(Int(Double(count) / 1e6 / max(seconds, 1e-9))) MB/s"
        guard let total, total > 0 else { return "\(count / 1_000_000) MB, \(rate)" }
        return "\(min(100, count * 100 / total)) % of \(total / 1_000_000) MB, \(rate)"
    }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

extension Progress: SelfTesting {
    static var testSelectors: TestSelectors { ["testDescribesProgress": testDescribesProgress] }

    private static func testDescribesProgress() {
        expectEqual(line(540_000_000, of: 1_200_000_000, after: .seconds(1)), "45 % of 1200 MB, 540 MB/s", "a file")
        expectEqual(line(10_000_000, of: nil, after: .milliseconds(500)), "10 MB, 20 MB/s", "a pipe")
        expectEqual(line(3_000, of: nil, "rows", after: .seconds(2)), "3000 rows, 1500 rows/s", "a table")
        expectEqual(line(5, of: 0, after: .zero), "0 MB, 5000 MB/s", "an empty file that grew")
    }
}
#endif
