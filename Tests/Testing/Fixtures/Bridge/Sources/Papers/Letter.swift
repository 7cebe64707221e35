// Tests that need the module's resources.

enum Letter {
    static let text = "nothing is owed\n"
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

extension Letter: SelfTesting {
    static var testSelectors: TestSelectors { ["testIsGolden": testIsGolden, "testIsKept": testIsKept] }

    private static func testIsGolden() { expectGolden(text, "Goldens/letter.txt") }
    private static func testIsKept() throws { expectEqual(try resource("Goldens/letter", "txt").text, text) }
}
#endif
