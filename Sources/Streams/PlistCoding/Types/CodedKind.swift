// The types that an encoder or decoder handles directly instead of calling their own coding functions. They are looked
// up once per type.

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The handling of a type by a coder.
enum CodedKind: UInt8 {
    /// A type that codes itself.
    case other
    /// A dictionary with string keys, which codes itself with its keys as names.
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

    /// Determines the kind of a type.
    init(_ type: Any.Type) {
        if let known = Self.known[ObjectIdentifier(type)] {
            self = known
        } else if type is any StringKeyed.Type {
            self = .dictionary
        } else {
            self = type is any DecodableCollection.Type ? .array : .other
        }
    }

    /// A cache of the kinds of types that were requested last.
    @safe
    struct Cache: ~Copyable {
        // PERF: JSONRecords/writing; an index and a comparison per value, compared with a dictionary lookup and a cast.
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
            // SAFETY: an index has six bits, and there are 64 entries.
            return unsafe entries[place].type == identifier ? entries[place].kind : find(type, place).kind
        }

        /// Returns how to decode the values of a type, or nil if it isn't an array or dictionary of decodable values.
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

        /// Finds a type that isn't in its own entry: in the neighboring entry, because two types may share an index, or
        /// for the first time.
        @inline(never)
        private func find(_ type: Any.Type, _ place: Int) -> Entry {
            let identifier = ObjectIdentifier(type)
            // SAFETY: see above; the indexes of neighboring entries differ in the lowest bit.
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

/// A dictionary with string keys and values of any type.
private protocol StringKeyed {}

extension Dictionary: StringKeyed where Key == String {}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

extension CodedKind: SelfTesting {
    static var testSelectors: TestSelectors { ["testRecognizesTypes": testRecognizesTypes] }

    private static func testRecognizesTypes() {
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
