// Converts the nodes of a tape to values: scalars, arrays, the types with special handling, and all others with their
// own initializers.

import PlistBuilding
import PlistStreaming

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

extension DecodingContext {
    // MARK: Scalars

    func decode(_ type: Bool.Type, at index: Int) throws -> Bool {
        switch node(index).tag {
        case .yes: return true
        case .no: return false
        case .string:
            if let bool = bool(inTextAt: index) { return bool }
        default:
            if let text = textMember(of: index) { return try decode(type, at: text) }
        }
        throw mismatch(type, "a Boolean", at: index)
    }

    @inline(__always)  // PERF: JSONRecords/foundation; once a string.
    func decode(_ type: String.Type, at index: Int) throws -> String {
        let node = node(index)
        if node.has(.string) { return string(of: node) }
        if let text = textMember(of: index) { return try decode(type, at: text) }
        throw mismatch(type, "a string", at: index)
    }

    @inline(__always)  // PERF: JSONTyped/coordinates; once a number.
    func decode(_ type: Double.Type, at index: Int) throws -> Double {
        let node = node(index)
        return node.has(.real) ? Double(bitPattern: node.payload) : try real(type, at: index)
    }

    func decode(_ type: Float.Type, at index: Int) throws -> Float { try real(type, at: index) }

    @inline(__always)  // PERF: JSONRecords/foundation; specializes each type of integer.
    func decode<Value: FixedWidthInteger & Decodable>(_ type: Value.Type, at index: Int) throws -> Value {
        let node = node(index)
        if node.has(.integer), let value = Value(exactly: Int64(bitPattern: node.payload)) { return value }
        return try integer(type, at: index)
    }

    @inline(never)
    func integer<Value: FixedWidthInteger>(_ type: Value.Type, at index: Int) throws -> Value {
        let node = node(index)
        switch node.tag {
        case .integer:
            if let value = Value(exactly: Int64(bitPattern: node.payload)) { return value }
        case .unsigned:
            if let value = Value(exactly: node.payload) { return value }
        case .real:
            let real = Double(bitPattern: node.payload)
            // Up to here, readers send text if the double differs from the number; wider integers need the text beyond
            // this.
            if real.magnitude <= 0x1p64 {
                if let value = Value(exactly: real) { return value }
            } else if Value.bitWidth > 64, let text = numberText(at: index),
                let value = text.withUTF8Span({ NumberText.integer($0, as: Value.self) })
            {
                return value
            }
        case .number:
            if let value = unsafe withBytes(of: node, { unsafe NumberText.integer($0.bytes, as: Value.self) }) {
                return value
            }
        case .string:
            var value: Value?
            let isNumber = withNumber(inTextAt: index) { text in
                if let short = NumberText.shortInteger(text) {
                    value = Value(exactly: short)
                } else {
                    value = NumberText.integer(text, as: Value.self)
                }
            }
            if let value { return value }
            if !isNumber { throw mismatch(type, "an integer", at: index) }
        default:
            if let text = textMember(of: index) { return try integer(type, at: text) }
            throw mismatch(type, "an integer", at: index)
        }
        throw corrupted("the number \(shownNumber(node)) does not fit in \(type)", at: index)
    }

    @inline(never)
    private func real<Value: BinaryFloatingPoint>(_ type: Value.Type, at index: Int) throws -> Value {
        let node = node(index)
        let value: Value?
        switch node.tag {
        case .real:
            let real = Double(bitPattern: node.payload)
            let rounded = Value(real)
            value = rounded.isFinite || !real.isFinite ? rounded : nil
        case .integer: value = Value(Int64(bitPattern: node.payload))
        case .unsigned: value = Value(node.payload)
        case .number: value = unsafe withBytes(of: node) { unsafe NumberText.real($0.bytes, as: Value.self) }
        case .string:
            var found: Value?
            let isNumber = withNumber(inTextAt: index) { text in
                if type == Double.self {
                    found = NumberText.real(text, as: Double.self) as? Value
                } else {
                    found = NumberText.real(text, as: Value.self)
                }
            }
            guard isNumber else { return try nonConforming(type, at: index) }
            value = found
        default: return try nonConforming(type, at: index)
        }
        guard let value else {
            throw corrupted("the number \(shownNumber(node)) does not fit in \(type)", at: index)
        }
        return value
    }

    /// Returns an infinity or NaN for the strings that represent them.
    private func nonConforming<Value: BinaryFloatingPoint>(_ type: Value.Type, at index: Int) throws -> Value {
        let node = node(index)
        if case .convertFromString(let positive, let negative, let nan) = options.nonConformingFloats,
            node.has(.string)
        {
            switch string(of: node) {
            case positive: return .infinity
            case negative: return -.infinity
            case nan: return .nan
            default: break
            }
        }
        if let text = textMember(of: index) { return try real(type, at: text) }
        throw mismatch(type, "a number", at: index)
    }

    // MARK: Values of any type

    @inline(__always)  // PERF: JSONTyped; once a value that isn't a common scalar.
    func decode<Value: Decodable>(_ type: Value.Type, at index: Int) throws -> Value {
        try decode(type, kind(of: type), at: index)
    }

    /// Decodes a value of a type with a known kind.
    @inline(__always)  // PERF: see above.
    func decode<Value: Decodable>(_ type: Value.Type, _ kind: CodedKind, at index: Int) throws -> Value {
        if kind == .other { return try Value(from: ValueDecoder(context: self, index: index)) }
        return try decodeKnown(type, kind, at: index)
    }

    /// Decodes a type with special handling.
    @inline(never)
    private func decodeKnown<Value: Decodable>(_ type: Value.Type, _ kind: CodedKind, at index: Int) throws -> Value {
        // SAFETY: a value of the type is stored unless an error is thrown, and is moved out before another one is
        // stored.
        try store(type, kind, at: index)
        return unsafe scratch.assumingMemoryBound(to: Value.self).move()
    }

    // PERF: JSONTyped/catalogue; one function for all types, with a case for each type.
    /// Stores a value of a type with special handling; the kind determines the type.
    private func store(_ type: Any.Type, _ kind: CodedKind, at index: Int) throws {
        func put<Known>(_ value: consuming Known) {
            precondition(
                type == Known.self && MemoryLayout<Known>.size <= Self.scratchSize, "a kind stands for one type")
            // SAFETY: the line above checks that the types are the same, and the memory has capacity for one value.
            unsafe scratch.initializeMemory(as: Known.self, to: value)
        }
        switch kind {
        case .date, .data, .url, .decimal:
            if node(index).has(.null) { throw mismatch(type, "a value", at: index) }
        default: break
        }
        switch kind {
        case .other: throw corrupted("\(type) can't be decoded", at: index)
        case .array, .dictionary:
            guard let collection = collection(for: type) else {
                throw corrupted("\(type) can't be decoded", at: index)
            }
            // SAFETY: arrays and dictionaries have the size of one reference; this is the requested type.
            try unsafe collection.decode(self, at: index, to: scratch)
        case .bool: put(try decode(Bool.self, at: index))
        case .string: put(try decode(String.self, at: index))
        case .double: put(try decode(Double.self, at: index))
        case .int: put(try decode(Int.self, at: index))
        case .date: put(try date(at: index))
        case .data: put(try data(at: index))
        case .url: put(try url(at: index))
        case .decimal:
            put(try decimal(at: index))
        case .ints: put(try elements(at: index) { (context, index) throws in try context.decode(Int.self, at: index) })
        case .doubles:
            put(try elements(at: index) { (context, index) throws in try context.decode(Double.self, at: index) })
        case .strings:
            put(try elements(at: index) { (context, index) throws in try context.decode(String.self, at: index) })
        }
    }

    /// Decodes a URL: a string, or the dictionary that Foundation's property list encoder writes, because it lets a URL
    /// encode itself.
    private func url(at index: Int) throws -> URL {
        if node(index).has(.dictionary), let url = try? URL(from: ValueDecoder(context: self, index: index)) {
            return url
        }
        guard let url = URL(string: try decode(String.self, at: index)) else {
            throw corrupted("expected a valid URL", at: index)
        }
        return url
    }

    /// Returns the number of elements of an array, and the index of the first one.
    @inline(__always)  // PERF: JSONTyped/catalogue; once an array.
    func elements(at index: Int) throws -> (count: Int, first: Int) {
        let node = node(index)
        if node.has(.array) { return (node.count, index &+ 1) }
        guard types == .elements, !node.has(.null) else { throw mismatch([Any].self, "an array", at: index) }
        return (1, index)
    }

    /// Decodes the elements of an array.
    @inline(__always)  // PERF: see above; specializes the closure.
    func elements<Element>(at index: Int, _ decode: (DecodingContext, Int) throws -> Element) throws -> [Element] {
        var (count, next) = try elements(at: index)
        func element() throws -> Element {
            let index = next
            next = after(index)
            return try decode(self, index)
        }
        // PERF: see `Array.decode`.
        switch count {
        case 0: return []
        case 1: return [try element()]
        case 2: return [try element(), try element()]
        case 3: return [try element(), try element(), try element()]
        default:
            return try unsafe [Element](unsafeUninitializedCapacity: count) { buffer, initializedCount in
                let elements = unsafe buffer.baseAddress.unsafelyUnwrapped
                while initializedCount < count {
                    // SAFETY: the count of elements is below the capacity.
                    unsafe (elements + initializedCount).initialize(to: try element())
                    initializedCount &+= 1
                }
            }
        }
    }

    private func date(at index: Int) throws -> Date {
        let index = textMember(of: index) ?? index
        let node = node(index)
        if node.has(.date) { return Date(timeIntervalSinceReferenceDate: Double(bitPattern: node.payload)) }
        switch options.dates {
        case .native where node.has(.string):
            guard let seconds = unsafe withBytes(of: node, { unsafe DateText.secondsSince2001($0) }) else {
                throw corrupted("expected a date such as 2001-01-31T12:00:00Z", at: index)
            }
            return Date(timeIntervalSinceReferenceDate: seconds)
        case .native:
            let seconds = try decode(Double.self, at: index) + options.nativeDateOrigin
            return Date(timeIntervalSinceReferenceDate: seconds)
        case .secondsSince2001: return Date(timeIntervalSinceReferenceDate: try decode(Double.self, at: index))
        case .secondsSince1970: return Date(timeIntervalSince1970: try decode(Double.self, at: index))
        case .millisecondsSince1970: return Date(timeIntervalSince1970: try decode(Double.self, at: index) / 1_000)
        case .iso8601:
            let text = try decode(String.self, at: index)
            guard let date = ISO8601Text.date(text) else {
                throw corrupted("expected an ISO 8601 date", at: index)
            }
            return date
        case .custom(let decode): return try decode(ValueDecoder(context: self, index: index))
        }
    }

    private func data(at index: Int) throws -> Data {
        let node = node(index)
        if node.has(.data) { return unsafe withBytes(of: node) { unsafe Data($0) } }
        switch options.bytes {
        case .deferredToData: return try Data(from: ValueDecoder(context: self, index: index))
        case .base64:
            guard let data = Data(base64Encoded: try decode(String.self, at: index)) else {
                throw corrupted("expected base64 data", at: index)
            }
            return data
        case .custom(let decode): return try decode(ValueDecoder(context: self, index: index))
        }
    }

    private func decimal(at index: Int) throws -> Decimal {
        let index = textMember(of: index) ?? index
        let node = node(index)
        let decimal: Decimal? =
            switch node.tag {
            case .integer: Decimal(Int64(bitPattern: node.payload))
            case .unsigned: Decimal(node.payload)
            case .real: Decimal(string: try decimalText(at: index))
            case .number: Decimal(string: string(of: node))
            case .string: try decimal(inTextAt: index)
            default: throw mismatch(Decimal.self, "a number", at: index)
            }
        guard let decimal else {
            throw corrupted("the number \(shownNumber(node)) does not fit in Decimal", at: index)
        }
        return decimal
    }

    /// Returns the digits of a real.
    ///
    /// - Throws: `DecodingError` if only a double is available, and its text may have had more digits.
    private func decimalText(at index: Int) throws -> String {
        if let text = numberText(at: index) { return text }
        let text = "\(Double(bitPattern: node(index).payload))"
        // Each text of at most 15 digits has its own double.
        let isExact = text.withUTF8Span { DecimalNumber($0).map { $0.mantissa < 1_000_000_000_000_000 } ?? true }
        guard hasRoundedReals, !isExact else { return text }
        throw corrupted(
            "the number \(text) may have lost digits, since numbers of more than 15 digits come as doubles; "
                + "decode the whole document as JSON, or write such numbers as strings", at: index)
    }

    private func decimal(inTextAt index: Int) throws -> Decimal? {
        var decimal: Decimal?
        let isNumber = withNumber(inTextAt: index) { text in
            decimal = String(validating: text).flatMap { Decimal(string: $0) }
        }
        guard isNumber else { throw mismatch(Decimal.self, "a number", at: index) }
        return decimal
    }

    /// Returns the value as a separate list.
    func list(at index: Int) throws -> PropertyList {
        guard index >= 0 else { return PropertyList(nilLiteral: ()) }
        var builder = PropertyListBuilder(depthLimit: .max)
        try DecodingTape.send(index, of: self, to: &builder)
        return try builder.takeResult()
    }

    // MARK: Errors

    /// Checks that the stack is large enough for another container; types decode themselves and their contents.
    @inline(__always)  // PERF: JSONTyped; a comparison once a container.
    func checkStack(at index: Int) throws {
        if StackBounds.isBeyond(stackLimit) { throw tooDeep(at: index) }
    }

    @inline(never)
    private func tooDeep(at index: Int) -> any Error {
        let error = StreamError(.limitExceeded, "more levels of nesting than the stack of the thread allows")
        return DecodingError.dataCorrupted(
            DecodingError.Context(
                codingPath: path(of: index), debugDescription: error.message, underlyingError: error))
    }

    @inline(never)
    func mismatch(_ type: Any.Type, _ expected: String, at index: Int) -> any Error {
        let tag = node(index).tag
        // PERF: types that try several decoders cause several errors per value.
        let found = "expected " + expected + ", found " + Self.kindNames[Int(tag.rawValue)]
        let context = DecodingError.Context(codingPath: path(of: index), debugDescription: found)
        return tag == .null ? DecodingError.valueNotFound(type, context) : DecodingError.typeMismatch(type, context)
    }

    /// The names of the types of values, by tag.
    private static let kindNames = (0...TapeNode.Tag.dictionary.rawValue).map { tag in
        "\((TapeNode.Tag(rawValue: tag) ?? .null).kind)"
    }

    @inline(never)
    func corrupted(_ description: String, at index: Int) -> any Error {
        DecodingError.dataCorrupted(DecodingError.Context(codingPath: path(of: index), debugDescription: description))
    }

    /// Returns a number as it is shown in errors.
    private func shownNumber(_ node: TapeNode) -> String {
        switch node.tag {
        case .integer: return "\(Int64(bitPattern: node.payload))"
        case .unsigned: return "\(node.payload)"
        case .number, .string: return ShownText.shortened(string(of: node).utf8)
        default:
            let value = Double(bitPattern: node.payload)
            return Int64(exactly: value).map { "\($0)" } ?? "\(value)"
        }
    }
}

/// An array, or a dictionary with string keys, whose values are decodable.
protocol DecodableCollection {
    /// Decodes a value and stores it in uninitialized memory.
    @unsafe
    static func decode(_ context: DecodingContext, at index: Int, to address: UnsafeMutableRawPointer) throws
}

extension Array: DecodableArray where Element: Decodable {}

/// An array of decodable values.
@usableFromInline
protocol DecodableArray {}

extension Array: DecodableCollection where Element: Decodable {
    @unsafe
    static func decode(_ context: DecodingContext, at index: Int, to address: UnsafeMutableRawPointer) throws {
        var (count, next) = try context.elements(at: index)
        try context.checkStack(at: index)
        let kind = context.kind(of: Element.self)
        let array: [Element]
        // PERF: JSONTyped/catalogue; a literal needs one lookup of a storage type, any other array several.
        switch count {
        case 0: array = []
        case 1: array = [try element(context, kind, &next)]
        case 2: array = [try element(context, kind, &next), try element(context, kind, &next)]
        case 3:
            array = [
                try element(context, kind, &next), try element(context, kind, &next), try element(context, kind, &next),
            ]
        default:
            array = try unsafe [Element](unsafeUninitializedCapacity: count) { buffer, initializedCount in
                let elements = unsafe buffer.baseAddress.unsafelyUnwrapped
                while initializedCount < count {
                    // SAFETY: the count of elements is below the capacity.
                    unsafe (elements + initializedCount).initialize(to: try element(context, kind, &next))
                    initializedCount &+= 1
                }
            }
        }
        // PERF: JSONTyped/catalogue; naming the type `[Element]` here needs a lookup, which takes longer than a short
        // array. SAFETY: the caller has memory for an array, which is one reference to its storage; the reference is
        // counted.
        let storage = unsafe unsafeBitCast(array, to: AnyObject.self)
        unsafe address.storeBytes(of: Unmanaged.passRetained(storage), as: Unmanaged<AnyObject>.self)
    }

    @inline(__always)  // PERF: see above; once an element.
    private static func element(_ context: DecodingContext, _ kind: CodedKind, _ next: inout Int) throws -> Element {
        let index = next
        next = context.after(index)
        return try context.decode(Element.self, kind, at: index)
    }
}

extension Dictionary: DecodableCollection where Key == String, Value: Decodable {
    // The standard library's implementation requests the list of keys, and then looks up each of them.
    @unsafe
    static func decode(_ context: DecodingContext, at index: Int, to address: UnsafeMutableRawPointer) throws {
        let node = context.dictionary(at: index)
        guard node.has(.dictionary) else { throw context.mismatch([String: Any].self, "a dictionary", at: index) }
        try context.checkStack(at: index)
        context.noteExactKeys(of: index)
        let kind = context.kind(of: Value.self)
        var dictionary = Self(minimumCapacity: node.count)
        var next = index &+ 1
        while next < node.end {
            let member = next
            next = context.after(member)
            let key = context.name(of: Int(context.node(member).key))
            // If names are equal strings with different bytes, the last one counts.
            dictionary.updateValue(try context.decode(Value.self, kind, at: member), forKey: key)
        }
        unsafe address.initializeMemory(as: Self.self, to: dictionary)
    }
}
