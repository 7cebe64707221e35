// The items in memory: in order, and found by their keys.

import PlistBuilding

/// An element of a file that is not an item, and stays in the file.
enum ForeignElement {
    /// An element of a file that is written as a whole.
    case tree(PropertyList)
    /// A row of a database, by its number.
    case row(Int64)
}

/// Items in the order of insertion, found by their keys, and the other elements of their file.
struct ItemContents<Item: Identifiable> {
    // PERF: Archive; a plain array of items is read and written without copying each item.
    /// The items in order, including removed items.
    private var slots: [Item] = []
    /// The key of each slot; nil if its item was removed.
    private var ids: [Item.ID?] = []
    private var places: [Item.ID: Int] = [:]
    /// The elements that are not items, and elements with the key of an earlier item.
    private var others: [(element: ForeignElement, key: Item.ID?)] = []
    /// The keys of items with a later element of the same key.
    private var repeatedKeys: Set<Item.ID> = []
    /// The repeated keys whose item was removed or replaced.
    private var replacedKeys: Set<Item.ID> = []

    init() {}

    /// Creates contents from items, or returns nil if two items have the same key.
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

    /// The elements of the file that are not items.
    ///
    /// An element with the key of a removed or replaced item is left out, because it would be read as an item in its place.
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

    /// Adds an element that is not an item.
    mutating func addForeign(_ element: ForeignElement) { others.append((element, nil)) }

    /// Adds an element with the key of an earlier item.
    mutating func addForeign(_ element: ForeignElement, repeating key: Item.ID) {
        others.append((element, key))
        repeatedKeys.insert(key)
    }

    // MARK: Gaps

    /// A Boolean value that indicates whether half of the slots are unused, so that removing the gaps takes constant time for
    /// each removal on average.
    var isSparse: Bool { slots.count > 16 && places.count < slots.count / 2 }

    /// Returns these contents without the removed items.
    ///
    /// The old contents keep the removed items, so that the caller decides when they are released.
    func withoutGaps() -> ItemContents {
        guard places.count < slots.count else { return self }
        var closed = self
        closed.slots = items
        closed.ids = ids.filter { $0 != nil }
        // A key that is not equal to itself gets a new place each time.
        closed.places = Dictionary(minimumCapacity: places.count)
        for (place, id) in closed.ids.enumerated() {
            if let id { closed.places[id] = place }
        }
        return closed
    }
}
