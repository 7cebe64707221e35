// Finds the entries of a list that have the name of an earlier one.

import TestEvents

enum DuplicateEntries {
    /// The indices of tests whose list has named them before.
    static func indices(in plan: [PlannedTest]) -> Set<Int> {
        var duplicates: Set<Int> = []
        var start = 0
        // PERF: here and below `while` for `for`, which in a debug build costs more than what it does.
        while start < plan.count {
            // The tests of one list stand together.
            var end = start + 1
            while end < plan.count, plan[end].typeName == plan[start].typeName,
                plan[end].testType == plan[start].testType
            {
                end += 1
            }
            var names: Set<String> = []
            while start < end {
                if !names.insert(plan[start].testName).inserted { duplicates.insert(start) }
                start += 1
            }
        }
        return duplicates
    }

    /// The result of an entry whose name an earlier one has, at its place in the sources.
    static func result(of test: PlannedTest, sources: SourceScan) -> TestResult {
        var result = TestResult(test: test, outcome: .failed)
        let issue = TestIssue(
            kind: .list, got: "a second entry of this name, which did not run", expected: "each name once")
        let entries = sources[test.typeName]?.entries.filter { $0.name == test.listedName } ?? []
        result.issues = [entries.dropFirst().first.map { issue.placed(at: $0.place) } ?? issue]
        return result
    }
}

// MARK: - In-class tests

#if SELF_TESTS && (DEBUG || IN_CLASS_TESTS)
import InClassTesting

extension DuplicateEntries: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testFindsDuplicatesWithinAList": testFindsDuplicatesWithinAList
        ]
    }

    private static func testFindsDuplicatesWithinAList() {
        let rows = [
            ("A", "t", "unit"), ("A", "t", "slow"), ("A", "t", "slow"), ("B", "t", "unit"), ("B", "u", "unit"),
            ("B", "t", "unit"),
        ]
        let plan = rows.map { PlannedTest(typeName: $0.0, testName: $0.1, testType: $0.2, module: "M") }
        expectEqual(indices(in: plan), [2, 5])
    }
}
#endif
