// The in-class tests of `JSONWriter+Bound`: the text written from memory must be the same as the text written with
// messages.

#if DEBUG || IN_CLASS_TESTS
import InClassTesting
import PlistBuilding
import PlistCoding
import PlistStreaming

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// A writer that supports only messages.
private struct MessageWriter: ScalarSink, ~Copyable {
    var json: JSONWriter

    mutating func beginArray() throws(StreamError) { try json.beginArray() }
    mutating func endArray() throws(StreamError) { try json.endArray() }
    mutating func beginDictionary() throws(StreamError) { try json.beginDictionary() }
    mutating func endDictionary() throws(StreamError) { try json.endDictionary() }
    mutating func writeKey(_ utf8: RawSpan) throws(StreamError) { try json.writeKey(utf8) }
    mutating func write(_ scalar: borrowing StreamScalar) throws(StreamError) { try scalar.send(to: &json) }
}

private func readSome(_ descriptor: Int32, _ buffer: UnsafeMutableRawPointer, _ count: Int) -> Int {
    unsafe read(descriptor, buffer, count)
}

/// The two ends of a pipe.
private final class TestPipe {
    let read: Int32
    let write: Int32

    init() throws {
        var ends: [Int32] = [-1, -1]
        // SAFETY: the array has two elements for the descriptors.
        try requireEqual(unsafe pipe(&ends), 0, "pipe")
        (read, write) = (ends[0], ends[1])
    }

    /// Returns the written text, up to 64 KiB.
    func contents() -> String {
        close(write)
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        // SAFETY: the count is the buffer's.
        let count = unsafe readSome(read, &buffer, buffer.count)
        return String(validating: buffer.prefix(max(count, 0)), as: UTF8.self) ?? ""
    }

    deinit { close(read) }
}

enum JSONWriterBoundTests {
    struct Scalars: StreamObject, Equatable {
        var int = 1
        var real = 0.5
        var bool = true
        var text = "text"
        var int8: Int8 = -128
        var int16: Int16 = .min
        var int32: Int32 = .min
        var uint8: UInt8 = 255
        var uint16: UInt16 = .max
        var uint32: UInt32 = .max
        var uint: UInt = .max
        var float: Float = 0.1
    }

    struct Optionals: StreamObject {
        var int: Int?
        var real: Double?
        var bool: Bool?
        var text: String?
        var int8: Int8?
        var point: Point?
        var list: [Int]?
        var twice: Int??
    }

    struct Point: StreamObject {
        var x = 0.0
        var y = 0.0
    }

    struct Named: StreamObject {
        var name = ""
        var note: String?
    }

    struct Nested: StreamObject {
        var aNameOfMoreThanSixteenBytes = 1
        var points = [Point(), Point(x: 1.5, y: -2)]
        var inner = Optionals(int: 7)
        var names = ["", "a", "fifteen bytes !", "sixteen bytes !!", "é", "\"", "\u{1}"]
        var matrix = [[1], [], [2, 3]]
        var numbers = [0.5, 1e300, -0.0]
        var flags = [true, false]
        var shorts: [Int16] = [-1, 2]
        var optionals = [nil, 1, nil] as [Int?]
        var counts = ["b": 1, "a": 2]
        var color = Color.red
        var bytes: [UInt8] = [1, 2]
    }

    enum Color: String, StreamValue { case red }

    struct Empty: StreamObject {}

    class Shape: StreamObject {
        var name = "shape"
        var center: Point? = Point()
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

    struct Holder: StreamObject {
        var shapes: [Shape] = [Shape(), Circle()]
        var written = Written()
        var inherited: [Written] = [AlsoWritten(), Written()]
        var maybe: Written? = AlsoWritten()
    }

    struct Declared: StreamObject {
        var stored = 2
        var note: String?
        var double: Int {
            get { 2 * stored }
            set { stored = newValue / 2 }
        }
        static var streamMembers: StreamMembers {
            [
                .member("d\"", \Declared.double), .member("s\"\n\\", \Declared.stored), .member("é", \Declared.note),
                .member("", \Declared.stored),
            ]
        }
    }

    final class Ring: StreamObject {
        var next: Ring?
        init() {}
    }

    private static let allLayouts = [
        JSONWriterOptions(), JSONWriterOptions(nonFinite: .null), JSONWriterOptions(nonFinite: .string), .pretty,
        JSONWriterOptions(sortsKeys: true), JSONWriterOptions(allowsMultipleValues: true),
        JSONWriterOptions(depthLimit: 3),
        JSONWriterOptions(depthLimit: 2),
    ]

    /// Writes a value from memory and with messages, first in all layouts, and returns the compact text.
    @discardableResult
    fileprivate static func compare<Value: StreamValue>(
        _ value: Value, _ writing: WritingOptions = WritingOptions(), layouts: [JSONWriterOptions] = allLayouts,
        _ what: String = "\(Value.self)"
    ) throws -> String {
        for options in layouts {
            var direct = JSONWriter(options: options)
            var messages = MessageWriter(json: JSONWriter(options: options))
            let errors = (
                thrown { () throws(StreamError) in try direct.write(value, options: writing) },
                thrown { () throws(StreamError) in try messages.write(value, options: writing) }
            )
            expectEqual(errors.0, errors.1, "the error of \(what) with \(options)")
            expectEqual(direct.text, messages.json.text, "\(what) with \(options)")
            // A writer that has refused a value must continue like the other one.
            for _ in 0..<2 { expectEqual(next(&direct), next(&messages.json), "what follows \(what) with \(options)") }
        }
        var direct = JSONWriter()
        try direct.write(any: value, options: writing)
        try direct.finish()
        return direct.text
    }

    private static func thrown(_ body: () throws(StreamError) -> Void) -> String? {
        do throws(StreamError) { try body() } catch { return error.description }
        return nil
    }

    private static func next(_ writer: inout JSONWriter) -> String {
        do throws(StreamError) { try writer.writeNull() } catch { return error.description }
        return writer.text
    }
}

extension JSONWriterBoundTests: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testWritesScalars": testWritesScalars,
            "testWritesStringsOfEveryLength": testWritesStringsOfEveryLength,
            "testWritesOptionals": testWritesOptionals,
            "testWritesNestedValues": testWritesNestedValues,
            "testCustomEncodersWin": testCustomEncodersWin,
            "testWritesDeclaredMembers": testWritesDeclaredMembers,
            "testRefusesSameValuesAsMessages": testRefusesSameValuesAsMessages,
            "testWritesToDescriptors": testWritesToDescriptors,
            "testTrapsForObjectsUnderModification": testTrapsForObjectsUnderModification,
        ]
    }

    private static func testWritesScalars() throws {
        let text = try compare(Scalars())
        expectEqual(
            text,
            #"{"int":1,"real":0.5,"bool":true,"text":"text","int8":-128,"int16":-32768,"int32":-2147483648,"uint8":255,"#
                + #""uint16":65535,"uint32":4294967295,"uint":18446744073709551615,"float":0.1}"#,
            "text")
        var builder = try ObjectBuilder<Scalars>()
        try builder.readJSON(text)
        expectEqual(try builder.takeResult(), Scalars(), "what is read back")
        try compare([Scalars(), Scalars(int: .min, real: -1e-300, bool: false, text: "")])
        try compare(7)
        try compare(-0.5)
        try compare("a \"string\"")
        try compare([1.5])
        try compare(Empty())
        try compare([Empty(), Empty()])
        try compare([Int]())
    }

    private static func testWritesStringsOfEveryLength() throws {
        var texts: [String] = []
        for count in 0...17 {
            let plain = [UInt8](repeating: UInt8(ascii: "a"), count: count)
            texts += [String(decoding: plain, as: UTF8.self), String(decoding: plain, as: UTF8.self) + "é"]
            for place in 0..<count {
                for special: UInt8 in [0x00, 0x1F, 0x22, 0x5C, 0x7F] {
                    var bytes = plain
                    bytes[place] = special
                    texts.append(String(decoding: bytes, as: UTF8.self))
                }
            }
        }
        for group in [texts, texts.reversed()] {
            try compare(group.map { Named(name: $0, note: $0) }, layouts: [JSONWriterOptions()])
            try compare(group, layouts: [JSONWriterOptions()])
        }
    }

    private static func testWritesOptionals() throws {
        let full = Optionals(
            int: -3, real: 1e20, bool: false, text: "t", int8: 5, point: Point(x: 1), list: [1, 2], twice: 4)
        var some = Optionals(bool: true)
        some.twice = .some(nil)
        for nilMembers in [WritingOptions.NilMembers.omit, .writeNull] {
            let options = WritingOptions(keyMapping: .snakeCase, nilMembers: nilMembers)
            try compare([Optionals(), full, some, Optionals(list: [])], options)
            try compare([nil, full] as [Optionals?], options)
            try compare(Optionals?.none, options)
            try compare(["a", nil, "a string of more than fifteen bytes"] as [String?], options)
            try compare([1.5, nil] as [Double?], options)
        }
        expectEqual(try compare(Optionals()), "{}", "nothing")
    }

    private static func testWritesNestedValues() throws {
        try compare(Nested())
        try compare([Nested(), Nested(points: [], names: [])], WritingOptions(keyMapping: .snakeCase))
        try compare(["b": Nested(), "a": Nested(numbers: [])])
        try compare([[Point(x: 1)], []])
    }

    private static func testCustomEncodersWin() throws {
        expectEqual(
            try compare(Holder()),
            #"{"shapes":[{"name":"shape","center":{"x":0.0,"y":0.0}},"#
                + #"{"name":"shape","center":{"x":0.0,"y":0.0},"radius":2.0}],"written":1,"inherited":[1,1],"maybe":1}"#,
            "text")
        try compare(Shape())
        try compare(Circle() as Shape)
        try compare([Written(), AlsoWritten()])
        try compare(AlsoWritten())
    }

    private static func testWritesDeclaredMembers() throws {
        expectEqual(
            try compare([Declared(), Declared(stored: 3, note: "n")]),
            #"[{"d\"":4,"s\"\n\\":2,"":2},{"d\"":6,"s\"\n\\":3,"é":"n","":3}]"#, "text")
    }

    private static func testRefusesSameValuesAsMessages() throws {
        for value in [Double.nan, .infinity, -.infinity] {
            let values = [Point(x: 1, y: 2), Point(x: 1, y: value), Point()]
            let error = expectThrows(StreamError.self, "a real that is none") { try compare(values) }
            expectEqual(error?.kind, .unrepresentable, "kind")
            _ = expectThrows(StreamError.self, "an optional real that is none") {
                try compare([Optionals(real: value)])
            }
            _ = expectThrows(StreamError.self, "a float that is none") { try compare(Scalars(float: Float(value))) }
            _ = expectThrows(StreamError.self, "a real that is none in an array") { try compare([1, value]) }
        }
        let ring = Ring()
        ring.next = ring
        let error = expectThrows(StreamError.self, "a circle") { try compare(ring, WritingOptions(depthLimit: 20)) }
        expectEqual(error?.kind, .limitExceeded, "kind")
        ring.next = nil
        _ = expectThrows(StreamError.self, "too deep an array") { try compare([[[1]]], WritingOptions(depthLimit: 2)) }
        var writer = JSONWriter()
        try writer.beginDictionary()
        let misuse = expectThrows(StreamError.self, "a value without a key") { try writer.write(Point()) }
        expectEqual(misuse?.kind, .misuse, "kind")
        try "p".withUTF8Span { try writer.writeKey($0) }
        try writer.write(Point())
        try writer.endDictionary()
        _ = expectThrows(StreamError.self, "a second root") { try writer.write([1]) }
        expectEqual(writer.text, #"{"p":{"x":0.0,"y":0.0}}"#, "text")
    }

    private static func testWritesToDescriptors() throws {
        // A pipe holds more than this text; the buffer is written out between members.
        let values = [Scalars](repeating: Scalars(text: "a string of more than fifteen bytes"), count: 20)
        let (text, pipe) = (try compare(values), try TestPipe())
        var writer = JSONWriter(descriptor: pipe.write, bufferByteCount: 64)
        try writer.write(values)
        try writer.finish()
        expectEqual(pipe.contents(), text, "text")
    }

    private final class Document: StreamObject {
        var title: String? = "a title of more than fifteen bytes"
        var tags = ["a", "b"]
        var parts: [Document] = []
        init() {}
    }

    @_optimize(none)  // The optimizer ends an access early if nothing uses the value.
    private static func modify<Value>(_ value: inout Value, _ body: () throws -> Void) rethrows { try body() }

    private static func testTrapsForObjectsUnderModification() throws {
        let (document, part) = (Document(), Document())
        document.parts = [part]
        for layout in [JSONWriterOptions.Layout.compact, .pretty(indent: 2)] {
            let options = JSONWriterOptions(layout: layout)
            expectExit(.signal(SIGABRT), "an array, \(layout)") {
                modify(&document.tags) { _ = try? JSON(writer: options).encodeToString(document) }
            }
            expectExit(.signal(SIGABRT), "a part, \(layout)") {
                modify(&part.title) { _ = try? JSON(writer: options).encodeToString(["a": document]) }
            }
        }
        try modify(&part.title) { expectEqual(try JSON.encodeToString(Document()).count, 74, "another object") }
    }
}
#endif
