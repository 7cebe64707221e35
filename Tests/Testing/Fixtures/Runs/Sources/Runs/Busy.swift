/// Tests that need a processor, by a clock that stands still without one.
enum Busy {}

#if DEBUG || IN_CLASS_TESTS
import Foundation
import InClassTesting

extension Busy: SelfTesting {
    static var testSelectors: TestSelectors { [:] }
    static var testSelectorsByType: [TestType: TestSelectors] {
        [
            "busy": ["testTakesATenthOfASecond": takesATenthOfASecond],
            "busy for ever": ["testTakesForEver": takesForEver],
        ]
    }

    private static func takesATenthOfASecond() {
        var time = timespec()
        repeat { clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time) } while time.tv_sec == 0 && time.tv_nsec < 100_000_000
    }

    private static func takesForEver() {
        while true {}
    }
}
#endif
