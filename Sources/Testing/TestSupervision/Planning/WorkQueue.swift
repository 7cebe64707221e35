// Divides the waiting tests among the workers. A worker gets enough tests to be worth a command, but not so many that
// other workers wait for it at the end.

/// The tests that no worker has been given, in order.
struct WorkQueue {
    /// The time limit in nanoseconds for sharing a command. A longer test gets its own command.
    private static let longTime = 100_000_000
    /// The maximum number of ranges in a command.
    private static let rangeCountMax = 1024

    private let workerCountMax: Int
    private let isolatesTests: Bool
    /// The tests that took long in the last run. They run first, beginning with the longest.
    private let long: Set<Int>
    private var rest: [Int]
    /// The index of the next test in `rest`.
    private var next = 0

    /// Creates a queue.
    ///
    /// - Parameters:
    ///   - indices: the tests, in order.
    ///   - known: the times of slow tests in the last run, in nanoseconds.
    ///   - isolatesTests: whether each piece is a single test.
    init(_ indices: [Int], known: [Int: Int], workerCountMax: Int, isolatesTests: Bool = false) {
        self.isolatesTests = isolatesTests
        self.workerCountMax = workerCountMax
        let isLong = { (index: Int) in workerCountMax > 1 && known[index, default: 0] > Self.longTime }
        // no mutants: all of them have times, and none is there twice
        let long = indices.filter(isLong).sorted { (known[$0, default: 0], $1) > (known[$1, default: 0], $0) }
        self.long = Set(long)
        rest = long + indices.filter { !isLong($0) }
    }

    var count: Int { rest.count - next }
    var isEmpty: Bool { next == rest.count }

    mutating func removeAll() { next = rest.count }

    /// Puts back tests that a worker didn't begin. They come first.
    mutating func putBack(_ indices: [Int]) {
        rest = indices + rest[next...]
        next = 0
    }

    /// Takes the next piece as ranges: a quarter of each worker's share of the rest, or one long test.
    mutating func takePiece() -> [Range<Int>] {
        // A single worker gets all tests.
        let countMax = isolatesTests ? 1 : workerCountMax == 1 ? count : max(1, count / (workerCountMax * 4))
        var ranges: [Range<Int>] = []
        var taken = 0
        while next < rest.count, taken < countMax {
            let index = rest[next]
            if taken > 0, long.contains(index) { break }
            if let last = ranges.last, last.upperBound == index {
                ranges[ranges.count - 1] = last.lowerBound..<index + 1
            } else {
                if ranges.count == Self.rangeCountMax { break }
                ranges.append(index..<index + 1)
            }
            taken += 1
            next += 1
            if long.contains(index) { break }
        }
        return ranges
    }
}

// MARK: - In-class tests

#if SELF_TESTS && (DEBUG || IN_CLASS_TESTS)
import InClassTesting

extension WorkQueue: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testOneWorkerTakesEverything": testOneWorkerTakesEverything,
            "testJoinsNeighborsIntoRanges": testJoinsNeighborsIntoRanges,
            "testPiecesGetSmallerTowardsTheEnd": testPiecesGetSmallerTowardsTheEnd,
            "testLongestTestsComeFirst": testLongestTestsComeFirst,
            "testReturnedTestsComeFirst": testReturnedTestsComeFirst,
            "testEveryTestIsTakenOnce": testEveryTestIsTakenOnce,
        ]
    }

    private static func count(_ ranges: [Range<Int>]) -> Int { ranges.reduce(0) { $0 + $1.count } }

    private static func testOneWorkerTakesEverything() {
        var queue = WorkQueue(Array(0..<5000), known: [3: 9_000_000_000], workerCountMax: 1)
        expectEqual(queue.takePiece(), [0..<5000])
        expectTrue(queue.isEmpty)
        expectEqual(queue.takePiece(), [])
        queue = WorkQueue([0, 1], known: [:], workerCountMax: 1, isolatesTests: true)
        expectEqual([queue.takePiece(), queue.takePiece(), queue.takePiece()], [[0..<1], [1..<2], []])
    }

    private static func testJoinsNeighborsIntoRanges() {
        var queue = WorkQueue([0, 1, 2, 5, 8, 7], known: [:], workerCountMax: 2)
        expectEqual(queue.takePiece(), [0..<1], "no more than a quarter of a share of 6 tests")
        queue = WorkQueue([0, 1, 2, 5, 8, 7], known: [:], workerCountMax: 1)
        expectEqual(queue.takePiece(), [0..<3, 5..<6, 8..<9, 7..<8])
        queue = WorkQueue(Array(stride(from: 0, to: 6000, by: 2)), known: [:], workerCountMax: 1)
        expectEqual(queue.takePiece().count, rangeCountMax)
        expectEqual(queue.count, 3000 - rangeCountMax)
    }

    private static func testPiecesGetSmallerTowardsTheEnd() {
        var queue = WorkQueue(Array(0..<600), known: [:], workerCountMax: 2)
        var counts: [Int] = []
        while !queue.isEmpty { counts.append(count(queue.takePiece())) }
        expectEqual(Array(counts.prefix(4)), [75, 65, 57, 50])
        expectEqual(counts.suffix(8).max(), 1, "the last pieces")
    }

    private static func testLongestTestsComeFirst() {
        let known = [7: 300_000_000, 2: 200_000_000, 4: 300_000_000, 5: 50_000_000]
        var queue = WorkQueue(Array(0..<20), known: known, workerCountMax: 2)
        for long in [4, 7, 2] { expectEqual(queue.takePiece(), [long..<long + 1]) }
        expectEqual(queue.takePiece(), [0..<2])
        queue.putBack([1, 2])
        expectEqual(queue.takePiece(), [1..<2], "not with the long one behind it")
    }

    private static func testReturnedTestsComeFirst() {
        var queue = WorkQueue([4, 5, 6], known: [5: 2_000_000], workerCountMax: 1)
        _ = queue.takePiece()
        queue.putBack([5, 6])
        queue.putBack([2])
        expectEqual(queue.takePiece(), [2..<3, 5..<7])
    }

    private static func testEveryTestIsTakenOnce() {
        var generator = SeededGenerator(seed: 1)
        let known = [17: 400_000_000, 18: 3_000_000, 19: longTime, 20: longTime + 1]
        for workers in [1, 2, 16, 64] {
            let order = Array(0..<3000).shuffled(using: &generator)
            var queue = WorkQueue(order, known: known, workerCountMax: workers)
            var taken: [Int] = []
            while !queue.isEmpty { taken += queue.takePiece().flatMap(\.self) }
            expectEqual(taken.sorted(), Array(0..<3000), "taken by \(workers) workers")
        }
    }
}
#endif
