// A library that carries the plugin itself.
// swift-format-ignore-file

public struct SelfHosted {
    public var answer = 42
    public init() {}
}

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

extension SelfHosted: SelfTesting {
    public static var testSelectors: TestSelectors { ["testAnswer": testAnswer] }
    private static func testAnswer() { expectEqual(SelfHosted().answer, 42) }
}
#endif
