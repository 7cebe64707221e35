// Keyed containers that types keep beyond the coding of a value, with what they refer to.

import PlistStreaming

/// The containers that somebody kept, with their places and the objects the places refer to, until nobody keeps them.
enum KeptContainers {
    /// One container: its bits, the object that holds it, its place, and the object that the place refers to.
    @safe
    struct Entry {
        var container: UInt
        let vendor: AnyObject
        let place: UnsafeMutableRawPointer
        let owner: AnyObject

        /// Returns whether nobody but the vendor holds the container.
        mutating func isFree() -> Bool {
            // SAFETY: the bits are those of a reference to an object that the vendor keeps alive.
            unsafe withUnsafeMutablePointer(to: &container) { address in
                let address = unsafe UnsafeMutableRawPointer(address).assumingMemoryBound(to: AnyObject?.self)
                return unsafe isKnownUniquelyReferenced(&address.pointee)
            }
        }
    }

    // SAFETY: used under the lock only.
    private nonisolated(unsafe) static var entries: [Entry] = []
    private nonisolated(unsafe) static var limit = 16
    private static let lock = Lock()

    /// Keeps a container as long as somebody else does.
    static func keep(_ entry: Entry) {
        let isFull = lock.withLock {
            unsafe entries.append(entry)
            return unsafe entries.count > limit
        }
        if isFull { sweep() }
    }

    /// Frees the containers that nobody keeps any more.
    static func sweep() {
        var freed: [Entry] = []
        lock.withLock {
            for index in unsafe entries.indices.reversed() where unsafe entries[index].isFree() {
                unsafe entries.swapAt(index, entries.count - 1)
                unsafe freed.append(entries.removeLast())
            }
            unsafe limit = max(16, 2 * entries.count)
        }
        // Outside the lock: what is freed may free values of any type.
        for entry in freed { unsafe entry.place.deallocate() }
    }
}
