// Using the keyed containers of Codable again: making one costs an object and four look-ups of generic types, a third of
// the time that a small structure takes to be coded.

/// The keyed containers that were handed out last, by the type of their keys, each with the place it stands at.
///
/// A container is handed out again only when nobody else holds it; then its place is changed instead. That a container
/// is one reference is not promised by the standard library: it is found out once, and else none is used again.
@safe
struct ContainerCache<Place: AnyObject>: ~Copyable {
    private let entries = UnsafeMutablePointer<Entry>.allocate(capacity: Self.capacity)
    private var missCount = 0

    private struct Entry {
        var type: ObjectIdentifier?
        var container: AnyObject?
        var place: Place?
    }

    private static var capacity: Int { 16 }

    init() { unsafe entries.initialize(repeating: Entry(), count: Self.capacity) }

    deinit {
        unsafe entries.deinitialize(count: Self.capacity)
        unsafe entries.deallocate()
    }

    /// The address of a container for a type of keys that nobody uses, or nil, and its place.
    ///
    /// Both are valid until the next container is remembered.
    @inline(__always)  // PERF: JSONRecords/writing, JSONRecords/foundation; once a dictionary.
    func freeContainer(for type: Any.Type) -> (address: UnsafeRawPointer, place: Unmanaged<Place>)? {
        // SAFETY: an index has four bits, and there are 16 entries.
        let entry = unsafe entries + Self.index(of: type)
        guard unsafe entry.pointee.type == ObjectIdentifier(type),
            unsafe isKnownUniquelyReferenced(&entry.pointee.container), let place = unsafe entry.pointee.place
        else { return nil }
        return unsafe (UnsafeRawPointer(entry) + Self.containerOffset, Unmanaged.passUnretained(place))
    }

    /// Where in an entry the container is: after the identifier of the type, a reference like itself.
    private static var containerOffset: Int { MemoryLayout<Entry>.offset(of: \Entry.container) ?? 0 }

    /// Remembers a container, unless another one in its place is in use.
    @inline(never)
    mutating func remember<Container>(_ container: Container, at place: Place, for type: Any.Type) {
        // Finding out the layout takes as long as hundreds of containers.
        missCount += 1
        guard missCount > 128, ContainerLayout.isReference else { return }
        // SAFETY: see above; a container is a reference to an object.
        let entry = unsafe entries + Self.index(of: type)
        guard unsafe entry.pointee.type == nil || isKnownUniquelyReferenced(&entry.pointee.container) else { return }
        unsafe entry.pointee = Entry(
            type: ObjectIdentifier(type), container: unsafeBitCast(container, to: AnyObject.self), place: place)
    }

    /// Forgets all containers.
    func removeAll() {
        for index in 0..<Self.capacity { unsafe entries[index] = Entry() }
    }

    private static func index(of type: Any.Type) -> Int {
        let bits = UInt(bitPattern: ObjectIdentifier(type))
        return Int(truncatingIfNeeded: (bits &>> 3 ^ bits &>> 7) & 15)
    }
}

/// What the keyed containers of the standard library are in memory.
enum ContainerLayout {
    /// Whether both are one reference to a native object.
    static let isReference: Bool = {
        let tree = EncodedTree(options: EncodingOptions())
        let encoder = ValueEncoder(tree: tree, node: EncodedTree.root, depth: 0)
        let list = PropertyList(.empty, PropertyListNode(.dictionary, 0, key: 0))
        let encoding: KeyedEncodingContainer<NameKey> = EncodingPlace(encoder).makeContainer()
        let context = DecodingContext(options: DecodingOptions(), list)
        let decoding: KeyedDecodingContainer<NameKey> = DecodingPlace(context).makeContainer()
        return isReference(encoding) && isReference(decoding)
    }()

    private static func isReference<Container>(_ container: Container) -> Bool {
        guard MemoryLayout<Container>.size == MemoryLayout<AnyObject>.size else { return false }
        let children = Mirror(reflecting: container).children
        guard children.count == 1, let only = children.first?.value, type(of: only) is AnyObject.Type else {
            return false
        }
        // SAFETY: bits are compared as numbers; the sizes are equal.
        let bits = unsafe unsafeBitCast(container, to: UInt.self)
        return withExtendedLifetime(container) { bits == UInt(bitPattern: ObjectIdentifier(only as AnyObject)) }
    }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

extension ContainerLayout: SelfTesting {
    static var testSelectors: TestSelectors {
        ["testIsKnown": testIsKnown, "testNeverSharesAContainerInUse": testNeverSharesAContainerInUse]
    }

    private static func testIsKnown() { expectTrue(isReference, "the layout of containers") }

    private final class Place {}

    private static func testNeverSharesAContainerInUse() throws {
        final class Box {}
        var cache = ContainerCache<Place>()
        let type = NameKey.self
        for _ in 0..<200 { cache.remember(Box(), at: Place(), for: type) }
        do {
            let free = unsafe try requireNotNil(cache.freeContainer(for: type)?.address, "one that nobody uses")
            let first = unsafe free.assumingMemoryBound(to: Box.self).pointee
            expectTrue(unsafe cache.freeContainer(for: type) == nil, "one that is in use")
            expectTrue(unsafe cache.freeContainer(for: IndexKey.self) == nil, "one for other keys")
            withExtendedLifetime(first) {}
        }
        expectTrue(unsafe cache.freeContainer(for: type) != nil, "the same afterwards")
    }
}
#endif
