// A module with resources, which it reads as every module does.
// swift-format-ignore-file

import Foundation

public enum Texts {
    public static func simple() -> String? {
        Bundle.module.url(forResource: "simple", withExtension: "txt").flatMap { try? String(contentsOf: $0, encoding: .utf8) }
    }
}

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

extension Texts: SelfTesting {
    public static var testSelectors: TestSelectors { [
        "testBundle": testBundle,
        "testResource": testResource,
        "testNestedResource": testNestedResource,
    ] }
    private static func testBundle() { expectEqual(simple(), "simple text\n", "Bundle.module") }
    private static func testResource() throws { expectEqual(try resource("simple", "txt").text, "simple text\n") }
    private static func testNestedResource() throws {
        expectEqual(try resource("Texts/nested", "txt").bytes.count, 12)
    }
}
#endif
