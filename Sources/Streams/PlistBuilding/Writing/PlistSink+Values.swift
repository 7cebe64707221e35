// Sends bound values to any sink, by their plans or by their own encoders.

import PlistStreaming

extension PlistSink where Self: ~Copyable {
    /// Sends a value of a bound type.
    /// - Throws: An error of the sink, `misuse` if the type can't be bound, or `limitExceeded` for values that are nested too
    ///   deep.
    @inlinable  // PERF: JSONRecords/writing; so that it is specialised for the sink.
    public mutating func write<Value: StreamValue>(
        _ value: Value, options: WritingOptions = WritingOptions()
    ) throws(StreamError) {
        let (plan, owner) = try PlanBinder.bind(Value.self, options.keyMapping)
        defer { withExtendedLifetime(owner) {} }
        var options = options
        if options.nilMembers == nil { options.nilMembers = Self.hasColumns ? .writeNull : .omit }
        let writer = PlanWriter(options: options)
        do throws(StreamError) {
            // SAFETY: the address is that of a value of the plan's type, and is used only within the closure.
            try unsafe withUnsafePointer(to: value) { (address) throws(StreamError) in
                if try unsafe writer.offer(UnsafeRawPointer(address), plan, to: &self) { return }
                try unsafe writer.write(UnsafeRawPointer(address), plan, WritingForm(plan), to: &self, depth: 0)
            }
        } catch {
            cancel(with: error)
            throw error
        }
    }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

enum StreamEncodableTests {
    struct Inner: StreamObject {
        var x = 1
        var note: String? = nil
    }

    struct Sample: StreamObject {
        var id: UInt8 = 200
        var big = UInt64.max
        var name = "näme"
        var ratio = 0.5
        var single: Float = 0.25
        var flag = true
        var missing: Int? = nil
        var inner = Inner()
        var list = [Inner(), Inner(x: 2, note: "n")]
        var matrix = [[1, 2], []]
        var counts = ["b": 1, "a": 2]
        var color = Color.red
    }

    enum Color: String, StreamValue { case red, green }

    class Shape: StreamObject {
        var name = "shape"
        required init() {}
    }

    final class Circle: Shape { var radius = 2.0 }

    class Written: StreamObject, StreamEncodable {
        var secret = 1
        required init() {}
        func write<Sink: PlistSink & ~Copyable>(to sink: inout Sink) throws(StreamError) {
            try sink.writeInteger(Int64(secret))
        }
    }

    final class AlsoWritten: Written { var more = 2 }

    final class Ring: StreamObject {
        var next: Ring? = nil
        init() {}
    }

    static func trace(_ value: Any, _ options: WritingOptions = WritingOptions()) throws -> String {
        var trace = EventTrace()
        let isBound = try PlanWriter(options: options).writeBound(any: value, to: &trace, depth: 0)
        expectTrue(isBound, "whether \(type(of: value)) is bound or writes itself")
        return trace.text
    }
}

extension StreamEncodableTests: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testWritesEveryMemberInOrder": testWritesEveryMemberInOrder,
            "testRoundTripsObjects": testRoundTripsObjects,
            "testWritesTheDigitsOfAFloat": testWritesTheDigitsOfAFloat,
            "testFollowsPolicyForNil": testFollowsPolicyForNil,
            "testWritesMembersOfSubclasses": testWritesMembersOfSubclasses,
            "testCustomEncoderAlwaysWins": testCustomEncoderAlwaysWins,
            "testRefusesCyclicObjects": testRefusesCyclicObjects,
            "testReportsPathOfErrors": testReportsPathOfErrors,
        ]
    }

    private static let sampleText = """
        { key "id" integer 200 key "big" unsigned 18446744073709551615 key "name" string "näme" key "ratio" real 0.5 \
        key "single" real 0.25 key "flag" true key "inner" { key "x" integer 1 } key "list" [ { key "x" integer 1 } \
        { key "x" integer 2 key "note" string "n" } ] key "matrix" [ [ integer 1 integer 2 ] [ ] ] key "counts" \
        { key "a" integer 2 key "b" integer 1 } key "color" string "red" }
        """

    private static func testWritesEveryMemberInOrder() throws {
        var trace = EventTrace()
        try trace.write(Sample())
        expectEqual(trace.text, sampleText, "messages")
    }

    private static func testRoundTripsObjects() throws {
        var builder = try ObjectBuilder<[Sample]>()
        var sample = Sample()
        sample.name = "another name, of more than fifteen bytes"
        sample.color = .green
        try builder.write([Sample(), sample])
        let read = try builder.takeResult()
        var again = EventTrace()
        try again.write(read)
        var first = EventTrace()
        try first.write([Sample(), sample])
        expectEqual(again.text, first.text, "messages of what was read")
    }

    private static func testWritesTheDigitsOfAFloat() throws {
        let floats: [Float] = [
            0.1, -0.1, 3.3, 16_777_218, .leastNonzeroMagnitude, .greatestFiniteMagnitude, .leastNormalMagnitude, -0.0,
            1e10, 123_456.79,
        ]
        for value in floats {
            expectEqual(try trace([value]), "[ real \(Double("\(value)") ?? 0) ]", "\(value)")
        }
        expectEqual(try trace(0.1 as Float), "real 0.1", "bound")
        // Reading must give the same float. The bits count up over all exponents.
        var bits: UInt32 = 0
        while bits < 0x7F80_0000 {
            let value = Float(bitPattern: bits)
            expectEqual(Float(Double(digitsOf: value)), value, "bits \(bits)")
            bits += 0x10_F123
        }
    }

    private static func testFollowsPolicyForNil() throws {
        expectEqual(try trace(Inner()), "{ key \"x\" integer 1 }", "omitted")
        let options = WritingOptions(nilMembers: .writeNull)
        expectEqual(try trace(Inner(), options), "{ key \"x\" integer 1 key \"note\" null }", "null")
        expectEqual(try trace([Int?.none, 1]), "[ null integer 1 ]", "elements")
        let mapped = WritingOptions(keyMapping: .names { "_" + $0 })
        expectEqual(try trace(Inner(), mapped), "{ key \"_x\" integer 1 }", "mapped names")
    }

    private static func testWritesMembersOfSubclasses() throws {
        let circle = "{ key \"name\" string \"shape\" key \"radius\" real 2.0 }"
        let shape: Shape = Circle()
        expectEqual(try trace(shape), circle, "as any")
        var typed = EventTrace()
        try typed.write([Shape(), shape])
        expectEqual(typed.text, "[ { key \"name\" string \"shape\" } \(circle) ]", "as an element")
    }

    private static func testCustomEncoderAlwaysWins() throws {
        expectEqual(try trace(Written()), "integer 1", "own")
        expectEqual(try trace(AlsoWritten()), "integer 1", "inherited")
        var typed = EventTrace()
        try typed.write([Written(), AlsoWritten()])
        expectEqual(typed.text, "[ integer 1 integer 1 ]", "as elements")
    }

    private static func testReportsPathOfErrors() throws {
        struct Refused: StreamEncodable, StreamRepresentable {
            init() {}
            init(representation: Int) throws(StreamError) {}
            var representation: Int { 0 }
            func write<Sink: PlistSink & ~Copyable>(to sink: inout Sink) throws(StreamError) {
                throw StreamError(.unrepresentable, "it cannot be written")
            }
        }
        struct Part: StreamObject {
            var number = 1
            var list: [String: [Refused?]] = [:]
            var refused: Refused?
        }
        let rows: [([Part], String)] = [
            ([Part(), Part(refused: Refused())], "$[1].refused: it cannot be written"),
            ([Part(list: ["a b": [nil, Refused()]])], "$[0].list[\"a b\"][1]: it cannot be written"),
        ]
        for (parts, description) in rows {
            var trace = EventTrace()
            let error = expectThrows(StreamError.self, description) { try trace.write(parts) }
            expectEqual(error?.description, description, "description")
            // A sink with its own paths begins them at its own root.
            var builder = PropertyListBuilder(depthLimit: 1)
            let other = expectThrows(StreamError.self, description) { try builder.write([parts]) }
            expectEqual(other?.path?.description, "$[0]", "path of a sink")
        }
    }

    private static func testRefusesCyclicObjects() {
        let ring = Ring()
        ring.next = ring
        let error = expectThrows(StreamError.self, "a circle") { _ = try trace(ring) }
        expectEqual(error?.kind, .limitExceeded, "kind")
        ring.next = nil
    }
}
#endif
