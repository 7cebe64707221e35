// The value that the encoders of Codable fill together, by reference.

import PlistStreaming

/// A value that is being encoded, shared by its encoders and containers.
@safe @usableFromInline
final class EncodedTree {
    static let root: UInt32 = 0

    let options: EncodingOptions
    // PERF: JSONRecords/writing; allocated separately, because exclusive access to a property of an object is checked
    // each time. SAFETY: allocated and freed with the tree. No function of the nodes calls code that could access the
    // tree: types encode themselves between the calls, and a sink that receives the nodes has no reference to them.
    private let memory: UnsafeMutablePointer<EncodedNodes>
    /// A Boolean value that indicates whether the names of members are those of the types, as in most values.
    private let hasPlainNames: Bool
    // PERF: JSONTyped/documents; allocating the memory of nodes and names takes longer than encoding a small value.
    /// The empty nodes of an earlier value with plain names. Its names stay known.
    private static let spareNodes = SharedPlaces()
    private let containers = UnsafeMutablePointer<ContainerCache<EncodingPlace>>.allocate(capacity: 1)
    private var isOver = false
    /// The address where recursion must stop.
    let stackLimit = StackBounds.limit
    private let kinds: UnsafeMutablePointer<CodedKind.Cache>
    // PERF: JSONTyped/documents; creating a cache takes longer than encoding a small value.
    /// The cache of an earlier value. Its entries describe types, so they are valid for every value.
    private static let spareKinds = SharedPlaces()

    /// Creates the tree for an encoded value.
    /// - Throws: An error of the value's own encoding, as the cause of `unrepresentable`; `limitExceeded`; `misuse` for
    ///   a key mapping that can't map to names.
    @usableFromInline
    convenience init(of value: any Encodable, options: EncodingOptions) throws(StreamError) {
        try options.keyMapping.requireNames()
        self.init(options: options)
        defer { discardContainers() }
        do {
            try ValueEncoder(tree: self, node: Self.root, depth: 0).encode(value)
        } catch let error as StreamError {
            throw error
        } catch {
            guard case EncodingError.invalidValue(_, let context) = error else {
                throw StreamError(.unrepresentable, "\(error)", cause: error)
            }
            throw StreamError(
                .unrepresentable, context.debugDescription, path: StreamPath(codingPath: context.codingPath),
                cause: error)
        }
    }

    init(options: EncodingOptions) {
        self.options = options
        if case .exact = options.keyMapping.rule { hasPlainNames = true } else { hasPlainNames = false }
        // SAFETY: `deinit` puts only nodes there, and the tree that takes them owns them.
        if hasPlainNames, let spare = unsafe Self.spareNodes.take() {
            unsafe memory = unsafe spare.assumingMemoryBound(to: EncodedNodes.self)
        } else {
            unsafe memory = .allocate(capacity: 1)
            unsafe memory.initialize(to: EncodedNodes(keyMapping: options.keyMapping))
        }
        // SAFETY: `deinit` puts only caches there, and the tree that takes one owns it.
        if let spare = unsafe Self.spareKinds.take() {
            unsafe kinds = unsafe spare.assumingMemoryBound(to: CodedKind.Cache.self)
        } else {
            unsafe kinds = .allocate(capacity: 1)
            unsafe kinds.initialize(to: CodedKind.Cache())
        }
        unsafe containers.initialize(to: ContainerCache())
    }

    @usableFromInline
    deinit {
        // SAFETY: as in `init`.
        var nodes = unsafe Optional(memory)
        if hasPlainNames, unsafe memory.pointee.reset() {
            unsafe nodes = unsafe Self.spareNodes.put(memory)?.assumingMemoryBound(to: EncodedNodes.self)
        }
        if let nodes = unsafe nodes {
            unsafe nodes.deinitialize(count: 1)
            unsafe nodes.deallocate()
        }
        if let other = unsafe Self.spareKinds.put(kinds) {
            // SAFETY: see above.
            let cache = unsafe other.assumingMemoryBound(to: CodedKind.Cache.self)
            unsafe cache.deinitialize(count: 1)
            unsafe cache.deallocate()
        }
        unsafe containers.deinitialize(count: 1)
        unsafe containers.deallocate()
    }

    /// The nodes encoded so far.
    var nodes: EncodedNodes {
        @inline(__always) _read { yield unsafe memory.pointee }
        @inline(__always) _modify { yield unsafe &memory.pointee }
    }

    /// Returns the kind of a type.
    func kind(of type: Any.Type) -> CodedKind { unsafe kinds.pointee.kind(of: type) }

    /// Returns the scalar that represents a non-finite number.
    /// - Throws: `EncodingError` if the options require it, with the path to the node and a key.
    @inline(never)
    func scalar(nonFinite value: Double, at node: UInt32, key: (any CodingKey)? = nil) throws -> EncodedScalar {
        switch options.nonConformingFloats {
        case .native: return EncodedScalar(value)
        case .convertToString(let positive, let negative, let nan):
            return nodes.scalar(.string, value.isNaN ? nan : value > 0 ? positive : negative)
        case .throw:
            throw EncodingError.invalidValue(
                value,
                EncodingError.Context(
                    codingPath: nodes.path(of: node) + (key.map { [$0] } ?? []),
                    debugDescription: "expected a finite number, found \(value)"))
        }
    }

    /// Returns the messages for the value; valid while the tree exists and doesn't change.
    @usableFromInline
    func messages() -> EncodedMessages { unsafe memory.pointee.messages() }

    // MARK: Containers

    @inline(__always)  // PERF: JSONRecords/writing; once a dictionary.
    func freeContainer(
        for type: Any.Type
    ) -> (vendor: Unmanaged<AnyObject>, place: UnsafeMutablePointer<EncodingPlace>)? {
        unsafe containers.pointee.freeContainer(for: type)
    }

    /// Creates a container for a dictionary. A container that can't be reused retains the tree.
    @inline(never)
    func makeContainer<Key: CodingKey>(at place: EncodingPlace) -> KeyedEncodingContainer<Key> {
        if !isOver {
            let container = unsafe containers.pointee.makeContainer(for: Key.self, at: place) {
                unsafe KeyedEncodingContainer(ValueEncoder.KeyedContainer<Key, NoOwner>(place: $0, owner: NoOwner()))
            }
            if let container { return container }
        }
        let owner = PlaceOwner(place, of: self)
        return unsafe KeyedEncodingContainer(
            ValueEncoder.KeyedContainer<Key, PlaceOwner<EncodingPlace>>(place: owner.place, owner: owner))
    }

    /// Removes the containers from the cache.
    func discardContainers() {
        isOver = true
        _ = unsafe containers.pointee.removeAll(of: self)
    }

    @inline(never)
    func tooDeep() -> StreamError {
        let limit = StackBounds.isBeyond(stackLimit) ? "the stack of the thread allows" : "\(options.depthLimit)"
        return StreamError(.limitExceeded, "more levels of encoded values than \(limit)")
    }
}
