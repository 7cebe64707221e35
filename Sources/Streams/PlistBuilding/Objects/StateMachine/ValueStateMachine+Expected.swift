// Reports the type of the next value, for readers of text that doesn't show the types of its values.

import PlistStreaming

extension ValueStateMachine {
    /// Returns the expected next value, which depends on the type of the member, of the elements, or of the whole value.
    @usableFromInline
    func expectedValue() -> ExpectedValue {
        switch unsafe top.pointee.kind {
        case .root, .passing:
            // Any containers may be around the delivered values. The innermost of them has the values as elements.
            guard depth == streamingDepth else {
                return ExpectedValue(depth == streamingDepth - 1 ? .array : .dictionary)
            }
            return plan.expectedValue
        case .object:
            let index = unsafe top.pointee.member
            guard index >= 0 else {
                return index == -2 && options.unknownMembers == .ignore ? ExpectedValue(.nothing) : .any
            }
            return unsafe top.pointee.members[index].plan.expectedValue
        case .array, .dictionary:
            return unsafe top.pointee.elementPlan.takeUnretainedValue().expectedValue
        case .skipped:
            return ExpectedValue(.nothing)
        case .propertyList:
            return .any
        }
    }
}

extension StreamPlan {
    /// The expected value for the type.
    var expectedValue: ExpectedValue {
        let plan = innermost
        let isOptional = acceptsNull
        switch plan.shape {
        case .scalar: return ExpectedValue(plan.textKind, isOptional: isOptional)
        case .array: return ExpectedValue(plan.isBytes ? .any : .array, isOptional: isOptional)
        case .dictionary, .object: return ExpectedValue(.dictionary, isOptional: isOptional)
        case .propertyList: return .any
        case .optional, .converted: return .any
        }
    }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

enum ExpectedValueTests {
    fileprivate struct Sample: StreamObject {
        var number: Int8? = nil
        var ratio = 0.5
        var single: Float = 0.5
        var flag = false
        var name = ""
        var list: [String] = []
        var inner = Inner()
        var counts: [String: Int] = [:]
        var tree = PropertyList.null
    }
    fileprivate struct Inner: StreamObject { var x = 0 }
}

extension ExpectedValueTests: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testReportsExpectedMembers": testReportsExpectedMembers,
            "testReportsExpectedContainersOfStreamedValues": testReportsExpectedContainersOfStreamedValues,
            "testReportsExpectedColumns": testReportsExpectedColumns,
        ]
    }

    private static func testReportsExpectedMembers() throws {
        var builder = try ObjectBuilder<[Sample]>()
        expectEqual(builder.expectedValue(), ExpectedValue(.array), "the root")
        try builder.beginArray()
        expectEqual(builder.expectedValue(), ExpectedValue(.dictionary), "an element")
        try builder.beginDictionary()
        let rows: [(StaticString, ExpectedValue)] = [
            ("number", ExpectedValue(.integer, isOptional: true)), ("ratio", ExpectedValue(.real)),
            ("single", ExpectedValue(.number)),
            ("flag", ExpectedValue(.bool)), ("name", ExpectedValue(.text)), ("list", ExpectedValue(.array)),
            ("inner", ExpectedValue(.dictionary)), ("counts", ExpectedValue(.dictionary)), ("tree", .any),
            ("unknown", ExpectedValue(.nothing)),
        ]
        for (name, expected) in rows {
            try builder.writeKey(name)
            expectEqual(builder.expectedValue(), expected, "\(name)")
        }
        var collecting = try ObjectBuilder<Inner>(options: BuilderOptions(unknownMembers: .collect))
        try collecting.beginDictionary()
        try collecting.writeKey("unknown")
        expectEqual(collecting.expectedValue(), .any, "an unknown member that is kept")
        var trace = EventTrace()
        expectEqual(trace.expectedValue(), .any, "a sink that does not say")
    }

    private static func testReportsExpectedContainersOfStreamedValues() throws {
        var stream = try RecordStream<Inner>(depth: 2) { _ in }
        expectEqual(stream.expectedValue(), ExpectedValue(.dictionary), "the root")
        try stream.beginDictionary()
        try stream.writeKey("all")
        expectEqual(stream.expectedValue(), ExpectedValue(.array), "what is around the values")
        try stream.beginArray()
        expectEqual(stream.expectedValue(), ExpectedValue(.dictionary), "a value")
    }

    private static func testReportsExpectedColumns() throws {
        var builder = ColumnsBuilder(["id": .integer, "at.x": .real])
        expectEqual(builder.expectedValue(), ExpectedValue(.array), "the root")
        try builder.beginArray()
        expectEqual(builder.expectedValue(), ExpectedValue(.dictionary), "a row")
        try builder.beginDictionary()
        try builder.writeKey("id")
        expectEqual(builder.expectedValue(), ExpectedValue(.integer, isOptional: true), "a column")
        try builder.writeInteger(1)
        try builder.writeKey("other")
        expectEqual(builder.expectedValue(), ExpectedValue(.nothing), "no column")
        try builder.writeKey("at")
        expectEqual(builder.expectedValue(), ExpectedValue(.dictionary), "columns of an inner dictionary")
        try builder.beginDictionary()
        try builder.writeKey("x")
        expectEqual(builder.expectedValue(), ExpectedValue(.real, isOptional: true), "one of them")
    }
}
#endif
