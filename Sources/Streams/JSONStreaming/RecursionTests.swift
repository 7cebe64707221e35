// Tests of recursive code on threads with stacks of all sizes: it must end with a value or an error, and never crash
// the process.

#if DEBUG || IN_CLASS_TESTS
import InClassTesting
import PlistBuilding
import PlistCoding
import PlistStreaming

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

enum RecursionTests {
    struct Node: Codable {
        var name = "a"
        var next: [Node]?
    }

    final class Chain: StreamObject {
        var number = 1
        var next: Chain?
        init() {}
    }

    struct Branch: StreamObject {
        var number = 1
        var branches: [Branch] = []
    }

    /// Arrays in arrays, decoded by trying types.
    indirect enum Anything: Codable {
        case number(Int)
        case list([Anything])

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            if let value = try? container.decode(Int.self) {
                self = .number(value)
            } else {
                self = .list(try container.decode([Anything].self))
            }
        }

        func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            switch self {
            case .number(let value): try container.encode(value)
            case .list(let value): try container.encode(value)
            }
        }
    }
}

extension RecursionTests: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testDecodesStructuresWithoutStackOverflow": testDecodesStructuresWithoutStackOverflow,
            "testDecodesEnumerationsWithoutStackOverflow": testDecodesEnumerationsWithoutStackOverflow,
            "testDecodesTreesWithoutStackOverflow": testDecodesTreesWithoutStackOverflow,
            "testBuildsBoundObjectsWithoutStackOverflow": testBuildsBoundObjectsWithoutStackOverflow,
            "testEncodesWithoutStackOverflow": testEncodesWithoutStackOverflow,
            "testWritesBoundValuesWithoutStackOverflow": testWritesBoundValuesWithoutStackOverflow,
            "testReportsPathOfTooDeepValues": testReportsPathOfTooDeepValues,
        ]
    }

    private static let sizes = [128 << 10, 192 << 10, 512 << 10]
    private static let levels = [100, 510]

    private static func nodes(_ count: Int) -> String {
        String(repeating: #"{"name":"a","next":["#, count: count) + String(repeating: "]}", count: count)
    }

    private static func arrays(_ count: Int) -> String {
        String(repeating: "[", count: count) + "1" + String(repeating: "]", count: count)
    }

    /// Runs a closure on threads of all sizes; errors must report that the nesting is too deep.
    private static func onAnyStack(_ message: String, _ body: @escaping @Sendable (Int) throws -> Void) {
        for size in sizes {
            for count in levels {
                StackBounds.run(onStackOf: size) {
                    do { try body(count) } catch {
                        let cause: any Error =
                            if case DecodingError.dataCorrupted(let context) = error {
                                context.underlyingError ?? error
                            } else {
                                error
                            }
                        expectEqual(
                            (cause as? StreamError)?.kind, .limitExceeded, "\(message), \(count) on \(size): \(error)")
                    }
                }
            }
        }
    }

    private static func testDecodesStructuresWithoutStackOverflow() {
        onAnyStack("a structure") { _ = try JSONStreamDecoder().decode(Node.self, from: nodes($0)) }
    }

    private static func testDecodesEnumerationsWithoutStackOverflow() {
        onAnyStack("an enumeration") { _ = try JSONStreamDecoder().decode(Anything.self, from: arrays(2 * $0)) }
    }

    private static func testDecodesTreesWithoutStackOverflow() {
        onAnyStack("a tree") { _ = try JSONStreamDecoder().decode([String: PropertyList].self, from: nodes($0)) }
        onAnyStack("values of a tree") {
            var builder = PropertyListBuilder()
            try builder.readJSON(nodes($0))
            _ = try PropertyListValueDecoder().decode(Node.self, from: try builder.takeResult())
        }
    }

    /// Values that one thread creates and another one frees, because Swift also frees linked values recursively.
    private final class Kept: @unchecked Sendable {
        var values: [Any] = []
    }

    private static func testBuildsBoundObjectsWithoutStackOverflow() {
        let kept = Kept()
        onAnyStack("a bound class") {
            var builder = try ObjectBuilder<Chain>()
            let text = String(repeating: #"{"next":"#, count: 2 * $0) + "null" + String(repeating: "}", count: 2 * $0)
            try builder.readJSON(text)
            kept.values.append(try builder.takeResult())
        }
        onAnyStack("a bound structure") {
            var builder = try ObjectBuilder<Branch>()
            try builder.readJSON(
                String(repeating: #"{"branches":["#, count: $0) + String(repeating: "]}", count: $0))
            kept.values.append(try builder.takeResult())
        }
        expectEqual(kept.values.count, 2 * sizes.count * levels.count, "values")
    }

    private static func testEncodesWithoutStackOverflow() throws {
        let options = EncodingOptions(depthLimit: 100_000)
        for count in levels {
            // Values are created on the stack of the tests.
            var node = Node()
            var list = Anything.number(1)
            for _ in 0..<count { (node, list) = (Node(next: [node]), .list([list])) }
            var builder = PropertyListBuilder()
            try builder.readJSON(arrays(2 * count))
            let tree = try builder.takeResult()
            let values: [any Encodable & Sendable] = [Unchecked(value: node), Unchecked(value: list), tree]
            for value in values {
                onAnyStack("\(count) levels of \(type(of: value))") { _ in
                    _ = try JSONStreamEncoder(encodingOptions: options).encode(value) as Data
                }
            }
        }
    }

    /// A value that no other thread changes.
    private struct Unchecked<Value: Encodable>: Encodable, @unchecked Sendable {
        let value: Value
        func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            try container.encode(value)
        }
    }

    private static func testWritesBoundValuesWithoutStackOverflow() {
        let options = WritingOptions(depthLimit: 100_000)
        for count in [8, 100, 1_000, 3_000] {
            let root = Chain()
            var (last, branch) = (root, Branch())
            for _ in 0..<count {
                let next = Chain()
                (last.next, last) = (next, next)
                branch = Branch(branches: [branch])
            }
            let kept = Kept()
            kept.values = [root, branch]
            for layout in [
                JSONWriterOptions(depthLimit: 100_000),
                JSONWriterOptions(layout: .pretty(indent: 0), depthLimit: 100_000),
            ] {
                onAnyStack("\(count) objects") { _ in
                    guard let root = kept.values[0] as? Chain else { return }
                    var writer = JSONWriter(options: layout)
                    try writer.write(root, options: options)
                }
                onAnyStack("\(count) structures") { _ in
                    guard let branch = kept.values[1] as? Branch else { return }
                    var writer = JSONWriter(options: layout)
                    try writer.write(branch, options: options)
                }
            }
            while let next = root.next { (root.next, next.next) = (next.next, nil) }
        }
    }

    private static func testReportsPathOfTooDeepValues() {
        // A sanitizer makes each level several times as large.
        StackBounds.run(onStackOf: 256 << 10) {
            let error = expectThrows(DecodingError.self, "decoding") {
                _ = try JSONStreamDecoder().decode(Anything.self, from: arrays(1_000))
            }
            guard case .dataCorrupted(let context) = error else { return fail("another error: \(error as Any)") }
            expectGreaterThan(context.codingPath.count, 10, "the path")
            expectEqual((context.underlyingError as? StreamError)?.kind, .limitExceeded, "kind")
        }
    }
}
#endif
