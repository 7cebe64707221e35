// The values that types are composed of. Each describes its JSON, can be made from the tree of a document, and describes its
// content as text.

import Foundation
import FuzzInputs
import PlistBuilding

/// A type of members.
protocol Sample: StreamValue, SendableMetatype {
    /// The value of the property if the member is missing.
    static var initial: Self { get }
    /// The shape of its JSON.
    static var shape: Shape { get }
    /// Makes the value that a tree represents.
    init(tree: Tree) throws(Refusal)
    /// The whole content of the value as text.
    var summary: String { get }
    /// Adds the contained identifiers that were not read; they must all be different.
    func collectFresh(_ identifiers: inout [UUID])
}

extension Sample {
    func collectFresh(_ identifiers: inout [UUID]) {}
}

// MARK: Numbers

extension Sample where Self: FixedWidthInteger {
    static var initial: Self { 77 }
    static var shape: Shape { .integer }
    init(tree: Tree) throws(Refusal) {
        let value: Self?
        switch tree {
        case .integer(let integer): value = Self(exactly: integer)
        case .unsigned(let integer): value = Self(exactly: integer)
        case .real(let real):
            // The digits of a larger number may be more exact than the real.
            guard real.magnitude < 0x1p53 else { throw .unsure }
            value = Self(exactly: real)
        case .number: throw .unsure
        default: throw .refused
        }
        guard let value else { throw .refused }
        self = value
    }
    var summary: String { "\(self)" }
}

extension Int: Sample {}
extension Int8: Sample {}
extension Int16: Sample {}
extension Int32: Sample {}
extension Int64: Sample {}
extension UInt: Sample {}
extension UInt8: Sample {}
extension UInt16: Sample {}
extension UInt32: Sample {}
extension UInt64: Sample {}
// Integers that the library doesn't know.
extension Int128: Sample, @retroactive StreamValue {}
extension UInt128: Sample, @retroactive StreamValue {}

extension Sample where Self: BinaryFloatingPoint {
    static var initial: Self { 0.25 }
    static var shape: Shape { .real }
    init(tree: Tree) throws(Refusal) {
        let value: Self
        switch tree {
        case .integer(let integer): value = Self(integer)
        case .unsigned(let integer): value = Self(integer)
        case .real(let real): value = Self(real)
        case .number(let text): value = Self(Double(text) ?? .nan)
        default: throw .refused
        }
        guard value.isFinite else { throw .refused }
        self = value
    }
    var summary: String { "\(self)" }
}

extension Double: Sample {}
extension Float: Sample {}

// MARK: Other scalars

extension Bool: Sample {
    static var initial: Bool { true }
    static var shape: Shape { .bool }
    init(tree: Tree) throws(Refusal) {
        guard case .bool(let value) = tree else { throw .refused }
        self = value
    }
    var summary: String { "\(self)" }
}

extension String: Sample {
    static var initial: String { "a default that is no small string" }
    static var shape: Shape { .text }
    init(tree: Tree) throws(Refusal) {
        guard case .string(let value) = tree else { throw .refused }
        self = value
    }
    var summary: String { debugDescription }
}

extension Date: Sample {
    static var initial: Date { Date(timeIntervalSinceReferenceDate: -1) }
    private static let texts = ["2001-01-01T00:00:01Z": 1.0, "2001-01-02T00:00:00.5+00:00": 86_400.5]
    static var shape: Shape {
        .oneOf(["12", "-0.5", "true", "\"yesterday\""] + texts.keys.sorted().map { "\"\($0)\"" })
    }
    init(tree: Tree) throws(Refusal) {
        switch tree {
        case .integer(let seconds): self.init(timeIntervalSinceReferenceDate: Double(seconds))
        case .real(let seconds): self.init(timeIntervalSinceReferenceDate: seconds)
        case .string(let text):
            guard let seconds = Self.texts[text] else {
                if text.count > 18 { throw .unsure }
                throw .refused
            }
            self.init(timeIntervalSinceReferenceDate: seconds)
        case .unsigned, .number: throw .unsure
        default: throw .refused
        }
    }
    var summary: String { "\(timeIntervalSinceReferenceDate)" }
}

extension Data: Sample {
    static var initial: Data { Data([1, 2, 3]) }
    static var shape: Shape { .oneOf(["\"\"", "\"AAEC\"", "\"AA==\"", "\"A\"", "7"]) }
    init(tree: Tree) throws(Refusal) {
        guard case .string(let text) = tree, let data = Data(base64Encoded: text) else { throw .refused }
        self = data
    }
    var summary: String { "\(Array(self))" }
}

extension UUID: Sample {
    /// The identifiers made for properties with this input.
    nonisolated(unsafe) static var made: Set<UUID> = []
    static var initial: UUID {
        let identifier = UUID()
        made.insert(identifier)
        return identifier
    }
    static var shape: Shape { .oneOf(["\"E621E1F8-C36C-495A-93FC-0C247A3E6E5F\"", "\"none\"", "1"]) }
    init(tree: Tree) throws(Refusal) {
        guard case .string(let text) = tree, let identifier = UUID(uuidString: text) else { throw .refused }
        self = identifier
    }
    var summary: String { Self.made.contains(self) ? "fresh" : uuidString }
    func collectFresh(_ identifiers: inout [UUID]) { if Self.made.contains(self) { identifiers.append(self) } }
}

/// An object that isn't a member and counts its instances.
final class Token {
    nonisolated(unsafe) static var liveCount = 0
    let summary = "a token"
    init() { Self.liveCount += 1 }
    deinit { Self.liveCount -= 1 }
}

// MARK: Conversions

extension Sample where Self: RawRepresentable & CaseIterable, RawValue: Sample {
    static var initial: Self { allCases[allCases.startIndex] }
    init(tree: Tree) throws(Refusal) {
        guard let value = Self(rawValue: try RawValue(tree: tree)) else { throw .refused }
        self = value
    }
    var summary: String { "\(self)" }
}

enum Color: String, CaseIterable, Sample {
    case red, green, violet = "a colour that is no small string"
    static var shape: Shape { .oneOf(["\"red\"", "\"green\"", "\"\(violet.rawValue)\"", "\"blue\"", "1"]) }
}

enum Level: Int, CaseIterable, Sample {
    case low = -1, middle, high
    static var shape: Shape { .oneOf(["-1", "0", "1", "1.0", "2", "null"]) }
}

enum Code: UInt8, CaseIterable, Sample {
    case none, one, last = 255
    static var shape: Shape { .oneOf(["0", "1", "255", "256", "\"1\""]) }
}

/// A value that is sent as another type.
struct Converted<Form: Sample>: StreamRepresentable, Sample {
    var form: Form
    let token = Token()
    init(representation: Form) { form = representation }
    var representation: Form { form }
    static var initial: Self { Self(representation: .initial) }
    static var shape: Shape { Form.shape }
    init(tree: Tree) throws(Refusal) { form = try Form(tree: tree) }
    var summary: String { "of \(form.summary)" }
    func collectFresh(_ identifiers: inout [UUID]) { form.collectFresh(&identifiers) }
}

// MARK: Containers

extension Optional: Sample where Wrapped: Sample {
    static var initial: Self { nil }
    static var shape: Shape { .optional(Wrapped.shape) }
    init(tree: Tree) throws(Refusal) {
        if case .null = tree { self = nil } else { self = .some(try Wrapped(tree: tree)) }
    }
    var summary: String { map { "(\($0.summary))" } ?? "nil" }
    func collectFresh(_ identifiers: inout [UUID]) { self?.collectFresh(&identifiers) }
}

extension Array: Sample where Element: Sample {
    static var initial: Self { [.initial] }
    static var shape: Shape { .array(Element.shape) }
    init(tree: Tree) throws(Refusal) {
        self = []
        for element in try tree.elements() { append(try Element(tree: element)) }
    }
    var summary: String { "[" + map(\.summary).joined(separator: ", ") + "]" }
    func collectFresh(_ identifiers: inout [UUID]) { for element in self { element.collectFresh(&identifiers) } }
}

extension Dictionary: Sample where Key == String, Value: Sample {
    static var initial: Self { [:] }
    static var shape: Shape { .dictionary(Value.shape) }
    init(tree: Tree) throws(Refusal) {
        self = [:]
        for (name, value) in try tree.members() { self[name] = try Value(tree: value) }
    }
    var summary: String {
        "{"
            + sorted { $0.key < $1.key }.map { "\($0.key.debugDescription): \($0.value.summary)" }
            .joined(separator: ", ") + "}"
    }
    func collectFresh(_ identifiers: inout [UUID]) { for value in values { value.collectFresh(&identifiers) } }
}
