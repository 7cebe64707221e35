// Converts the text of a field to a message, depending on the type as which it is read.

import PlistBuilding
import PlistStreaming

/// The kind of value for the fields of a column.
@usableFromInline
enum FieldKind: Sendable, Hashable {
    /// Strings; empty unquoted fields are null if that is allowed.
    case text(emptyIsNull: Bool)
    case inferred, number, integer, real, bool, date
    /// The type of a member: a string if the member accepts one, otherwise the type inferred from the field.
    case member

    init(_ type: CSVFieldType) {
        switch type {
        case .text: self = .text(emptyIsNull: false)
        case .inferred: self = .inferred
        case .number: self = .number
        case .integer: self = .integer
        case .real: self = .real
        case .bool: self = .bool
        case .date: self = .date
        }
    }

    init(_ type: ColumnType) {
        switch type {
        case .integer: self = .integer
        case .real: self = .real
        case .bool: self = .bool
        case .string: self = .text(emptyIsNull: true)
        }
    }

    /// Creates the kind that a sink expects; nil for text and for nonscalar values.
    init?(_ expected: ExpectedValue.Kind) {
        switch expected {
        case .integer: self = .integer
        case .real, .number: self = .number
        case .bool: self = .bool
        case .any, .nothing, .text, .array, .dictionary: return nil
        }
    }

    /// Creates the kind for a member that is stored with a fast kind; nil if the kind is unknown.
    init?(_ kind: FastKind) {
        switch kind {
        case .integer, .optionalInteger, .int8, .int16, .int32, .uint8, .uint16, .uint32, .uint64: self = .integer
        case .real, .optionalReal, .float: self = .real
        case .bool, .optionalBool, .columnBool: self = .bool
        case .string: self = .text(emptyIsNull: false)
        case .optionalString, .columnString: self = .text(emptyIsNull: true)
        case .value: self = .member
        case .none: return nil
        }
    }

    /// Returns the message for a field; its bytes are those of the text.
    ///
    /// - Throws: `typeMismatch` with up to 64 bytes of the text.
    func message(_ text: UnsafeRawBufferPointer, isQuoted: Bool) throws(StreamError) -> ScalarMessage {
        if unsafe text.isEmpty, !isQuoted || !takesEmptyText { return unsafe takesNull ? .null : .string(text) }
        switch self {
        case .text: return unsafe .string(text)
        case .inferred: return unsafe isQuoted ? .string(text) : Self.inferred(ScalarMessage(exactNumberIn: text), text)
        case .member: return unsafe isQuoted ? .string(text) : Self.inferred(ScalarMessage(numberIn: text), text)
        case .number:
            if let message = unsafe ScalarMessage(numberIn: text) { return unsafe message }
            throw unsafe Self.mismatch("a number", text)
        case .integer:
            if let message = unsafe Self.integer(text) { return unsafe message }
            throw unsafe Self.mismatch("an integer", text)
        case .real:
            if let message = unsafe Self.real(text) { return unsafe message }
            throw unsafe Self.mismatch("a number", text)
        case .bool:
            switch unsafe Self.word(text) {
            case "true", "1": return unsafe .bool(true)
            case "false", "0": return unsafe .bool(false)
            default: throw unsafe Self.mismatch("true or false", text)
            }
        case .date:
            if let seconds = unsafe DateText.secondsSince2001(text) { return unsafe .date(seconds) }
            throw unsafe Self.mismatch("a date and time such as 2001-01-31T12:00:00Z", text)
        }
    }

    private var takesEmptyText: Bool {
        switch self {
        case .text, .inferred, .member: true
        case .number, .integer, .real, .bool, .date: false
        }
    }

    private var takesNull: Bool { self != .text(emptyIsNull: false) }

    /// Returns a short text for comparison with keywords.
    private static func word(_ text: UnsafeRawBufferPointer) -> String {
        unsafe text.count <= 5 ? String(decoding: text, as: UTF8.self) : ""
    }

    private static func inferred(_ number: ScalarMessage?, _ text: UnsafeRawBufferPointer) -> ScalarMessage {
        if let number = unsafe number { return unsafe number }
        switch unsafe word(text) {
        case "true": return unsafe .bool(true)
        case "false": return unsafe .bool(false)
        default: return unsafe .string(text)
        }
    }

    private static func integer(_ text: UnsafeRawBufferPointer) -> ScalarMessage? {
        let span = unsafe text.bytes
        if let value = NumberText.integer(span, as: Int64.self) { return unsafe .integer(value) }
        if let value = NumberText.integer(span, as: UInt64.self) { return unsafe .unsigned(value) }
        return unsafe NumberText.isWhole(span) ? .number(text) : nil
    }

    private static func real(_ text: UnsafeRawBufferPointer) -> ScalarMessage? {
        guard let message = unsafe ScalarMessage(numberIn: text) else { return nil }
        if case .integer(let value) = unsafe message, let real = Double(exactly: value) { return unsafe .real(real) }
        return unsafe message
    }

    private static func mismatch(_ expected: String, _ text: UnsafeRawBufferPointer) -> StreamError {
        unsafe StreamError(.typeMismatch, "expected \(expected), found \(ShownText.quoted(text))")
    }
}

extension ScalarMessage {
    /// Creates the number in a text that has the same spelling as a writer's output; nil for other text, such as
    /// `1.10`, `1e5` and `-0`.
    ///
    /// Writers spell exponents in different ways, so a number with one is sent with its text.
    init?(exactNumberIn text: UnsafeRawBufferPointer) {
        unsafe self.init(numberIn: text)
        switch unsafe self {
        case .real(let value):
            guard unsafe text.elementsEqual(value.description.utf8) else { return nil }
            if unsafe text.contains(UInt8(ascii: "e")) { unsafe self = .number(text) }
        case .number: return nil
        default: break
        }
    }
}
