// What is to be run yet, and how much of it a worker is given at a time: enough to be worth a message, and not so much
// that the others wait for it at the end.

/// The tests of a run that no worker has been given, in the order they are to run.
///
/// Several workers share the queue in pieces of a certain time, not of a certain number: the times of slow tests are
/// known from the last run, those of all others are estimated by those that have ended in this one.
struct WorkQueue {
    /// How long a piece may take at the most, so that the workers end together, in nanoseconds.
    private static let sliceMax = 100_000_000
    /// How long a piece takes at least, for each worker: so long the supervisor has for the others.
    private static let sliceMinPerWorker = 250_000
    /// How many tests a piece has before any time is known.
    private static let firstCount = 16
    /// How many runs of neighbours one command may name.
    private static let rangeCountMax = 1024

    private let workerCountMax: Int
    private var rest: [Int]
    /// Where in `rest` the next test is.
    private var next = 0
    /// The times of slow tests in the last run, in nanoseconds, by index.
    private let known: [Int: Int]
    /// The sum of the known times in the queue.
    private var knownRest: Int
    private var knownCount: Int
    private var measuredCount = 0
    private var measuredTime = 0
    /// How many tests the last piece had.
    private var lastCount = 0

    /// Creates a queue.
    ///
    /// - Parameters:
    ///   - indices: the tests, in the order they are to run.
    ///   - known: the times of slow tests in nanoseconds. Several workers begin with the longest.
    init(_ indices: [Int], known: [Int: Int], workerCountMax: Int) {
        self.workerCountMax = workerCountMax
        self.known = known
        rest = indices
        knownRest = 0
        knownCount = 0
        if known.isEmpty { return }
        let times = indices.compactMap { known[$0] }
        knownRest = times.reduce(0, &+)
        knownCount = times.count
        guard workerCountMax > 1 else { return }
        let long = indices.filter { known[$0, default: 0] > Self.sliceMax }
            // no mutants: all of them have times, and none is there twice
            .sorted { (known[$0, default: 0], $1) > (known[$1, default: 0], $0) }
        rest = long + indices.filter { known[$0, default: 0] <= Self.sliceMax }
    }

    var count: Int { rest.count - next }
    var isEmpty: Bool { next == rest.count }

    mutating func removeAll() { next = rest.count }

    /// Puts tests back that a worker was given and did not begin; they come first.
    mutating func putBack(_ indices: [Int]) {
        rest = indices + rest[next...]
        next = 0
        for index in indices { noteKnown(index, 1) }
    }

    /// Learns how long a test took.
    mutating func note(_ index: Int, nanoseconds: Int) {
        if workerCountMax == 1 || !known.isEmpty && known[index] != nil { return }
        measuredCount += 1
        measuredTime += nanoseconds
    }

    /// How long a test without a known time takes, if anything can be said of it.
    private var mean: Int? { measuredCount == 0 ? nil : max(1, measuredTime / measuredCount) }

    /// How long everything in the queue takes one worker, in nanoseconds, as far as that can be said.
    var estimate: Int { knownRest + (count - knownCount) * (mean ?? 0) }

    private mutating func noteKnown(_ index: Int, _ sign: Int) {
        guard !known.isEmpty, let time = known[index] else { return }
        knownRest += sign * time
        knownCount += sign
    }

    /// Takes the next piece, in ranges of neighbours.
    mutating func takePiece() -> [Range<Int>] {
        // One worker alone runs all there is.
        let slice = workerCountMax == 1 ? Int.max : sliceLength
        let countMax = workerCountMax == 1 ? Int.max : countLimit
        var ranges: [Range<Int>] = []
        var time = 0
        var taken = 0
        let usual = mean ?? 0
        while next < rest.count, taken < countMax {
            let index = rest[next]
            let expected = known.isEmpty ? usual : known[index] ?? usual
            if taken > 0, time + expected > slice { break }
            if let last = ranges.last, last.upperBound == index {
                ranges[ranges.count - 1] = last.lowerBound..<index + 1
            } else {
                if ranges.count == Self.rangeCountMax { break }
                ranges.append(index..<index + 1)
            }
            time += expected
            taken += 1
            next += 1
            noteKnown(index, -1)
        }
        lastCount = taken
        return ranges
    }

    /// How many tests the next piece may have: a mean of few tests says little, and whoever waits behind a test that
    /// takes long waits with all of its piece.
    private var countLimit: Int {
        let growth = mean == nil ? Self.firstCount : max(Self.firstCount, lastCount * 4)
        return min(growth, max(1, count / (workerCountMax * 2)))
    }

    /// How long the next piece may take: a third of each worker's share of the rest.
    private var sliceLength: Int {
        let shortest = max(2_000_000, workerCountMax * Self.sliceMinPerWorker)
        return max(shortest, min(Self.sliceMax, estimate / (workerCountMax * 3)))
    }
}

// MARK: - In-class tests

#if SELF_TESTS && (DEBUG || IN_CLASS_TESTS)
import InClassTesting

extension WorkQueue: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testOneWorkerTakesEverything": testOneWorkerTakesEverything,
            "testNamesNeighboursTogether": testNamesNeighboursTogether,
            "testPiecesFollowTheTimes": testPiecesFollowTheTimes,
            "testPiecesGetSmallerTowardsTheEnd": testPiecesGetSmallerTowardsTheEnd,
            "testLongestComeFirst": testLongestComeFirst,
            "testEstimatesWhatIsLeft": testEstimatesWhatIsLeft,
            "testWhatIsPutBackComesFirst": testWhatIsPutBackComesFirst,
            "testEveryTestIsTakenOnce": testEveryTestIsTakenOnce,
        ]
    }

    private static func count(_ ranges: [Range<Int>]) -> Int { ranges.reduce(0) { $0 + $1.count } }

    private static func testOneWorkerTakesEverything() {
        var queue = WorkQueue(Array(0..<5000), known: [3: 9_000_000_000], workerCountMax: 1)
        expectEqual(queue.takePiece(), [0..<5000])
        expectTrue(queue.isEmpty)
        expectEqual(queue.takePiece(), [])
    }

    private static func testNamesNeighboursTogether() {
        var queue = WorkQueue([0, 1, 2, 5, 8, 7], known: [:], workerCountMax: 2)
        expectEqual(queue.takePiece(), [0..<1], "no more than half a share of 6 tests")
        queue = WorkQueue([0, 1, 2, 5, 8, 7], known: [:], workerCountMax: 1)
        expectEqual(queue.takePiece(), [0..<3, 5..<6, 8..<9, 7..<8])
    }

    private static func testPiecesFollowTheTimes() {
        var queue = WorkQueue(Array(0..<2000), known: [0: 5_000_000, 1: 5_000_000, 2: 30_000_000], workerCountMax: 4)
        expectEqual(queue.takePiece(), [0..<1], "40 ms for four workers: two tests of 5 ms are more than a slice")
        for index in 3..<8 { queue.note(index, nanoseconds: 10_000) }
        expectEqual(queue.takePiece(), [1..<2])
        expectEqual(queue.takePiece(), [2..<3], "longer than any slice, but a test")
        expectEqual(queue.takePiece(), [3..<19], "no more than the first piece may have")
        expectEqual(queue.takePiece(), [19..<83], "four times as many")
        expectEqual(queue.takePiece(), [83..<283], "2 ms of tests that take 10 µs")
    }

    private static func testPiecesGetSmallerTowardsTheEnd() {
        var queue = WorkQueue(Array(0..<600), known: [:], workerCountMax: 2)
        queue.note(0, nanoseconds: 1_000_000)
        var counts: [Int] = []
        while !queue.isEmpty { counts.append(count(queue.takePiece())) }
        expectEqual(Array(counts.prefix(4)), [16, 64, 86, 72])
        expectEqual(counts.suffix(4).max(), 1, "the last pieces")
    }

    private static func testLongestComeFirst() {
        let known = [7: 300_000_000, 2: 200_000_000, 4: 300_000_000, 5: 50_000_000]
        var queue = WorkQueue(Array(0..<20), known: known, workerCountMax: 2)
        expectEqual(queue.takePiece(), [4..<5])
        expectEqual(queue.takePiece(), [7..<8])
        expectEqual(queue.takePiece(), [2..<3])
        expectEqual(queue.takePiece().first, 0..<2)
    }

    private static func testEstimatesWhatIsLeft() {
        var queue = WorkQueue(Array(0..<10), known: [:], workerCountMax: 2)
        expectEqual(queue.estimate, 0, "nothing is known")
        for nanoseconds in [40, 60] { queue.note(3, nanoseconds: nanoseconds) }
        expectEqual(queue.estimate, 500)
        queue = WorkQueue(Array(0..<10), known: [2: 7_000_000, 3: 5_000_000, 11: 1], workerCountMax: 2)
        queue.note(2, nanoseconds: 9)
        expectEqual(queue.estimate, 12_000_000, "of tests that are known there is nothing to learn")
        queue.note(0, nanoseconds: 30)
        expectEqual(queue.estimate, 12_000_240)
        queue = WorkQueue([0], known: [:], workerCountMax: 1)
        queue.note(0, nanoseconds: 30)
        expectEqual(queue.estimate, 0, "one worker shares nothing")
    }

    private static func testWhatIsPutBackComesFirst() {
        var queue = WorkQueue([4, 5, 6], known: [5: 2_000_000], workerCountMax: 1)
        _ = queue.takePiece()
        expectEqual(queue.estimate, 0)
        queue.putBack([5, 6])
        expectEqual(queue.estimate, 2_000_000)
        queue.putBack([2])
        expectEqual(queue.takePiece(), [2..<3, 5..<7])
    }

    private static func testEveryTestIsTakenOnce() {
        var generator = SeededGenerator(seed: 1)
        let known = [17: 400_000_000, 18: 3_000_000, 19: sliceMax, 20: sliceMax + 1]
        for workers in [1, 2, 16, 64] {
            let order = Array(0..<3000).shuffled(using: &generator)
            var queue = WorkQueue(order, known: known, workerCountMax: workers)
            var taken: [Int] = []
            while !queue.isEmpty {
                let piece = queue.takePiece().flatMap(\.self)
                for index in piece { queue.note(index, nanoseconds: Int.random(in: 1...99_999, using: &generator)) }
                taken += piece
            }
            expectEqual(taken.sorted(), Array(0..<3000), "taken by \(workers) workers")
            expectEqual(queue.estimate, 0)
        }
    }
}
#endif
