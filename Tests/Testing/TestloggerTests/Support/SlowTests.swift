// Defines the second tier: tests that take minutes, mostly because they build in release. They are in suites named
// SlowTests, and `.ci/run` selects them by this name.

import Foundation
import Testing

extension Trait where Self == ConditionTrait {
    /// A condition that runs a suite only in the second tier.
    static var slow: Self {
        .enabled(
            if: ProcessInfo.processInfo.environment["IN_CLASS_SLOW_TESTS"] == "1",
            "it takes minutes and is run by '.ci/run', which sets IN_CLASS_SLOW_TESTS")
    }
}
