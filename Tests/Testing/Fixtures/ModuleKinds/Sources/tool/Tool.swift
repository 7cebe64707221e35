// An executable with types of its own.
// swift-format-ignore-file

import Mixed

struct Arguments {
    var words: [String]
    var count: Int { words.count }
}

@main
struct Tool {
    static func main() { print(Arguments(words: CommandLine.arguments).count, Mixed.doubled(4)) }
}

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

extension Arguments: SelfTesting {
    static var testSelectors: TestSelectors { ["testCount": testCount] }
    private static func testCount() {
        expectEqual(Arguments(words: ["a", "b"]).count, 2)
        expectEqual(Mixed.caught("a"), 2, "what the executable is linked with")
    }
}
#endif
