// The values that the agreement tests compare. They are generated at random, sent as messages, built from messages, and
// converted to and from Foundation.

import Foundation
import PlistStreaming

/// A property list value. Comparisons ignore the order of members and compare doubles by their bits.
indirect enum PlistValue: Equatable {
    case bool(Bool)
    case integer(Int64)
    case unsigned(UInt64)
    case real(UInt64)
    case string(String)
    case data(Data)
    case date(Double)
    case array([PlistValue])
    case dictionary([String: PlistValue])
    /// A description of a value that a property list can't contain.
    case other(String)

    static func real(_ value: Double) -> PlistValue { .real(value.isNaN ? Double.nan.bitPattern : value.bitPattern) }

    /// Sends the value, with its members sorted by key.
    func send<Sink: PlistSink & ~Copyable>(to sink: inout Sink) throws(StreamError) {
        switch self {
        case .bool(let value): try sink.writeBool(value)
        case .integer(let value): try sink.writeInteger(value)
        case .unsigned(let value): try sink.writeUnsigned(value)
        case .real(let bits): try sink.writeReal(Double(bitPattern: bits))
        case .string(let text): try text.withUTF8Span { (text) throws(StreamError) in try sink.writeString(text) }
        case .data(let data):
            let bytes = Array(data)
            try bytes.withUnsafeBufferPointer { (bytes) throws(StreamError) in
                try sink.writeData(UnsafeRawBufferPointer(bytes).bytes)
            }
        case .date(let seconds): try sink.writeDate(secondsSince2001: seconds)
        case .array(let elements):
            try sink.beginArray()
            for element in elements { try element.send(to: &sink) }
            try sink.endArray()
        case .dictionary(let members):
            try sink.beginDictionary()
            for (key, value) in members.sorted(by: { $0.key < $1.key }) {
                try key.withUTF8Span { (key) throws(StreamError) in try sink.writeKey(key) }
                try value.send(to: &sink)
            }
            try sink.endDictionary()
        case .other(let description): throw StreamError(.misuse, description)
        }
    }

    /// The value as a Foundation object.
    var foundation: Any {
        switch self {
        case .bool(let value): value
        case .integer(let value): value
        case .unsigned(let value): value
        case .real(let bits): Double(bitPattern: bits)
        case .string(let text): text
        case .data(let data): data
        case .date(let seconds): Date(timeIntervalSinceReferenceDate: seconds)
        case .array(let elements): elements.map(\.foundation)
        case .dictionary(let members): members.mapValues(\.foundation)
        case .other(let description): description
        }
    }

    /// Creates a value from an object that Foundation's reader returns.
    init(foundation value: Any) {
        switch value {
        case let bool as Bool where type(of: value) == Bool.self: self = .bool(bool)
        case let value as String: self = .string(value)
        case let value as Data: self = .data(value)
        case let value as Date: self = .date(value.timeIntervalSinceReferenceDate)
        case let value as [Any]: self = .array(value.map { PlistValue(foundation: $0) })
        case let value as [String: Any]: self = .dictionary(value.mapValues { PlistValue(foundation: $0) })
        case let number as NSNumber:
            switch String(cString: number.objCType) {
            case "c", "B": self = .bool(number.boolValue)
            case "d", "f": self = .real(number.doubleValue)
            case "Q" where number.uint64Value > Int64.max: self = .unsigned(number.uint64Value)
            default: self = .integer(number.int64Value)
            }
        default: self = .other("\(type(of: value)) \(value)")
        }
    }

    /// The value as the old text form represents it, with only strings and data.
    var inOldText: PlistValue {
        switch self {
        case .array(let elements): .array(elements.map(\.inOldText))
        case .dictionary(let members): .dictionary(members.mapValues(\.inOldText))
        case .string, .data: self
        default: .string("\(self)")
        }
    }

    /// Returns the path and description of the first difference from another value, or nil if both are equal.
    func difference(from other: PlistValue?, _ path: String = "$") -> String? {
        guard self != other else { return nil }
        switch (self, other) {
        case (.array(let these), .array(let those)) where these.count == those.count:
            return these.indices.lazy.compactMap { these[$0].difference(from: those[$0], "\(path)[\($0)]") }.first
        case (.dictionary(let these), .dictionary(let those)) where Set(these.keys) == Set(those.keys):
            return these.keys.lazy.compactMap { these[$0]?.difference(from: those[$0], "\(path).\($0.prefix(20))") }
                .first
        default: return "\(path): \("\(self)".prefix(200)) instead of \("\(other as Any)".prefix(200))"
        }
    }

    // MARK: Random values

    /// The kinds of values that a format supports.
    struct Choices {
        /// The step between dates in seconds, or 0 for any date. XML dates are whole seconds, and Python's dates have
        /// microseconds.
        var dateStep = 0.0
        /// A Boolean value that indicates whether text may have control characters.
        var hasControls = true
        /// A Boolean value that indicates whether signed zeros and other numbers that Foundation doesn't write are
        /// allowed.
        var hasSpecialReals = true
    }

    static func random(_ random: inout some RandomNumberGenerator, _ choices: Choices, depth: Int = 0) -> PlistValue {
        let kind = Int.random(in: 0..<(depth == 0 ? 4 : depth < 6 ? 13 : 9), using: &random)
        switch depth == 0 ? kind + 9 : kind {
        case 0: return .bool(.random(using: &random))
        case 1, 2: return .integer(integer(&random))
        case 3: return .unsigned(.random(in: (1 << 63)...(.max), using: &random))
        case 4: return real(&random, choices)
        case 5, 6: return .string(text(&random, choices))
        case 7:
            let count = [0, 1, 2, 3, 14, 15, 16, 50, 70, 300].randomElement(using: &random) ?? 0
            return .data(Data((0..<count).map { _ in .random(in: 0...255, using: &random) }))
        case 8:
            let seconds = Double.random(in: -3e9...3e9, using: &random)
            return .date(choices.dateStep > 0 ? (seconds / choices.dateStep).rounded() * choices.dateStep : seconds)
        case 9, 10:
            let count = Int.random(in: 0...7, using: &random)
            return .array((0..<count).map { _ in Self.random(&random, choices, depth: depth + 1) })
        default:
            let count = Int.random(in: 0...7, using: &random)
            let members = (0..<count).map { _ in
                (text(&random, choices), Self.random(&random, choices, depth: depth + 1))
            }
            return .dictionary(Dictionary(members) { $1 })
        }
    }

    private static func integer(_ random: inout some RandomNumberGenerator) -> Int64 {
        let edges: [Int64] = [
            0, 1, -1, 127, 128, 255, 256, 32_767, 65_535, 65_536, 1 << 31, 1 << 32 - 1, 1 << 32, .max, .min,
        ]
        if Bool.random(using: &random) { return edges.randomElement(using: &random) ?? 0 }
        return Int64.random(in: .min ... .max, using: &random) >> Int64.random(in: 0..<63, using: &random)
    }

    private static func real(_ random: inout some RandomNumberGenerator, _ choices: Choices) -> PlistValue {
        let edges = [0.5, 0.1, 1, 1e300, .leastNonzeroMagnitude, -2.5, 1e15, 1e16, 1e17, 123456789.125]
        let special = [-0.0, .infinity, -.infinity, .nan]
        switch Int.random(in: 0..<4, using: &random) {
        case 0: return .real(edges.randomElement(using: &random) ?? 0)
        case 1 where choices.hasSpecialReals: return .real(special.randomElement(using: &random) ?? 0)
        case 2: return .real(Double(Float.random(in: -1e9...1e9, using: &random)))
        default: return .real(Double.random(in: -1e9...1e9, using: &random))
        }
    }

    private static func text(_ random: inout some RandomNumberGenerator, _ choices: Choices) -> String {
        let fragments = [
            "", "a", "title", "key with spaces", "fifteen letters", "fourteen lette", "ü", "日本語", "\u{1F642}", "<&>\"'",
            "]]>", "\n\t", "a//b", "CF$UID", "$null", "\\", "\u{FFFD}", "e\u{301}", "/*", "\u{A0}", "0", "1.5", "true",
        ]
        let controls = ["\u{0}", "\u{1}\u{1F}", "\r\n", "\u{7F}", "\r"]
        var text = fragments.randomElement(using: &random) ?? ""
        while Int.random(in: 0..<3, using: &random) > 0 { text += fragments.randomElement(using: &random) ?? "" }
        if choices.hasControls, Int.random(in: 0..<6, using: &random) == 0 {
            text += controls.randomElement(using: &random) ?? ""
        }
        if Int.random(in: 0..<20, using: &random) == 0 { text = String(repeating: text, count: 40) }
        return text
    }
}

/// A sink that builds a value.
struct PlistValueBuilder: PlistSink {
    private(set) var value: PlistValue?
    private var open: [(value: PlistValue, key: String)] = []
    private var key = ""

    private mutating func add(_ value: PlistValue) {
        guard let last = open.popLast() else {
            self.value = value
            return
        }
        switch last.value {
        case .array(let elements): open.append((.array(elements + [value]), last.key))
        case .dictionary(var members):
            members[key] = value
            open.append((.dictionary(members), last.key))
        default: open.append(last)
        }
    }

    private mutating func end() {
        guard let last = open.popLast() else { return }
        key = last.key
        add(last.value)
    }

    mutating func beginArray() throws(StreamError) { open.append((.array([]), key)) }
    mutating func endArray() throws(StreamError) { end() }
    mutating func beginDictionary() throws(StreamError) { open.append((.dictionary([:]), key)) }
    mutating func endDictionary() throws(StreamError) { end() }
    mutating func writeKey(_ utf8: RawSpan) throws(StreamError) { key = String(validating: utf8) ?? "no UTF-8" }
    mutating func writeNull() throws(StreamError) { add(.other("null")) }
    mutating func writeBool(_ value: Bool) throws(StreamError) { add(.bool(value)) }
    mutating func writeInteger(_ value: Int64) throws(StreamError) { add(.integer(value)) }
    mutating func writeUnsigned(_ value: UInt64) throws(StreamError) { add(.unsigned(value)) }
    mutating func writeReal(_ value: Double) throws(StreamError) { add(.real(value)) }
    mutating func writeNumber(text: RawSpan) throws(StreamError) { add(.other(String(validating: text) ?? "")) }
    mutating func writeString(_ utf8: RawSpan) throws(StreamError) {
        add(.string(String(validating: utf8) ?? "no UTF-8"))
    }
    mutating func writeData(_ bytes: RawSpan) throws(StreamError) { add(.data(Data(Array(copying: bytes)))) }
    mutating func writeDate(secondsSince2001 seconds: Double) throws(StreamError) { add(.date(seconds)) }
}
