// Puts results back into the order of the plan, whatever order they came in.

import TestEvents

/// Passes results on in the order of the plan; those that come early wait.
struct Resequencer {
    /// The selected tests, in the order of the plan.
    private let order: [Int]
    /// Where in `order` the next result belongs.
    private var next = 0
    private var waiting: [Int: TestResult] = [:]

    init(_ order: [Int]) { self.order = order }

    /// Takes a result and passes on what is now complete.
    mutating func add(_ result: TestResult, _ index: Int, passOn: (TestResult) -> Void) {
        // PERF: what comes in order is not stored.
        guard next < order.count, order[next] == index else {
            waiting[index] = result
            return
        }
        passOn(result)
        next += 1
        while !waiting.isEmpty, next < order.count, let result = waiting.removeValue(forKey: order[next]) {
            passOn(result)
            next += 1
        }
    }

    /// Takes the result of a test that nothing need be said of, unless it would have to wait for others.
    mutating func skip(_ index: Int) -> Bool {
        guard next < order.count, order[next] == index, waiting.isEmpty else { return false }
        next += 1
        return true
    }

    /// Adds a failure to a result that waits; false if none does.
    mutating func add(_ issue: TestIssue, to index: Int) -> Bool {
        guard waiting[index] != nil else { return false }
        waiting[index]?.outcome = .failed
        waiting[index]?.issues.append(issue)
        return true
    }

    /// Passes on what waits for tests that will have no result.
    ///
    /// - Returns: how many of those there are.
    mutating func finish(passOn: (TestResult) -> Void) -> Int {
        var missingCount = 0
        while next < order.count {
            if let result = waiting.removeValue(forKey: order[next]) {
                passOn(result)
            } else {
                missingCount += 1
            }
            next += 1
        }
        return missingCount
    }
}

// MARK: - In-class tests

#if SELF_TESTS && (DEBUG || IN_CLASS_TESTS)
import InClassTesting

extension Resequencer: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testAnyOrderComesOutAsThePlans": testAnyOrderComesOutAsThePlans,
            "testCountsWhatIsMissing": testCountsWhatIsMissing,
            "testSkipsOnlyWhatIsNext": testSkipsOnlyWhatIsNext,
        ]
    }

    private static func result(_ index: Int) -> TestResult {
        TestResult(
            test: PlannedTest(typeName: "T", testName: "\(index)", testType: "unit", module: "M"), outcome: .passed)
    }

    private static func testAnyOrderComesOutAsThePlans() {
        var generator = SeededGenerator(seed: 7)
        for _ in 0..<20 {
            let plan = [3, 1, 4, 15, 9, 2, 6]
            var order = Resequencer(plan)
            var passed: [String] = []
            for index in plan.shuffled(using: &generator) {
                order.add(result(index), index) { passed.append($0.test.testName) }
            }
            expectEqual(passed, plan.map(String.init))
            expectEqual(order.finish { _ in fail("passed on twice") }, 0)
        }
    }

    private static func testSkipsOnlyWhatIsNext() {
        var order = Resequencer([0, 1, 2])
        expectFalse(order.skip(1), "the second first")
        expectTrue(order.skip(0))
        order.add(result(2), 2) { _ in fail("passed on too early") }
        expectFalse(order.skip(1), "one that another waits for")
        var passed: [String] = []
        order.add(result(1), 1) { passed.append($0.test.testName) }
        expectEqual(passed, ["1", "2"])
        expectFalse(order.skip(2), "behind the end")
    }

    private static func testCountsWhatIsMissing() {
        var order = Resequencer([0, 1, 2, 3])
        var passed: [String] = []
        for index in [2, 0] { order.add(result(index), index) { passed.append($0.test.testName) } }
        expectEqual(passed, ["0"])
        expectEqual(order.finish { passed.append($0.test.testName) }, 2)
        expectEqual(passed, ["0", "2"])
    }
}
#endif
