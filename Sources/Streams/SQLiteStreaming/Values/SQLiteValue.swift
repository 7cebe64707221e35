// The values of cells and parameters, and the Swift types that can be bound as values.

import PlistStreaming

/// A value of one of SQLite's five storage classes.
public enum SQLiteValue: Sendable, Hashable {
    /// Null.
    case null
    /// An integer of 64 bits.
    case integer(Int64)
    /// A floating-point number of 64 bits, never NaN.
    case real(Double)
    /// Text.
    case text(String)
    /// Bytes.
    case blob([UInt8])

    /// The error message for NaN.
    package static let foundNaN = "expected a number, found NaN, which SQLite can't store"

    /// A Boolean value that indicates whether the value is null.
    public var isNull: Bool { self == .null }
    /// The integer, or nil for other values.
    public var integer: Int64? { if case .integer(let value) = self { value } else { nil } }
    /// The number, or nil for values that are neither real nor integer.
    public var real: Double? {
        switch self {
        case .real(let value): value
        case .integer(let value): Double(value)
        default: nil
        }
    }
    /// The text, or nil for other values.
    public var text: String? { if case .text(let value) = self { value } else { nil } }
    /// The bytes, or nil for other values.
    public var blob: [UInt8]? { if case .blob(let value) = self { value } else { nil } }
}

// Not expressible by nil, which would mean "no value" in an expression of the type `SQLiteValue?`.
extension SQLiteValue: ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral,
    ExpressibleByStringLiteral, ExpressibleByBooleanLiteral
{
    /// Makes an integer.
    public init(integerLiteral value: Int64) { self = .integer(value) }
    /// Makes a real.
    public init(floatLiteral value: Double) { self = .real(value) }
    /// Makes a text.
    public init(stringLiteral value: String) { self = .text(value) }
    /// Makes 1 or 0, SQLite's Booleans.
    public init(booleanLiteral value: Bool) { self = .integer(value ? 1 : 0) }
}

/// A type whose values can be bound to parameters and compared with columns.
///
/// Integers, floating-point numbers, strings, Booleans, arrays of bytes, Foundation's `Date`, `Data`, `URL` and `UUID`,
/// optionals of them and ``SQLiteValue`` conform. An enumeration with such raw values conforms with `extension Color:
/// SQLiteBindable {}`.
public protocol SQLiteBindable {
    /// The value in one of SQLite's storage classes, or an error if it fits none of them.
    var sqliteValue: SQLiteValue { get throws(SQLiteError) }
}

extension SQLiteValue: SQLiteBindable {
    /// The value itself.
    public var sqliteValue: SQLiteValue { get throws(SQLiteError) { self } }
}

extension FixedWidthInteger where Self: SQLiteBindable {
    /// The integer. A value above 2^63 - 1 is an error, since SQLite would convert it to a real.
    public var sqliteValue: SQLiteValue {
        get throws(SQLiteError) {
            guard let value = Int64(exactly: self) else {
                throw SQLiteError(.mismatch, "expected an integer from -2^63 to 2^63 - 1, found one outside this range")
            }
            return .integer(value)
        }
    }
}

extension Int: SQLiteBindable {}
extension Int8: SQLiteBindable {}
extension Int16: SQLiteBindable {}
extension Int32: SQLiteBindable {}
extension Int64: SQLiteBindable {}
extension UInt: SQLiteBindable {}
extension UInt8: SQLiteBindable {}
extension UInt16: SQLiteBindable {}
extension UInt32: SQLiteBindable {}
extension UInt64: SQLiteBindable {}

extension BinaryFloatingPoint where Self: SQLiteBindable {
    /// The real. NaN is an error, since SQLite would convert it to null.
    public var sqliteValue: SQLiteValue {
        get throws(SQLiteError) {
            guard !isNaN else { throw SQLiteError(.mismatch, SQLiteValue.foundNaN) }
            return .real(Double(self))
        }
    }
}

extension Double: SQLiteBindable {}
extension Float: SQLiteBindable {}

extension Bool: SQLiteBindable {
    /// 1 or 0, SQLite's Booleans.
    public var sqliteValue: SQLiteValue { get throws(SQLiteError) { .integer(self ? 1 : 0) } }
}

extension String: SQLiteBindable {
    /// The text.
    public var sqliteValue: SQLiteValue { get throws(SQLiteError) { .text(self) } }
}

extension Array: SQLiteBindable where Element == UInt8 {
    /// The blob.
    public var sqliteValue: SQLiteValue { get throws(SQLiteError) { .blob(self) } }
}

extension Optional: SQLiteBindable where Wrapped: SQLiteBindable {
    /// The value, or null.
    public var sqliteValue: SQLiteValue {
        get throws(SQLiteError) {
            guard let self else { return .null }
            return try self.sqliteValue
        }
    }
}

extension RawRepresentable where Self: SQLiteBindable, RawValue: SQLiteBindable {
    /// The raw value.
    public var sqliteValue: SQLiteValue { get throws(SQLiteError) { try rawValue.sqliteValue } }
}

/// The values for the parameters of a statement, by position or by name.
///
/// ```swift
/// try connection.run("INSERT INTO tasks VALUES (?, ?)", [1, "Paint"])
/// try connection.run("UPDATE tasks SET done = :done WHERE id = :id", ["done": true, "id": 1])
/// ```
///
/// A name can include the prefix of the statement's parameter (`:`, `@` or `$`). Each parameter needs a value, and each value
/// a parameter.
public struct SQLiteParameters: ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral {
    enum Content {
        case positional([(any SQLiteBindable)?])
        case named([(name: String, value: (any SQLiteBindable)?)])
    }

    let content: Content

    /// No values.
    public static var none: SQLiteParameters { [] }

    /// Makes values by position.
    public init(_ values: [(any SQLiteBindable)?]) { content = .positional(values) }
    /// Makes values by position.
    public init(arrayLiteral elements: (any SQLiteBindable)?...) { content = .positional(elements) }
    /// Makes values by name.
    public init(dictionaryLiteral elements: (String, (any SQLiteBindable)?)...) {
        content = .named(elements.map { ($0.0, $0.1) })
    }
    /// Makes values by name.
    public init(_ values: [String: (any SQLiteBindable)?]) {
        content = .named(values.sorted { $0.key < $1.key }.map { ($0.key, $0.value) })
    }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

extension SQLiteValue: SelfTesting {
    /// The tests of this type.
    public static var testSelectors: TestSelectors {
        [
            "testConvertsSwiftValues": testConvertsSwiftValues,
            "testRefusesUnsupportedValues": testRefusesUnsupportedValues,
        ]
    }

    private enum Color: String, SQLiteBindable { case red }

    private static func testConvertsSwiftValues() throws {
        let rows: [(any SQLiteBindable, SQLiteValue)] = [
            (Int8.min, -128), (UInt64(Int64.max), .integer(.max)), (Float(0.5), 0.5), (true, 1), ("é", "é"),
            ([UInt8](), .blob([])), (Color.red, "red"), (Int?.none, .null), (Int?.some(1), 1),
            (SQLiteValue.real(-0.0), .real(-0.0)), (SQLiteValue.null, .null), (Double.infinity, .real(.infinity)),
        ]
        for (value, expected) in rows { expectEqual(try value.sqliteValue, expected, "\(value)") }
    }

    private static func testRefusesUnsupportedValues() {
        for value: any SQLiteBindable in [UInt64.max, Double.nan, Float.nan] {
            let error = expectThrows(SQLiteError.self, "\(value)") { _ = try value.sqliteValue }
            expectEqual(error?.code, .mismatch, "code for \(value)")
        }
    }
}
#endif
