// Converts the scalars of messages to cells of a column's type.

import PlistBuilding
import PlistStreaming
import SQLiteStreaming

/// A cell, or the reason that a value can't be converted.
enum ImportConversion {
    case cell(StagedCell)
    case refusal(StreamError.Kind, String)
}

extension ScalarMessage {
    var isNull: Bool {
        if case .null = unsafe self { return true }
        return false
    }

    /// The type, for messages.
    var typeDescription: String {
        switch unsafe self {
        case .null: "null"
        case .bool: "a Boolean"
        case .integer, .unsigned: "an integer"
        case .real: "a real"
        case .number: "a number beyond 64 bits"
        case .string: "text"
        case .data: "data"
        case .date: "a date"
        }
    }

    /// Makes a cell of a column's type.
    ///
    /// - Parameter limit: The length limit of texts and blobs in bytes.
    func converted(to type: ImportColumn.ValueType, arena: ImportArena, limit: Int) -> ImportConversion {
        // The most common types of columns, each with the message that JSON sends for it.
        switch unsafe (self, type) {
        case (.null, _): .cell(.null)
        case (.integer(let value), .integer), (.integer(let value), .any): .cell(.integer(value))
        case (.string(let text), .text), (.string(let text), .any):
            unsafe Self.stage(text, .text, arena: arena, limit: limit)
        case (.real(let value), .real), (.real(let value), .any):
            value.isNaN
                ? .refusal(.unrepresentable, SQLiteValue.foundNaN) : .cell(.real(value))
        case (.bool(let value), .boolean), (.bool(let value), .any): .cell(.integer(value ? 1 : 0))
        default: unsafe convertedByRule(to: type, arena: arena, limit: limit)
        }
    }

    @inline(never)
    private func convertedByRule(to type: ImportColumn.ValueType, arena: ImportArena, limit: Int) -> ImportConversion {
        switch unsafe (self, type) {
        case (.real(let value), .integer):
            if let integer = Int64(exactly: value) { return .cell(.integer(integer)) }
        case (.number(let text), .integer) where unsafe !NumberText.isWhole(text.bytes): break
        case (.number(let text), .integer):
            if let integer = unsafe NumberText.integer(text.bytes, as: Int64.self) { return .cell(.integer(integer)) }
            return .refusal(.unrepresentable, "expected an integer of 64 bits, found a larger one")
        case (.unsigned, .integer):
            return .refusal(.unrepresentable, "expected an integer of 64 bits, found a larger one")
        case (.string(let text), .integer):
            // Keys written as text in one place and as numbers in another are equal.
            let text = unsafe String(decoding: text, as: UTF8.self)
            if let integer = Int64(text), String(integer) == text { return .cell(.integer(integer)) }
            return .refusal(.typeMismatch, "expected an integer, found other text")
        case (.integer(let value), .real): return unsafe Self.exactReal(value)
        case (.unsigned(let value), .real): return unsafe Self.exactReal(value)
        case (.number(let text), .real) where unsafe !NumberText.isInteger(text.bytes):
            switch unsafe try? NumberText.kept(text.bytes, rounding: true) {
            case .integer(let value): return unsafe Self.exactReal(value)
            case .real(let value): return .cell(.real(value))
            case nil: return .refusal(.unrepresentable, "expected a real of 64 bits, found another number")
            }
        case (.number(let text), .real):
            let value = unsafe Double(String(decoding: text, as: UTF8.self))
            if let value, value.isFinite {
                return unsafe Self.isExactReal(text) ? .cell(.real(value)) : Self.inexactReal
            }
            return .refusal(.unrepresentable, "expected a real of 64 bits, found a larger number")
        case (.string(let text), .real):
            let isNumber = unsafe text.first.map { $0 == 0x2D || (0x30...0x39).contains($0) } ?? false
            if isNumber, unsafe NumberText.real(text.bytes, as: Double.self) != nil {
                return unsafe ScalarMessage.number(text).convertedByRule(to: .real, arena: arena, limit: limit)
            }
            return .refusal(.typeMismatch, "expected a number, found other text")
        case (.integer(let value), .text): return unsafe Self.stage("\(value)", arena: arena)
        // Like all numbers that don't fit into a signed 64-bit integer.
        case (.unsigned(let value), .text), (.unsigned(let value), .any):
            return unsafe Self.stage("\(value)", arena: arena)
        case (.number(let text), .text), (.number(let text), .any):
            if case .any = type {
                switch unsafe try? NumberText.kept(text.bytes, rounding: true) {
                case .integer(let value): return .cell(.integer(value))
                case .real(let value): return .cell(.real(value))
                case nil: break
                }
            }
            return unsafe Self.stage(text, .text, arena: arena, limit: limit)
        case (.integer(let value), .boolean) where value == 0 || value == 1: return .cell(.integer(value))
        case (.data(let bytes), .blob), (.data(let bytes), .any):
            return unsafe Self.stage(bytes, .blob, arena: arena, limit: limit)
        case (.date(let seconds), .date(let format)): return unsafe Self.stage(seconds, as: format, arena: arena)
        case (.date(let seconds), .any): return unsafe Self.stage(seconds, as: .text, arena: arena)
        case (.string(let text), .date(let format)):
            if let seconds = unsafe DateText.secondsSince2001(text) {
                return unsafe Self.stage(seconds, as: format, arena: arena)
            }
            return .refusal(.typeMismatch, "expected a date, found other text")
        default: break
        }
        return unsafe .refusal(.typeMismatch, "expected \(type.typeDescription), found \(typeDescription)")
    }

    private static func exactReal(_ value: some BinaryInteger) -> ImportConversion {
        unsafe Double(exactly: value).map { .cell(.real($0)) } ?? inexactReal
    }

    private static var inexactReal: ImportConversion {
        .refusal(
            .unrepresentable, "expected a number that a double represents exactly, found an integer with more digits")
    }

    /// Returns whether the text of a finite number is not an integer, or an integer with at most 53 significant bits.
    static func isExactReal(_ text: UnsafeRawBufferPointer) -> Bool {
        // The lowest limb comes first; a finite number has at most 309 digits.
        var limbs: [UInt64] = []
        for index in text.indices {
            let byte = unsafe text[index]
            if byte == 0x2D { continue }
            guard (0x30...0x39).contains(byte) else { return true }
            var carry = UInt64(byte - 0x30)
            for limb in limbs.indices {
                carry += limbs[limb] * 10
                limbs[limb] = carry & 0xFFFF_FFFF
                carry >>= 32
            }
            if carry > 0 { limbs.append(carry) }
        }
        guard let first = limbs.firstIndex(where: { $0 > 0 }), let last = limbs.last else { return true }
        let highest = (limbs.count - 1) * 32 + (64 - last.leadingZeroBitCount)
        return highest - (first * 32 + limbs[first].trailingZeroBitCount) <= 53
    }

    private static func stage(
        _ bytes: UnsafeRawBufferPointer, _ tag: StagedCell.Tag, arena: ImportArena, limit: Int
    ) -> ImportConversion {
        guard bytes.count <= limit else {
            return .refusal(
                .limitExceeded, "expected at most \(limit) bytes, the limit of the connection, found \(bytes.count)")
        }
        if tag == .text, let offset = unsafe TextCheck.firstNUL(in: bytes.bytes) {
            let error = TextCheck.foundNUL(at: offset)
            return .refusal(error.kind, error.message)
        }
        return .cell(
            StagedCell(
                bits: UInt64(unsafe arena.append(bytes)), length: UInt32(truncatingIfNeeded: bytes.count), tag: tag))
    }

    private static func stage(_ text: String, arena: ImportArena) -> ImportConversion {
        text.withUTF8Span { span in
            // SAFETY: the bytes are copied within the closure.
            unsafe span.withUnsafeBytes { unsafe stage($0, .text, arena: arena, limit: .max) }
        }
    }

    private static func stage(_ seconds: Double, as format: SQLiteDateFormat, arena: ImportArena) -> ImportConversion {
        guard seconds.isFinite else {
            return .refusal(.unrepresentable, "expected a date of a finite number of seconds")
        }
        switch format.stored(secondsSince2001: seconds) {
        case .real(let value): return .cell(.real(value))
        case .text(let text): return unsafe stage(text, arena: arena)
        default: return .refusal(.unrepresentable, SQLiteDateFormat.foundOtherYears)
        }
    }
}

extension ImportColumn.ValueType {
    /// The type with its article, for messages.
    var typeDescription: String {
        switch self {
        case .integer: "an integer"
        case .real: "a number"
        case .text: "text"
        case .blob: "data"
        case .boolean: "a Boolean"
        case .date: "a date"
        case .any: "a scalar"
        }
    }
}
