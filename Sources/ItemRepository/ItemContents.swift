// The items in memory: in order, and by their keys.

import PlistBuilding

/// Items in the order in which they were added, found by their keys, and what else was in their file.
struct ItemContents<Item: Identifiable> {
    // PERF: Archive; a plain array of items is read and written without a copy of each.
    /// The items in order, and those that were removed.
    private var slots: [Item] = []
    /// The key of each slot; nil when its item was removed.
    private var ids: [Item.ID?] = []
    private var places: [Item.ID: Int] = [:]
    /// What is in the file and is no item.
    var foreign: [PropertyList] = []

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

    subscript(id: Item.ID) -> Item? { places[id].map { slots[$0] } }

    @discardableResult
    mutating func add(_ item: Item) -> Item? {
        let id = item.id
        if let place = places[id] {
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
        ids[place] = nil
        let item = slots[place]
        // Of the slots a half at the most are of no use, so that this takes constant time on average.
        if slots.count > 16, places.count < slots.count / 2 { closeGaps() }
        return item
    }

    /// Lets go of what was removed.
    mutating func closeGaps() {
        guard places.count < slots.count else { return }
        slots = items
        ids.removeAll { $0 == nil }
        for (place, id) in ids.enumerated() {
            if let id { places[id] = place }
        }
    }
}
