// What all decoders of one value share: the tree, the options, the keys that were looked up, and the way to a node.

import PlistStreaming
import StringTables

/// What all decoders of one value share.
@safe
final class DecodingContext {
    let options: DecodingOptions
    let storage: PropertyListStorage
    private let rootNode: PropertyListNode
    /// The number of the root, which need not be in the storage.
    static let root = -1

    private let smallText = SmallText.checked
    private let keys: KeySet
    private let isMapped: Bool
    /// By coding key: the number of the key in the storage.
    private var mapped: [String: Int] = [:]
    /// By number of the key that is found for a coding key: the others in the storage that become the same one.
    private(set) var equivalents: [Int: [UInt32]] = [:]
    // PERF: JSONRecords/foundation; behind a pointer, since exclusive access to a property of an object is checked.
    // SAFETY: made and freed with the context; no function of the caches calls anything that could reach them.
    private let caches = UnsafeMutablePointer<Caches>.allocate(capacity: 1)

    /// What was looked up last.
    private struct Caches: ~Copyable {
        var keys = RecentStrings()
        var exactKeys = RecentStrings()
        var kinds = CodedKind.Cache()
        var containers = ContainerCache<DecodingPlace>()
    }

    init(options: DecodingOptions, _ list: PropertyList) {
        self.options = options
        storage = list.storage
        rootNode = list.node
        keys = storage.keys
        if case .convertFromSnakeCase = options.keys { isMapped = true } else { isMapped = false }
        unsafe caches.initialize(to: Caches())
        guard isMapped else { return }
        for number in 0..<storage.keys.count {
            let name = DecodingOptions.camelCased(storage.keys[number])
            // Dictionaries of one stream may spell a key differently, so each of them is looked through for every spelling.
            if let first = mapped[name] {
                equivalents[first, default: []].append(UInt32(truncatingIfNeeded: number))
            } else {
                mapped[name] = number
            }
        }
    }

    deinit {
        unsafe caches.deinitialize(count: 1)
        unsafe caches.deallocate()
    }

    // MARK: Nodes

    /// The node of a number: an index in the storage, the root, or a member that is missing and reads as null.
    func node(_ index: Int) -> PropertyListNode {
        if index >= 0 { return storage.node(index) }
        return index == Self.root ? rootNode : PropertyListNode(.null, 0, key: 0)
    }

    /// The number of the `super` that a dictionary has not.
    static func missingSuper(in index: Int) -> Int { -3 - index }

    func string(of node: PropertyListNode) -> String {
        unsafe storage.withBytes(of: node) { smallText.string(unsafe $0.bytes) }
    }

    /// The coding keys on the way from the root to a node.
    func path(of index: Int) -> [any CodingKey] {
        if index < Self.root { return path(of: -3 - index) + [NameKey.super] }
        var path: [any CodingKey] = []
        var node = rootNode
        // The nodes within each child lie together and end with its own children, so the nearest end is on the way.
        while index != Self.root, !node.children.contains(index) {
            let containers = node.children.filter { child in
                let child = storage.node(child)
                return (child.tag == .array || child.tag == .dictionary) && child.children.upperBound > index
            }
            let ends = containers.map { storage.node($0).children.upperBound }
            guard let next = zip(containers, ends).min(by: { $0.1 < $1.1 })?.0 else { return path }
            path.append(key(of: next, in: node))
            node = storage.node(next)
        }
        return index == Self.root ? path : path + [key(of: index, in: node)]
    }

    private func key(of child: Int, in container: PropertyListNode) -> any CodingKey {
        container.tag == .array
            ? IndexKey(child - container.firstChild) : NameKey(name(of: Int(storage.node(child).key), isExact: false))
    }

    // MARK: Keys

    /// The number of a coding key in the storage, or -1; an exact one is the name.
    @inline(__always)  // PERF: JSONRecords/foundation; once a member.
    func number(of key: String, isExact: Bool) -> Int {
        if isExact || !isMapped {
            let number = unsafe caches.pointee.exactKeys.number(of: key)
            return number >= 0 ? number : find(key)
        }
        let number = unsafe caches.pointee.keys.number(of: key)
        return number >= 0 ? number : findMapped(key)
    }

    @inline(never)
    private func find(_ key: String) -> Int {
        guard let number = keys.index(of: key) else { return -1 }
        unsafe caches.pointee.exactKeys.remember(key, number)
        return number
    }

    @inline(never)
    private func findMapped(_ key: String) -> Int {
        guard let number = mapped[key] else { return -1 }
        unsafe caches.pointee.keys.remember(key, number)
        return number
    }

    /// The coding key that a name in the stream is.
    func name(of number: Int, isExact: Bool) -> String {
        isMapped && !isExact ? DecodingOptions.camelCased(storage.keys[number]) : storage.keys[number]
    }

    // MARK: Types and containers

    func kind(of type: Any.Type) -> CodedKind { unsafe caches.pointee.kinds.kind(of: type) }

    @inline(__always)  // PERF: JSONRecords/foundation; once a dictionary.
    func freeContainer(for type: Any.Type) -> (address: UnsafeRawPointer, place: Unmanaged<DecodingPlace>)? {
        unsafe caches.pointee.containers.freeContainer(for: type)
    }

    func remember(_ container: some Any, at place: DecodingPlace, for type: Any.Type) {
        unsafe caches.pointee.containers.remember(container, at: place, for: type)
    }

    /// Forgets the containers, which hold the context.
    func forgetContainers() { unsafe caches.pointee.containers.removeAll() }
}

/// The dictionary that a container with keys looks in.
@safe
final class DecodingPlace {
    let context: DecodingContext
    private(set) var index = DecodingContext.root
    private(set) var children = 0..<0
    private(set) var hasExactKeys = false
    /// The member after the one that was found last, which is the next one to be asked for where the orders agree.
    private var next = 0
    // PERF: JSONRecords/foundation; without counting the references to context and storage once a member.
    // SAFETY: the memory belongs to the storage, which the context holds, and does not change.
    private let nodes: UnsafeBufferPointer<PropertyListNode>

    init(_ context: DecodingContext) {
        self.context = context
        unsafe nodes = unsafe context.storage.nodes.values
    }

    func move(to index: Int, _ node: PropertyListNode, _ hasExactKeys: Bool) {
        self.index = index
        self.hasExactKeys = hasExactKeys
        children = node.children
        next = children.lowerBound
    }

    /// The node of a member.
    @inline(__always)  // PERF: see above.
    func node(_ index: Int) -> PropertyListNode {
        unsafe precondition(index >= 0 && index < nodes.count, "index out of range")
        return unsafe nodes[index]
    }

    /// The index of a member, or -1.
    func find(_ key: String) -> Int {
        let number = context.number(of: key, isExact: hasExactKeys)
        guard number >= 0 else { return -1 }
        let key = UInt32(truncatingIfNeeded: number)
        let index = next
        if index < children.upperBound, node(index).key == key {
            next = index &+ 1
            return index
        }
        return search(key)
    }

    @inline(never)
    private func search(_ key: UInt32) -> Int {
        for index in children where node(index).key == key {
            next = index + 1
            return index
        }
        if hasExactKeys || context.equivalents.isEmpty { return -1 }
        guard let others = context.equivalents[Int(key)] else { return -1 }
        return children.first { others.contains(node($0).key) } ?? -1
    }

    @inline(never)
    func makeContainer<Key: CodingKey>() -> KeyedDecodingContainer<Key> {
        KeyedDecodingContainer(ValueDecoder.KeyedContainer<Key>(place: self))
    }
}
