// Generic structures and classes with members, found by reflection or declared. The bits of a type that represents a number
// choose the number of declared members and their overlaps.

import Foundation
import FuzzInputs
import PlistBuilding

/// A type with properties as members, as described by this program.
protocol SampleObject: StreamObject, Sample {
    static var slots: [Slot<Self>] { get }
}

/// A member: its name, and how it is set and read.
struct Slot<Root> {
    let name: String
    let shape: Shape
    let member: StreamMember
    let isRequired: Bool
    let set: (inout Root, Tree) throws(Refusal) -> Void

    init<Value: Sample>(
        _ name: String, _ property: WritableKeyPath<Root, Value> & Sendable, isRequired: Bool = false
    ) {
        self.name = name
        self.isRequired = isRequired
        shape = Value.shape
        member = isRequired ? .required(name, property) : .member(name, property)
        set = { (root, tree) throws(Refusal) in root[keyPath: property] = try Value(tree: tree) }
    }
}

extension SampleObject {
    static var initial: Self { Self() }
    static var shape: Shape { .object(slots.map { ($0.name, $0.shape) }) }

    /// Sets the members in the order of the document.
    init(tree: Tree) throws(Refusal) {
        self.init()
        let slots = Self.slots
        var missing = Set(slots.lazy.filter(\.isRequired).map(\.name))
        for (name, value) in try tree.members() {
            guard let slot = slots.first(where: { $0.name == name }) else { continue }
            try slot.set(&self, value)
            missing.remove(name)
        }
        guard missing.isEmpty else { throw .refused }
    }
}

// MARK: Reflected

struct Empty: SampleObject {
    static var slots: [Slot<Empty>] { [] }
    var summary: String { "<>" }
}

struct Pair<A: Sample, B: Sample>: SampleObject {
    var a = A.initial
    var b = B.initial
    static var slots: [Slot<Self>] { [Slot("a", \Self.a), Slot("b", \Self.b)] }
    var summary: String { "<\(a.summary) \(b.summary)>" }
    func collectFresh(_ identifiers: inout [UUID]) {
        a.collectFresh(&identifiers)
        b.collectFresh(&identifiers)
    }
}

struct Triple<A: Sample, B: Sample, C: Sample>: SampleObject {
    var a = A.initial
    var b = B.initial
    var theThird = C.initial
    static var slots: [Slot<Self>] { [Slot("a", \Self.a), Slot("b", \Self.b), Slot("theThird", \Self.theThird)] }
    var summary: String { "<\(a.summary) \(b.summary) \(theThird.summary)>" }
    func collectFresh(_ identifiers: inout [UUID]) {
        a.collectFresh(&identifiers)
        b.collectFresh(&identifiers)
        theThird.collectFresh(&identifiers)
    }
}

/// A class with the members of `Triple`.
final class Box<A: Sample, B: Sample, C: Sample>: SampleObject {
    var a = A.initial
    var b = B.initial
    var theThird = C.initial
    init() { Token.liveCount += 1 }
    deinit { Token.liveCount -= 1 }
    static var slots: [Slot<Box>] { [Slot("a", \Box.a), Slot("b", \Box.b), Slot("theThird", \Box.theThird)] }
    var summary: String { "<\(a.summary) \(b.summary) \(theThird.summary)>" }
    func collectFresh(_ identifiers: inout [UUID]) {
        a.collectFresh(&identifiers)
        b.collectFresh(&identifiers)
        theThird.collectFresh(&identifiers)
    }
}

class Base<A: Sample> {
    var a = A.initial
    init() { Token.liveCount += 1 }
    deinit { Token.liveCount -= 1 }
}

final class Derived<A: Sample, B: Sample>: Base<A>, SampleObject {
    var b = B.initial
    override init() {}
    static var slots: [Slot<Derived>] { [Slot("a", \Derived.a), Slot("b", \Derived.b)] }
    var summary: String { "<\(a.summary) \(b.summary)>" }
    func collectFresh(_ identifiers: inout [UUID]) {
        a.collectFresh(&identifiers)
        b.collectFresh(&identifiers)
    }
}

/// A structure with more members than a word has bits.
struct Wide<A: Sample, B: Sample>: SampleObject {
    var a00 = A.initial, a01 = 1, a02 = 2, a03 = 3, a04 = 4, a05 = 5, a06 = 6, a07 = 7, a08 = 8, a09 = 9
    var a10 = 0, a11 = 1, a12 = 2, a13 = 3, a14 = 4, a15 = 5, a16 = 6, a17 = 7, a18 = 8, a19 = 9
    var a20 = 0, a21 = 1, a22 = 2, a23 = 3, a24 = 4, a25 = 5, a26 = 6, a27 = 7, a28 = 8, a29 = 9
    var a30 = 0, a31 = 1, a32 = 2, a33 = 3, a34 = 4, a35 = 5, a36 = 6, a37 = 7, a38 = 8, a39 = 9
    var a40 = 0, a41 = 1, a42 = 2, a43 = 3, a44 = 4, a45 = 5, a46 = 6, a47 = 7, a48 = 8, a49 = 9
    var a50 = 0, a51 = 1, a52 = 2, a53 = 3, a54 = 4, a55 = 5, a56 = 6, a57 = 7, a58 = 8, a59 = 9
    var a60 = 0, a61 = 1, a62 = 2, a63 = 3, a64 = 4, a65 = B.initial, a66 = "no small string, as it is too long"
    static var slots: [Slot<Self>] {
        [
            Slot("a00", \Self.a00), Slot("a01", \Self.a01), Slot("a62", \Self.a62), Slot("a63", \Self.a63),
            Slot("a64", \Self.a64), Slot("a65", \Self.a65), Slot("a66", \Self.a66),
        ]
    }
    var summary: String { "<\(a00.summary) \(a01) \(a30) \(a62) \(a63) \(a64) \(a65.summary) \(a66)>" }
    func collectFresh(_ identifiers: inout [UUID]) {
        a00.collectFresh(&identifiers)
        a65.collectFresh(&identifiers)
    }
}

// MARK: Declared

/// A type that represents a number.
protocol Bits: SendableMetatype { static var value: Int { get } }
enum NoBits: Bits { static var value: Int { 0 } }
enum Zero<Rest: Bits>: Bits { static var value: Int { Rest.value << 1 } }
enum One<Rest: Bits>: Bits { static var value: Int { Rest.value << 1 | 1 } }

/// Returns the slots chosen by the low bits. The higher bits determine which of them are required.
func chosen<Root>(_ slots: [(Bool) -> Slot<Root>], _ bits: Int) -> [Slot<Root>] {
    slots.indices.filter { bits >> $0 & 1 != 0 }.map { slots[$0](bits >> (16 + $0 & 7) & 0x101 == 0x101) }
}

/// A structure with some properties as members, some of them twice, and some as parts of others.
struct Declared<A: Sample, B: Sample, C: Sample, Choice: Bits>: SampleObject {
    var a = A.initial
    var inner = Pair<B, C>()
    var tuple = (C.initial, A.initial)
    let constant = "a constant that is no small string"
    var kept = Token()
    var deep = Pair<Pair<A, String>, Pair<Int8, B>>()
    private(set) var count = 0
    var observed = C.initial { didSet { count += 1 } }
    var computed: B {
        get { inner.a }
        set { inner.a = newValue }
    }

    static var slots: [Slot<Self>] {
        chosen(
            [
                { Slot("a", \Self.a, isRequired: $0) }, { Slot("alias", \Self.a, isRequired: $0) },
                { Slot("inner", \Self.inner, isRequired: $0) }, { Slot("innerA", \Self.inner.a, isRequired: $0) },
                { Slot("innerB", \Self.inner.b, isRequired: $0) }, { Slot("first", \Self.tuple.0, isRequired: $0) },
                { Slot("second", \Self.tuple.1, isRequired: $0) }, { Slot("deep", \Self.deep, isRequired: $0) },
                { Slot("deepAA", \Self.deep.a.a, isRequired: $0) },
                { Slot("deepAB", \Self.deep.a.b, isRequired: $0) }, { Slot("deepB", \Self.deep.b, isRequired: $0) },
                { Slot("deepBB", \Self.deep.b.b, isRequired: $0) },
                { Slot("observed", \Self.observed, isRequired: $0) },
                { Slot("computed", \Self.computed, isRequired: $0) },
            ], Choice.value)
    }
    static var streamMembers: StreamMembers { StreamMembers(slots.map(\.member)) }

    var summary: String {
        "<\(a.summary) \(inner.summary) \(tuple.0.summary) \(tuple.1.summary) \(constant) \(kept.summary) \(deep.summary) "
            + "\(observed.summary)>"
    }
    func collectFresh(_ identifiers: inout [UUID]) {
        a.collectFresh(&identifiers)
        inner.collectFresh(&identifiers)
        tuple.0.collectFresh(&identifiers)
        tuple.1.collectFresh(&identifiers)
        deep.collectFresh(&identifiers)
        observed.collectFresh(&identifiers)
    }
}

/// A class with the same members.
final class DeclaredBox<A: Sample, B: Sample, C: Sample, Choice: Bits>: SampleObject {
    var a = A.initial
    var inner = Pair<B, C>()
    var tuple = (C.initial, A.initial)
    let constant = "a constant that is no small string"
    var kept = Token()
    var box = Box<A, B, Int>()
    var observed = C.initial { didSet { if constant.isEmpty { kept = Token() } } }
    var computed: B {
        get { inner.a }
        set { inner.a = newValue }
    }
    init() { Token.liveCount += 1 }
    deinit { Token.liveCount -= 1 }

    static var slots: [Slot<DeclaredBox>] {
        chosen(
            [
                { Slot("a", \DeclaredBox.a, isRequired: $0) }, { Slot("alias", \DeclaredBox.a, isRequired: $0) },
                { Slot("inner", \DeclaredBox.inner, isRequired: $0) },
                { Slot("innerA", \DeclaredBox.inner.a, isRequired: $0) },
                { Slot("innerB", \DeclaredBox.inner.b, isRequired: $0) },
                { Slot("first", \DeclaredBox.tuple.0, isRequired: $0) },
                { Slot("second", \DeclaredBox.tuple.1, isRequired: $0) },
                { Slot("box", \DeclaredBox.box, isRequired: $0) },
                { Slot("boxA", \DeclaredBox.box.a, isRequired: $0) },
                { Slot("boxThird", \DeclaredBox.box.theThird, isRequired: $0) },
                { Slot("observed", \DeclaredBox.observed, isRequired: $0) },
                { Slot("computed", \DeclaredBox.computed, isRequired: $0) },
            ], Choice.value)
    }
    static var streamMembers: StreamMembers { StreamMembers(slots.map(\.member)) }

    var summary: String {
        "<\(a.summary) \(inner.summary) \(tuple.0.summary) \(tuple.1.summary) \(constant) \(kept.summary) \(box.summary) "
            + "\(observed.summary)>"
    }
    func collectFresh(_ identifiers: inout [UUID]) {
        a.collectFresh(&identifiers)
        inner.collectFresh(&identifiers)
        tuple.0.collectFresh(&identifiers)
        tuple.1.collectFresh(&identifiers)
        box.collectFresh(&identifiers)
        observed.collectFresh(&identifiers)
    }
}
