// Composes random types at run time, reproducibly from a seed.

import Foundation

/// A generator of random numbers that are the same for the same seed.
struct Chance {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next(below limit: Int) -> Int {
        // Sebastiano Vigna's SplitMix64.
        state &+= 0x9E37_79B9_7F4A_7C15
        var bits = state
        bits = (bits ^ bits >> 30) &* 0xBF58_476D_1CE4_E5B9
        bits = (bits ^ bits >> 27) &* 0x94D0_49BB_1331_11EB
        return Int((bits ^ bits >> 31) >> 1) % limit
    }

    /// Returns a type that represents a random number.
    mutating func bits(_ count: Int, oneIn limit: Int) -> any Bits.Type {
        func zero<Rest: Bits>(_ rest: Rest.Type) -> any Bits.Type { Zero<Rest>.self }
        func one<Rest: Bits>(_ rest: Rest.Type) -> any Bits.Type { One<Rest>.self }
        var result: any Bits.Type = NoBits.self
        for _ in 0..<count { result = next(below: limit) == 0 ? one(result) : zero(result) }
        return result
    }

    private static let scalars: [any Sample.Type] = [
        Int.self, Int8.self, Int16.self, Int32.self, Int64.self, Int128.self, UInt.self, UInt8.self, UInt16.self,
        UInt32.self, UInt64.self, UInt128.self, Float.self, Double.self, Bool.self, String.self, String.self,
    ]

    /// Returns a random type with up to the given depth.
    mutating func type(depth: Int) -> any Sample.Type {
        func optional<A: Sample>(_ a: A.Type) -> any Sample.Type { A?.self }
        func array<A: Sample>(_ a: A.Type) -> any Sample.Type { [A].self }
        func dictionary<A: Sample>(_ a: A.Type) -> any Sample.Type { [String: A].self }
        func converted<A: Sample>(_ a: A.Type) -> any Sample.Type { Converted<A>.self }
        func pair<A: Sample, B: Sample>(_ a: A.Type, _ b: B.Type) -> any Sample.Type { Pair<A, B>.self }
        func derived<A: Sample, B: Sample>(_ a: A.Type, _ b: B.Type) -> any Sample.Type { Derived<A, B>.self }
        func wide<A: Sample, B: Sample>(_ a: A.Type, _ b: B.Type) -> any Sample.Type { Wide<A, B>.self }
        func triple<A: Sample, B: Sample, C: Sample>(_ a: A.Type, _ b: B.Type, _ c: C.Type) -> any Sample.Type {
            Triple<A, B, C>.self
        }
        func box<A: Sample, B: Sample, C: Sample>(_ a: A.Type, _ b: B.Type, _ c: C.Type) -> any Sample.Type {
            Box<A, B, C>.self
        }
        func declared<A: Sample, B: Sample, C: Sample, D: Bits>(
            _ a: A.Type, _ b: B.Type, _ c: C.Type, _ bits: D.Type
        ) -> any Sample.Type { Declared<A, B, C, D>.self }

        let others: [any Sample.Type] = [
            Date.self, Data.self, UUID.self, UUID.self, Color.self, Level.self, Code.self, Empty.self,
        ]
        let choice = next(below: depth > 0 ? 24 : 10)
        if choice < 7 { return Self.scalars[next(below: Self.scalars.count)] }
        if choice < 10 { return others[next(below: others.count)] }
        let first = type(depth: depth - 1)
        switch choice {
        case 10, 11, 12: return optional(first)
        case 13, 14: return array(first)
        case 15: return dictionary(first)
        case 16: return converted(first)
        default: break
        }
        let second = type(depth: depth - 1)
        switch choice {
        case 17, 18: return pair(first, second)
        case 19: return derived(first, second)
        case 20: return next(below: 4) == 0 ? wide(first, second) : pair(second, first)
        case 21: return triple(first, second, type(depth: 0))
        case 22: return box(first, second, type(depth: 0))
        default: return declared(first, second, type(depth: 0), bits(14, oneIn: 4))
        }
    }
}
