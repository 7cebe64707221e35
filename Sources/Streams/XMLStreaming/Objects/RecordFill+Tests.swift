// In-class tests that records stored directly in memory have the same values and errors as records sent as messages.

#if DEBUG || IN_CLASS_TESTS
import InClassTesting
import PlistBuilding
import PlistStreaming

/// A sink that forwards messages but has no record buffers, so that its receiver gets everything as messages.
private struct MessagesOnly<Sink: PlistSink & ~Copyable>: PlistSink, ~Copyable {
    var sink: Sink

    mutating func beginArray() throws(StreamError) { try sink.beginArray() }
    mutating func endArray() throws(StreamError) { try sink.endArray() }
    mutating func beginDictionary() throws(StreamError) { try sink.beginDictionary() }
    mutating func endDictionary() throws(StreamError) { try sink.endDictionary() }
    mutating func writeKey(_ utf8: RawSpan) throws(StreamError) { try sink.writeKey(utf8) }
    mutating func writeNull() throws(StreamError) { try sink.writeNull() }
    mutating func writeBool(_ value: Bool) throws(StreamError) { try sink.writeBool(value) }
    mutating func writeInteger(_ value: Int64) throws(StreamError) { try sink.writeInteger(value) }
    mutating func writeUnsigned(_ value: UInt64) throws(StreamError) { try sink.writeUnsigned(value) }
    mutating func writeReal(_ value: Double) throws(StreamError) { try sink.writeReal(value) }
    mutating func writeNumber(text: RawSpan) throws(StreamError) { try sink.writeNumber(text: text) }
    mutating func writeString(_ utf8: RawSpan) throws(StreamError) { try sink.writeString(utf8) }
    mutating func writeData(_ bytes: RawSpan) throws(StreamError) { try sink.writeData(bytes) }
    mutating func writeDate(secondsSince2001 seconds: Double) throws(StreamError) {
        try sink.writeDate(secondsSince2001: seconds)
    }
    mutating func cancel(with error: StreamError) { sink.cancel(with: error) }

    static var memoryPort: MemoryPort? {
        // SAFETY: the functions take the address of a sink of this type, which is valid during the call.
        unsafe MemoryPort(
            recordBuffersOf: Self.self, begin: { (_, _) throws(StreamError) in nil },
            end: { (_) throws(StreamError) in },
            expected: { sink in unsafe sink.assumingMemoryBound(to: Self.self).pointee.sink.expectedValue() },
            checkHeader: { _, _ in nil },
            watchNames: { sink, names in
                unsafe sink.assumingMemoryBound(to: Self.self).pointee.sink.watchNames(names)
            })
    }
}

enum RecordFillTests {
    fileprivate struct Point: StreamObject, Equatable {
        var x = 0.0
        var y = 0
    }

    fileprivate final class Shared: StreamObject, Equatable {
        var name = "none"
        var points: [Point] = []
        static func == (one: Shared, other: Shared) -> Bool { one.name == other.name && one.points == other.points }
    }

    fileprivate struct Record: StreamObject, Equatable {
        var id = 0
        var name = ""
        var nick: String? = nil
        var age: Int8? = nil
        var count: Int? = nil
        var ratio = 0.0
        var part: Double? = nil
        var single: Float = 0
        var isOpen = false
        var isKnown: Bool? = nil
        var tag: [String] = []
        var number: [Int] = []
        var bytes: [UInt8] = []
        var place = Point()
        var other: Point? = nil
        var shared = Shared()
        var track: [Point] = []
        var more: [Shared] = []
        var table: [String: Int] = [:]
        var inner: [Record] = []
    }

    /// Children and attributes. Some fit their members, others don't.
    fileprivate static let children = [
        "<id>17</id>", "<id> -5\n</id>", "<id>007</id>", "<id>x</id>", "<id/>", "<id>1</id><name/><id>2</id>",
        "<id>123456789012345678901</id>", "<id>999999999999999999</id>", "<id>1<b/></id>",
        "<name>Ada</name>", "<name> A longer name, with no end in 15 bytes &amp; é </name>",
        "<name a='1'>n</name>", "<name/>", "<name><b/></name>",
        "<name i:nil='true' xmlns:i='http://www.w3.org/2001/XMLSchema-instance'/>",
        "<nick>n</nick>", "<nick/>", "<age>12</age>", "<age>300</age>", "<age/>", "<count>5</count>",
        "<count> </count>", "<count/>", "<ratio>1.5</ratio>", "<ratio>12</ratio>", "<ratio>-0</ratio>",
        "<ratio>1e400</ratio>",
        "<ratio>0.1234567890123456789</ratio>", "<ratio/>", "<part/>", "<part>2.25</part>", "<single>0.1</single>",
        "<single>3</single>", "<isOpen>true</isOpen>", "<isOpen>0</isOpen>", "<isOpen>TRUE</isOpen>", "<isKnown/>",
        "<isKnown>1</isKnown>", "<tag>a</tag>", "<tag>a</tag><id>3</id><tag>b</tag><tag/>",
        "<tag>a</tag><tag><b/></tag>", "<tag>a</tag><p:tag xmlns:p='u'>b</p:tag>",
        "<number>1</number><number>x</number>",
        "<number>1</number><number>2</number>", "<bytes>AQID</bytes>", "<bytes>1</bytes><bytes>2</bytes>",
        "<place x='1.5' y='2'/>", "<place><y>3</y><x>4</x></place>", "<place/>", "<place> </place>", "<place>t</place>",
        "<place x='1'>t</place>", "<place y='z'/>", "<place x='1'/><place x='2'/>", "<other x='7'/>", "<other/>",
        "<shared><name>s</name><points x='1'/><points x='2' y='1'/></shared>", "<shared><points y='?'/></shared>",
        "<track x='1'/><track x='2'/>", "<track x='1'/>t", "<more name='m'/><more/>",
        "<more name='m'/><more points='1'/>",
        "<table><a>1</a><b>2</b></table>", "<sink><id>9</id></sink>", "<sink>1</sink><sink/>", "text",
        "<inner id='1'><inner id='2'><tag>deep</tag></inner></inner>",
        "<inner id='1'><inner id='2'><age>300</age></inner></inner>",
        "<track x='1'/>" + String(repeating: "<track x='2' y='3'/>", count: 300),
        "<tag>t</tag>" + String(repeating: "<tag>a longer text than fits</tag>", count: 300) + "<tag><b/></tag>",
    ]
}

extension RecordFillTests: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testBuildsSameValuesAsMessages": testBuildsSameValuesAsMessages,
            "testFillsDeepRecords": testFillsDeepRecords,
            "testDeliversSameValuesAsMessages": testDeliversSameValuesAsMessages,
            "testFindsMembersOfEachType": testFindsMembersOfEachType,
        ]
    }

    /// Returns the value of a document, or the error. The value is stored in a record buffer or built from messages only.
    private static func built<Value: StreamObject>(
        _ type: Value.Type, _ text: String, _ options: BuilderOptions, byMessages: Bool
    ) throws -> (value: [Value], error: StreamError?) {
        do throws(StreamError) {
            if byMessages {
                var sink = MessagesOnly(sink: try ObjectBuilder<[Value]>(options: options))
                try sink.readXML(text)
                return (try sink.sink.takeResult(), nil)
            }
            var builder = try ObjectBuilder<[Value]>(options: options)
            try builder.readXML(text)
            return (try builder.takeResult(), nil)
        } catch {
            return ([], error)
        }
    }

    private static func compare(_ text: String, _ options: BuilderOptions) throws {
        let (value, error) = try built(Record.self, text, options, byMessages: false)
        let (expected, expectedError) = try built(Record.self, text, options, byMessages: true)
        expectTrue(value == expected, "values of \(text.prefix(200)): \(value), not \(expected)")
        expectEqual(error, expectedError, "error of \(text.prefix(200))")
        // The same elements in an array of objects.
        let (shared, sharedError) = try built(Shared.self, text, options, byMessages: false)
        let (expectedShared, expectedSharedError) = try built(Shared.self, text, options, byMessages: true)
        expectTrue(shared == expectedShared, "objects of \(text.prefix(200))")
        expectEqual(sharedError, expectedSharedError, "error of objects of \(text.prefix(200))")
    }

    private static func testBuildsSameValuesAsMessages() throws {
        let lenient = BuilderOptions()
        let strict = BuilderOptions(unknownMembers: .reject, missingMembers: .reject)
        for child in children {
            try compare("<a><r>\(child)</r></a>", lenient)
            try compare("<a><r id='8'>\(child)</r><r><name>last</name></r></a>", lenient)
            try compare("<a><r>\(child)</r></a>", strict)
        }
        // Pairs, in both orders.
        var random = TestRandom(seed: 20)
        for _ in 0..<200 {
            let some = (0..<4).map { _ in children[Int.random(in: 0..<children.count - 2, using: &random)] }
            try compare("<a><r>\(some.joined())</r><r>\(some[0])</r></a>", lenient)
        }
    }

    private static func testFillsDeepRecords() throws {
        for depth in [1, 22, 23, 24, 25, 26, 60] {
            for leaf in ["<id>1</id>", "<id>x</id>"] {
                let open = String(repeating: "<inner><name>n</name>", count: depth)
                let close = String(repeating: "</inner>", count: depth)
                try compare("<a><r>\(open)\(leaf)\(close)<id>5</id></r></a>", BuilderOptions())
                try compare("<a><r>\(open)\(leaf)\(close)</r></a>", BuilderOptions(depthLimit: 40))
            }
        }
    }

    private static func testDeliversSameValuesAsMessages() throws {
        let text = "<a><r name='1'/><r><points x='1'/></r><r name='2'><points x='2'/></r><r name='3'/></a>"
        for last in ["2", "3", ""] {
            var (names, expected): ([String], [String]) = ([], [])
            var stream = try RecordStream<Shared> { shared throws(StreamError) in
                names.append(shared.name)
                if shared.name == last { throw StreamError(.receiverFailed, "enough") }
            }
            var other = MessagesOnly(
                sink: try RecordStream<Shared> { shared throws(StreamError) in
                    expected.append(shared.name)
                    if shared.name == last { throw StreamError(.receiverFailed, "enough") }
                })
            let error = expectError { () throws(StreamError) in try stream.readXML(text) }
            let expectedError = expectError { () throws(StreamError) in try other.readXML(text) }
            expectEqual(names, expected, "names to \(last)")
            expectEqual(error, expectedError, "error at \(last)")
        }
    }

    private static func expectError(_ body: () throws(StreamError) -> Void) -> StreamError? {
        do throws(StreamError) {
            try body()
            return nil
        } catch { return error }
    }

    private static func testFindsMembersOfEachType() throws {
        // The same name is a member of each of the nested types.
        let text = """
            <a><r><inner><y>1</y><name>i</name></inner><name>n</name><shared><name>s</name></shared>\
            <place><y>2</y></place><id>4</id></r></a>
            """
        let record = try XML.decode([Record].self, from: text)[0]
        expectEqual([record.name, record.shared.name, record.inner[0].name], ["n", "s", "i"], "names")
        expectEqual([record.place.y, record.id], [2, 4], "numbers")
    }
}
#endif
