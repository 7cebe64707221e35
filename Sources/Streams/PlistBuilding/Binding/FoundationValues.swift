// Bindings for common types of Foundation: dates, data, URLs and UUIDs.

import PlistStreaming

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

extension Date: StreamValue {
    /// The binding of a date. It reads a date, the text of an ISO 8601 date and time such as `2001-01-31T12:00:00.5Z`, or a
    /// number of seconds since 2001, like the coding of `Date`.
    ///
    /// A JSON writer writes as many fractional digits of a second as are needed to read the same date: from three to nine
    /// digits, or none if all are zero. Its options can also select seconds since 2001, which are always exact.
    public static var streamBinding: StreamBinding {
        unsafe .scalar(
            "a date",
            read: { (message) throws(StreamError) -> Date in
                Date(timeIntervalSinceReferenceDate: try unsafe seconds(message))
            }, get: { .date($0.timeIntervalSinceReferenceDate) })
    }

    private static func seconds(_ message: ScalarMessage) throws(StreamError) -> Double {
        switch unsafe message {
        case .date(let value), .real(let value): return value
        case .integer(let value): return Double(value)
        case .unsigned(let value): return Double(value)
        case .number(let text):
            if let value = unsafe NumberText.real(text.bytes, as: Double.self) { return value }
        case .string(let text):
            if let value = unsafe DateText.secondsSince2001(text) { return value }
            throw unsafe StreamError(
                .unrepresentable, "expected a date such as 2001-01-31T12:00:00Z, found \(message.summary)")
        default: break
        }
        throw unsafe StreamPlan.mismatch(expected: "a date", message)
    }
}

extension Data: StreamValue {
    /// The binding of data. It reads data, or text in Base64, which JSON writers write.
    public static var streamBinding: StreamBinding {
        unsafe .scalar("data", read: data) { .data(Array($0)) }
    }

    private static func data(_ message: ScalarMessage) throws(StreamError) -> Data {
        switch unsafe message {
        case .data(let bytes): return unsafe Data(bytes)
        case .string(let text):
            if let decoded = unsafe Data(base64Encoded: Data(text)) { return decoded }
            throw unsafe StreamError(.unrepresentable, "expected data in Base64, found \(message.summary)")
        default: throw unsafe StreamPlan.mismatch(expected: "data", message)
        }
    }
}

extension URL: StreamRepresentable {
    /// Creates a URL from its text.
    /// - Throws: `unrepresentable` for text that isn't a URL.
    public init(representation: String) throws(StreamError) {
        guard let url = URL(string: representation) else {
            throw StreamError(.unrepresentable, "expected a URL, found other text")
        }
        self = url
    }

    /// The absolute text.
    public var representation: String { absoluteString }
}

extension UUID: StreamRepresentable {
    /// Creates an identifier from its text, such as `E621E1F8-C36C-495A-93FC-0C247A3E6E5F`.
    /// - Throws: `unrepresentable` for text that isn't a UUID.
    public init(representation: String) throws(StreamError) {
        guard let identifier = UUID(uuidString: representation) else {
            throw StreamError(.unrepresentable, "expected a UUID, found other text")
        }
        self = identifier
    }

    /// The text in capital letters.
    public var representation: String { uuidString }
}

extension MemoryForm {
    /// Returns the kind of a scalar type of Foundation, which text can't represent directly.
    static func foundationKind(of type: Any.Type) -> Kind {
        type == Date.self ? .date : type == Data.self ? .data : .messages
    }

    /// Returns the seconds since 2001 of the date at an address.
    package static func seconds(ofDateAt address: UnsafeRawPointer) -> Double {
        // SAFETY: the caller has a form of the kind `date`.
        unsafe address.assumingMemoryBound(to: Date.self).pointee.timeIntervalSinceReferenceDate
    }

    // PERF: PropertyLists/items written; for a generic result, Foundation would look up the type each time.
    /// Calls a closure with the bytes of the data at an address.
    package static func withBytes(
        ofDataAt address: UnsafeRawPointer, _ body: (RawSpan) throws(StreamError) -> Void
    ) throws(StreamError) {
        // SAFETY: the caller has a form of the kind `data`.
        let data = unsafe address.assumingMemoryBound(to: Data.self).pointee
        try body(data.bytes)
    }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

enum FoundationValuesTests {
    struct Sample: StreamObject, Equatable {
        var when = Date(timeIntervalSinceReferenceDate: 0)
        var bytes = Data()
        var link = URL(fileURLWithPath: "/")
        var identifier = UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0))
        var later: Date? = nil
        var more: [Data] = []
    }
}

extension FoundationValuesTests: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testSendsAndBuildsDatesDataAndURLs": testSendsAndBuildsDatesDataAndURLs,
            "testReadsDatesAndDataFromText": testReadsDatesAndDataFromText,
            "testRefusesOtherValues": testRefusesOtherValues,
        ]
    }

    private static func built<Value: StreamValue>(_ script: String, _ type: Value.Type) throws -> Value {
        var builder = try ObjectBuilder<Value>()
        try EventScript.send(script, to: &builder)
        return try builder.takeResult()
    }

    private static func testSendsAndBuildsDatesDataAndURLs() throws {
        var sample = Sample()
        sample.when = Date(timeIntervalSinceReferenceDate: 0.1 + 0.2)
        sample.bytes = Data([0, 255])
        sample.link = try requireNotNil(URL(string: "http://a.b/c?d=%20"), "URL")
        sample.identifier = UUID()
        sample.more = [Data(), Data(repeating: 7, count: 100)]
        for later in [nil, Date(timeIntervalSinceReferenceDate: -1)] {
            sample.later = later
            var builder = try ObjectBuilder<[Sample]>()
            try builder.write([sample, Sample()])
            expectEqual(try builder.takeResult(), [sample, Sample()], "values")
        }
        var trace = EventTrace()
        try trace.write([sample.when])
        expectEqual(trace.text, "[ date 0.30000000000000004 ]", "messages")
    }

    private static func testReadsDatesAndDataFromText() throws {
        let dates = try built(
            "[ string \"2001-01-01T00:00:01.5Z\" string \"2001-01-01T01:00:00+01:00\" integer 7 real 0.5 ]", [Date].self
        )
        expectEqual(dates.map(\.timeIntervalSinceReferenceDate), [1.5, 0, 7, 0.5], "dates")
        expectEqual(
            try built("[ string \"AP8=\" string \"\" data 01 ]", [Data].self), [Data([0, 255]), Data(), Data([1])],
            "data")
    }

    private static func testRefusesOtherValues() {
        func message<Value: StreamValue>(_ script: String, _ type: Value.Type) -> String {
            expectThrows(StreamError.self, script) { _ = try built(script, [Value].self) }?.description ?? ""
        }
        expectEqual(message("[ true ]", Date.self), "$[0]: expected a date, found true", "date")
        expectEqual(
            message("[ string \"x\" ]", Date.self),
            "$[0]: expected a date such as 2001-01-31T12:00:00Z, found string \"x\"", "text")
        expectEqual(message("[ string \"%\" ]", Data.self), "$[0]: expected data in Base64, found string \"%\"", "data")
        expectEqual(message("[ integer 1 ]", Data.self), "$[0]: expected data, found integer 1", "integer")
        expectEqual(message("[ string \"x\" ]", UUID.self), "$[0]: expected a UUID, found other text", "UUID")
        expectEqual(message("[ null ]", URL.self), "$[0]: expected a string, found null", "null")
    }
}
#endif
