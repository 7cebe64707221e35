// Types whose members differ from their stored properties, and random texts for them. Every way of reading must produce
// the same result as ordinary assignments to the same properties, in the order of the text, and must neither leak nor
// overrelease references.

#if DEBUG || IN_CLASS_TESTS
import InClassTesting
import PlistBuilding
import PlistStreaming

/// A value of a member: its name and text, and the assignment that it represents.
struct MemberSample<Value> {
    let name: String
    let json: String
    let assign: (inout Value) -> Void

    init(_ name: String, _ json: String, _ assign: @escaping (inout Value) -> Void) {
        self.name = name
        self.json = json
        self.assign = assign
    }
}

/// A type with values for its members.
protocol SampledObject: StreamObject {
    static var samples: [MemberSample<Self>] { get }
    /// All stored values.
    var shown: String { get }
}

enum MemberLayouts {
    final class Leaf: StreamObject {
        nonisolated(unsafe) static var aliveCount = 0
        var text = "the default of a leaf, beyond fifteen bytes"
        init() { unsafe Self.aliveCount += 1 }
        deinit { unsafe Self.aliveCount -= 1 }
        var shown: String { "leaf(\(text))" }
    }

    enum Color: String, StreamValue { case red, green }
    enum Only: String, StreamValue { case one }

    struct Empty: StreamObject {}

    struct Inner: StreamObject {
        var a = 1
        var note = "a default beyond fifteen bytes"
        var leaf = Leaf()
        var maybe: String?
        var shown: String { "(\(a) \(note) \(leaf.shown) \(maybe ?? "nil"))" }
    }

    /// A part of a stored property is a member, the rest isn't.
    struct Part: SampledObject {
        var inner = Inner()
        var b = 2
        static var streamMembers: StreamMembers { [.member("a", \Part.inner.a), .member("b", \Part.b)] }
        static var samples: [MemberSample<Self>] {
            [.init("a", "5") { $0.inner.a = 5 }, .init("b", "6") { $0.b = 6 }, .init("b", "-1") { $0.b = -1 }]
        }
        var shown: String { "\(inner.shown) \(b)" }
    }

    /// Parts at the offsets of other types' stored properties, and parts that are objects.
    struct Parts: SampledObject {
        var inner = Inner()
        var pair = (1, "the second, beyond fifteen bytes")
        var last: String?
        static var streamMembers: StreamMembers {
            [
                .member("leaf", \Parts.inner.leaf), .member("text", \Parts.inner.leaf.text),
                .member("maybe", \Parts.inner.maybe), .member("zero", \Parts.pair.0), .member("one", \Parts.pair.1),
                .member("last", \Parts.last),
            ]
        }
        static var samples: [MemberSample<Self>] {
            [
                .init("leaf", #"{"text":"another text of a leaf"}"#) { value in
                    value.inner.leaf = Leaf()
                    value.inner.leaf.text = "another text of a leaf"
                },
                .init("text", #""the text of a leaf""#) { $0.inner.leaf.text = "the text of a leaf" },
                .init("maybe", #""perhaps, perhaps, perhaps""#) { $0.inner.maybe = "perhaps, perhaps, perhaps" },
                .init("maybe", "null") { $0.inner.maybe = nil }, .init("zero", "77") { $0.pair.0 = 77 },
                .init("one", #""one""#) { $0.pair.1 = "one" }, .init("last", #""l""#) { $0.last = "l" },
            ]
        }
        var shown: String { "\(inner.shown) \(pair) \(last ?? "nil")" }
    }

    /// Two names of one property.
    struct Aliases: SampledObject {
        var name = "a default beyond fifteen bytes"
        var id = 0
        var leaf: Leaf?
        static var streamMembers: StreamMembers {
            [
                .member("name", \Aliases.name), .member("title", \Aliases.name), .member("id", \Aliases.id),
                .member("number", \Aliases.id), .member("leaf", \Aliases.leaf), .member("child", \Aliases.leaf),
            ]
        }
        static var samples: [MemberSample<Self>] {
            [
                .init("name", #""kept, and of more than fifteen bytes""#) {
                    $0.name = "kept, and of more than fifteen bytes"
                },
                .init("title", #""short""#) { $0.name = "short" }, .init("id", "1") { $0.id = 1 },
                .init("number", "12345678") { $0.id = 12_345_678 }, .init("leaf", "{}") { $0.leaf = Leaf() },
                .init("child", "null") { $0.leaf = nil },
                .init("child", #"{"text":"of a child"}"#) { value in
                    value.leaf = Leaf()
                    value.leaf?.text = "of a child"
                },
            ]
        }
        var shown: String { "\(name) \(id) \(leaf?.shown ?? "nil")" }
    }

    /// A stored property and a part of it.
    struct WholeAndPart: SampledObject {
        var inner = Inner()
        static var streamMembers: StreamMembers {
            [.member("note", \WholeAndPart.inner.note), .member("inner", \WholeAndPart.inner)]
        }
        static var samples: [MemberSample<Self>] {
            [
                .init("note", #""a note of more than fifteen bytes""#) {
                    $0.inner.note = "a note of more than fifteen bytes"
                },
                .init("inner", #"{"a":3}"#) { value in
                    value.inner = Inner()
                    value.inner.a = 3
                },
                .init("inner", #"{"note":"n","leaf":{"text":"t"},"maybe":"m","a":4}"#) { value in
                    value.inner = Inner(a: 4, note: "n", leaf: Leaf(), maybe: "m")
                    value.inner.leaf.text = "t"
                },
            ]
        }
        var shown: String { inner.shown }
    }

    /// Only some of the stored properties, with accessors and observers.
    struct Some: SampledObject {
        var text = "" { didSet { count += 1 } }
        var count = 0
        let constant = "a constant beyond fifteen bytes"
        var hidden = ["a hidden default beyond fifteen bytes"]
        var doubled: Int {
            get { 2 * count }
            set { count = newValue / 2 }
        }
        static var streamMembers: StreamMembers { [.member("text", \Some.text), .member("doubled", \Some.doubled)] }
        static var samples: [MemberSample<Self>] {
            [
                .init("text", #""x""#) { $0.text = "x" }, .init("doubled", "8") { $0.doubled = 8 },
                .init("text", #""more than fifteen bytes""#) { $0.text = "more than fifteen bytes" },
            ]
        }
        var shown: String { "\(text) \(count) \(constant) \(hidden)" }
    }

    /// Every stored property once, including one without bytes, and one with two names.
    struct Empties: SampledObject {
        var first = Empty()
        var id = 7
        var second = Empty()
        var only = Only.one
        var color = Color.red
        var leaf = Leaf()
        static var streamMembers: StreamMembers {
            [
                .member("first", \Empties.first), .member("second", \Empties.second), .member("id", \Empties.id),
                .member("only", \Empties.only), .member("color", \Empties.color), .member("again", \Empties.first),
                .member("leaf", \Empties.leaf),
            ]
        }
        static var samples: [MemberSample<Self>] {
            [
                .init("first", "{}") { _ in }, .init("second", #"{"x":[]}"#) { _ in }, .init("id", "8") { $0.id = 8 },
                .init("only", #""one""#) { _ in }, .init("color", #""green""#) { $0.color = .green },
                .init("again", "{}") { _ in }, .init("leaf", "{}") { $0.leaf = Leaf() },
            ]
        }
        var shown: String { "\(id) \(only) \(color) \(leaf.shown)" }
    }

    /// Members found by reflection, including an object and one that is converted.
    struct Reflected: SampledObject {
        var color = Color.red
        var leaf = Leaf()
        var leaves = [Leaf()]
        var empty = Empty()
        var inner: Inner?
        var byName = ["k": Leaf()]
        static var samples: [MemberSample<Self>] {
            [
                .init("color", #""green""#) { $0.color = .green }, .init("leaf", "{}") { $0.leaf = Leaf() },
                .init("leaves", "[{},{}]") { $0.leaves = [Leaf(), Leaf()] }, .init("leaves", "[]") { $0.leaves = [] },
                .init("empty", "{}") { _ in }, .init("inner", "null") { $0.inner = nil },
                .init("inner", #"{"a":2}"#) { $0.inner = Inner(a: 2) }, .init("byName", "{}") { $0.byName = [:] },
            ]
        }
        var shown: String {
            "\(color) \(leaf.shown) \(leaves.map(\.shown)) \(inner?.shown ?? "nil") \(byName.mapValues(\.shown))"
        }
    }

    /// The same in an object: parts, two names, members that another object has, a weak reference.
    final class Object: SampledObject {
        var inner = Inner()
        var name = "a default beyond fifteen bytes"
        weak var other: Leaf?
        var leaf = Leaf()
        var hidden = ["a hidden default beyond fifteen bytes"]
        init() {}
        static var streamMembers: StreamMembers {
            [
                .member("a", \Object.inner.a), .member("note", \Object.inner.note), .member("name", \Object.name),
                .member("title", \Object.name), .member("text", \Object.leaf.text), .member("other", \Object.other),
                .member("leaf", \Object.leaf),
            ]
        }
        static var samples: [MemberSample<Object>] {
            [
                .init("a", "3") { $0.inner.a = 3 }, .init("note", #""n""#) { $0.inner.note = "n" },
                .init("name", #""name""#) { $0.name = "name" },
                .init("title", #""a title beyond fifteen bytes""#) { $0.name = "a title beyond fifteen bytes" },
                .init("text", #""of the leaf""#) { $0.leaf.text = "of the leaf" },
                .init("other", "null") { $0.other = nil }, .init("other", "{}") { $0.other = nil },
                .init("leaf", "{}") { $0.leaf = Leaf() },
            ]
        }
        var shown: String { "\(inner.shown) \(name) \(leaf.shown) \(hidden) \(other?.shown ?? "nil")" }
    }

    /// An object whose stored properties are all members, so that it is reused.
    final class Whole: SampledObject {
        var id = 1
        var text = "a default beyond fifteen bytes"
        var leaf = Leaf()
        var color = Color.red
        init() {}
        static var samples: [MemberSample<Whole>] {
            [
                .init("id", "2") { $0.id = 2 }, .init("text", #""t""#) { $0.text = "t" },
                .init("leaf", #"{"text":"l"}"#) { value in
                    value.leaf = Leaf()
                    value.leaf.text = "l"
                }, .init("color", #""green""#) { $0.color = .green },
            ]
        }
        var shown: String { "\(id) \(text) \(leaf.shown) \(color)" }
    }

    /// Values within another one.
    struct Box<Value: SampledObject>: StreamObject {
        var first = 0
        var rows: [Value] = []
        var one: Value?
        var here = Value()
        var byName: [String: Value] = [:]
        var shown: String {
            "\(rows.map(\.shown)) \(one?.shown ?? "nil") \(here.shown) \(byName.mapValues(\.shown).sorted { $0 < $1 })"
        }
    }
}
#endif
