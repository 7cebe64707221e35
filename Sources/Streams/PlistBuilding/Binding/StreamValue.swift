// The protocol for the types of members, and the scalars of the standard library.

import PlistStreaming

/// A type whose values can be built from messages and sent as messages.
///
/// Integers, floating-point numbers, Booleans, strings, `PropertyList`, Foundation's `Date`, `Data`, `URL` and `UUID`, and
/// optionals, arrays and dictionaries of such types conform.
///
/// To make other types conform:
///
/// - For an enumeration with raw values, write `extension Color: StreamValue {}`.
/// - For a structure or class, use ``StreamObject``.
/// - For any other type, use ``StreamRepresentable``.
public protocol StreamValue {
    /// The way to read and write values of the type. Each kind of type provides it.
    ///
    /// A type must have the binding of its own kind. The binding of another type is an error when the type is bound.
    static var streamBinding: StreamBinding { get }
}

// MARK: Numbers

extension FixedWidthInteger where Self: StreamValue {
    /// The binding of an integer. It reads any number that is an integer and fits into the type.
    public static var streamBinding: StreamBinding {
        unsafe .scalar("an integer", fast: kind, text: .integer, read: integer) { value in
            Int64(exactly: value).map { .integer($0) }
                ?? UInt64(exactly: value).map { .unsigned($0) } ?? .number("\(value)")
        }
    }

    /// The memory layout of the standard library's integers.
    private static var kind: FastKind {
        switch ObjectIdentifier(self) {
        case ObjectIdentifier(Int.self), ObjectIdentifier(Int64.self): bitWidth == 64 ? .integer : .int32
        case ObjectIdentifier(Int8.self): .int8
        case ObjectIdentifier(Int16.self): .int16
        case ObjectIdentifier(Int32.self): .int32
        case ObjectIdentifier(UInt8.self): .uint8
        case ObjectIdentifier(UInt16.self): .uint16
        case ObjectIdentifier(UInt32.self): .uint32
        case ObjectIdentifier(UInt.self), ObjectIdentifier(UInt64.self): bitWidth == 64 ? .uint64 : .uint32
        default: .none
        }
    }

    private static func integer(_ message: ScalarMessage) throws(StreamError) -> Self {
        let value: Self?
        switch unsafe message {
        case .integer(let integer): value = Self(exactly: integer)
        case .unsigned(let integer): value = Self(exactly: integer)
        case .real(let real):
            guard real.rounded(.towardZero) == real else {
                throw unsafe StreamPlan.mismatch(expected: "an integer", message)
            }
            value = Self(exactly: real)
        case .number(let text):
            guard unsafe NumberText.isWhole(text.bytes) else {
                throw unsafe StreamPlan.mismatch(expected: "an integer", message)
            }
            value = unsafe NumberText.integer(text.bytes, as: Self.self)
        default: throw unsafe StreamPlan.mismatch(expected: "an integer", message)
        }
        guard let value else {
            throw unsafe StreamError(
                .unrepresentable, "expected an integer from \(Self.min) to \(Self.max), found \(message.summary)")
        }
        return value
    }
}

extension Int: StreamValue {}
extension Int8: StreamValue {}
extension Int16: StreamValue {}
extension Int32: StreamValue {}
extension Int64: StreamValue {}
extension UInt: StreamValue {}
extension UInt8: StreamValue {}
extension UInt16: StreamValue {}
extension UInt32: StreamValue {}
extension UInt64: StreamValue {}

extension BinaryFloatingPoint where Self: StreamValue {
    /// The binding of a floating-point number. It reads any number, rounded to the nearest value of the type.
    public static var streamBinding: StreamBinding {
        let fast: FastKind = Self.self == Double.self ? .real : Self.self == Float.self ? .float : .none
        return unsafe .scalar("a number", fast: fast, text: fast == .real ? .real : .number, read: number) { value in
            .real((value as? Float).map { Double(digitsOf: $0) } ?? Double(value))
        }
    }

    private static func number(_ message: ScalarMessage) throws(StreamError) -> Self {
        switch unsafe message {
        case .integer(let integer): return Self(integer)
        case .unsigned(let integer): return Self(integer)
        case .real(let real):
            let value = Self(real)
            if value.isFinite || !real.isFinite { return value }
        case .number(let text):
            if let real = unsafe NumberText.real(text.bytes, as: Self.self) { return real }
        default: throw unsafe StreamPlan.mismatch(expected: "a number", message)
        }
        throw unsafe StreamError(
            .unrepresentable, "expected a number within the range of \(Self.self), found \(message.summary)")
    }
}

extension Double: StreamValue {}
extension Float: StreamValue {}

extension Double {
    /// Creates the double that is written with the digits of a float: 0.1 for 0.1, whose exact value as a float is
    /// 0.10000000149011612.
    ///
    /// No other float is nearer to the double, so reading gives the same float.
    package init(digitsOf value: Float) {
        let exact = Double(value)
        // Integers of up to 24 bits have the same digits.
        if !exact.isFinite || exact.magnitude < 16_777_216 && exact == exact.rounded(.towardZero) {
            self = exact
        } else {
            let written = Double("\(value)") ?? exact
            self = Float(written) == value ? written : exact
        }
    }
}

// MARK: Other scalars

extension Bool: StreamValue {
    /// The binding of a Boolean. It reads true or false, but no numbers.
    public static var streamBinding: StreamBinding {
        unsafe .scalar(
            "a Boolean", fast: .bool, text: .bool,
            read: { (message) throws(StreamError) -> Bool in
                if case .bool(let value) = unsafe message { return value }
                throw unsafe StreamPlan.mismatch(expected: "a Boolean", message)
            }, get: { .bool($0) })
    }
}

extension String: StreamValue {
    /// The binding of a string.
    public static var streamBinding: StreamBinding {
        unsafe .scalar(
            "a string", fast: .string,
            read: { (message) throws(StreamError) -> String in
                if case .string(let bytes) = unsafe message { return unsafe String(decoding: bytes, as: UTF8.self) }
                throw unsafe StreamPlan.mismatch(expected: "a string", message)
            }, get: { .string($0) })
    }
}

// MARK: Containers

extension Optional: StreamValue where Wrapped: StreamValue {
    /// The binding of an optional. Null becomes nil.
    public static var streamBinding: StreamBinding {
        StreamBinding { (binder) throws(StreamError) in
            let wrapped = try binder.plan(for: Wrapped.self)
            let fast: FastKind =
                switch wrapped.fast {
                case .integer: .optionalInteger
                case .real: .optionalReal
                case .string: .optionalString
                case .bool: .optionalBool
                default: .none
                }
            return unsafe StreamPlan(
                ValueOperations(of: Self.self), fast: fast, expectation: wrapped.expectation,
                shape: .optional(wrapped))
        }
    }
}

extension Array: StreamValue where Element: StreamValue {
    /// The binding of an array.
    public static var streamBinding: StreamBinding {
        StreamBinding { (binder) throws(StreamError) in
            let element = try binder.plan(for: Element.self)
            let plan = unsafe StreamPlan(
                ValueOperations(of: Self.self), expectation: "an array", shape: .array(element))
            plan.isBytes = Element.self == UInt8.self
            return plan
        }
    }
}

extension Dictionary: StreamValue where Key == String, Value: StreamValue {
    /// The binding of a dictionary with string keys.
    public static var streamBinding: StreamBinding {
        StreamBinding { (binder) throws(StreamError) in
            let value = try binder.plan(for: Value.self)
            return unsafe StreamPlan(
                ValueOperations(of: Self.self), expectation: "a dictionary", shape: .dictionary(value))
        }
    }
}

// MARK: Conversions

extension RawRepresentable where Self: StreamValue, RawValue: StreamValue {
    /// The binding of an enumeration with raw values. It reads only known raw values.
    public static var streamBinding: StreamBinding {
        .converted(
            { (raw: RawValue) throws(StreamError) -> Self in
                guard let value = Self(rawValue: raw) else {
                    throw StreamError(.unrepresentable, "expected a raw value of \(Self.self), found \(raw)")
                }
                return value
            }, \.rawValue)
    }
}

/// A type that is converted from another streamable type, such as a date from a string.
///
/// With `PropertyList` as the form, you can examine any value before you convert it. For example, you can read a
/// heterogeneous array by a discriminating member.
public protocol StreamRepresentable: StreamValue {
    /// The type of the values in the stream.
    associatedtype StreamForm: StreamValue
    /// Creates a value from the value in the stream.
    ///
    /// - Throws: An error of the type. Builders add the path to it. If the error has a position, because the form contains a
    ///   text, it becomes the cause of an error of the kind `receiverFailed`.
    init(representation: StreamForm) throws(StreamError)
    /// The value in the form that the stream contains.
    var representation: StreamForm { get }
}

extension StreamRepresentable {
    /// The binding of a converted type.
    public static var streamBinding: StreamBinding {
        .converted({ (form) throws(StreamError) in try Self(representation: form) }, \.representation)
    }
}
