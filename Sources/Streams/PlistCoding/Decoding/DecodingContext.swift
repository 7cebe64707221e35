// State that all decoders of one value share: the tape, the options, a cache of keys, and the paths of nodes.

import PlistBuilding
import PlistStreaming
import StringTables

/// The state that all decoders of one value share.
@safe
final class DecodingContext {
    private(set) var options: DecodingOptions
    private var tape: DecodingTape
    // PERF: JSONTyped; saves an access to the tape for each value. SAFETY: the memory belongs to the tape, which does
    // not change while values are decoded.
    private(set) var nodes = unsafe UnsafeBufferPointer<TapeNode>(start: nil, count: 0)
    /// The text that nodes refer to: the input or a copy of it, and text that isn't in the input.
    private var input = unsafe UnsafeRawBufferPointer(start: nil, count: 0)
    private var bytes = unsafe UnsafeRawBufferPointer(start: nil, count: 0)
    private var ownInput: UnsafeMutableRawPointer?
    /// Memory for a short text followed by spaces.
    private var padded: UnsafeMutableRawPointer?
    static let paddedCount = 1_024
    /// The number of the root node.
    static let root = 0

    private var readNumbers: NumberReader?
    private var numberTape: NumberTape?

    private let smallText = SmallText.checked
    private let isChecked: Bool
    /// The information that the stream provides about the types of its values.
    let types: ValueTypes
    /// A Boolean value that indicates whether reals are the nearest doubles to a text that may have more digits.
    let hasRoundedReals: Bool
    private let isMapped: Bool
    /// The function that maps coding keys to names, if `codingKeys` doesn't map them.
    private let names: ((String) -> String)?
    // The keys of dictionaries with string keys are never coding keys, and a stream may have many of them.
    private var codingKeys: CodingKeys {
        addCodingKeys()
        return knownCodingKeys
    }
    private var knownCodingKeys = CodingKeys()
    /// For each key number, the first key in the tape that maps to the same coding key; empty if all coding keys
    /// differ.
    var canonicalKeys: [UInt32] {
        addCodingKeys()
        return knownCodingKeys.canonical
    }
    private let paths = TapePaths()
    /// The path that was requested last, and the path of a container; most errors occur close to an earlier one.
    private var recentPath: (index: Int, path: [any CodingKey]) = (root, [])
    private var recentContainer: (index: Int, path: [any CodingKey]) = (-1, [])
    /// The dictionaries whose keys are names, if names differ from coding keys.
    private var exactDictionaries: Set<Int> = []
    /// The number of members that were compared without success.
    var vainCount = 0
    /// The address at which recursion must stop.
    private(set) var stackLimit: UInt = 0
    // PERF: JSONRecords/foundation; allocated separately, because exclusive access to a property of an object is
    // checked. SAFETY: allocated and freed with the context; no function of the caches calls code that could access
    // them.
    private let caches = UnsafeMutablePointer<Caches>.allocate(capacity: 1)
    // PERF: JSONTyped/catalogue; memory for changing the static type of a value, which takes less time than a cast.
    // SAFETY: allocated and freed with the context; holds a value only within one function.
    let scratch = UnsafeMutableRawPointer.allocate(byteCount: scratchSize, alignment: 16)
    static let scratchSize = 64
    let knownKeys = KnownKeys()

    /// The type that is decoded.
    private var type: Any.Type = Any.self
    /// Contexts of earlier values, by type, for the next value of the same type.
    private static let spares = SharedPlaces(count: spareCount)
    private static let spareCount = 16
    private static let defaults = DecodingOptions()

    /// Caches of the most recent lookups.
    private struct Caches: ~Copyable {
        var keys = RecentStrings()
        var kinds = CodedKind.Cache()
        var containers = ContainerCache<DecodingPlace>()
        var isOver = false
    }

    private init(for options: DecodingOptions, _ tape: consuming DecodingTape) {
        self.options = options
        isChecked = tape.isChecked
        types = tape.types
        hasRoundedReals = tape.hasRoundedReals
        isMapped = options.codingKeys != nil
        names = options.names
        self.tape = tape
        unsafe caches.initialize(to: Caches())
    }

    /// Creates a context for the messages on a tape.
    convenience init(options: DecodingOptions, _ tape: consuming DecodingTape) {
        self.init(for: options, tape)
        begin(nil)
    }

    /// Starts decoding the contents of the tape.
    private func begin(_ readNumbers: NumberReader?) {
        tape.removeRepeatedKeys()
        // If a new key may map to the same coding key as another one, keys can't be identified by their bits anymore.
        if tape.keys.count != knownKeys.count, isMapped || !tape.keys.areASCII { knownKeys.removeAll() }
        unsafe nodes = unsafe tape.nodes
        unsafe input = unsafe tape.input
        unsafe bytes = unsafe UnsafeRawBufferPointer(tape.bytes.values)
        self.readNumbers = readNumbers
        stackLimit = StackBounds.limit
        knownKeys.reserve(tape.keys.count)
    }

    deinit {
        unsafe caches.deinitialize(count: 1)
        unsafe caches.deallocate()
        unsafe ownInput?.deallocate()
        unsafe padded?.deallocate()
        unsafe scratch.deallocate()
    }

    private func addCodingKeys() {
        if knownCodingKeys.count != tape.keys.count { knownCodingKeys.add(tape.keys, options.codingKeys) }
    }

    // MARK: Sequences of values

    /// Decodes a value from the messages that a closure sends.
    ///
    /// PERF: JSONTyped/documents; reuses the context of an earlier value of the type, with its keys and containers.
    static func decode<Value: Decodable>(
        _ type: Value.Type, from text: RawSpan, spaces: Int, options: DecodingOptions,
        readingNumbers readNumbers: NumberReader?, _ send: (inout DecodingTape, RawSpan) throws -> Void
    ) throws -> Value {
        var context = take(for: type, options)
        var isIntact = false
        defer { finish(&context, isIntact: isIntact) }
        // SAFETY: the text doesn't move during this call, and copied text belongs to the context.
        let input = unsafe spaces > 0 ? context.padding(text, spaces) : text.withUnsafeBytes { unsafe $0 }
        unsafe context.tape.begin(input: UnsafeRawBufferPointer(rebasing: input[..<text.byteCount]))
        try unsafe send(&context.tape, input.bytes)
        context.begin(readNumbers)
        let value = try context.decode(type, at: root)
        isIntact = true
        return value
    }

    /// Decodes a value from the messages on a tape. The tape is empty afterwards but keeps its keys.
    ///
    /// - Parameters:
    ///   - context: The context of the earlier values. If a value keeps a decoder, a new context replaces it.
    ///   - tape: The tape of the context.
    static func decodeRecord<Value: Decodable>(
        _ type: Value.Type, _ context: inout DecodingContext, _ tape: inout DecodingTape
    ) throws -> Value {
        swap(&context.tape, &tape)
        context.begin(nil)
        var isIntact = false
        defer {
            // Keys that are new in this record would slow down each later record.
            let isFree =
                unsafe isIntact && isKnownUniquelyReferenced(&context) && context.caches.pointee.containers.areFree
                && context.paths.stepCount == 0 && context.tape.isSmall
            if isFree {
                context.reset(keepsOptions: true)
                swap(&context.tape, &tape)
                unsafe tape.begin(input: UnsafeRawBufferPointer(start: nil, count: 0))
            } else {
                let options = context.options
                finish(&context)
                // The other tape is empty and stays in use: assigning to a parameter here leaks in optimized code of
                // Swift 6.3.
                context = DecodingContext(options: options, tape.emptied())
            }
        }
        let value = try context.decode(type, at: root)
        isIntact = true
        return value
    }

    /// Copies a short text into memory of the context and appends the given number of spaces.
    private func padding(_ text: RawSpan, _ spaces: Int) -> UnsafeRawBufferPointer {
        let (count, whole) = (text.byteCount, text.byteCount + spaces)
        precondition(whole <= Self.paddedCount, "only short texts are copied")
        let memory = unsafe padded ?? UnsafeMutableRawPointer.allocate(byteCount: Self.paddedCount, alignment: 16)
        unsafe padded = unsafe memory
        // SAFETY: the memory is large enough for both.
        unsafe text.withUnsafeBytes {
            unsafe UnsafeMutableRawBufferPointer(start: memory, count: count).copyMemory(from: $0)
        }
        unsafe (memory + count).initializeMemory(as: UInt8.self, repeating: 0x20, count: spaces)
        return unsafe UnsafeRawBufferPointer(start: memory, count: whole)
    }

    private static func take(for type: Any.Type, _ options: DecodingOptions) -> DecodingContext {
        if !options.hasKeyFunctions, let spare = unsafe spares.take(SharedPlaces.index(of: type, below: spareCount)) {
            // SAFETY: `leave` stores only addresses of objects that it has retained.
            let context = unsafe Unmanaged<DecodingContext>.fromOpaque(spare).takeRetainedValue()
            if context.type == type, context.isMapped == (options.codingKeys != nil) {
                context.options = options
                return context
            }
        }
        let context = unsafe DecodingContext(
            for: options, DecodingTape(input: UnsafeRawBufferPointer(start: nil, count: 0)))
        context.type = type
        return context
    }

    /// Stores a context without other references for the next value of its type.
    private static func leave(_ context: DecodingContext) {
        context.reset()
        let place = SharedPlaces.index(of: context.type, below: spareCount)
        let address = unsafe Unmanaged.passRetained(context).toOpaque()
        // SAFETY: as above.
        if let other = unsafe spares.put(address, place) {
            unsafe Unmanaged<DecodingContext>.fromOpaque(other).release()
        }
    }

    /// Forgets everything that belongs to one value.
    private func reset(keepsOptions: Bool = false) {
        if !keepsOptions { options = Self.defaults }
        unsafe nodes = unsafe UnsafeBufferPointer(start: nil, count: 0)
        unsafe (input, bytes) = unsafe (
            UnsafeRawBufferPointer(start: nil, count: 0), UnsafeRawBufferPointer(start: nil, count: 0)
        )
        readNumbers = nil
        if recentPath.index != Self.root { recentPath = (Self.root, []) }
        if recentContainer.index >= 0 { recentContainer = (-1, []) }
        if !exactDictionaries.isEmpty { exactDictionaries = [] }
        vainCount = 0
    }

    /// A Boolean value that indicates whether the context has no state of a single value and uses little memory.
    private var isSpare: Bool {
        isChecked && numberTape == nil && paths.stepCount == 0 && !options.hasKeyFunctions && tape.isSmall
    }

    // MARK: Nodes

    /// Returns the node with a number: an index in the tape, or a missing member, which reads as null.
    @inline(__always)  // PERF: JSONTyped; once a value.
    func node(_ index: Int) -> TapeNode {
        guard unsafe index >= 0 && index < nodes.count else { return TapeNode(.null, 0, key: 0) }
        return unsafe nodes[index]
    }

    /// Returns the index after a value and its contents.
    @inline(__always)  // PERF: see above.
    func after(_ index: Int) -> Int {
        let node = node(index)
        return node.isContainer ? node.end : index &+ 1
    }

    /// Returns the number for a dictionary's missing `super`.
    static func missingSuper(in index: Int) -> Int { -1 - index }

    /// Returns the text of a number that the tape stores as a double, as it is in the input, or nil if it isn't
    /// available.
    ///
    /// The first call reads the input again, because most programs never use the text of numbers.
    @inline(never)
    func numberText(at index: Int) -> String? {
        if numberTape == nil {
            guard let readNumbers, let tape = unsafe readNumbers.read(input) else { return nil }
            numberTape = NumberTape(tape)
        }
        guard let numbers = numberTape, unsafe numbers.tape.nodes.count == nodes.count else { return nil }
        // SAFETY: both tapes have equally many nodes; the text of the second tape is in this input or in its own bytes.
        let node = unsafe numbers.tape.nodes[index]
        guard node.has(.number) else { return nil }
        return unsafe node.withBytes(input: input, elsewhere: UnsafeRawBufferPointer(numbers.tape.bytes.values)) {
            unsafe String(decoding: $0, as: UTF8.self)
        }
    }

    func string(of node: TapeNode) -> String {
        unsafe withBytes(of: node) {
            isChecked ? smallText.string(checked: unsafe $0.bytes) : smallText.string(unsafe $0.bytes)
        }
    }

    /// Calls a closure with the text or data of a node.
    @inline(__always)  // PERF: JSONTyped; once a string.
    func withBytes<Result>(of node: TapeNode, _ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
        try unsafe node.withBytes(input: input, elsewhere: bytes, body)
    }

    /// Returns the coding keys on the path from the root to a node.
    func path(of index: Int) -> [any CodingKey] {
        if index < 0 { return path(of: -1 - index) + [NameKey.super] }
        if index == recentPath.index { return recentPath.path }
        guard let last = unsafe paths.lastStep(to: index, in: nodes) else { return [] }
        if last.container != recentContainer.index {
            let steps = unsafe paths.path(to: last.container, in: nodes)
            recentContainer = (last.container, steps.map { key(of: $0) })
        }
        let path = recentContainer.path + [key(of: last)]
        if !isMapped { recentPath = (index, path) } else { recentContainer = (-1, []) }
        return path
    }

    private func key(of step: TapePaths.Step) -> any CodingKey {
        if node(step.container).has(.array) { return IndexKey(step.position) }
        let isExact = exactDictionaries.contains(step.container)
        let number = Int(node(step.index).key)
        return NameKey(isExact ? name(of: number) : codingKey(of: number))
    }

    /// Notes that the keys of a dictionary are names. Paths need this.
    func noteExactKeys(of index: Int) {
        if isMapped { exactDictionaries.insert(index) }
    }

    /// The number of nodes that were visited to find paths and members, except for the first few attempts nearby.
    var stepCount: Int { paths.stepCount + vainCount }

    /// Returns the member with a key number if the dictionary is too large for a linear search, otherwise -1.
    ///
    /// - Parameter isCanonical: A Boolean value that indicates whether the number is one of `canonicalKeys`.
    @inline(never)
    func member(_ number: UInt32, of dictionary: Int, isCanonical: Bool) -> Int {
        unsafe paths.member(number, of: dictionary, in: nodes, isCanonical ? canonicalKeys : [])
    }

    /// Returns the number of a coding key in the tape, or -1.
    @inline(__always)  // PERF: JSONTyped; once a member that is not the next one.
    func number(of key: String) -> Int {
        let number = unsafe caches.pointee.keys.number(of: key)
        return number >= 0 ? number : find(key)
    }

    /// Returns whether several keys of the tape map to the same coding key as this one, the first of them.
    func isShared(_ number: Int) -> Bool { !canonicalKeys.isEmpty && codingKeys.shared.contains(number) }

    @inline(never)
    private func find(_ key: String) -> Int {
        let name = names?(key) ?? key
        // Names with different bytes may be equal strings; most streams have no such names.
        let known = isMapped || !codingKeys.numbers.isEmpty ? codingKeys.numbers[name] : nil
        guard let number = known ?? (isMapped ? nil : tape.keys.index(of: name)) else { return -1 }
        unsafe caches.pointee.keys.insert(key, number)
        return number
    }

    /// Returns the name in the stream for a key of the tape.
    func name(of number: Int) -> String { tape.keys.name(number) }

    /// Returns the coding key for a name in the stream.
    func codingKey(of number: Int) -> String { isMapped ? codingKeys.names[number] : name(of: number) }

    // MARK: Types and containers

    @inline(__always)  // PERF: JSONTyped; once a value that isn't a common scalar.
    func kind(of type: Any.Type) -> CodedKind { unsafe caches.pointee.kinds.kind(of: type) }

    /// Returns how to decode the values of a collection type.
    func collection(for type: Any.Type) -> (any DecodableCollection.Type)? {
        unsafe caches.pointee.kinds.collection(for: type)
    }

    @inline(__always)  // PERF: JSONRecords/foundation; once a dictionary.
    func freeContainer(
        for type: Any.Type
    ) -> (vendor: Unmanaged<AnyObject>, place: UnsafeMutablePointer<DecodingPlace>)? {
        unsafe caches.pointee.containers.freeContainer(for: type)
    }

    /// Creates a container for a dictionary. A container that can't be reused retains the context.
    @inline(never)
    func makeContainer<Key: CodingKey>(at place: DecodingPlace) -> KeyedDecodingContainer<Key> {
        if unsafe !caches.pointee.isOver {
            let container = unsafe caches.pointee.containers.makeContainer(for: Key.self, at: place) {
                unsafe KeyedDecodingContainer(ValueDecoder.KeyedContainer<Key, NoOwner>(place: $0, owner: NoOwner()))
            }
            if let container { return container }
        }
        let owner = PlaceOwner(place, of: self)
        return unsafe KeyedDecodingContainer(
            ValueDecoder.KeyedContainer<Key, PlaceOwner<DecodingPlace>>(place: owner.place, owner: owner))
    }

    /// Ends the decoding: forgets the containers, and keeps the text if decoders or containers still refer to it.
    ///
    /// - Parameter isIntact: A Boolean value that indicates whether decoding succeeded, so that the context can be
    ///   reused.
    static func finish(_ context: inout DecodingContext, isIntact: Bool = false) {
        if isIntact, isKnownUniquelyReferenced(&context), unsafe context.caches.pointee.containers.areFree,
            context.isSpare
        {
            return leave(context)
        }
        unsafe context.caches.pointee.isOver = true
        let hasEscaped = unsafe context.caches.pointee.containers.removeAll(of: context)
        if hasEscaped || !isKnownUniquelyReferenced(&context) { context.keepInput() }
    }

    private func keepInput() {
        guard unsafe input.count > 0 else { return }
        // SAFETY: the copy belongs to the context.
        let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: unsafe input.count, alignment: 1)
        unsafe copy.copyMemory(from: input)
        unsafe ownInput = copy.baseAddress
        unsafe input = UnsafeRawBufferPointer(copy)
    }
}

/// Reads the input of a tape again, into a tape that stores fractions as text.
@safe
package struct NumberReader: Sendable {
    let read: @Sendable (UnsafeRawBufferPointer) -> DecodingTape?

    /// Creates a reader from a function. Its tape may refer to the input while the reader is in use.
    @unsafe
    package init(_ read: @escaping @Sendable (UnsafeRawBufferPointer) -> DecodingTape?) {
        unsafe self.read = unsafe read
    }
}

/// A tape of the same values that stores fractions as text.
private final class NumberTape {
    let tape: DecodingTape

    init(_ tape: consuming DecodingTape) {
        var tape = tape
        tape.removeRepeatedKeys()
        self.tape = tape
    }
}
