// The containers of `ValueEncoder`: members by key, consecutive elements, and single values.

import PlistBuilding
import PlistStreaming

/// The node to whose members a keyed container adds.
@safe
struct EncodingPlace: BitwiseCopyable {
    // SAFETY: the owner of a container, or `KeptContainers`, retains the tree.
    let tree: Unmanaged<EncodedTree>
    let node: UInt32
    let depth: UInt32
    let hasExactKeys: Bool

    init(_ encoder: ValueEncoder) {
        unsafe tree = Unmanaged.passUnretained(encoder.tree)
        (node, depth, hasExactKeys) = (encoder.node, encoder.depth, encoder.hasExactKeys)
    }
}

extension ValueEncoder {
    /// The members of a dictionary.
    @safe
    struct KeyedContainer<Key: CodingKey, Owner>: KeyedEncodingContainerProtocol {
        // SAFETY: see `EncodingPlace` and `ContainerCache`.
        let place: UnsafeMutablePointer<EncodingPlace>
        /// The object that retains the place of a container that isn't reused; otherwise `NoOwner`.
        let owner: Owner

        var codingPath: [any CodingKey] {
            unsafe place.pointee.tree._withUnsafeGuaranteedRef { unsafe $0.nodes.path(of: place.pointee.node) }
        }

        @inline(__always)  // PERF: JSONRecords/writing; without counting the references to the tree.
        private func add(_ key: Key, _ value: EncodedScalar) {
            let place = unsafe place.pointee
            unsafe place.tree._withUnsafeGuaranteedRef {
                _ = $0.nodes.append(to: place.node, key: key.stringValue, isExact: place.hasExactKeys, value)
            }
        }

        @inline(never)
        private func add(_ key: Key, nonFinite value: Double) throws {
            let place = unsafe place.pointee
            try unsafe place.tree._withUnsafeGuaranteedRef {
                let scalar = try $0.scalar(nonFinite: value, at: place.node, key: key)
                $0.nodes.append(to: place.node, key: key.stringValue, isExact: place.hasExactKeys, scalar)
            }
        }

        private func child(_ key: String) -> ValueEncoder {
            let place = unsafe place.pointee
            let tree = unsafe place.tree.takeUnretainedValue()
            let node = tree.nodes.append(to: place.node, key: key, isExact: place.hasExactKeys, .nothing)
            return ValueEncoder(tree: tree, node: node, depth: place.depth)
        }

        func encodeNil(forKey key: Key) { add(key, .null) }
        func encode(_ value: Bool, forKey key: Key) { add(key, EncodedScalar(value)) }
        func encode(_ value: Double, forKey key: Key) throws {
            if value.isFinite { add(key, EncodedScalar(value)) } else { try add(key, nonFinite: value) }
        }
        func encode(_ value: Float, forKey key: Key) throws {
            if value.isFinite {
                add(key, EncodedScalar(Double(digitsOf: value)))
            } else {
                try add(key, nonFinite: Double(value))
            }
        }
        @inline(__always)  // PERF: JSONRecords/writing; specializes each type of integer.
        func encode(_ value: some FixedWidthInteger & Encodable, forKey key: Key) {
            add(key, EncodedScalar(integer: value))
        }
        func encode(_ value: String, forKey key: Key) {
            let place = unsafe place.pointee
            unsafe place.tree._withUnsafeGuaranteedRef {
                $0.nodes.append(to: place.node, key: key.stringValue, isExact: place.hasExactKeys, .string, value)
            }
        }
        func encode(_ value: some Encodable, forKey key: Key) throws {
            let place = unsafe place.pointee
            let last = unsafe place.tree._withUnsafeGuaranteedRef { $0.nodes.lastChild(of: place.node) }
            try child(key.stringValue).encode(value, after: last)
        }

        func nestedContainer<NestedKey: CodingKey>(
            keyedBy keyType: NestedKey.Type, forKey key: Key
        ) -> KeyedEncodingContainer<NestedKey> {
            child(key.stringValue).container(keyedBy: keyType)
        }

        func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
            child(key.stringValue).unkeyedContainer()
        }

        func superEncoder() -> any Encoder { child(NameKey.super.stringValue) }
        func superEncoder(forKey key: Key) -> any Encoder { child(key.stringValue) }
    }
}

extension ValueEncoder {
    struct UnkeyedContainer: UnkeyedEncodingContainer {
        let encoder: ValueEncoder
        var codingPath: [any CodingKey] { encoder.codingPath }
        var count: Int { encoder.tree.nodes.childCount(of: encoder.node) }

        private func add(_ value: EncodedScalar) { encoder.tree.nodes.append(to: encoder.node, value) }
        private func child() -> ValueEncoder { encoder.child(encoder.tree.nodes.append(to: encoder.node, .nothing)) }

        func encodeNil() { add(.null) }
        func encode(_ value: Bool) { add(EncodedScalar(value)) }
        func encode(_ value: Double) throws { add(try encoder.scalar(value, IndexKey(count))) }
        func encode(_ value: Float) throws { add(try encoder.scalar(Double(digitsOf: value), IndexKey(count))) }
        @inline(__always)  // PERF: JSONRecords/writing; specializes each type of integer.
        func encode(_ value: some FixedWidthInteger & Encodable) { add(EncodedScalar(integer: value)) }
        func encode(_ value: String) { encoder.tree.nodes.append(to: encoder.node, .string, value) }
        func encode(_ value: some Encodable) throws {
            let last = encoder.tree.nodes.lastChild(of: encoder.node)
            try child().encode(value, after: last)
        }

        func nestedContainer<NestedKey: CodingKey>(
            keyedBy keyType: NestedKey.Type
        ) -> KeyedEncodingContainer<NestedKey> {
            child().container(keyedBy: keyType)
        }

        func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer { child().unkeyedContainer() }
        func superEncoder() -> any Encoder { child() }
    }

    struct SingleContainer: SingleValueEncodingContainer {
        let encoder: ValueEncoder
        var codingPath: [any CodingKey] { encoder.codingPath }

        private func set(_ value: EncodedScalar) { encoder.tree.nodes.set(encoder.node, value) }

        func encodeNil() { set(.null) }
        func encode(_ value: Bool) { set(EncodedScalar(value)) }
        func encode(_ value: Double) throws { try encoder.encode(value) }
        func encode(_ value: Float) throws { try encoder.encode(Double(digitsOf: value)) }
        @inline(__always)  // PERF: JSONRecords/writing; specializes each type of integer.
        func encode(_ value: some FixedWidthInteger & Encodable) { set(EncodedScalar(integer: value)) }
        func encode(_ value: String) { encoder.tree.nodes.set(encoder.node, .string, value) }
        func encode(_ value: some Encodable) throws {
            let before = encoder.tree.nodes.value(of: encoder.node)
            do {
                try encoder.encode(value)
            } catch {
                encoder.tree.nodes.set(encoder.node, before)
                throw error
            }
        }
    }

    /// Encodes a value into the node, the last child of a container, and removes the node if encoding fails.
    ///
    /// If the caller catches the error, no part of the value is left, as with other encoders.
    /// - Parameter last: The last child before the node was added, or 0.
    @inline(__always)  // PERF: JSONRecords/writing.
    private func encode(_ value: some Encodable, after last: UInt32) throws {
        do {
            try encode(value)
        } catch {
            tree.nodes.remove(node, after: last)
            throw error
        }
    }
}

// These functions have explicit types: the compiler would otherwise choose the standard library's functions, which
// throw, instead of the generic ones.

extension ValueEncoder.KeyedContainer {
    func encode(_ value: Int128, forKey key: Key) { child(key.stringValue).encode(wide: value) }
    func encode(_ value: UInt128, forKey key: Key) { child(key.stringValue).encode(wide: value) }
}

extension ValueEncoder.UnkeyedContainer {
    func encode(_ value: Int128) { child().encode(wide: value) }
    func encode(_ value: UInt128) { child().encode(wide: value) }
}

extension ValueEncoder.SingleContainer {
    func encode(_ value: Int128) { encoder.encode(wide: value) }
    func encode(_ value: UInt128) { encoder.encode(wide: value) }
}
