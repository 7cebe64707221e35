// How long a test has taken, without what a busy machine has kept from it: a limit of seconds is there to end what
// hangs, not what waits for a processor, or sleeps with the whole machine.

internal import InClassSystem

/// The time of what a process is doing, as far as it counts against a limit.
///
/// A thread that is ready and waits for a processor is counted by the system. That is asked twice, when an eighth of the
/// limit is over and when all of it is, so that short tests cost nothing; what came before the first look is taken to
/// have been like what came after. A thread that runs, sleeps or waits for anything else is on its own time, and so
/// whatever hangs comes to its limit.
///
/// The clock stands still while the machine sleeps. Whoever stops this process, as control-Z or a frozen container does,
/// has mostly stopped the tests, too: of the time between two looks no more counts than there is when nothing is amiss.
struct TestTime {
    /// For each thread how long it has waited for a processor, in nanoseconds, by its number.
    typealias Waits = [Int32: Int]

    /// How long nobody waits between two looks, in nanoseconds.
    private static let pauseMax = 1_000_000_000

    private var beginning = SuspendingClock.now
    private var lastLook = 0
    /// How much of the clock's time was lost between looks, in nanoseconds.
    private var paused = 0
    private var firstLook: (elapsed: Int, waits: Waits)?
    /// How long the thread that waited most had waited at the last look, in nanoseconds.
    private var lost = 0

    /// How long it has taken by the clock, in nanoseconds, as far as anybody was there to look.
    var elapsed: Int { clock - paused }

    private var clock: Int {
        let time = (SuspendingClock.now - beginning).components
        return Int(time.seconds) * 1_000_000_000 + Int(time.attoseconds / 1_000_000_000)
    }

    /// Takes the clock's time at a look, and says what of it counts.
    private mutating func elapsed(at clock: Int) -> Int {
        let pause = clock - lastLook
        if pause > Self.pauseMax + Self.pauseMax / 2 { paused += pause - Self.pauseMax }
        lastLook = clock
        return clock - paused
    }

    /// Returns whether a process has had a limit's time.
    mutating func isOver(_ limitMilliseconds: Int, of process: pid_t) -> Bool {
        let elapsed = elapsed(at: clock)
        guard left(of: limitMilliseconds, after: elapsed) <= 0 else { return false }
        return isOver(limitMilliseconds, after: elapsed, waits: ProcessorWaits.of(process))
    }

    /// How long nothing needs to be looked at, in milliseconds.
    func left(of limitMilliseconds: Int) -> Int { left(of: limitMilliseconds, after: elapsed) }

    private func left(of limitMilliseconds: Int, after elapsed: Int) -> Int {
        (firstLook == nil ? limitMilliseconds / 8 : limitMilliseconds) - (elapsed - lost) / 1_000_000
    }

    /// - Parameter waits: nil where the system does not tell; then the clock counts.
    private mutating func isOver(_ limitMilliseconds: Int, after elapsed: Int, waits: Waits?) -> Bool {
        guard let waits else {
            firstLook = (elapsed, [:])
            return elapsed / 1_000_000 >= limitMilliseconds
        }
        guard let firstLook, elapsed > firstLook.elapsed else {
            // At the end of the limit already: this process, too, was kept from looking. Another look will tell.
            self.firstLook = (elapsed, waits)
            return false
        }
        let waited = waits.map { $0.value - (firstLook.waits[$0.key] ?? 0) }.max() ?? 0
        let share = min(1, max(0, Double(waited) / Double(elapsed - firstLook.elapsed)))
        lost = Int(Double(elapsed) * share)
        return (elapsed - lost) / 1_000_000 >= limitMilliseconds
    }
}

// MARK: - In-class tests

#if SELF_TESTS && (DEBUG || IN_CLASS_TESTS)
import InClassTesting

extension TestTime: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testCountsTheClockOfACalmMachine": testCountsTheClockOfACalmMachine,
            "testCountsNoWaiting": testCountsNoWaiting,
            "testTakesTheThreadThatWaitedMost": testTakesTheThreadThatWaitedMost,
            "testCountsTheClockWhereNothingIsTold": testCountsTheClockWhereNothingIsTold,
            "testCountsNoSleep": testCountsNoSleep,
            "testReadsTheSystem": testReadsTheSystem,
        ]
    }

    /// The milliseconds of the clock after which a limit of a second is over, looked at every ten.
    private static func end(_ waits: (Int) -> Waits?) -> Int? {
        var time = TestTime()
        return stride(from: 10, through: 100_000, by: 10).first { milliseconds in
            let elapsed = milliseconds * 1_000_000
            guard time.left(of: 1_000, after: elapsed) <= 0 else { return false }
            return time.isOver(1_000, after: elapsed, waits: waits(elapsed))
        }
    }

    private static func testCountsTheClockOfACalmMachine() {
        expectEqual(end { _ in [1: 7_000_000] }, 1_000, "no waiting but before it began")
        expectEqual(end { _ in [:] }, 1_000, "no thread")
    }

    private static func testCountsNoWaiting() {
        for (share, expected) in [(2, 2_000), (4, 4_000), (20, 20_000)] {
            expectEqual(end { [1: $0 - $0 / share] }, expected, "a \(share)th of a processor")
        }
        expectNil(end { [1: $0] }, "no processor at all")
        expectEqual(end { [1: min($0, 500_000_000)] }, 1_430, "busy at first only, of which the first eighth is unseen")
    }

    private static func testTakesTheThreadThatWaitedMost() {
        expectEqual(end { [1: 9_000_000_000, 2: $0 / 2, 3: $0 / 4] }, 2_000)
        expectEqual(
            end { $0 < 500_000_000 ? [1: 0] : [1: 0, 2: ($0 - 500_000_000) / 2] }, 1_600, "one that began later")
    }

    private static func testCountsTheClockWhereNothingIsTold() {
        expectEqual(end { _ in nil }, 1_000)
    }

    private static func testCountsNoSleep() {
        var time = TestTime()
        expectEqual([100, 1_100, 1_700].map { time.elapsed(at: $0 * 1_000_000) / 1_000_000 }, [100, 1_100, 1_700])
        expectEqual(time.elapsed(at: 3_200_000_000), 3_200_000_000, "a busy second and a half")
        expectEqual(time.elapsed(at: 3_603_200_000_000), 4_200_000_000, "an hour, of which a second was waited for")
        expectEqual(time.elapsed(at: 3_603_300_000_000), 4_300_000_000, "and on")
    }

    private static func testReadsTheSystem() {
        expectEqual(ProcessorWaits.waited(in: "12 345 6\n"), 345)
        for text in ["", "12", "12 345", "a b c", "1 2 3 4"] { expectNil(ProcessorWaits.waited(in: text), text) }
        expectNil(ProcessorWaits.of(-1), "of none")
        if FileAccess.exists("/proc/self/schedstat") {
            expectTrue((ProcessorWaits.of(getpid())?[getpid()] ?? -1) >= 0, "of this process")
        }
    }
}
#endif
