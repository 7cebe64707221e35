// The warnings of a run and nothing else, for whoever collects them from many runs.

import TestEvents

/// Writes a line for each warning, in the compiler's form, and for each flaky test.
package struct WarningReport: RunReporter {
    private let paths: PathStyle

    package init(paths: PathStyle = PathStyle()) { self.paths = paths }

    package mutating func add(_ event: RunEvent) -> [String] {
        let text = DiagnosticText(paths: paths)
        switch event {
        case .warning(let warning): return Array(text.lines(for: warning).prefix(1))
        case .ended(let result) where result.isFlaky:
            return Array(text.lines(forAttemptsOf: result, flakySeverity: .warning).prefix(1))
        default: return []
        }
    }

    package func closingText(_ end: RunEnd) -> String { "" }
}

// MARK: - In-class tests

#if SELF_TESTS && (DEBUG || IN_CLASS_TESTS)
import InClassTesting

extension WarningReport: SelfTesting {
    package static var testSelectors: TestSelectors {
        [
            "testGoldenOfARun": testGoldenOfARun
        ]
    }

    private static func testGoldenOfARun() {
        var list = WarningReport(paths: PathStyle(root: SampleRun.root, isRelative: true))
        expectEqual(
            SampleRun.events.flatMap { list.add($0) },
            [
                "Sources/Stack.swift:7:9: warning: flaky: passed at attempt 2 after got no end after 50 ms "
                    + "instead of expected end of test (Stack.testFlaky)",
                "Sources/Stack.swift:12:5: warning: 'testOld' is in no list",
            ])
        expectEqual(list.closingText(RunEnd()), "")
    }
}
#endif
