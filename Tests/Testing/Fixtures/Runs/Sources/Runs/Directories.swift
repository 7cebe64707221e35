/// Tests that have temporary directories, and end in every way a test can end.
enum Directories {}

#if DEBUG || IN_CLASS_TESTS
import Foundation
import InClassTesting

extension Directories: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testPasses": testPasses,
            "testSkips": testSkips,
            "testFails": testFails,
            "testFailsWithNothingInIt": testFailsWithNothingInIt,
            "testCrashes": testCrashes,
            "testExits": testExits,
            "testHangs": testHangs,
            "testAsksForNone": testAsksForNone,
        ]
    }
    static var testSelectorsByType: [TestType: TestSelectors] {
        ["long": .timeLimit(.seconds(60), ["testTakesLong": testTakesLong])]
    }
    static var testTimeLimit: Duration? { .milliseconds(500) }

    /// Makes the directory, checks that it is new, and leaves something in it.
    private static func fill() throws {
        let path = try temporaryDirectory()
        expectEqual(try FileManager.default.contentsOfDirectory(atPath: path), [], "a directory of its own")
        expectEqual(try temporaryDirectory(), path)
        try FileManager.default.createDirectory(atPath: "\(path)/inner", withIntermediateDirectories: false)
        try "text".write(toFile: "\(path)/inner/file", atomically: false, encoding: .utf8)
    }

    private static func testPasses() throws {
        try fill()
        attach([1, 2], named: "bytes")
    }
    private static func testSkips() throws {
        try fill()
        try skip("not here")
    }
    private static func testFails() throws {
        try fill()
        attach("<html/>", named: "page.html")
        fail("on purpose")
    }
    private static func testFailsWithNothingInIt() throws {
        _ = try temporaryDirectory()
        fail("on purpose")
    }
    private static func testCrashes() throws {
        try fill()
        fatalError("on purpose")
    }
    private static func testExits() throws {
        try fill()
        exit(0)
    }
    private static func testHangs() throws {
        try fill()
        while true { usleep(1000) }
    }
    private static func testAsksForNone() {}
    private static func testTakesLong() throws {
        try fill()
        print("long")
        while true { usleep(1000) }
    }
}
#endif
