// Integers of 128 bits, each with its own function. If a decoder has only a generic function for all integers, the
// compiler chooses the standard library's functions for these types, which throw.

extension ValueDecoder {
    func decode(_ type: Int128.Type) throws -> Int128 { try context.integer(type, at: index) }
    func decode(_ type: UInt128.Type) throws -> UInt128 { try context.integer(type, at: index) }
}

extension ValueDecoder.KeyedContainer {
    func decode(_ type: Int128.Type, forKey key: Key) throws -> Int128 {
        try decode(at: find(key)) { try $0.integer(type, at: $1) }
    }
    func decode(_ type: UInt128.Type, forKey key: Key) throws -> UInt128 {
        try decode(at: find(key)) { try $0.integer(type, at: $1) }
    }
    func decodeIfPresent(_ type: Int128.Type, forKey key: Key) throws -> Int128? {
        try findPresent(key).map { try decode(at: $0) { try $0.integer(type, at: $1) } }
    }
    func decodeIfPresent(_ type: UInt128.Type, forKey key: Key) throws -> UInt128? {
        try findPresent(key).map { try decode(at: $0) { try $0.integer(type, at: $1) } }
    }
}

extension ValueDecoder.UnkeyedContainer {
    mutating func decode(_ type: Int128.Type) throws -> Int128 {
        try decodeNext(type) { try $0.integer(type, at: $1) }
    }
    mutating func decode(_ type: UInt128.Type) throws -> UInt128 {
        try decodeNext(type) { try $0.integer(type, at: $1) }
    }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting
import PlistBuilding
import PlistStreaming

enum WideIntegerTests {
    struct Sample: Codable, Equatable {
        var signed: Int128 = 0
        var unsigned: UInt128? = nil
        var list: [Int128] = []
    }
}

extension WideIntegerTests: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testCodesIntegersOf128Bits": testCodesIntegersOf128Bits,
            "testRefusesIntegersBeyond128Bits": testRefusesIntegersBeyond128Bits,
        ]
    }

    private static func testCodesIntegersOf128Bits() throws {
        let samples = [
            Sample(), Sample(signed: .min, unsigned: .max, list: [.min, -1, 0, 1 << 63, 1 << 64, .max]),
            Sample(signed: 7, unsigned: 1 << 63, list: [.max]),
        ]
        var builder = PropertyListBuilder()
        try builder.write(encodable: samples)
        let list = try builder.takeResult()
        expectEqual(list[0]?["signed"]?.integerValue, 0, "a small one is an integer like others")
        expectEqual(list[1]?["unsigned"]?.numberText, "\(UInt128.max)", "a long one is a number")
        expectEqual(try PropertyListValueDecoder().decode([Sample].self, from: list), samples, "all")
        try builder.write(encodable: Int128.max)
        let single = try builder.takeResult()
        expectEqual(try PropertyListValueDecoder().decode(Int128.self, from: single), .max, "one alone")
    }

    private static func testRefusesIntegersBeyond128Bits() throws {
        for number in ["number 340282366920938463463374607431768211456", "real 0.5", "integer -1"] {
            let list = try PropertyListBuilder.list("[ \(number) ]")
            let error = expectThrows(DecodingError.self, number) {
                _ = try PropertyListValueDecoder().decode([UInt128].self, from: list)
            }
            guard case .dataCorrupted = error else {
                fail("\(number) is not reported as corrupted data")
                continue
            }
        }
    }
}
#endif
