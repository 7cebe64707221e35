// Measures the time of a test without the time that a busy machine takes from it. A limit must end tests that hang, but
// not tests that wait for a processor or sleep with the whole machine.
//
// Source: `/proc/PID/task/TID/schedstat` in proc(5) and in sched-stats of the Linux kernel's documentation. macOS doesn't
// measure these waits.

internal import InClassSystem

/// The time of a worker's current activity that counts toward a limit.
///
/// The system measures how long each thread waits for a processor. `isOver` reads these times twice, after an eighth of
/// the limit and at its end, so short tests have no overhead. It assumes that the share of waiting was the same before
/// the first reading. All other time of a thread counts, so every test that hangs reaches its limit.
///
/// The clock stops while the machine sleeps. If this process is stopped, for example by control-Z or in a frozen
/// container, the tests are usually stopped, too. So the time between two checks only counts up to the longest time
/// between checks in a usual run.
struct TestTime {
    /// The time in nanoseconds that each thread has waited for a processor, by the thread's number.
    typealias Waits = [Int32: Int]

    /// The longest time between two checks in a usual run, in nanoseconds.
    private static let pauseMax = 1_000_000_000

    private var beginning = SuspendingClock.now
    private var lastLook = 0
    /// The time between checks that doesn't count, in nanoseconds.
    private var paused = 0
    private var firstLook: (elapsed: Int, waits: Waits)?
    /// The longest time in nanoseconds that a thread had waited for a processor at the last reading.
    private var lost = 0

    /// The elapsed time of the clock, in nanoseconds.
    var elapsed: Int { clock - paused }

    private var clock: Int {
        let time = (SuspendingClock.now - beginning).components
        return Int(time.seconds) * 1_000_000_000 + Int(time.attoseconds / 1_000_000_000)
    }

    /// Returns the time that counts at a check, in nanoseconds.
    private mutating func elapsed(at clock: Int) -> Int {
        let pause = clock - lastLook
        if pause > Self.pauseMax + Self.pauseMax / 2 { paused += pause - Self.pauseMax }
        lastLook = clock
        return clock - paused
    }

    /// Returns whether a process has reached a limit.
    mutating func isOver(_ limitMilliseconds: Int, of process: pid_t) -> Bool {
        isOver(limitMilliseconds, at: clock) { Self.waits(of: process) }
    }

    /// Returns the time in milliseconds until the next reading.
    func left(of limitMilliseconds: Int) -> Int { left(of: limitMilliseconds, after: elapsed) }

    private func left(of limitMilliseconds: Int, after elapsed: Int) -> Int {
        (firstLook == nil ? limitMilliseconds / 8 : limitMilliseconds) - (elapsed - lost) / 1_000_000
    }

    private mutating func isOver(_ limitMilliseconds: Int, at clock: Int, waits: () -> Waits) -> Bool {
        let elapsed = elapsed(at: clock)
        guard left(of: limitMilliseconds, after: elapsed) <= 0 else { return false }
        let waits = waits()
        guard let firstLook, elapsed > firstLook.elapsed else {
            // If the first reading is at the end of the limit, this process had to wait, too. The next reading decides.
            self.firstLook = (elapsed, waits)
            return false
        }
        let waited = waits.map { $0.value - (firstLook.waits[$0.key] ?? 0) }.max() ?? 0
        let share = min(1, max(0, Double(waited) / Double(elapsed - firstLook.elapsed)))
        lost = Int(Double(elapsed) * share)
        return (elapsed - lost) / 1_000_000 >= limitMilliseconds
    }

    /// Returns the time that each thread of a process has waited for a processor, or an empty dictionary if the system
    /// doesn't measure it.
    private static func waits(of process: pid_t) -> Waits {
        var waits: Waits = [:]
        for name in FileAccess.names(in: "/proc/\(process)/task") {
            // The thread may have ended since.
            let text = FileAccess.systemText(at: "/proc/\(process)/task/\(name)/schedstat")
            if let thread = Int32(name) { waits[thread] = text.flatMap(waited) }
        }
        return waits
    }

    /// Reads the second of three numbers: the time on a processor, the time waiting for a processor, and the number of
    /// time slices.
    private static func waited(in text: String) -> Int? {
        let numbers = text.split(whereSeparator: \.isWhitespace)
        return numbers.count == 3 ? Int(numbers[1]) : nil
    }
}

// MARK: - In-class tests

#if SELF_TESTS && (DEBUG || IN_CLASS_TESTS)
import InClassTesting

extension TestTime: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testCountsClockTimeOnACalmMachine": testCountsClockTimeOnACalmMachine,
            "testIgnoresWaitingForProcessors": testIgnoresWaitingForProcessors,
            "testUsesTheThreadThatWaitedMost": testUsesTheThreadThatWaitedMost,
            "testCountsClockTimeWithoutStatistics": testCountsClockTimeWithoutStatistics,
            "testIgnoresTimeAsleep": testIgnoresTimeAsleep,
            "testReadsSchedulerStatistics": testReadsSchedulerStatistics,
        ]
    }

    /// Returns the milliseconds on the clock at the end of a limit of one second, with a check every 10 ms.
    private static func end(_ waits: (Int) -> Waits) -> Int? {
        var time = TestTime()
        return stride(from: 10, through: 100_000, by: 10).first { milliseconds in
            time.isOver(1_000, at: milliseconds * 1_000_000) { waits(milliseconds * 1_000_000) }
        }
    }

    private static func testCountsClockTimeOnACalmMachine() {
        expectEqual(end { _ in [1: 7_000_000] }, 1_000, "no waiting but before it began")
    }

    private static func testIgnoresWaitingForProcessors() {
        for (share, expected) in [(2, 2_000), (4, 4_000), (20, 20_000)] {
            expectEqual(end { [1: $0 - $0 / share] }, expected, "a \(share)th of a processor")
        }
        expectNil(end { [1: $0] }, "no processor at all")
        expectEqual(end { [1: min($0, 500_000_000)] }, 1_430, "busy at first only, of which the first eighth is unseen")
    }

    private static func testUsesTheThreadThatWaitedMost() {
        expectEqual(end { [1: 9_000_000_000, 2: $0 / 2, 3: $0 / 4] }, 2_000)
        expectEqual(
            end { $0 < 500_000_000 ? [1: 0] : [1: 0, 2: ($0 - 500_000_000) / 2] }, 1_600, "one that began later")
    }

    private static func testCountsClockTimeWithoutStatistics() {
        expectEqual(end { _ in [:] }, 1_000)
    }

    private static func testIgnoresTimeAsleep() {
        var time = TestTime()
        expectEqual([100, 1_100, 1_700].map { time.elapsed(at: $0 * 1_000_000) / 1_000_000 }, [100, 1_100, 1_700])
        expectEqual(time.elapsed(at: 3_200_000_000), 3_200_000_000, "a busy second and a half")
        expectEqual(time.elapsed(at: 3_603_200_000_000), 4_200_000_000, "an hour, of which a second was waited for")
        expectEqual(time.elapsed(at: 3_603_300_000_000), 4_300_000_000, "and on")
    }

    private static func testReadsSchedulerStatistics() {
        expectEqual(waited(in: "12 345 6\n"), 345)
        for text in ["", "12", "12 345", "a b c", "1 2 3 4"] { expectNil(waited(in: text), text) }
        expectEqual(waits(of: -1), [:], "of none")
        if FileAccess.exists("/proc/self/schedstat") {
            expectTrue((waits(of: getpid())[getpid()] ?? -1) >= 0, "of this process")
        }
    }
}
#endif
