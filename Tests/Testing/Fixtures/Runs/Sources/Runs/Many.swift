/// A list that is long enough for many workers, with tests that take no time and tests that take some.
enum Many {}

#if DEBUG || IN_CLASS_TESTS
import Foundation
import InClassTesting

extension Many: SelfTesting {
    static var testSelectors: TestSelectors { [:] }
    static var testSelectorsByType: [TestType: TestSelectors] {
        [
            "many": [
                "testA": quick, "testB": quick, "testC": slow, "testD": red, "testE": quick, "testF": slow,
                "testG": quick, "testH": crashing, "testI": slow, "testJ": quick, "testK": slow, "testL": slow,
                "testM": quick, "testN": red, "testO": slow, "testP": slow, "testQ": crashing, "testR": quick,
                "testS": slow, "testT": quick, "testU": slow, "testV": skipped, "testW": slow, "testX": quick,
            ]
        ]
    }

    private static func quick() {}
    private static func slow() { usleep(40_000) }
    private static func red() { fail("on purpose") }
    private static func crashing() { fatalError("on purpose") }
    private static func skipped() throws { try skip("not here") }
}
#endif
