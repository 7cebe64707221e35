// The types that an encoder or decoder treats on its own instead of letting them code themselves: found once a type.

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// What a coder does with a type.
enum CodedKind: UInt8 {
    /// Codes itself.
    case other
    /// Codes itself with keys that are names: a dictionary with string keys.
    case dictionary
    case bool, string, double, int, date, data, url, decimal
    case ints, doubles, strings
    /// An array of elements that can be decoded.
    case array

    private static let known: [ObjectIdentifier: CodedKind] = [
        ObjectIdentifier(Bool.self): .bool, ObjectIdentifier(String.self): .string,
        ObjectIdentifier(Double.self): .double, ObjectIdentifier(Int.self): .int, ObjectIdentifier(Date.self): .date,
        ObjectIdentifier(Data.self): .data, ObjectIdentifier(URL.self): .url, ObjectIdentifier(Decimal.self): .decimal,
        ObjectIdentifier([Int].self): .ints, ObjectIdentifier([Double].self): .doubles,
        ObjectIdentifier([String].self): .strings,
    ]

    /// The kind of a type.
    init(_ type: Any.Type) {
        if let known = Self.known[ObjectIdentifier(type)] {
            self = known
        } else if type is any StringKeyed.Type {
            self = .dictionary
        } else {
            self = type is any DecodableCollection.Type ? .array : .other
        }
    }

    /// The kinds of the types that were asked for last.
    @safe
    struct Cache: ~Copyable {
        // PERF: JSONRecords/writing; an index and a comparison a value, against a look-up in a dictionary and a cast.
        private let entries = UnsafeMutablePointer<Entry>.allocate(capacity: 64)

        private struct Entry {
            var type: ObjectIdentifier?
            var kind = CodedKind.other
            var collection: (any DecodableCollection.Type)?
        }

        init() { unsafe entries.initialize(repeating: Entry(), count: 64) }

        deinit { unsafe entries.deallocate() }

        @inline(__always)  // PERF: see above.
        func kind(of type: Any.Type) -> CodedKind {
            let identifier = ObjectIdentifier(type)
            let place = Self.place(of: identifier)
            // SAFETY: a place has six bits, and there are 64 entries.
            return unsafe entries[place].type == identifier ? entries[place].kind : find(type, place).kind
        }

        /// How the values of a type are decoded, or nil for a type that is no array or dictionary of what can be decoded.
        func collection(for type: Any.Type) -> (any DecodableCollection.Type)? {
            let place = Self.place(of: ObjectIdentifier(type))
            // SAFETY: see above.
            let entry = unsafe entries[place]
            return entry.type == ObjectIdentifier(type) ? entry.collection : find(type, place).collection
        }

        @inline(__always)  // PERF: see above.
        private static func place(of type: ObjectIdentifier) -> Int {
            Int(truncatingIfNeeded: (UInt64(UInt(bitPattern: type)) &* 0x9E37_79B9_7F4A_7C15) &>> 58)
        }

        /// Finds a type that is not at its place: beside it, since two types may have one place, or for the first time.
        @inline(never)
        private func find(_ type: Any.Type, _ place: Int) -> Entry {
            let identifier = ObjectIdentifier(type)
            // SAFETY: see above; a place and its neighbour differ in the lowest bit.
            let (first, second) = unsafe (entries[place], entries[place ^ 1])
            if second.type == identifier { return second }
            let kind = CodedKind(type)
            let isCollection = kind == .array || kind == .dictionary
            let collection = isCollection ? type as? any DecodableCollection.Type : nil
            let entry = Entry(type: identifier, kind: kind, collection: collection)
            unsafe entries[first.type == nil || second.type != nil ? place : place ^ 1] = entry
            return entry
        }
    }
}

/// A dictionary with string keys, of whatever values.
private protocol StringKeyed {}

extension Dictionary: StringKeyed where Key == String {}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

extension CodedKind: SelfTesting {
    static var testSelectors: TestSelectors { ["testKnowsTypes": testKnowsTypes] }

    private static func testKnowsTypes() {
        let cache = Cache()
        let rows: [(Any.Type, CodedKind)] = [
            (Int.self, .int), (Int8.self, .other), (String.self, .string), (Date.self, .date), ([Int].self, .ints),
            ([Int8].self, .array), ([CodedKind].self, .other), ([String: Int].self, .dictionary),
            ([String: [Int: Date]].self, .dictionary),
            ([Int: String].self, .other), (Int?.self, .other), (CodedKind.self, .other), (Bool.self, .bool),
        ]
        for _ in 0..<2 {
            for (type, kind) in rows { expectEqual(cache.kind(of: type), kind, "\(type)") }
        }
    }
}
#endif
