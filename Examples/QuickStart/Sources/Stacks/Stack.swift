/// Integers that come out in the reverse order of going in.
public struct Stack {
    private var elements: [Int] = []

    public init() {}

    public var count: Int { elements.count }

    public mutating func push(_ element: Int) { elements.append(element) }

    public mutating func pop() -> Int? { elements.popLast() }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

extension Stack: FixtureTesting {
    public static var testSelectors: TestSelectors { [
        "testStartsEmpty": testStartsEmpty,
        "testPush": fixture { $0.testPush() },
        "testPopsInReverseOrder": fixture { $0.testPopsInReverseOrder() },
    ] }

    public static func testFixture() -> Stack { Stack() }

    private static func testStartsEmpty() {
        expectEqual(Stack().count, 0, "elements of a new stack")
    }

    private mutating func testPush() {
        push(4)
        expectEqual(elements, [4], "elements after a push")
    }

    private mutating func testPopsInReverseOrder() {
        push(1)
        push(2)
        expectEqual(pop(), 2, "last element in")
        expectEqual(pop(), 1, "first element in")
        expectNil(pop(), "element of an empty stack")
    }
}
#endif
