// The value that the encoders of Codable fill together, by reference.

import PlistStreaming

/// A value that is being encoded, shared by its encoders and containers.
@safe @usableFromInline
final class EncodedTree {
    static let root: UInt32 = 0

    let options: EncodingOptions
    // PERF: JSONRecords/writing; behind a pointer, since exclusive access to a property of an object is checked each time.
    // SAFETY: made and freed with the tree. No function of the nodes calls anything that could reach the tree: types
    // encode themselves between the calls, and a sink that is sent the nodes does not know of them.
    private let memory = UnsafeMutablePointer<EncodedNodes>.allocate(capacity: 1)
    private let containers = UnsafeMutablePointer<ContainerCache<EncodingPlace>>.allocate(capacity: 1)
    private var isOver = false
    /// Where recursion must end.
    let stackLimit = StackBounds.limit
    private let kinds = UnsafeMutablePointer<CodedKind.Cache>.allocate(capacity: 1)

    /// Makes the tree of what a value encodes.
    /// - Throws: An error of the value's own encoding, as the cause of `unrepresentable`; `limitExceeded`; `misuse` for a key
    ///   mapping that tells no names.
    @usableFromInline
    convenience init(of value: any Encodable, options: EncodingOptions) throws(StreamError) {
        try options.keyMapping.requireNames()
        self.init(options: options)
        defer { forgetContainers() }
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
        unsafe memory.initialize(to: EncodedNodes(keyMapping: options.keyMapping))
        unsafe kinds.initialize(to: CodedKind.Cache())
        unsafe containers.initialize(to: ContainerCache())
    }

    @usableFromInline
    deinit {
        unsafe memory.deinitialize(count: 1)
        unsafe memory.deallocate()
        unsafe kinds.deinitialize(count: 1)
        unsafe kinds.deallocate()
        unsafe containers.deinitialize(count: 1)
        unsafe containers.deallocate()
    }

    /// What was encoded so far.
    var nodes: EncodedNodes {
        @inline(__always) _read { yield unsafe memory.pointee }
        @inline(__always) _modify { yield unsafe &memory.pointee }
    }

    /// The kind of a type.
    func kind(of type: Any.Type) -> CodedKind { unsafe kinds.pointee.kind(of: type) }

    /// The scalar that stands for a number that is none.
    /// - Throws: `EncodingError` where the options say so, with the path to the node and a key.
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

    /// What is to be sent; valid while the tree lives and does not change.
    @usableFromInline
    func messages() -> EncodedMessages { unsafe memory.pointee.messages() }

    // MARK: Containers

    @inline(__always)  // PERF: JSONRecords/writing; once a dictionary.
    func freeContainer(
        for type: Any.Type
    ) -> (vendor: Unmanaged<AnyObject>, place: UnsafeMutablePointer<EncodingPlace>)? {
        unsafe containers.pointee.freeContainer(for: type)
    }

    /// Makes a container for a dictionary; one that is not used again holds what it refers to.
    @inline(never)
    func makeContainer<Key: CodingKey>(at place: EncodingPlace) -> KeyedEncodingContainer<Key> {
        if !isOver {
            let container = unsafe containers.pointee.makeContainer(for: Key.self, at: place) {
                unsafe KeyedEncodingContainer(ValueEncoder.KeyedContainer<Key, Nobody>(place: $0, owner: Nobody()))
            }
            if let container { return container }
        }
        let owner = PlaceOwner(place, of: self)
        return unsafe KeyedEncodingContainer(
            ValueEncoder.KeyedContainer<Key, PlaceOwner<EncodingPlace>>(place: owner.place, owner: owner))
    }

    /// Forgets the containers.
    func forgetContainers() {
        isOver = true
        _ = unsafe containers.pointee.removeAll(of: self)
    }

    @inline(never)
    func tooDeep() -> StreamError {
        let limit = StackBounds.isBeyond(stackLimit) ? "the stack of the thread allows" : "\(options.depthLimit)"
        return StreamError(.limitExceeded, "values encode values to a depth of more than \(limit)")
    }
}
