// Fixtures that throw in each of their parts, and say what they are doing.
// swift-format-ignore-file
import InClassTesting

struct Trouble: Error { var place: String }

/// A fixture that says what it does; which part of it throws is up to the type that it is made for.
protocol Talking: FixtureTesting {
    static var troubledPart: String { get }
    init()
}

extension Talking {
    static func say(_ part: String) throws {
        print(part)
        if troubledPart == part { throw Trouble(place: part) }
    }
    static func testFixture() throws -> Self {
        try say("testFixture")
        return Self()
    }
    func setUp() throws { try Self.say("setUp") }
    func tearDown() throws { try Self.say("tearDown") }
}

struct FixtureThrows: Talking { static let troubledPart = "testFixture" }
struct SetUpThrows: Talking { static let troubledPart = "setUp" }
struct BodyThrows: Talking { static let troubledPart = "body" }
struct TearDownThrows: Talking { static let troubledPart = "tearDown" }
struct NothingThrows: Talking { static let troubledPart = "" }

extension FixtureThrows {
    static var testSelectors: TestSelectors { ["testBody": fixture(testBody), "testStatic": testStatic] }
    private func testBody() throws { try Self.say("body") }
    private static func testStatic() { expectTrue(true, "a test without a fixture goes on") }
}

extension SetUpThrows {
    static var testSelectors: TestSelectors { ["testBody": fixture(testBody), "testStatic": testStatic] }
    private func testBody() throws { try Self.say("body") }
    private static func testStatic() { expectTrue(true, "a test without a fixture goes on") }
}

extension BodyThrows {
    static var testSelectors: TestSelectors { ["testBody": fixture(testBody)] }
    private func testBody() throws { try Self.say("body") }
}

extension TearDownThrows {
    static var testSelectors: TestSelectors { [
        "testBody": fixture(testBody),
        "testFailsTwice": fixture(testFailsTwice),
    ] }
    private func testBody() throws { try Self.say("body") }
    private func testFailsTwice() { fail("and tearDown throws, too") }
}

extension NothingThrows {
    static var testSelectors: TestSelectors { [
        "testPassing": fixture(testPassing),
        "testFailing": fixture(testFailing),
        "testRequiring": fixture(testRequiring),
        "testSkipping": fixture(testSkipping),
    ] }
    private func testPassing() throws { try Self.say("body") }
    private func testFailing() throws {
        try Self.say("body")
        fail("and goes on")
        print("still here")
    }
    private func testRequiring() throws {
        try Self.say("body")
        try requireTrue(false, "the end")
    }
    private func testSkipping() throws { try skip("no need to") }
}
