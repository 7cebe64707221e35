// A source that is saved while it is watched.
// swift-format-ignore-file
import InClassTesting

enum Watched {
    static let answer = 42
}

extension Watched: SelfTesting {
    static var testSelectors: TestSelectors { ["testAnswer": testAnswer] }
    private static func testAnswer() { expectEqual(answer, 42, "the answer") }
}
