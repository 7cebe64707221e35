// Reuses the keyed containers of Codable: creating one costs an object and four lookups of generic types, a third of
// the time for coding a small structure.

import PlistStreaming

/// The keyed containers that were used last, by the type of their keys, each with its place.
///
/// A container is reused only if its vendor holds the only reference; then only its place changes. The standard library
/// doesn't guarantee that a container is a single reference. This is checked once, and if it isn't so, no container is
/// reused.
///
/// Containers refer to their places without retaining them, which saves reference counting for each member. Therefore
/// the places of containers that are still referenced are kept too, see `KeptContainers`.
@safe
struct ContainerCache<Place: BitwiseCopyable>: ~Copyable {
    // PERF: JSONTyped/documents; allocated for the first container, because small values have none that is reused.
    private var memory: UnsafeMutablePointer<Entry>?
    private var missCount = 0
    /// The entries that have a container, one bit each.
    private var used: UInt32 = 0

    @safe
    private struct Entry {
        var type: ObjectIdentifier?
        /// The bits of the container, which the vendor retains.
        var container: UInt = 0
        var place: UnsafeMutablePointer<Place>?
        var vendor: AnyObject?
    }

    private static var capacity: Int { 32 }
    /// The number of entries for a type, a power of two: its own entry, and neighbors that other types may share.
    ///
    /// The entry of a type depends on the address of its metadata, and so on the process. With two neighbors, in half
    /// of all processes two frequent types of one value replaced each other's containers.
    private static var neighborCount: Int { 4 }

    init() {}

    deinit {
        guard let entries = unsafe memory else { return }
        for index in 0..<Self.capacity { unsafe entries[index].place?.deallocate() }
        unsafe entries.deinitialize(count: Self.capacity)
        unsafe entries.deallocate()
    }

    /// Returns an unused vendor of a container for a type of keys, and its place, or nil.
    ///
    /// Both are valid until the next container is added to the cache.
    @inline(__always)  // PERF: JSONRecords/writing, JSONRecords/foundation; once a dictionary.
    func freeContainer(for type: Any.Type) -> (vendor: Unmanaged<AnyObject>, place: UnsafeMutablePointer<Place>)? {
        guard let entries = unsafe memory else { return nil }
        let first = Self.index(of: type)
        for offset in 0..<Self.neighborCount {
            // SAFETY: an index has five bits, and there are 32 entries.
            if let free = unsafe Self.freeContainer(entries + (first ^ offset), for: type) { return unsafe free }
        }
        return nil
    }

    @inline(__always)  // PERF: see above.
    private static func freeContainer(
        _ entry: UnsafeMutablePointer<Entry>, for type: Any.Type
    ) -> (vendor: Unmanaged<AnyObject>, place: UnsafeMutablePointer<Place>)? {
        guard unsafe entry.pointee.type == ObjectIdentifier(type), unsafe isFree(entry),
            let place = unsafe entry.pointee.place, let vendor = unsafe entry.pointee.vendor
        else { return nil }
        return unsafe (Unmanaged.passUnretained(vendor), place)
    }

    /// Returns whether the vendor of an entry holds the only reference to the container.
    @inline(__always)  // PERF: see above.
    private static func isFree(_ entry: UnsafeMutablePointer<Entry>) -> Bool {
        // SAFETY: the bits are a reference to an object that the vendor of the entry keeps alive.
        let address = unsafe UnsafeMutableRawPointer(entry) + (MemoryLayout<Entry>.offset(of: \Entry.container) ?? 0)
        return unsafe isKnownUniquelyReferenced(&address.assumingMemoryBound(to: AnyObject?.self).pointee)
    }

    /// Creates a container that can be reused, or returns nil if all entries are in use.
    @inline(never)
    mutating func makeContainer<Container>(
        for type: Any.Type, at place: Place, _ make: (UnsafeMutablePointer<Place>) -> Container
    ) -> Container? {
        missCount += 1
        guard ContainerLayout.isReference(after: missCount) else { return nil }
        if unsafe memory == nil {
            let entries = UnsafeMutablePointer<Entry>.allocate(capacity: Self.capacity)
            unsafe entries.initialize(repeating: Entry(), count: Self.capacity)
            unsafe memory = unsafe entries
        }
        guard let entries = unsafe memory else { return nil }
        let first = Self.index(of: type)
        for attempt in 0..<2 * Self.neighborCount {
            let index = first ^ (attempt % Self.neighborCount)
            // SAFETY: see above.
            let entry = unsafe entries + index
            // First the empty entries, then those with an unused container.
            let isEmpty = attempt < Self.neighborCount
            guard unsafe isEmpty ? entry.pointee.type == nil : Self.isFree(entry) else { continue }
            let address = unsafe entry.pointee.place ?? UnsafeMutablePointer<Place>.allocate(capacity: 1)
            unsafe entry.pointee.vendor = nil
            unsafe address.initialize(to: place)
            let container = unsafe make(address)
            unsafe entry.pointee = Entry(
                type: ObjectIdentifier(type), container: unsafeBitCast(container, to: UInt.self), place: address,
                vendor: ContainerVendor(container))
            used |= 1 &<< UInt32(truncatingIfNeeded: index)
            return container
        }
        return nil
    }

    /// A Boolean value that indicates whether the vendors hold the only references to all containers.
    var areFree: Bool {
        var rest = used
        while rest != 0, let entries = unsafe memory {
            guard unsafe Self.isFree(entries + rest.trailingZeroBitCount) else { return false }
            rest &= rest &- 1
        }
        return true
    }

    /// Removes all containers. Referenced containers are kept together with their owner, to which their places refer.
    /// - Returns: A Boolean value that indicates whether there are such containers.
    func removeAll(of owner: AnyObject) -> Bool {
        guard used != 0, let entries = unsafe memory else { return false }
        var hasEscaped = false
        for index in 0..<Self.capacity {
            let entry = unsafe entries + index
            guard let place = unsafe entry.pointee.place else { continue }
            if unsafe Self.isFree(entry) {
                unsafe entry.pointee.vendor = nil
                unsafe place.deallocate()
            } else if let vendor = unsafe entry.pointee.vendor {
                hasEscaped = true
                let bits = unsafe entry.pointee.container
                unsafe KeptContainers.keep(
                    KeptContainers.Entry(container: bits, vendor: vendor, place: place, owner: owner))
            }
            unsafe entry.pointee = Entry()
        }
        return hasEscaped
    }

    @inline(__always)  // PERF: see above.
    private static func index(of type: Any.Type) -> Int {
        let bits = UInt64(UInt(bitPattern: ObjectIdentifier(type)))
        return Int(truncatingIfNeeded: (bits &* 0x9E37_79B9_7F4A_7C15) &>> 59)
    }
}

/// The owner type for places of containers that are reused.
struct NoOwner {}

/// The place of a container that isn't reused, with the object that it refers to.
@safe
final class PlaceOwner<Place: BitwiseCopyable> {
    private let owner: AnyObject
    // SAFETY: allocated and freed with this object.
    let place = UnsafeMutablePointer<Place>.allocate(capacity: 1)

    init(_ place: Place, of owner: AnyObject) {
        self.owner = owner
        unsafe self.place.initialize(to: place)
    }

    deinit { unsafe place.deallocate() }
}

/// Creates or returns a container whose type is unknown where it is stored.
///
/// PERF: JSONRecords/writing, JSONRecords/foundation; the object provides the type of the container. Looking it up by
/// the type of the keys takes longer than all other work for a dictionary.
final class ContainerVendor<Container> {
    private let container: Container

    init(_ container: Container) { self.container = container }

    @inline(never)
    func vend() -> Container { container }

    /// Returns the container of a vendor that is known to have this type.
    @inline(__always)
    static func vend(_ vendor: Unmanaged<AnyObject>) -> Container {
        // SAFETY: a container is found by the type of its keys, which determines the type of the vendor.
        unsafe vendor._withUnsafeGuaranteedRef { unsafe unsafeDowncast($0, to: ContainerVendor<Container>.self).vend() }
    }
}

/// The memory layout of the standard library's keyed containers.
enum ContainerLayout {
    /// A Boolean value that indicates whether both container types are a single reference to a native object.
    static let isReference: Bool = {
        // SAFETY: no member of these containers is ever called.
        let encodingPlace = UnsafeMutablePointer<EncodingPlace>.allocate(capacity: 1)
        let decodingPlace = UnsafeMutablePointer<DecodingPlace>.allocate(capacity: 1)
        defer {
            unsafe encodingPlace.deallocate()
            unsafe decodingPlace.deallocate()
        }
        let encoding = unsafe KeyedEncodingContainer(
            ValueEncoder.KeyedContainer<NameKey, NoOwner>(place: encodingPlace, owner: NoOwner()))
        let decoding = unsafe KeyedDecodingContainer(
            ValueDecoder.KeyedContainer<NameKey, NoOwner>(place: decodingPlace, owner: NoOwner()))
        return isReference(encoding) && isReference(decoding)
    }()

    // SAFETY: accessed only under the lock.
    private nonisolated(unsafe) static var isFoundOut = false
    private static let lock = Lock()

    /// Returns whether containers are references. Checks it only if a value has created many containers without reuse.
    ///
    /// The check takes as long as creating hundreds of containers, once per process, so a value with few containers
    /// doesn't start it. The first container of a value is often the only one of its type.
    static func isReference(after missCount: Int) -> Bool {
        guard missCount > 1 else { return false }
        let isWorthwhile = lock.withLock {
            unsafe isFoundOut = unsafe isFoundOut || missCount > 16
            return unsafe isFoundOut
        }
        return isWorthwhile && isReference
    }

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
        [
            "testRecognizesLayoutOfContainers": testRecognizesLayoutOfContainers,
            "testNeverSharesAContainerInUse": testNeverSharesAContainerInUse,
            "testKeepsContainersThatAreRetained": testKeepsContainersThatAreRetained,
        ]
    }

    private static func testRecognizesLayoutOfContainers() { expectTrue(isReference, "the layout of containers") }

    @safe
    private final class Box {
        let address: UnsafeMutablePointer<Int>
        init(_ address: UnsafeMutablePointer<Int>) { unsafe self.address = unsafe address }
    }

    private static func testNeverSharesAContainerInUse() throws {
        var cache = ContainerCache<Int>()
        let type = NameKey.self
        expectFalse(ContainerLayout.isReference(after: 1), "whether a first container is kept")
        expectTrue(ContainerLayout.isReference(after: 17), "whether many are kept")
        expectTrue(ContainerLayout.isReference(after: 2), "whether a second one is, from then on")
        expectNil(unsafe cache.makeContainer(for: type, at: 0) { unsafe Box($0) }, "before it pays")
        _ = unsafe cache.makeContainer(for: type, at: 1) { unsafe Box($0) }
        do {
            let free = unsafe try requireNotNil(cache.freeContainer(for: type)?.vendor, "one that nobody uses")
            let first = unsafe ContainerVendor<Box>.vend(free)
            expectTrue(unsafe cache.freeContainer(for: type) == nil, "one that is in use")
            expectTrue(unsafe cache.freeContainer(for: IndexKey.self) == nil, "one for other keys")
            var others: [Box?] = []
            for place in 2...4 { others.append(unsafe cache.makeContainer(for: type, at: place) { unsafe Box($0) }) }
            expectFalse(others.contains { $0 == nil }, "a second, third and fourth one")
            expectNil(unsafe cache.makeContainer(for: type, at: 5) { unsafe Box($0) }, "a fifth one")
            expectEqual(unsafe first.address.pointee, 1, "the place of the first one")
            withExtendedLifetime((first, others)) {}
        }
        expectTrue(unsafe cache.freeContainer(for: type) != nil, "the same afterwards")
        expectFalse(cache.removeAll(of: Object()), "whether one is kept")
    }

    private final class Object {}

    private static func testKeepsContainersThatAreRetained() {
        weak var owner: Object?
        func keptContainer() -> Box? {
            var cache = ContainerCache<Int>()
            let object = Object()
            owner = object
            var box: Box?
            for number in 0..<50 {
                box = unsafe cache.makeContainer(for: NameKey.self, at: number) { unsafe Box($0) } ?? box
            }
            expectTrue(cache.removeAll(of: object), "whether one is kept")
            return box
        }
        do {
            let box = keptContainer()
            expectNotNil(owner, "the owner of a container in use")
            expectTrue(unsafe box?.address.pointee ?? 0 > 0, "its place")
        }
        _ = keptContainer()
        // The next kept container checks the earlier ones.
        KeptContainers.sweep()
        expectNil(owner, "the owner of a container that is not in use any more")
    }
}
#endif
