// The second tier: tests that take minutes, most of them because they build in release. They stand in suites of the name
// SlowTests, by which `.ci/run` selects them.

import Foundation
import Testing

extension Trait where Self == ConditionTrait {
    /// Runs a suite in the second tier only.
    static var slow: Self {
        .enabled(
            if: ProcessInfo.processInfo.environment["IN_CLASS_SLOW_TESTS"] == "1",
            "it takes minutes and is run by '.ci/run', which sets IN_CLASS_SLOW_TESTS")
    }
}
