// Expectations about errors, requirements and known issues, not met.
// swift-format-ignore-file
import InClassTesting

enum ParseError: Error { case unexpectedEnd, unexpected(byte: UInt8, offset: Int) }
struct Refusal: Error { var reason: String }

enum Throwing {}

extension Throwing: SelfTesting {
    static var testSelectors: TestSelectors { [
        "testThrows": testThrows,
        "testThrowsAsync": testThrowsAsync,
        "testNoThrow": testNoThrow,
        "testThrowsOut": testThrowsOut,
        "testThrowsOutAsync": testThrowsOutAsync,
        "testRequireEqual": testRequireEqual,
        "testRequireTrue": testRequireTrue,
        "testRequireFalse": testRequireFalse,
        "testRequireNotNil": testRequireNotNil,
        "testRequireThrows": testRequireThrows,
        "testRequireNoThrow": testRequireNoThrow,
        "testResource": testResource,
        "testMendedIssue": testMendedIssue,
    ] }

    private static func testThrows() {
        expectThrows(ParseError.self, "unclosed array") {}
        expectThrows(ParseError.self, "unclosed array") { throw Refusal(reason: "closed") }
        expectThrows((any Error).self) {}
    }

    private static func testThrowsAsync() async {
        await expectThrows(ParseError.self, "unclosed array") { await Task.yield() }
    }

    private static func testNoThrow() {
        expectNoThrow("reading") { throw ParseError.unexpectedEnd }
        expectNoThrow { throw ParseError.unexpected(byte: 93, offset: 4) }
    }

    private static func testThrowsOut() throws {
        throw Refusal(reason: "closed: error: on Sundays")
    }

    private static func testThrowsOutAsync() async throws {
        await Task.yield()
        throw ParseError.unexpected(byte: 93, offset: 4)
    }

    private static func testRequireEqual() throws {
        try requireEqual(1, 2, "first")
        fail("not reached")
    }

    private static func testRequireTrue() throws {
        try requireTrue(1 > 2, "first")
        fail("not reached")
    }

    private static func testRequireFalse() throws {
        try requireFalse(2 > 1, "first")
        fail("not reached")
    }

    private static func testRequireNotNil() throws {
        let number = try requireNotNil(Int("x"), "number")
        fail("not reached with \(number)")
    }

    private static func testRequireThrows() throws {
        try requireThrows(ParseError.self, "unclosed array") {}
        fail("not reached")
    }

    private static func testRequireNoThrow() throws {
        try requireNoThrow("reading") { throw ParseError.unexpectedEnd }
        fail("not reached")
    }

    private static func testResource() throws {
        _ = try resource("simple", "txt")
        fail("not reached")
    }

    private static func testMendedIssue() {
        withKnownIssue("issue 8") { expectEqual(1, 1) }
    }
}
