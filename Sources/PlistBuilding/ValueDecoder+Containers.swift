// The containers of `ValueDecoder`: members by key, elements by index.

extension ValueDecoder {
    struct KeyedContainer<Key: CodingKey>: KeyedDecodingContainerProtocol {
        let place: DecodingPlace

        private var context: DecodingContext { place.context }
        var codingPath: [any CodingKey] { context.path(of: place.index) }

        var allKeys: [Key] {
            let names = place.children.map { index in
                context.name(of: Int(place.node(index).key), isExact: place.hasExactKeys)
            }
            guard !context.equivalents.isEmpty else { return names.compactMap { Key(stringValue: $0) } }
            var seen = Set<String>()
            return names.filter { place.hasExactKeys || seen.insert($0).inserted }.compactMap { Key(stringValue: $0) }
        }

        func contains(_ key: Key) -> Bool { place.find(key.stringValue) >= 0 }

        func decodeNil(forKey key: Key) throws -> Bool { place.node(try find(key)).tag == .null }

        // PERF: JSONRecords/foundation; the common scalars need no decoder of their own.
        func decode(_ type: Bool.Type, forKey key: Key) throws -> Bool {
            let index = try find(key)
            switch place.node(index).tag {
            case .yes: return true
            case .no: return false
            default: return try ValueDecoder(context: context, index: index).decode(type)
            }
        }

        func decode(_ type: String.Type, forKey key: Key) throws -> String {
            let index = try find(key)
            let node = place.node(index)
            guard node.tag == .string else { return try ValueDecoder(context: context, index: index).decode(type) }
            return context.string(of: node)
        }

        func decode(_ type: Double.Type, forKey key: Key) throws -> Double {
            let index = try find(key)
            let node = place.node(index)
            guard node.tag == .real else { return try ValueDecoder(context: context, index: index).decode(type) }
            return Double(bitPattern: node.payload)
        }

        func decode(_ type: Float.Type, forKey key: Key) throws -> Float { try member(key).decode(type) }

        @inline(__always)  // PERF: JSONRecords/foundation; specialises each type of integer.
        func decode<Value: FixedWidthInteger & Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
            let index = try find(key)
            let node = place.node(index)
            if node.tag == .integer, let value = Value(exactly: Int64(bitPattern: node.payload)) { return value }
            return try ValueDecoder(context: context, index: index).decode(type)
        }

        func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
            try member(key).decode(type)
        }

        func nestedContainer<NestedKey: CodingKey>(
            keyedBy type: NestedKey.Type, forKey key: Key
        ) throws -> KeyedDecodingContainer<NestedKey> {
            try member(key).container(keyedBy: type)
        }

        func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
            try member(key).unkeyedContainer()
        }

        func superDecoder() throws -> any Decoder {
            let index = place.find(NameKey.super.stringValue)
            return ValueDecoder(
                context: context, index: index >= 0 ? index : DecodingContext.missingSuper(in: place.index))
        }

        func superDecoder(forKey key: Key) throws -> any Decoder { try member(key) }

        private func find(_ key: Key) throws -> Int {
            let index = place.find(key.stringValue)
            guard index >= 0 else { throw missing(key) }
            return index
        }

        func member(_ key: Key) throws -> ValueDecoder { ValueDecoder(context: context, index: try find(key)) }

        @inline(never)
        private func missing(_ key: Key) -> any Error {
            DecodingError.keyNotFound(
                key,
                DecodingError.Context(
                    codingPath: codingPath, debugDescription: "there is no member \(key.stringValue.debugDescription)"))
        }
    }

    struct UnkeyedContainer: UnkeyedDecodingContainer {
        private let decoder: ValueDecoder
        private let children: Range<Int>
        private(set) var currentIndex = 0

        init(decoder: ValueDecoder) {
            self.decoder = decoder
            children = decoder.node.children
        }

        var codingPath: [any CodingKey] { decoder.codingPath }
        var count: Int? { children.count }
        var isAtEnd: Bool { currentIndex >= children.count }

        mutating func decodeNil() throws -> Bool {
            guard try next(Any?.self).node.tag == .null else { return false }
            currentIndex += 1
            return true
        }

        mutating func decode(_ type: Bool.Type) throws -> Bool { try decodeNext(type) { try $0.decode(type) } }
        mutating func decode(_ type: String.Type) throws -> String { try decodeNext(type) { try $0.decode(type) } }
        mutating func decode(_ type: Double.Type) throws -> Double { try decodeNext(type) { try $0.decode(type) } }
        mutating func decode(_ type: Float.Type) throws -> Float { try decodeNext(type) { try $0.decode(type) } }
        @inline(__always)  // PERF: see above.
        mutating func decode<Value: FixedWidthInteger & Decodable>(_ type: Value.Type) throws -> Value {
            try decodeNext(type) { try $0.decode(type) }
        }
        mutating func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
            let value = try next(type).decode(type)
            currentIndex += 1
            return value
        }

        mutating func nestedContainer<NestedKey: CodingKey>(
            keyedBy type: NestedKey.Type
        ) throws -> KeyedDecodingContainer<NestedKey> {
            try decodeNext([String: Any].self) { try $0.container(keyedBy: type) }
        }

        mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
            try decodeNext([Any].self) { try $0.unkeyedContainer() }
        }

        mutating func superDecoder() throws -> any Decoder { try decodeNext((any Decoder).self) { $0 } }

        private func next(_ type: Any.Type) throws -> ValueDecoder {
            guard !isAtEnd else { throw missing(type) }
            return ValueDecoder(context: decoder.context, index: children.lowerBound + currentIndex)
        }

        /// Goes on to the next element only when this one was decoded.
        mutating func decodeNext<Value>(
            _ type: Any.Type, _ decode: (ValueDecoder) throws -> Value
        ) throws -> Value {
            let value = try decode(try next(type))
            currentIndex += 1
            return value
        }

        @inline(never)
        private func missing(_ type: Any.Type) -> any Error {
            DecodingError.valueNotFound(
                type,
                DecodingError.Context(
                    codingPath: codingPath + [IndexKey(currentIndex)],
                    debugDescription: "there is no element \(currentIndex)"))
        }
    }
}
