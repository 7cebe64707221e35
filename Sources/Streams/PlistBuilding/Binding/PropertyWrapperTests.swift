// In-class tests of property wrappers. The storage of a wrapped property has a different name, and can't be distinguished
// from a property with that name.

#if DEBUG || IN_CLASS_TESTS
import InClassTesting
import PlistStreaming

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

enum PropertyWrapperTests {
    @propertyWrapper
    struct Clamped: StreamRepresentable {
        private var value = 0
        var wrappedValue: Int {
            get { value }
            set { value = min(max(newValue, 0), 100) }
        }
        init(wrappedValue: Int) { self.wrappedValue = wrappedValue }
        init(representation: Int) throws(StreamError) { self.init(wrappedValue: representation) }
        var representation: Int { value }
    }

    @propertyWrapper
    struct Box: StreamObject { var wrappedValue = 1 }

    @propertyWrapper
    struct Raw: StreamValue, RawRepresentable {
        var rawValue: Int
        var wrappedValue: Int { rawValue }
    }

    struct OfConvertible: StreamObject { @Clamped var percent = 5 }
    final class OfObject: StreamObject { @Box var percent = 5 }
    struct OfRawValue: StreamObject { @Raw(rawValue: 5) var percent }

    /// Properties whose names begin with an underscore and whose types can't be wrappers.
    struct Underscored: StreamObject {
        var _id = 1
        var _key = UUID()
        var _link: URL?
        var _next: [Int] = []
        var _any: PropertyList?
        var __v = ""
    }

    struct Declared: StreamObject {
        @Clamped var percent = 5
        static var streamMembers: StreamMembers { [.member("percent", \Declared.percent)] }
    }
}

extension PropertyWrapperTests: SelfTesting {
    static var testSelectors: TestSelectors {
        ["testRefusesWrappers": testRefusesWrappers, "testBindsDeclaredProperties": testBindsDeclaredProperties]
    }

    private static func testRefusesWrappers() {
        let rows: [(String, () throws -> Void)] = [
            ("OfConvertible", { _ = try ObjectBuilder<OfConvertible>() }),
            ("OfObject", { _ = try ObjectBuilder<[OfObject]>() }),
            ("OfRawValue", { _ = try ObjectBuilder<OfRawValue>() }),
        ]
        for (name, make) in rows {
            let error = expectThrows(StreamError.self, name, make)
            expectEqual(
                error?.message,
                "\(name)._percent may be the storage of the wrapped property percent; declare streamMembers", name)
        }
    }

    private static func testBindsDeclaredProperties() throws {
        let value = try ObjectBuilder<Underscored>.build(
            "{ key \"_id\" integer 7 key \"_next\" [ integer 1 ] key \"__v\" string \"x\" }")
        expectEqual("\(value._id) \(value._next) \(value.__v)", "7 [1] x", "names with an underscore")
        let wrapped = try ObjectBuilder<Declared>.build("{ key \"percent\" integer 700 }")
        expectEqual(wrapped.percent, 100, "a declared member")
    }
}
#endif
