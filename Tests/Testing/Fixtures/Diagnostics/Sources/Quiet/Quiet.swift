// Tests that pass, are skipped, or fail as is known: a green module with every outcome.
// swift-format-ignore-file
import InClassTesting

public struct Quiet {
    public init() {}
}

extension Quiet: SelfTesting {
    public static var testSelectors: TestSelectors { [
        "testPasses": testPasses,
        "testSkipped": testSkipped,
        "testKnown": testKnown,
        "testKnownAsync": testKnownAsync,
        "testKnownError": testKnownError,
    ] }
    public static var testSelectorsByType: [TestType: TestSelectors] { [
        "slow": ["testMillion": testMillion],
        "network": ["testServer": testServer, "testOtherServer": testServer],
    ] }

    private static func testPasses() {
        print("x.swift:3:1: error: printed by a test that passes")
    }
    private static func testSkipped() throws { try skip("no network: error: none") }
    private static func testKnown() {
        withKnownIssue("issue 7") { expectEqual(1, 2, "sum") }
    }
    private static func testKnownAsync() async {
        await withKnownIssue("issue 9") {
            await Task.yield()
            expectEqual(1, 2, "sum")
        }
    }
    private static func testKnownError() {
        struct Late: Error {}
        withKnownIssue("issue 11") { throw Late() }
    }
    private static func testMillion() {}
    private static func testServer() {}
}

enum Other {}

extension Other: SelfTesting {
    static var testSelectors: TestSelectors { ["testOther": testOther] }
    private static func testOther() {}
}
