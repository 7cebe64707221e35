// How often each line runs is written behind it, as `reached: count`.
// swift-format-ignore-file

/// Money that comes and goes.
public struct Account {
    public private(set) var balance = 0

    public init() {}

    public mutating func add(_ amount: Int) {
        balance += amount // reached: 5
        if balance < 0 {
            balance = 0 // reached: 1
        }
    }

    public mutating func close() {
        balance = 0 // reached: 0
    }
}

#if !NEVER_DEFINED
extension Account {
    /// Not between the marks of tests.
    static func make(_ amounts: [Int]) -> Account {
        var account = Account()
        for amount in amounts {
            account.add(amount) // reached: 4
        }
        return account // reached: 2
    }
}
#endif

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

extension Account: FixtureTesting {
    public static var testSelectors: TestSelectors { [
        "testAdds": testAdds,
        "testNeverOwes": testNeverOwes,
        "testFixture": fixture { $0.testFixture() },
        "testSkips": testSkips,
        "testKnown": testKnown,
        "testAsync": testAsync,
        "testObeys": testObeys,
    ] }

    public static func testFixture() -> Account { Account() }

    private static func testAdds() { expectEqual(make([1, 2]).balance, 3) }
    private static func testNeverOwes() { expectEqual(make([1, -2]).balance, 0) }
    private mutating func testFixture() {
        add(4)
        expectEqual(balance, 4)
    }
    private static func testSkips() throws { try skip("not here") }
    private static func testKnown() { withKnownIssue("5") { expectEqual(1, 2) } }
    @MainActor private static func testAsync() async { expectTrue(await Task { true }.value) }
    private static func testObeys() { expectNil(getenv("LEDGER_RED").map { String(cString: $0) }, "wish for red") }
}
#endif
