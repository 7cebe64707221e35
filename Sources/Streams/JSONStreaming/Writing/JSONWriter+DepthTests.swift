// The in-class tests of deep values of types that contain themselves, read and written with little stack.

#if DEBUG || IN_CLASS_TESTS
import InClassTesting
import PlistBuilding
import PlistStreaming

enum DeepValueTests {
    struct Node: StreamObject {
        var id = 0
        var children: [Node] = []
    }

    final class Chain: StreamObject {
        var id = 0
        var next: Chain?
        init() {}
    }

    struct Named: StreamObject { var byName: [String: Named] = [:] }

    /// An object with a getter, which is written with messages.
    final class Computed: StreamObject {
        var stored: Computed?
        var inner: Computed? {
            get { stored }
            set { stored = newValue }
        }
        init() {}
        static var streamMembers: StreamMembers { [.member("inner", \Computed.inner)] }
    }

    /// Returns the given number of levels of text around each other.
    static func text(_ open: String, _ close: String, _ depth: Int) -> String {
        String(repeating: open, count: depth) + String(repeating: close, count: depth)
    }
}

extension DeepValueTests: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testReadsAndWritesOnSmallStacks": testReadsAndWritesOnSmallStacks,
            "testWritesDeepValuesOnLargeStacks": testWritesDeepValuesOnLargeStacks,
            "testRetainsObjectsReplacedByTheirGetter": testRetainsObjectsReplacedByTheirGetter,
        ]
    }

    /// Reads a value and writes it in both ways; each of these must succeed, or report that the value is too deep.
    private static func roundTrip<Value: StreamValue>(_ type: Value.Type, _ text: String) -> [String] {
        var outcomes: [String] = []
        do {
            var builder = try ObjectBuilder<Value>()
            try builder.readJSON(text)
            let value = try builder.takeResult()
            for isIndented in [false, true] {
                do throws(StreamError) {
                    let layout: JSONWriterOptions.Layout = isIndented ? .pretty(indent: 1) : .compact
                    var writer = JSONWriter(options: JSONWriterOptions(layout: layout))
                    try writer.write(value)
                    outcomes.append("written")
                } catch {
                    outcomes.append(error.kind == .limitExceeded ? "too deep" : "\(error)")
                }
            }
        } catch {
            outcomes.append("\(error)")
        }
        return outcomes
    }

    private static func outcomes(_ depth: Int, stackByteCount: Int) -> [[String]] {
        var outcomes: [[String]] = []
        StackBounds.run(onStackOf: stackByteCount) {
            outcomes = [
                roundTrip(Node.self, text(#"{"id":1,"children":["#, "]}", depth / 2)),
                roundTrip(Chain.self, text(#"{"id":1,"next":"#, "}", depth - 1).replacing(#":}"#, with: ":null}")),
                roundTrip(Named.self, text(#"{"byName":{"k":"#, "}}", depth / 2).replacing(#":}}"#, with: ":{}}}")),
                roundTrip(Computed.self, text(#"{"inner":"#, "}", depth - 1).replacing(#":}"#, with: ":null}")),
            ]
        }
        return outcomes
    }

    private static func testReadsAndWritesOnSmallStacks() {
        for depth in [64, 500, 1_020] {
            for outcome in outcomes(depth, stackByteCount: 512 << 10) {
                expectEqual(outcome.count, 2, "ways of writing, depth \(depth): \(outcome)")
                expectTrue(outcome.allSatisfy { $0 == "written" || $0 == "too deep" }, "depth \(depth): \(outcome)")
            }
        }
    }

    private static func testWritesDeepValuesOnLargeStacks() {
        for outcome in outcomes(500, stackByteCount: 16 << 20) {
            expectEqual(outcome, ["written", "written"], "depth 500")
        }
    }

    /// A child whose getter removes it from its parent.
    private final class Child: StreamObject {
        nonisolated(unsafe) static var aliveCount = 0
        weak var parent: Parent?
        var name = "a name of more than fifteen bytes"
        var leaving: Int {
            get {
                parent?.child = Child()
                return unsafe Child.aliveCount
            }
            set {}
        }
        var last = "another text of more than fifteen bytes"
        init() { unsafe Child.aliveCount += 1 }
        deinit { unsafe Child.aliveCount -= 1 }
        static var streamMembers: StreamMembers {
            [.member("leaving", \Child.leaving), .member("name", \Child.name), .member("last", \Child.last)]
        }
    }

    private final class Parent: StreamObject {
        var child = Child()
        init() { child.parent = self }
    }

    private static func testRetainsObjectsReplacedByTheirGetter() throws {
        let json =
            #"{"child":{"leaving":2,"name":"a name of more than fifteen bytes","#
            + #""last":"another text of more than fifteen bytes"}}"#
        var compact = JSONWriter()
        try compact.write(Parent())
        expectEqual(compact.text, json, "compact")
        var byMessages = EventTrace()
        try byMessages.write(Parent())
        expectEqual(
            byMessages.text,
            #"{ key "child" { key "leaving" integer 2 key "name" string "a name of more than fifteen bytes" key "last" "#
                + #"string "another text of more than fifteen bytes" } }"#, "by messages")
        expectEqual(unsafe Child.aliveCount, 0, "objects left")
    }
}
#endif
