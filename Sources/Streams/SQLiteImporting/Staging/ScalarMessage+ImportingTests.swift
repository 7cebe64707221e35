// The tests of numbers sent as text: the number or its nearest real is stored, or the number is rejected.

#if DEBUG || IN_CLASS_TESTS
import InClassTesting
import PlistBuilding
import PlistStreaming
import SQLiteStreaming

enum ScalarMessageTests {}

extension ScalarMessageTests: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testStagesNumbersExactlyOrRefuses": testStagesNumbersExactlyOrRefuses,
            "testStagesExactIntegers": testStagesExactIntegers,
            "testStagesNumericTextAsReals": testStagesNumericTextAsReals,
        ]
    }

    private static func testStagesNumbersExactlyOrRefuses() {
        let arena = ImportArena()
        for text in NumberSamples.spellings {
            func cell(_ type: ImportColumn.ValueType) -> SQLiteValue? {
                text.withUTF8Span { span in
                    let conversion = unsafe span.withUnsafeBytes { bytes in
                        unsafe ScalarMessage.number(bytes).converted(to: type, arena: arena, limit: 1_000)
                    }
                    guard case .cell(let cell) = conversion else { return nil }
                    return switch cell.tag {
                    case .integer: .integer(Int64(bitPattern: cell.bits))
                    case .real: .real(Double(bitPattern: cell.bits))
                    default: .text(text)
                    }
                }
            }
            let expected = NumberSamples.stored(text)
            expectTrue(
                NumberSamples.isEqual(cell(.any), expected ?? .text(text)), "\(text) as it is: \(cell(.any) as Any)")
            if case .integer(let integer) = cell(.integer) {
                expectEqual(NumberSamples.Decimal("\(integer)"), NumberSamples.Decimal(text), text)
            }
            guard case .real(let real) = cell(.real) else { continue }
            expectEqual(real, Double(text), text)
            expectTrue(real != 0 || NumberSamples.Decimal(text).digits.isEmpty, "\(text), which is not 0")
            if case .integer(let integer) = expected { expectEqual(Int64(exactly: real), integer, text) }
        }
    }

    private static func testStagesExactIntegers() {
        let rows: [(String, ImportColumn.ValueType, Int64?)] = [
            ("9007199254740993.0", .integer, 9_007_199_254_740_993), ("9223372036854775807.0", .integer, .max),
            ("9223372036854775808.0", .integer, nil), ("0.99999999999999999", .integer, nil),
        ]
        let arena = ImportArena()
        for (text, type, expected) in rows {
            text.withUTF8Span { span in
                let conversion = unsafe span.withUnsafeBytes { bytes in
                    unsafe ScalarMessage.number(bytes).converted(to: type, arena: arena, limit: 1_000)
                }
                let found: Int64? = if case .cell(let cell) = conversion { Int64(bitPattern: cell.bits) } else { nil }
                expectEqual(found, expected, text)
            }
        }
    }

    /// Text in a column of reals must be a number in JSON's spelling; otherwise it is rejected: `007` is a code.
    private static func testStagesNumericTextAsReals() {
        let arena = ImportArena()
        for (text, expected) in [
            ("1.5", 1.5), ("-2", -2), ("0", 0), ("1e3", 1_000), ("007", nil), ("1.", nil), (".5", nil), ("+1", nil),
            ("0x10", nil), ("-", nil), ("", nil), ("1 ", nil), ("nan", nil), ("inf", nil), ("1e999", nil),
        ] as [(String, Double?)] {
            let found: Double? = text.withUTF8Span { span in
                let conversion = unsafe span.withUnsafeBytes { bytes in
                    unsafe ScalarMessage.string(bytes).converted(to: .real, arena: arena, limit: 1_000)
                }
                guard case .cell(let cell) = conversion, case .real = cell.tag else { return nil }
                return Double(bitPattern: cell.bits)
            }
            expectEqual(found, expected, "'\(text)'")
        }
    }
}
#endif
