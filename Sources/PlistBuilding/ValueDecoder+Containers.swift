// The containers of `ValueDecoder`: members by key, elements by index.

extension ValueDecoder {
    struct KeyedContainer<Key: CodingKey>: KeyedDecodingContainerProtocol {
        let decoder: ValueDecoder

        var codingPath: [any CodingKey] { decoder.codingPath }

        var allKeys: [Key] {
            decoder.node.children.compactMap { index in
                Key(stringValue: decoder.context.name(of: Int(decoder.context.storage.node(index).key)))
            }
        }

        func contains(_ key: Key) -> Bool { node(of: key) != nil }

        func decodeNil(forKey key: Key) throws -> Bool { try member(key).tag == .null }

        // PERF: JSONRecords/foundation; the common scalars need no decoder of their own, which would cost an object.
        func decode(_ type: Bool.Type, forKey key: Key) throws -> Bool {
            let node = try member(key)
            return switch node.tag {
            case .yes: true
            case .no: false
            default: try decoder.child(node, key).decode(type)
            }
        }

        func decode(_ type: String.Type, forKey key: Key) throws -> String {
            let node = try member(key)
            guard node.tag == .string else { return try decoder.child(node, key).decode(type) }
            return unsafe decoder.context.storage.withBytes(of: node) { unsafe String(decoding: $0, as: UTF8.self) }
        }

        func decode(_ type: Double.Type, forKey key: Key) throws -> Double {
            let node = try member(key)
            guard node.tag == .real else { return try decoder.child(node, key).decode(type) }
            return Double(bitPattern: node.payload)
        }

        func decode(_ type: Float.Type, forKey key: Key) throws -> Float { try child(key).decode(type) }
        func decode(_ type: Int.Type, forKey key: Key) throws -> Int {
            let node = try member(key)
            guard node.tag == .integer else { return try decoder.child(node, key).decode(type) }
            return Int(Int64(bitPattern: node.payload))
        }

        func decode(_ type: Int8.Type, forKey key: Key) throws -> Int8 { try child(key).decode(type) }
        func decode(_ type: Int16.Type, forKey key: Key) throws -> Int16 { try child(key).decode(type) }
        func decode(_ type: Int32.Type, forKey key: Key) throws -> Int32 { try child(key).decode(type) }
        func decode(_ type: Int64.Type, forKey key: Key) throws -> Int64 { try child(key).decode(type) }
        func decode(_ type: UInt.Type, forKey key: Key) throws -> UInt { try child(key).decode(type) }
        func decode(_ type: UInt8.Type, forKey key: Key) throws -> UInt8 { try child(key).decode(type) }
        func decode(_ type: UInt16.Type, forKey key: Key) throws -> UInt16 { try child(key).decode(type) }
        func decode(_ type: UInt32.Type, forKey key: Key) throws -> UInt32 { try child(key).decode(type) }
        func decode(_ type: UInt64.Type, forKey key: Key) throws -> UInt64 { try child(key).decode(type) }
        func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
            try child(key).decode(type)
        }

        func nestedContainer<NestedKey: CodingKey>(
            keyedBy type: NestedKey.Type, forKey key: Key
        ) throws -> KeyedDecodingContainer<NestedKey> {
            try child(key).container(keyedBy: type)
        }

        func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
            try child(key).unkeyedContainer()
        }

        func superDecoder() throws -> any Decoder {
            let key = NameKey.super
            guard let node = node(of: key) else { return decoder.child(PropertyListNode(.null, 0, key: 0), key) }
            return decoder.child(node, key)
        }

        func superDecoder(forKey key: Key) throws -> any Decoder { try child(key) }

        private func node(of key: some CodingKey) -> PropertyListNode? {
            guard let number = decoder.context.number(of: key.stringValue) else { return nil }
            return decoder.context.storage.member(of: decoder.node, key: number)
        }

        private func member(_ key: Key) throws -> PropertyListNode {
            guard let node = node(of: key) else { throw missing(key) }
            return node
        }

        private func child(_ key: Key) throws -> ValueDecoder { decoder.child(try member(key), key) }

        @inline(never)
        private func missing(_ key: Key) -> any Error {
            DecodingError.keyNotFound(
                key,
                DecodingError.Context(
                    codingPath: codingPath, debugDescription: "there is no member \(key.stringValue.debugDescription)"))
        }
    }

    struct UnkeyedContainer: UnkeyedDecodingContainer {
        let decoder: ValueDecoder
        private(set) var currentIndex = 0

        init(decoder: ValueDecoder) { self.decoder = decoder }

        var codingPath: [any CodingKey] { decoder.codingPath }
        var count: Int? { decoder.node.count }
        var isAtEnd: Bool { currentIndex >= decoder.node.count }

        mutating func decodeNil() throws -> Bool {
            guard try next(Any?.self).node.tag == .null else { return false }
            currentIndex += 1
            return true
        }

        mutating func decode(_ type: Bool.Type) throws -> Bool { try decodeNext(type) { try $0.decode(type) } }
        mutating func decode(_ type: String.Type) throws -> String { try decodeNext(type) { try $0.decode(type) } }
        mutating func decode(_ type: Double.Type) throws -> Double { try decodeNext(type) { try $0.decode(type) } }
        mutating func decode(_ type: Float.Type) throws -> Float { try decodeNext(type) { try $0.decode(type) } }
        mutating func decode(_ type: Int.Type) throws -> Int { try decodeNext(type) { try $0.decode(type) } }
        mutating func decode(_ type: Int8.Type) throws -> Int8 { try decodeNext(type) { try $0.decode(type) } }
        mutating func decode(_ type: Int16.Type) throws -> Int16 { try decodeNext(type) { try $0.decode(type) } }
        mutating func decode(_ type: Int32.Type) throws -> Int32 { try decodeNext(type) { try $0.decode(type) } }
        mutating func decode(_ type: Int64.Type) throws -> Int64 { try decodeNext(type) { try $0.decode(type) } }
        mutating func decode(_ type: UInt.Type) throws -> UInt { try decodeNext(type) { try $0.decode(type) } }
        mutating func decode(_ type: UInt8.Type) throws -> UInt8 { try decodeNext(type) { try $0.decode(type) } }
        mutating func decode(_ type: UInt16.Type) throws -> UInt16 { try decodeNext(type) { try $0.decode(type) } }
        mutating func decode(_ type: UInt32.Type) throws -> UInt32 { try decodeNext(type) { try $0.decode(type) } }
        mutating func decode(_ type: UInt64.Type) throws -> UInt64 { try decodeNext(type) { try $0.decode(type) } }
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
            let key = IndexKey(currentIndex)
            guard !isAtEnd else {
                throw DecodingError.valueNotFound(
                    type,
                    DecodingError.Context(
                        codingPath: codingPath + [key], debugDescription: "there is no element \(currentIndex)"))
            }
            return decoder.child(decoder.context.storage.node(decoder.node.firstChild + currentIndex), key)
        }

        /// Goes on to the next element only when this one was decoded.
        private mutating func decodeNext<Value>(
            _ type: Any.Type, _ decode: (ValueDecoder) throws -> Value
        ) throws -> Value {
            let value = try decode(try next(type))
            currentIndex += 1
            return value
        }
    }
}
