// The position of a keyed container of a decoder. Finds its members on the tape and decodes them. It is a value of a
// few words, which a container copies or updates.

/// The dictionary whose members a keyed container reads.
@safe
struct DecodingPlace: BitwiseCopyable {
    // SAFETY: the owner of a container, or `KeptContainers`, retains the context; the memory belongs to the context.
    let context: Unmanaged<DecodingContext>
    private var nodes: UnsafeBufferPointer<TapeNode>
    private var knownKeys: UnsafeMutablePointer<(UInt64, UInt64)>
    private(set) var index: Int
    private var end: Int
    /// The member after the one that was found last. If both orders agree, it is the next requested member.
    private var next: Int
    /// The number of members that were compared without success.
    private var vainCount = 0

    /// The number of members that are compared for a key that is known by its bits, before it is looked up.
    private static let nearbyCount = 8
    /// The maximum number of members in a dictionary that is searched linearly for each key.
    private static let scannedCount = 128

    @inline(__always)  // PERF: JSONTyped; once a dictionary.
    init(_ context: DecodingContext, _ index: Int, _ node: TapeNode) {
        unsafe self.context = Unmanaged.passUnretained(context)
        unsafe nodes = unsafe context.nodes
        unsafe knownKeys = unsafe context.knownKeys.entries
        self.index = index
        end = node.end
        next = index &+ 1
    }

    /// Moves to another dictionary of the same context, which may belong to another text.
    @inline(__always)  // PERF: JSONTyped/catalogue; a copy of a new place would wait for its parts to be stored.
    mutating func move(to index: Int, _ node: TapeNode, of context: DecodingContext) {
        unsafe nodes = unsafe context.nodes
        unsafe knownKeys = unsafe context.knownKeys.entries
        self.index = index
        end = node.end
        next = index &+ 1
        vainCount = 0
    }

    /// Returns the node of a member that was found.
    @inline(__always)  // PERF: see above.
    func node(_ index: Int) -> TapeNode {
        unsafe precondition(index >= 0 && index < nodes.count, "index out of range")
        return unsafe nodes[index]
    }

    @inline(__always)  // PERF: see above.
    private func after(_ index: Int) -> Int {
        let node = node(index)
        return node.isContainer ? node.end : index &+ 1
    }

    // MARK: Values

    // PERF: JSONTyped/catalogue; here and not in containers, because closures in functions that are generic over the
    // keys are calls. These functions don't count references to the context.

    @inline(__always)
    func decode(_ type: Bool.Type, at index: Int) throws -> Bool {
        try unsafe context._withUnsafeGuaranteedRef { try $0.decode(type, at: index) }
    }
    @inline(__always)
    func decode(_ type: String.Type, at index: Int) throws -> String {
        try unsafe context._withUnsafeGuaranteedRef { try $0.decode(type, at: index) }
    }
    @inline(__always)
    func decode(_ type: Double.Type, at index: Int) throws -> Double {
        try unsafe context._withUnsafeGuaranteedRef { try $0.decode(type, at: index) }
    }
    @inline(__always)
    func decode(_ type: Float.Type, at index: Int) throws -> Float {
        try unsafe context._withUnsafeGuaranteedRef { try $0.decode(type, at: index) }
    }
    @inline(__always)
    func decode<Value: FixedWidthInteger & Decodable>(_ type: Value.Type, at index: Int) throws -> Value {
        try unsafe context._withUnsafeGuaranteedRef { try $0.decode(type, at: index) }
    }
    @inline(never)
    func decode<Value: Decodable>(_ type: Value.Type, at index: Int) throws -> Value {
        try unsafe context._withUnsafeGuaranteedRef { try $0.decode(type, at: index) }
    }

    // MARK: Members

    /// The indexes of the members.
    var members: [Int] {
        var members: [Int] = []
        var index = index + 1
        while index < end {
            members.append(index)
            index = after(index)
        }
        return members
    }

    /// Returns the index of a member, or -1.
    @inline(__always)  // PERF: JSONTyped, JSONRecords/foundation; once a member.
    mutating func find(_ key: String) -> Int {
        var index = next
        guard let bits = RecentStrings.bits(of: key) else { return search(key) }
        var nearby = Self.nearbyCount
        while index < end, nearby > 0 {
            nearby &-= 1
            let node = node(index)
            let after = node.isContainer ? node.end : index &+ 1
            // SAFETY: there is an entry for each key of the tape.
            if unsafe knownKeys[Int(node.key)] == bits {
                next = after
                return index
            }
            index = after
        }
        return search(key)
    }

    @inline(never)
    private mutating func search(_ key: String) -> Int {
        let number = unsafe context._withUnsafeGuaranteedRef { $0.number(of: key) }
        guard number >= 0 else { return -1 }
        let wanted = UInt32(truncatingIfNeeded: number)
        // If several members map to the key, the first one counts, regardless of the order in other dictionaries. So
        // these keys are never known by their bits.
        let isShared = unsafe context._withUnsafeGuaranteedRef { $0.isShared(number) }
        let found = member(wanted, isCanonical: isShared)
        guard found >= 0 else { return -1 }
        next = after(found)
        if isShared { return found }
        if node(found).key == wanted {
            unsafe context._withUnsafeGuaranteedRef { $0.knownKeys.insert(key, number) }
        }
        return found
    }

    /// Returns the index of the member with the number of a key, or -1.
    ///
    /// - Complexity: The total number of steps is the number of members plus the number of calls.
    private mutating func member(_ wanted: UInt32, isCanonical: Bool) -> Int {
        let count = node(index).count
        if count > Self.scannedCount, vainCount > 2 * count {
            return unsafe context._withUnsafeGuaranteedRef {
                $0.member(wanted, of: index, isCanonical: isCanonical)
            }
        }
        let before = vainCount
        defer { unsafe context._withUnsafeGuaranteedRef { $0.vainCount += vainCount - before } }
        let start = isCanonical ? index &+ 1 : next
        let found = scan(for: wanted, isCanonical, from: start, to: end)
        return found >= 0 || isCanonical ? found : scan(for: wanted, isCanonical, from: index &+ 1, to: next)
    }

    private mutating func scan(for key: UInt32, _ isCanonical: Bool, from start: Int, to end: Int) -> Int {
        var index = start
        while index < end {
            let node = node(index)
            let number = isCanonical ? canonical(node.key) : node.key
            if number == key { return index }
            vainCount &+= 1
            index = node.isContainer ? node.end : index &+ 1
        }
        return -1
    }

    private func canonical(_ key: UInt32) -> UInt32 {
        unsafe context._withUnsafeGuaranteedRef { $0.canonicalKeys[Int(key)] }
    }
}
