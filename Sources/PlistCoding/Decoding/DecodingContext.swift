// What all decoders of one value share: the tape, the options, the keys that were looked up, and the way to a node.

import PlistBuilding
import PlistStreaming
import StringTables

/// What all decoders of one value share.
@safe
final class DecodingContext {
    let options: DecodingOptions
    private let tape: DecodingTape
    // PERF: JSONTyped; without a look into the tape once a value.
    // SAFETY: the memory belongs to the tape, which does not change any more.
    let nodes: UnsafeBufferPointer<TapeNode>
    /// The text to which nodes refer: the input, or a copy of it, and what is not in the input.
    private var input: UnsafeRawBufferPointer
    private let bytes: UnsafeRawBufferPointer
    private var ownInput: UnsafeMutableRawPointer?
    /// The number of the root.
    static let root = 0

    private let readNumbers: NumberReader?
    private var numberTape: NumberTape?

    private let smallText = SmallText.checked
    private let isChecked: Bool
    private let isMapped: Bool
    /// How coding keys become names, where that is not by `codingKeys`.
    private let names: ((String) -> String)?
    // The keys of dictionaries with string keys are never coding keys, and a stream may have many of them.
    private lazy var codingKeys = CodingKeys(of: tape.keys, options.codingKeys)
    /// By number of a key: the first one in the tape that becomes the same coding key; empty where no two do.
    var canonicalKeys: [UInt32] { codingKeys.canonical }
    private let ways = TapeWays()
    /// The path that was asked for last, and the one to a container; most errors come where another one was.
    private var recentPath: (index: Int, path: [any CodingKey]) = (root, [])
    private var recentContainer: (index: Int, path: [any CodingKey]) = (-1, [])
    /// The dictionaries of which the keys are names, where those are others than coding keys.
    private var exactDictionaries: Set<Int> = []
    /// How many members were looked at in vain.
    var vainCount = 0
    /// Where recursion must end.
    let stackLimit = StackBounds.limit
    // PERF: JSONRecords/foundation; behind a pointer, since exclusive access to a property of an object is checked.
    // SAFETY: made and freed with the context; no function of the caches calls anything that could reach them.
    private let caches = UnsafeMutablePointer<Caches>.allocate(capacity: 1)
    // PERF: JSONTyped/catalogue; where a value changes the name of its type, which takes less than a cast.
    // SAFETY: allocated and freed with the context; holds a value only within one function.
    let scratch = UnsafeMutableRawPointer.allocate(byteCount: scratchSize, alignment: 16)
    static let scratchSize = 64
    let knownKeys: KnownKeys

    /// What was looked up last.
    private struct Caches: ~Copyable {
        var keys = RecentStrings()
        var kinds = CodedKind.Cache()
        var containers = ContainerCache<DecodingPlace>()
        var isOver = false
    }

    init(
        options: DecodingOptions, _ tape: consuming DecodingTape, readingNumbers readNumbers: NumberReader? = nil
    ) {
        self.options = options
        self.readNumbers = readNumbers
        unsafe input = unsafe tape.input
        isChecked = tape.isChecked
        unsafe bytes = unsafe UnsafeRawBufferPointer(tape.bytes.values)
        knownKeys = KnownKeys(count: tape.keys.count)
        isMapped = options.codingKeys != nil
        names = options.names
        var tape = tape
        tape.removeRepeatedKeys()
        unsafe nodes = unsafe tape.nodes
        self.tape = tape
        unsafe caches.initialize(to: Caches())
    }

    deinit {
        unsafe caches.deinitialize(count: 1)
        unsafe caches.deallocate()
        unsafe ownInput?.deallocate()
        unsafe scratch.deallocate()
    }

    // MARK: Nodes

    /// The node of a number: an index in the tape, or a member that is missing and reads as null.
    @inline(__always)  // PERF: JSONTyped; once a value.
    func node(_ index: Int) -> TapeNode {
        guard unsafe index >= 0 && index < nodes.count else { return TapeNode(.null, 0, key: 0) }
        return unsafe nodes[index]
    }

    /// The index behind a value and all that is in it.
    @inline(__always)  // PERF: see above.
    func after(_ index: Int) -> Int {
        let node = node(index)
        return node.isContainer ? node.end : index &+ 1
    }

    /// The number of the `super` that a dictionary has not.
    static func missingSuper(in index: Int) -> Int { -1 - index }

    /// The text of a number that the tape has as a double, in the words of the input; nil where there is no such text.
    ///
    /// The input is read again for the first one, since nobody asks for the text of most numbers.
    @inline(never)
    func numberText(at index: Int) -> String? {
        if numberTape == nil {
            guard let readNumbers, let tape = unsafe readNumbers.read(input) else { return nil }
            numberTape = NumberTape(tape)
        }
        guard let numbers = numberTape, unsafe numbers.tape.nodes.count == nodes.count else { return nil }
        // SAFETY: both tapes have as many nodes; the text of the other one lies in this input or in its own bytes.
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

    /// The coding keys on the way from the root to a node.
    func path(of index: Int) -> [any CodingKey] {
        if index < 0 { return path(of: -1 - index) + [NameKey.super] }
        if index == recentPath.index { return recentPath.path }
        var path: [any CodingKey]
        if let last = unsafe ways.lastStep(to: index, in: nodes) {
            if last.container != recentContainer.index {
                recentContainer = (last.container, keys(of: unsafe ways.path(to: last.container, in: nodes)))
            }
            path = recentContainer.path
            path.append(key(of: last))
        } else {
            path = keys(of: unsafe ways.path(to: index, in: nodes))
        }
        if !isMapped { recentPath = (index, path) } else { recentContainer = (-1, []) }
        return path
    }

    private func keys(of steps: [TapeWays.Step]) -> [any CodingKey] { steps.map { key(of: $0) } }

    private func key(of step: TapeWays.Step) -> any CodingKey {
        if node(step.container).has(.array) { return IndexKey(step.position) }
        let isExact = exactDictionaries.contains(step.container)
        let number = Int(node(step.index).key)
        return NameKey(isExact ? name(of: number) : codingKey(of: number))
    }

    /// Notes that the keys of a dictionary are names, for paths.
    func noteExactKeys(of index: Int) {
        if isMapped { exactDictionaries.insert(index) }
    }

    /// How many nodes were looked at to find paths and members, but for the few nearby ones that are tried first.
    var stepCount: Int { ways.stepCount + vainCount }

    /// The member of a dictionary by the number of its key, where there are too many members to look at each; else -1.
    ///
    /// - Parameter isCanonical: Whether the number is one of `canonicalKeys`.
    @inline(never)
    func member(_ number: UInt32, of dictionary: Int, isCanonical: Bool) -> Int {
        unsafe ways.member(number, of: dictionary, in: nodes, isCanonical ? canonicalKeys : [])
    }

    /// The number of a coding key in the tape, or -1.
    @inline(__always)  // PERF: JSONTyped; once a member that is not the next one.
    func number(of key: String) -> Int {
        let number = unsafe caches.pointee.keys.number(of: key)
        return number >= 0 ? number : find(key)
    }

    /// Whether several keys of the tape become the coding key of this one, which is the first of them.
    func isShared(_ number: Int) -> Bool { codingKeys.shared.contains(number) }

    @inline(never)
    private func find(_ key: String) -> Int {
        let name = names?(key) ?? key
        // Names of other bytes may be equal strings; most streams have none.
        let known = isMapped || !codingKeys.numbers.isEmpty ? codingKeys.numbers[name] : nil
        guard let number = known ?? (isMapped ? nil : tape.keys.index(of: name)) else { return -1 }
        unsafe caches.pointee.keys.remember(key, number)
        return number
    }

    /// The name in the stream that is a key of the tape.
    func name(of number: Int) -> String { tape.keys.name(number) }

    /// The coding key that a name in the stream is.
    func codingKey(of number: Int) -> String { isMapped ? codingKeys.names[number] : name(of: number) }

    // MARK: Types and containers

    @inline(__always)  // PERF: JSONTyped; once a value of a type that is none of the common scalars.
    func kind(of type: Any.Type) -> CodedKind { unsafe caches.pointee.kinds.kind(of: type) }

    /// How the values of a type are decoded that is a collection.
    func collection(for type: Any.Type) -> (any DecodableCollection.Type)? {
        unsafe caches.pointee.kinds.collection(for: type)
    }

    @inline(__always)  // PERF: JSONRecords/foundation; once a dictionary.
    func freeContainer(
        for type: Any.Type
    ) -> (vendor: Unmanaged<AnyObject>, place: UnsafeMutablePointer<DecodingPlace>)? {
        unsafe caches.pointee.containers.freeContainer(for: type)
    }

    /// Makes a container for a dictionary; one that is not used again holds what it refers to.
    @inline(never)
    func makeContainer<Key: CodingKey>(at place: DecodingPlace) -> KeyedDecodingContainer<Key> {
        if unsafe !caches.pointee.isOver {
            let container = unsafe caches.pointee.containers.makeContainer(for: Key.self, at: place) {
                unsafe KeyedDecodingContainer(ValueDecoder.KeyedContainer<Key>(place: $0))
            }
            if let container { return container }
        }
        return KeyedDecodingContainer(ValueDecoder.OwningContainer<Key>(owner: DecodingPlaceOwner(self, place)))
    }

    /// Ends the decoding: forgets the containers, and keeps the text of decoders and containers that are kept.
    static func finish(_ context: inout DecodingContext) {
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

/// The coding keys that the keys of a tape are.
private struct CodingKeys {
    /// By number of a key.
    private(set) var names: [String] = []
    /// By coding key: the number of the first key in the tape that becomes it.
    private(set) var numbers: [String: Int] = [:]
    private(set) var canonical: [UInt32] = []
    /// The first keys of those coding keys that several keys become.
    private(set) var shared: Set<Int> = []

    init(of keys: borrowing TapeKeys, _ map: ((String) -> String)?) {
        // Strings of ASCII are equal when their bytes are.
        if map == nil, keys.areASCII { return }
        for number in 0..<keys.count {
            let name = map?(keys.name(number)) ?? keys.name(number)
            names.append(name)
            // Dictionaries of one stream may spell a key differently, so each of them is looked through for every spelling.
            let first = numbers[name] ?? number
            if first == number { numbers[name] = number } else { shared.insert(first) }
            canonical.append(UInt32(truncatingIfNeeded: first))
        }
        if numbers.count == keys.count { canonical = [] }
    }
}

/// Reads the input of a tape once more, into one that has fractions as text.
@safe
package struct NumberReader {
    let read: (UnsafeRawBufferPointer) -> DecodingTape?

    /// Makes a reader of a function, whose tape may refer to the input only as long as that is used.
    @unsafe
    package init(_ read: @escaping (UnsafeRawBufferPointer) -> DecodingTape?) { unsafe self.read = unsafe read }
}

/// A tape of the same values, on which fractions are text.
private final class NumberTape {
    let tape: DecodingTape

    init(_ tape: consuming DecodingTape) {
        var tape = tape
        tape.removeRepeatedKeys()
        self.tape = tape
    }
}

/// The coding keys that were found, by their bits in memory; see `RecentStrings`.
@safe
final class KnownKeys {
    // SAFETY: one entry for each key, zeros at first, which are the bits of no string.
    let entries: UnsafeMutablePointer<(UInt64, UInt64)>
    private let count: Int
    /// The strings themselves, which stay alive, so that no other string can have the same bits.
    private var strings: [String] = []

    init(count: Int) {
        self.count = count
        unsafe entries = UnsafeMutablePointer<(UInt64, UInt64)>.allocate(capacity: max(count, 1))
        unsafe entries.initialize(repeating: (0, 0), count: max(count, 1))
    }

    deinit { unsafe entries.deallocate() }

    /// Remembers the first coding key that was found to be a key.
    @inline(never)
    func remember(_ key: String, _ number: Int) {
        guard let bits = RecentStrings.bits(of: key), number < count, unsafe entries[number] == (0, 0) else { return }
        unsafe entries[number] = bits
        strings.append(key)
    }
}
