// A type with members of all kinds, indirectly nested in itself, and its expected values from the tree of the document.

import FuzzInputs
import PlistBuilding

struct Leaf: StreamObject, Equatable {
    var name = "none"
    var numbers: [Double] = [7]
    var flag: Bool?

    static var shape: Shape {
        .object([("name", .text), ("numbers", .array(.real)), ("flag", .optional(.bool))])
    }
}

enum Kind: String, StreamValue { case one, two }

struct Point: StreamObject, Equatable {
    var x = 1
    var y = 0.5

    static var shape: Shape { .object([("x", .integer), ("y", .real)]) }
}

/// An object that counts its instances, to detect leaks and double releases.
final class Part: StreamObject, Equatable {
    nonisolated(unsafe) static var liveCount = 0
    var id = -1
    var text = "a default that is no small string"
    var name: String?
    var leaves: [Leaf] = []
    init() { Self.liveCount += 1 }
    deinit { Self.liveCount -= 1 }

    static func == (left: Part, right: Part) -> Bool {
        (left.id, left.text, left.name) == (right.id, right.text, right.name) && left.leaves == right.leaves
    }

    static var shape: Shape {
        .object([("id", .integer), ("text", .text), ("name", .optional(.text)), ("leaves", .array(Leaf.shape))])
    }
}

/// A structure with a property that isn't a member, and with a required member.
struct Fixed: StreamObject, Equatable {
    var id = 5
    var kept = "kept, and no small string"
    var names = ["a default"]
    static var streamMembers: StreamMembers { [.required("id", \Fixed.id), .member("names", \Fixed.names)] }

    static var shape: Shape { .object([("id", .integer), ("names", .array(.text))]) }
}

struct Node: StreamObject, Equatable {
    var integer = -1
    var small: UInt8 = 1
    var signed: Int16 = 2
    var unsigned: UInt64 = 3
    var real = 0.25
    var single: Float?
    var text = "a default that is no small string"
    var note: String?
    var flag = true
    var kind = Kind.one
    var matrix: [[Int]] = []
    var leaf = Leaf()
    var other: Leaf?
    var leaves: [Leaf] = []
    var table: [String: Leaf] = [:]
    var maybes: [Int?] = []
    var points: [Point] = []
    var cube: [[[Double]]]?
    var names: [String] = []
    var counts: [String: Int] = [:]
    var parts: [Part] = []
    var part: Part?
    var fixed = Fixed()
    var children: [Node] = []

    static var shape: Shape {
        .object([
            ("integer", .integer), ("small", .integer), ("signed", .integer), ("unsigned", .integer), ("real", .real),
            ("single", .optional(.real)), ("text", .text), ("note", .optional(.text)), ("flag", .bool),
            ("matrix", .array(.array(.integer))), ("leaf", Leaf.shape), ("other", .optional(Leaf.shape)),
            ("leaves", .array(Leaf.shape)), ("table", .dictionary(Leaf.shape)), ("maybes", .array(.optional(.integer))),
            ("numbers", .array(.real)), ("points", .array(Point.shape)),
            ("cube", .optional(.array(.array(.array(.real))))), ("names", .array(.text)),
            ("counts", .dictionary(.integer)), ("parts", .array(Part.shape)), ("part", .optional(Part.shape)),
            ("fixed", Fixed.shape),
            (
                "children",
                .array(.object([("leaf", Leaf.shape), ("points", .array(Point.shape)), ("parts", .array(Part.shape))]))
            ),
        ])
    }
}

/// A class with the same members, whose objects a stream may reuse.
final class NodeObject: StreamObject {
    var integer = -1
    var text = "a default that is no small string"
    var note: String?
    var numbers: [Double] = [7]
    init() {}

    /// The whole content that a client can see.
    var description: String { "\(integer) \(text) \(note ?? "nil") \(numbers)" }
}

/// An error for a value of the tree that has another type than the member, or doesn't fit.
struct Refused: Error {}

// A simple, slow version of a builder: unknown members are ignored, missing members keep their defaults, and only optionals
// accept null.

extension Int {
    init(expected tree: PropertyList) throws {
        guard let value = tree.integerValue else { throw Refused() }
        self.init(value)
    }
}

extension FixedWidthInteger {
    init(narrow tree: PropertyList) throws {
        if let value = tree.integerValue {
            guard let value = Self(exactly: value) else { throw Refused() }
            self = value
        } else if tree.kind == .unsigned, let value = tree.unsignedValue.flatMap({ Self(exactly: $0) }) {
            self = value
        } else if tree.kind == .real, let value = tree.realValue.flatMap({ Self(exactly: $0) }) {
            self = value
        } else {
            throw Refused()
        }
    }
}

extension Double {
    init(expected tree: PropertyList) throws {
        guard let value = tree.realValue, value.isFinite else { throw Refused() }
        self = value
    }
}

extension Float {
    init(expected tree: PropertyList) throws {
        let value: Float
        switch tree.kind {
        case .integer: value = Float(tree.integerValue ?? 0)
        case .unsigned: value = Float(tree.unsignedValue ?? 0)
        default: value = Float(try Double(expected: tree))
        }
        guard value.isFinite else { throw Refused() }
        self = value
    }
}

extension String {
    init(expected tree: PropertyList) throws {
        guard let value = tree.stringValue else { throw Refused() }
        self = value
    }
}

extension Bool {
    init(expected tree: PropertyList) throws {
        guard let value = tree.boolValue else { throw Refused() }
        self = value
    }
}

func array<Value>(_ tree: PropertyList, _ make: (PropertyList) throws -> Value) throws -> [Value] {
    guard tree.kind == .array else { throw Refused() }
    return try tree.elements.map(make)
}

func optional<Value>(_ tree: PropertyList, _ make: (PropertyList) throws -> Value) throws -> Value? {
    tree.isNull ? nil : try make(tree)
}

extension Leaf {
    init(expected tree: PropertyList) throws {
        guard tree.kind == .dictionary else { throw Refused() }
        self.init()
        if let value = tree["name"] { name = try String(expected: value) }
        if let value = tree["numbers"] { numbers = try array(value) { try Double(expected: $0) } }
        if let value = tree["flag"] { flag = try optional(value) { try Bool(expected: $0) } }
    }
}

extension Point {
    init(expected tree: PropertyList) throws {
        guard tree.kind == .dictionary else { throw Refused() }
        self.init()
        if let value = tree["x"] { x = try Int(expected: value) }
        if let value = tree["y"] { y = try Double(expected: value) }
    }
}

extension Part {
    convenience init(expected tree: PropertyList) throws {
        guard tree.kind == .dictionary else { throw Refused() }
        self.init()
        if let value = tree["id"] { id = try Int(expected: value) }
        if let value = tree["text"] { text = try String(expected: value) }
        if let value = tree["name"] { name = try optional(value) { try String(expected: $0) } }
        if let value = tree["leaves"] { leaves = try array(value) { try Leaf(expected: $0) } }
    }
}

extension Fixed {
    init(expected tree: PropertyList) throws {
        guard tree.kind == .dictionary, let value = tree["id"] else { throw Refused() }
        self.init()
        id = try Int(expected: value)
        if let value = tree["names"] { names = try array(value) { try String(expected: $0) } }
    }
}

extension Node {
    init(expected tree: PropertyList) throws {
        guard tree.kind == .dictionary else { throw Refused() }
        self.init()
        if let value = tree["integer"] { integer = try Int(expected: value) }
        if let value = tree["small"] { small = try UInt8(narrow: value) }
        if let value = tree["signed"] { signed = try Int16(narrow: value) }
        if let value = tree["unsigned"] { unsigned = try UInt64(narrow: value) }
        if let value = tree["real"] { real = try Double(expected: value) }
        if let value = tree["single"] { single = try optional(value) { try Float(expected: $0) } }
        if let value = tree["text"] { text = try String(expected: value) }
        if let value = tree["note"] { note = try optional(value) { try String(expected: $0) } }
        if let value = tree["flag"] { flag = try Bool(expected: value) }
        if let value = tree["kind"] {
            guard let known = Kind(rawValue: try String(expected: value)) else { throw Refused() }
            kind = known
        }
        if let value = tree["matrix"] {
            matrix = try array(value) { row in try array(row) { try Int(expected: $0) } }
        }
        if let value = tree["leaf"] { leaf = try Leaf(expected: value) }
        if let value = tree["other"] { other = try optional(value) { try Leaf(expected: $0) } }
        if let value = tree["leaves"] { leaves = try array(value) { try Leaf(expected: $0) } }
        if let value = tree["table"] {
            guard value.kind == .dictionary else { throw Refused() }
            for (key, member) in value.members { table[key] = try Leaf(expected: member) }
        }
        if let value = tree["points"] { points = try array(value) { try Point(expected: $0) } }
        if let value = tree["cube"] {
            cube = try optional(value) { cube in
                try array(cube) { rows in try array(rows) { row in try array(row) { try Double(expected: $0) } } }
            }
        }
        if let value = tree["names"] { names = try array(value) { try String(expected: $0) } }
        if let value = tree["counts"] {
            guard value.kind == .dictionary else { throw Refused() }
            for (key, member) in value.members { counts[key] = try Int(expected: member) }
        }
        if let value = tree["parts"] { parts = try array(value) { try Part(expected: $0) } }
        if let value = tree["part"] { part = try optional(value) { try Part(expected: $0) } }
        if let value = tree["fixed"] { fixed = try Fixed(expected: value) }
        if let value = tree["children"] { children = try array(value) { try Node(expected: $0) } }
        if let value = tree["maybes"] { maybes = try array(value) { try optional($0) { try Int(expected: $0) } } }
    }
}
