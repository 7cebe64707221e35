// Tests of values that are read from memory: the bytes and the errors are the same as with messages.

#if DEBUG || IN_CLASS_TESTS
import StreamingSystem
import InClassTesting
import PlistBuilding
import PlistStreaming

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

enum BoundPlistWriterTests {
    struct Numbers: StreamObject {
        var a = true
        var b: Int8 = -1
        var c: Int16 = 300
        var d: Int32 = -70_000
        var e = Int.min
        var f: UInt8 = 200
        var g: UInt16 = 65_535
        var h: UInt32 = .max
        var i = UInt64.max
        var j: Float = 0.1
        var k = -0.0
        var l: Int? = -5
        var m: Double?
        var n: Bool? = false
    }

    struct Texts: StreamObject {
        var short = "short"
        var fifteen = "fifteen letters"
        var long = "this string has more than fifteen bytes"
        var wide = "Grüße \u{1F642}"
        var empty = ""
        var some: String? = "short"
        var none: String?
        var when = Date(timeIntervalSinceReferenceDate: 0.25)
        var later: Date?
        var data = Data([1, 2, 3])
        var more: Data? = Data(repeating: 7, count: 300)
        var link = URL(string: "https://swift.org")
        var color = Color.red
    }

    struct Nested: StreamObject {
        var texts = [Texts(), Texts(long: "other")]
        var numbers: Numbers? = Numbers()
        var missing: Numbers?
        var byName = ["zwei": Numbers(), "eins": Numbers(e: 1), "": Numbers(l: nil)]
        var matrix = [[1.5, 2], []]
        var flags: [Bool?] = [true]
        var shapes: [Shape] = [Shape(), Circle()]
        var shape: Shape? = Circle()
        var other = Circle()
        var any = PropertyList([1, "x"])
        var left = ["CF$UID": 1]
        var right = Reference()

        static var other: Nested {
            var nested = Nested()
            nested.numbers = nil
            nested.flags = [nil]
            return nested
        }
    }

    struct Reference: StreamObject {
        var number = 70_000
        static var streamMembers: StreamMembers { [.member("CF$UID", \Reference.number)] }
    }

    struct Computed: StreamObject {
        var stored = 1
        var half: Int {
            get { stored / 2 }
            set { stored = 2 * newValue }
        }
        static var streamMembers: StreamMembers {
            [.member("stored \"1\"", \Computed.stored), .member("half", \Computed.half)]
        }
    }

    enum Color: String, StreamValue { case red, green }

    class Shape: StreamObject {
        var name = "shape"
        required init() {}
    }

    final class Circle: Shape { var radius = 2.0 }

    final class Ring: StreamObject {
        var next: Ring? = nil
        init() {}
    }

    /// A value that closes the dictionary it is in, and leaves another one open.
    struct UnbalancedValue: StreamEncodable, StreamRepresentable {
        init() {}
        init(representation: Int) throws(StreamError) {}
        var representation: Int { 0 }
        func write<Sink: PlistSink & ~Copyable>(to sink: inout Sink) throws(StreamError) {
            try sink.writeInteger(1)
            try sink.endDictionary()
            try sink.beginDictionary()
            try sink.writeKey("CF$UID")
            try sink.writeInteger(2)
        }
    }

    struct HoldsUnbalancedValue: StreamObject {
        var first = 1
        var unbalanced = UnbalancedValue()
        var last = 2
    }

    /// Returns the bytes or the error, from memory or with messages.
    static func written(
        _ value: some StreamValue, _ options: BinaryPlistWriterOptions, _ writing: WritingOptions, fromMemory: Bool
    ) -> Result<[UInt8], StreamError> {
        do throws(StreamError) {
            if fromMemory {
                var writer = BinaryPlistWriter(options: options)
                try writer.write(value, options: writing)
                try writer.finish()
                return .success(writer.bytes)
            }
            var filter = UniqueKeys(BinaryPlistWriter(options: options))
            try filter.write(value, options: writing)
            try filter.target.finish()
            return .success(filter.target.bytes)
        } catch {
            return .failure(error)
        }
    }
}

extension BoundPlistWriterTests: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testWritesSameBytesAsMessages": testWritesSameBytesAsMessages,
            "testRefusesSameValuesAsMessages": testRefusesSameValuesAsMessages,
            "testKeepsPositionDuringNestedWrites": testKeepsPositionDuringNestedWrites,
            "testWritesAlternatingTypes": testWritesAlternatingTypes,
            "testTrapsForObjectsUnderModification": testTrapsForObjectsUnderModification,
        ]
    }

    private static func expectSame(
        _ value: some StreamValue, _ name: String, isWritten: Bool = true, depthLimit: Int = 512
    ) {
        for nulls in [BinaryPlistWriterOptions.Nulls.reject, .write] {
            for (sharing, hasUIDs) in [(0, true), (1 << 20, false), (3, true)] {
                for nilMembers in [WritingOptions.NilMembers.omit, .writeNull] {
                    let options = BinaryPlistWriterOptions(
                        nulls: nulls, writesUIDs: hasUIDs, sharedValueLimit: sharing)
                    let writing = WritingOptions(nilMembers: nilMembers, depthLimit: depthLimit)
                    let (memory, messages) = (
                        written(value, options, writing, fromMemory: true),
                        written(value, options, writing, fromMemory: false)
                    )
                    expectTrue(memory == messages, "\(name), \(options), \(nilMembers): \(memory), not \(messages)")
                    if isWritten, nulls == .write, case .failure(let error) = memory {
                        expectNil(error, "\(name), \(options)")
                    }
                }
            }
        }
    }

    private static func testWritesSameBytesAsMessages() {
        expectSame(Numbers(), "numbers")
        expectSame(Texts(), "texts")
        expectSame([Nested(), Nested.other], "nested")
        expectSame(["b": [Computed()], "a": []], "computed")
        expectSame([Reference(), Reference(number: -1)], "UIDs")
        expectSame(["CF$UID": 5], "a UID of a dictionary")
        expectSame(["CF$UID": Optional(5)], "a UID of an optional")
        expectSame(["CF$UID": "5"], "no UID")
        expectSame(5, "a number")
        expectSame("text", "a string")
        expectSame([Int?](), "nothing")
        expectSame(Data([1]), "data")
        expectSame(Circle() as Shape, "a subclass")
    }

    private static func testRefusesSameValuesAsMessages() {
        let ring = Ring()
        ring.next = ring
        // Less than any stack allows.
        expectSame(ring, "a circle", isWritten: false, depthLimit: 40)
        ring.next = nil
        expectSame([["a": [1, nil]]], "null")
        for depthLimit in [0, 1, 2, 3, 4, 5] {
            let options = BinaryPlistWriterOptions(nulls: .write, depthLimit: depthLimit)
            let memory = written(Nested(), options, WritingOptions(), fromMemory: true)
            let messages = written(Nested(), options, WritingOptions(), fromMemory: false)
            expectEqual((try? memory.get()) != nil, depthLimit > 2, "whether \(depthLimit) levels are enough")
            expectTrue(memory == messages, "\(depthLimit) levels: \(memory), not \(messages)")
        }
    }

    private static func testKeepsPositionDuringNestedWrites() {
        for value in [[HoldsUnbalancedValue()], [HoldsUnbalancedValue(), HoldsUnbalancedValue()]] {
            let options = BinaryPlistWriterOptions(writesUIDs: true)
            let memory = written(value, options, WritingOptions(), fromMemory: true)
            let messages = written(value, options, WritingOptions(), fromMemory: false)
            expectTrue(memory == messages, "\(memory), not \(messages)")
        }
    }

    private static func testWritesAlternatingTypes() {
        struct Many<Value: StreamValue & Sendable>: StreamObject {
            var value: Value?
            var name = "\(Value.self)"
        }
        struct All: StreamObject {
            var a = [Many<Int>(value: 1), Many<Int>()]
            var b = Many<Many<Int>>(value: Many<Int>(value: 2))
            var c = Many<Many<Many<String>>>(value: Many<Many<String>>(value: Many<String>(value: "x")))
            var d = Many<Bool>(value: true)
            var e = Many<Double>(value: 1)
            var f = Many<[Many<Bool>]>(value: [Many<Bool>(), Many<Bool>(value: false)])
            var g = Many<Float>(value: 1)
            var h = Many<Int8>(value: 1)
            var i = Many<Int16>(value: 1)
            var j = Many<Int32>(value: 1)
            var k = Many<UInt8>(value: 1)
            var l = Many<UInt16>(value: 1)
            var m = Many<UInt32>(value: 1)
            var n = Many<UInt64>(value: 1)
            var o = Many<Int64>(value: 1)
            var p = Many<[Int]>(value: [1])
            var q = Many<[String]>(value: ["1"])
        }
        expectSame([All(), All(), All()], "many types")
    }

    private final class Document: StreamObject {
        var title = "a title of more than fifteen bytes"
        init() {}
    }

    private static func testTrapsForObjectsUnderModification() {
        @_optimize(none)  // The optimizer ends an access early if nothing uses the value.
        func modify<Value>(_ value: inout Value, _ body: () -> Void) { body() }
        let document = Document()
        expectExit(.signal(SIGABRT), "a string") {
            modify(&document.title) { _ = try? BinaryPropertyList.encode([document]) }
        }
    }
}
#endif
