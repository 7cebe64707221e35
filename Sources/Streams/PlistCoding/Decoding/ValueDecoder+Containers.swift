// The containers of `ValueDecoder`: members by key, elements by index.

extension DecodingContext {
    func container<Key: CodingKey>(keyedBy type: Key.Type, at index: Int) throws -> KeyedDecodingContainer<Key> {
        let node = dictionary(at: index)
        guard node.has(.dictionary) else { throw mismatch([String: Any].self, "a dictionary", at: index) }
        try checkStack(at: index)
        if let (vendor, place) = unsafe freeContainer(for: type) {
            unsafe place.pointee.move(to: index, node, of: self)
            return unsafe ContainerVendor<KeyedDecodingContainer<Key>>.vend(vendor)
        }
        return makeContainer(at: DecodingPlace(self, index, node))
    }
}

extension ValueDecoder {
    /// The members of a dictionary.
    @safe
    struct KeyedContainer<Key: CodingKey, Owner>: KeyedDecodingContainerProtocol {
        // SAFETY: see `DecodingPlace` and `ContainerCache`.
        let place: UnsafeMutablePointer<DecodingPlace>
        /// The object that retains the place of a container that isn't reused; otherwise `NoOwner`.
        let owner: Owner

        private var context: DecodingContext { unsafe place.pointee.context.takeUnretainedValue() }
        var codingPath: [any CodingKey] { context.path(of: unsafe place.pointee.index) }

        var allKeys: [Key] {
            let place = unsafe place.pointee
            let names = place.members.map { context.codingKey(of: Int(place.node($0).key)) }
            guard !context.canonicalKeys.isEmpty else { return names.compactMap { Key(stringValue: $0) } }
            var seen = Set<String>()
            return names.filter { seen.insert($0).inserted }.compactMap { Key(stringValue: $0) }
        }

        func contains(_ key: Key) -> Bool { unsafe place.pointee.find(key.stringValue) >= 0 }

        func decodeNil(forKey key: Key) throws -> Bool { context.isNil(at: try find(key)) }

        // PERF: JSONRecords/foundation; the common scalars need no decoder of their own.
        func decode(_ type: Bool.Type, forKey key: Key) throws -> Bool {
            try unsafe place.pointee.decode(type, at: find(key))
        }
        func decode(_ type: String.Type, forKey key: Key) throws -> String {
            try unsafe place.pointee.decode(type, at: find(key))
        }
        func decode(_ type: Double.Type, forKey key: Key) throws -> Double {
            try unsafe place.pointee.decode(type, at: find(key))
        }
        func decode(_ type: Float.Type, forKey key: Key) throws -> Float {
            try unsafe place.pointee.decode(type, at: find(key))
        }
        @inline(__always)  // PERF: JSONRecords/foundation; specializes each type of integer.
        func decode<Value: FixedWidthInteger & Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
            try unsafe place.pointee.decode(type, at: find(key))
        }
        func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
            try unsafe place.pointee.decode(type, at: find(key))
        }

        // PERF: JSONTyped/posts; one lookup instead of the three of the standard library.
        func decodeIfPresent(_ type: Bool.Type, forKey key: Key) throws -> Bool? {
            guard let index = findPresentScalar(key) else { return nil }
            return try unsafe place.pointee.decode(type, at: index)
        }
        func decodeIfPresent(_ type: String.Type, forKey key: Key) throws -> String? {
            guard let index = findPresent(key) else { return nil }
            return try unsafe place.pointee.decode(type, at: index)
        }
        func decodeIfPresent(_ type: Double.Type, forKey key: Key) throws -> Double? {
            guard let index = findPresentScalar(key) else { return nil }
            return try unsafe place.pointee.decode(type, at: index)
        }
        func decodeIfPresent(_ type: Float.Type, forKey key: Key) throws -> Float? {
            guard let index = findPresentScalar(key) else { return nil }
            return try unsafe place.pointee.decode(type, at: index)
        }
        // This function has an explicit type: the compiler would otherwise choose the standard library's function
        // instead of the generic one.
        func decodeIfPresent(_ type: Int.Type, forKey key: Key) throws -> Int? {
            guard let index = findPresentScalar(key) else { return nil }
            return try unsafe place.pointee.decode(type, at: index)
        }
        @inline(__always)  // PERF: see above.
        func decodeIfPresent<Value: FixedWidthInteger & Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value?
        {
            guard let index = findPresentScalar(key) else { return nil }
            return try unsafe place.pointee.decode(type, at: index)
        }
        func decodeIfPresent<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value? {
            guard let index = findPresent(key), !context.isMissing(type, at: index) else { return nil }
            return try unsafe place.pointee.decode(type, at: index)
        }

        func nestedContainer<NestedKey: CodingKey>(
            keyedBy type: NestedKey.Type, forKey key: Key
        ) throws -> KeyedDecodingContainer<NestedKey> {
            try context.container(keyedBy: type, at: find(key))
        }

        func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
            try UnkeyedContainer(context: context, array: find(key))
        }

        func superDecoder() throws -> any Decoder {
            let index = unsafe place.pointee.find(NameKey.super.stringValue)
            return ValueDecoder(
                context: context,
                index: index >= 0 ? index : DecodingContext.missingSuper(in: unsafe place.pointee.index))
        }

        func superDecoder(forKey key: Key) throws -> any Decoder {
            ValueDecoder(context: context, index: try find(key))
        }

        @inline(__always)  // PERF: see above; without counting the references to the context.
        func decode<Value>(at index: Int, _ body: (DecodingContext, Int) throws -> Value) throws -> Value {
            try unsafe place.pointee.context._withUnsafeGuaranteedRef { try body($0, index) }
        }

        @inline(__always)  // PERF: see above.
        func find(_ key: Key) throws -> Int {
            let index = unsafe place.pointee.find(key.stringValue)
            guard index >= 0 else { throw missing(key) }
            return index
        }

        /// Returns the index of a member that exists and isn't null.
        @inline(__always)  // PERF: see above.
        func findPresent(_ key: Key) -> Int? {
            let index = unsafe place.pointee.find(key.stringValue)
            return unsafe index >= 0 && !place.pointee.node(index).has(.null) ? index : nil
        }

        /// Returns the index of a member that exists and isn't null. If all scalars are text, it also isn't the empty
        /// text.
        @inline(__always)  // PERF: see above.
        func findPresentScalar(_ key: Key) -> Int? {
            guard let index = findPresent(key) else { return nil }
            return unsafe place.pointee.node(index).has(.string) && context.isEmptyText(at: index) ? nil : index
        }

        @inline(never)
        private func missing(_ key: Key) -> any Error {
            DecodingError.keyNotFound(
                key,
                DecodingError.Context(
                    codingPath: codingPath, debugDescription: "expected a member \(key.stringValue.debugDescription)"))
        }
    }

    /// The elements of an array. The container is small enough to be passed without allocating memory.
    struct UnkeyedContainer: UnkeyedDecodingContainer {
        private let context: DecodingContext
        private let array: UInt32
        private let elementCount: UInt32
        /// The node of the next element.
        private var next: UInt32
        private var nextIndex: UInt32 = 0

        init(context: DecodingContext, array: Int) throws {
            let (count, first) = try context.elements(at: array)
            try context.checkStack(at: array)
            self.context = context
            self.array = UInt32(truncatingIfNeeded: array)
            elementCount = UInt32(truncatingIfNeeded: count)
            next = UInt32(truncatingIfNeeded: first)
        }

        var codingPath: [any CodingKey] { context.path(of: Int(array)) }
        var count: Int? { Int(elementCount) }
        var isAtEnd: Bool { nextIndex >= elementCount }
        var currentIndex: Int { Int(nextIndex) }

        mutating func decodeNil() throws -> Bool {
            guard context.isNil(at: try find(Any?.self)) else { return false }
            advance()
            return true
        }

        mutating func decode(_ type: Bool.Type) throws -> Bool { try decodeNext(type) { try $0.decode(type, at: $1) } }
        mutating func decode(_ type: String.Type) throws -> String {
            try decodeNext(type) { try $0.decode(type, at: $1) }
        }
        mutating func decode(_ type: Double.Type) throws -> Double {
            try decodeNext(type) { try $0.decode(type, at: $1) }
        }
        mutating func decode(_ type: Float.Type) throws -> Float {
            try decodeNext(type) { try $0.decode(type, at: $1) }
        }
        @inline(__always)  // PERF: see above.
        mutating func decode<Value: FixedWidthInteger & Decodable>(_ type: Value.Type) throws -> Value {
            try decodeNext(type) { try $0.decode(type, at: $1) }
        }
        mutating func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
            try decodeNext(type) { try $0.decode(type, at: $1) }
        }

        mutating func nestedContainer<NestedKey: CodingKey>(
            keyedBy type: NestedKey.Type
        ) throws -> KeyedDecodingContainer<NestedKey> {
            try decodeNext([String: Any].self) { try $0.container(keyedBy: type, at: $1) }
        }

        mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
            try decodeNext([Any].self) { try UnkeyedContainer(context: $0, array: $1) }
        }

        mutating func superDecoder() throws -> any Decoder {
            try decodeNext((any Decoder).self) { ValueDecoder(context: $0, index: $1) }
        }

        @inline(__always)  // PERF: see above.
        private func find(_ type: Any.Type) throws -> Int {
            guard !isAtEnd else { throw missing(type) }
            return Int(next)
        }

        @inline(__always)  // PERF: see above.
        private mutating func advance() {
            next = UInt32(truncatingIfNeeded: context.after(Int(next)))
            nextIndex &+= 1
        }

        /// Moves to the next element only if this one was decoded.
        @inline(__always)  // PERF: see above.
        mutating func decodeNext<Value>(
            _ type: Any.Type, _ decode: (DecodingContext, Int) throws -> Value
        ) throws -> Value {
            let value = try decode(context, try find(type))
            advance()
            return value
        }

        @inline(never)
        private func missing(_ type: Any.Type) -> any Error {
            DecodingError.valueNotFound(
                type,
                DecodingError.Context(
                    codingPath: codingPath + [IndexKey(currentIndex)],
                    debugDescription: "expected an element \(currentIndex), found the end"))
        }
    }
}
