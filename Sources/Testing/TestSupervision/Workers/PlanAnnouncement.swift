// Collects the plan that a worker announces, event by event.

import TestEvents

struct PlanAnnouncement {
    private(set) var tests: [PlannedTest] = []
    /// The number of tests and the hash of their lines. Nil until all tests have been announced.
    private(set) var sum: (count: Int, hash: Int)?
    /// The types without tests to run, with a reason if their lists aren't empty.
    private(set) var untested: [(typeName: String, reason: String?)] = []
    /// The negative time limits of types.
    private(set) var refusedLimits: [(typeName: String, milliseconds: Int)] = []
    /// The issues that were recorded while the worker created the lists.
    var issues: [TestIssue] = []
    private var list: PlannedTest?

    mutating func add(_ event: TestEvent) throws(RunError) {
        switch event {
        case .version(let number) where number != TestEvent.currentVersion:
            throw .protocolMismatch(
                "the test executable uses version \(number) of the protocol, but this testlogger uses \(TestEvent.currentVersion); build again"
            )
        case .untested(let typeName, let reason):
            untested.append((typeName, reason))
        case .list(let test):
            list = test
            if test.timeoutMilliseconds < 0 { refusedLimits.append((test.typeName, test.timeoutMilliseconds)) }
        case .planned(let testName):
            try add(testName, nil)
        case .row(let testName, let row):
            try add(testName, row)
        case .ready(let count, let hash):
            sum = (count, hash)
        default: break
        }
    }

    private mutating func add(_ testName: String, _ row: PlannedTest.TableRow?) throws(RunError) {
        guard var test = list else { throw .protocolMismatch("the test executable announced a test without a list") }
        test.testName = testName
        test.row = row
        tests.append(test)
    }
}
