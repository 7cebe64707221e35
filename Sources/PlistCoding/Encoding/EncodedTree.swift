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
    private let nodes = UnsafeMutablePointer<EncodedNodes>.allocate(capacity: 1)
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
        unsafe nodes.initialize(to: EncodedNodes(keyMapping: options.keyMapping))
        unsafe kinds.initialize(to: CodedKind.Cache())
        unsafe containers.initialize(to: ContainerCache())
    }

    @usableFromInline
    deinit {
        unsafe nodes.deinitialize(count: 1)
        unsafe nodes.deallocate()
        unsafe kinds.deinitialize(count: 1)
        unsafe kinds.deallocate()
        unsafe containers.deinitialize(count: 1)
        unsafe containers.deallocate()
    }

    /// The kind of a type.
    func kind(of type: Any.Type) -> CodedKind { unsafe kinds.pointee.kind(of: type) }

    /// Makes a node a container, unless it is one of that kind.
    func open(_ node: UInt32, _ tag: EncodedNode.Tag) { unsafe nodes.pointee.open(node, tag) }

    /// Adds an element to an array and returns its number.
    @discardableResult
    func append(to parent: UInt32, _ value: EncodedScalar) -> UInt32 {
        unsafe nodes.pointee.append(to: parent, key: 0, value)
    }

    func append(to parent: UInt32, _ tag: EncodedNode.Tag, _ text: String) {
        let value = unsafe nodes.pointee.scalar(tag, text)
        unsafe nodes.pointee.append(to: parent, key: 0, value)
    }

    /// Adds a member to a dictionary and returns its number; an exact key is the name in the stream.
    @discardableResult
    func append(to parent: UInt32, key: String, isExact: Bool, _ value: EncodedScalar) -> UInt32 {
        unsafe nodes.pointee.append(to: parent, key: key, isExact: isExact, value)
    }

    func append(to parent: UInt32, key: String, isExact: Bool, _ tag: EncodedNode.Tag, _ text: String) {
        let value = unsafe nodes.pointee.scalar(tag, text)
        unsafe nodes.pointee.append(to: parent, key: key, isExact: isExact, value)
    }

    func set(_ node: UInt32, _ value: EncodedScalar) { unsafe nodes.pointee.set(node, value) }
    func set(_ node: UInt32, _ tag: EncodedNode.Tag, _ text: String) {
        let value = unsafe nodes.pointee.scalar(tag, text)
        unsafe nodes.pointee.set(node, value)
    }
    func set(_ node: UInt32, data: UnsafeRawBufferPointer) {
        let value = unsafe nodes.pointee.scalar(.data, data)
        unsafe nodes.pointee.set(node, value)
    }

    /// The value of a node.
    func value(of node: UInt32) -> EncodedScalar { unsafe nodes.pointee.value(of: node) }

    /// The last child of a container, 0 for none.
    @inline(__always)  // PERF: JSONRecords/writing; once a value that encodes itself.
    func lastChild(of parent: UInt32) -> UInt32 { unsafe nodes.pointee.lastChild(of: parent) }

    /// Takes a child out of its container, which comes after another one or, for 0, first.
    @inline(never)
    func remove(_ node: UInt32, after before: UInt32) { unsafe nodes.pointee.remove(node, after: before) }

    /// The scalar that stands for a number that is none.
    /// - Throws: `EncodingError` where the options say so, with the path to the node and a key.
    @inline(never)
    func scalar(nonFinite value: Double, at node: UInt32, key: (any CodingKey)? = nil) throws -> EncodedScalar {
        switch options.nonConformingFloats {
        case .native: return EncodedScalar(value)
        case .convertToString(let positive, let negative, let nan):
            return unsafe nodes.pointee.scalar(.string, value.isNaN ? nan : value > 0 ? positive : negative)
        case .throw:
            throw EncodingError.invalidValue(
                value,
                EncodingError.Context(
                    codingPath: path(of: node) + (key.map { [$0] } ?? []),
                    debugDescription: "expected a finite number, found \(value)"))
        }
    }

    /// The number of children of a container.
    /// - Complexity: O(*n*) in the number.
    func childCount(of node: UInt32) -> Int { unsafe nodes.pointee.childCount(of: node) }

    /// The coding keys on the way from the root to a node.
    func path(of node: UInt32) -> [any CodingKey] { unsafe nodes.pointee.path(of: node) }

    /// How many elements were counted for places.
    var stepCount: Int { unsafe nodes.pointee.stepCount }

    /// What is to be sent; valid while the tree lives and does not change.
    @usableFromInline
    func messages() -> EncodedMessages { unsafe nodes.pointee.messages() }

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
