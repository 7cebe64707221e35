// The items in memory: in order, and by their keys.

import PlistBuilding

/// What is in a file besides its items, and stays there.
enum ForeignElement {
    /// An element of a file that is written as a whole.
    case tree(PropertyList)
    /// A row of a database, by its number.
    case row(Int64)
}

/// Items in the order in which they were added, found by their keys, and what else was in their file.
struct ItemContents<Item: Identifiable> {
    // PERF: Archive; a plain array of items is read and written without a copy of each.
    /// The items in order, and those that were removed.
    private var slots: [Item] = []
    /// The key of each slot; nil when its item was removed.
    private var ids: [Item.ID?] = []
    private var places: [Item.ID: Int] = [:]
    /// What is no item, and what has the key of an item before it.
    private var others: [(element: ForeignElement, key: Item.ID?)] = []
    /// The keys of items that came before others of the same key.
    private var repeatedKeys: Set<Item.ID> = []
    /// Those of them whose item was removed or replaced.
    private var replacedKeys: Set<Item.ID> = []

    init() {}

    /// Nil when two items have the same key.
    init?(_ items: [Item]) {
        slots = items
        ids.reserveCapacity(items.count)
        places.reserveCapacity(items.count)
        for item in items {
            let id = item.id
            guard places.updateValue(ids.count, forKey: id) == nil else { return nil }
            ids.append(id)
        }
    }

    var count: Int { places.count }

    /// The items in order.
    ///
    /// - Complexity: O(1) unless items were removed since the gaps were closed.
    var items: [Item] {
        if places.count == slots.count { return slots }
        return zip(slots, ids).compactMap { $1 == nil ? nil : $0 }
    }

    /// What is in the file and is no item: not what has the key of an item that is gone, which would come back in its place.
    ///
    /// - Complexity: O(*n*).
    var foreign: [ForeignElement] {
        others.compactMap { element, key in key.map(replacedKeys.contains) ?? false ? nil : element }
    }

    subscript(id: Item.ID) -> Item? { places[id].map { slots[$0] } }

    @discardableResult
    mutating func add(_ item: Item) -> Item? {
        let id = item.id
        if let place = places[id] {
            if repeatedKeys.contains(id) { replacedKeys.insert(id) }
            let old = slots[place]
            slots[place] = item
            return old
        }
        places[id] = slots.count
        slots.append(item)
        ids.append(id)
        return nil
    }

    mutating func remove(_ id: Item.ID) -> Item? {
        guard let place = places.removeValue(forKey: id) else { return nil }
        if repeatedKeys.contains(id) { replacedKeys.insert(id) }
        ids[place] = nil
        return slots[place]
    }

    /// Adds what is no item.
    mutating func addForeign(_ element: ForeignElement) { others.append((element, nil)) }

    /// Adds what has the key of an item before it.
    mutating func addForeign(_ element: ForeignElement, repeating key: Item.ID) {
        others.append((element, key))
        repeatedKeys.insert(key)
    }

    // MARK: Gaps

    /// A Boolean value that indicates whether half of the slots are of no use, so that closing the gaps takes constant time for
    /// each removal on average.
    var isSparse: Bool { slots.count > 16 && places.count < slots.count / 2 }

    /// These contents without what was removed.
    ///
    /// The old ones keep it, so that who replaces them decides when it is released.
    func withoutGaps() -> ItemContents {
        guard places.count < slots.count else { return self }
        var closed = self
        closed.slots = items
        closed.ids = ids.filter { $0 != nil }
        // A key that is not equal to itself has a place of its own each time.
        closed.places = Dictionary(minimumCapacity: places.count)
        for (place, id) in closed.ids.enumerated() {
            if let id { closed.places[id] = place }
        }
        return closed
    }
}
