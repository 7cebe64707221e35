// Keyed containers that types keep after the coding of a value, with the objects that they refer to.

import PlistStreaming

/// Containers that are still referenced, with their places and the objects that the places refer to, until the last
/// reference is released.
enum KeptContainers {
    /// One container: its bits, the object that retains it, its place, and the object that the place refers to.
    @safe
    struct Entry {
        var container: UInt
        let vendor: AnyObject
        let place: UnsafeMutableRawPointer
        let owner: AnyObject

        /// Returns whether the vendor holds the only reference to the container.
        mutating func isFree() -> Bool {
            // SAFETY: the bits are a reference to an object that the vendor keeps alive.
            unsafe withUnsafeMutablePointer(to: &container) { address in
                let address = unsafe UnsafeMutableRawPointer(address).assumingMemoryBound(to: AnyObject?.self)
                return unsafe isKnownUniquelyReferenced(&address.pointee)
            }
        }
    }

    // SAFETY: accessed only under the lock.
    private nonisolated(unsafe) static var entries: [Entry] = []
    private nonisolated(unsafe) static var limit = 16
    private static let lock = Lock()

    /// Keeps a container while other references to it exist.
    static func keep(_ entry: Entry) {
        let isFull = lock.withLock {
            unsafe entries.append(entry)
            return unsafe entries.count > limit
        }
        if isFull { sweep() }
    }

    /// Frees the containers without other references.
    static func sweep() {
        var freed: [Entry] = []
        lock.withLock {
            for index in unsafe entries.indices.reversed() where unsafe entries[index].isFree() {
                unsafe entries.swapAt(index, entries.count - 1)
                unsafe freed.append(entries.removeLast())
            }
            unsafe limit = max(16, 2 * entries.count)
        }
        // Outside the lock, because freeing entries may deinitialize values of any type.
        for entry in freed { unsafe entry.place.deallocate() }
    }
}
