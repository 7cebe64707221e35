// Structures and classes whose stored properties are all members, or only partly members, so that a builder may fill them
// without an initial value.

import Foundation
import FuzzInputs
import PlistBuilding

struct Covered<A: Sample, B: Sample, C: Sample, Choice: Bits>: SampleObject {
    var a = A.initial
    var inner = Pair<B, C>()
    var tuple = (C.initial, A.initial)
    var last = 1

    static var slots: [Slot<Self>] {
        chosen(
            [
                { Slot("a", \Self.a, isRequired: $0) }, { Slot("inner", \Self.inner, isRequired: $0) },
                { Slot("innerA", \Self.inner.a, isRequired: $0) }, { Slot("innerB", \Self.inner.b, isRequired: $0) },
                { Slot("first", \Self.tuple.0, isRequired: $0) }, { Slot("second", \Self.tuple.1, isRequired: $0) },
                { Slot("last", \Self.last, isRequired: $0) }, { Slot("alias", \Self.a, isRequired: $0) },
            ], Choice.value)
    }
    static var streamMembers: StreamMembers { StreamMembers(slots.map(\.member)) }

    var summary: String { "<\(a.summary) \(inner.summary) \(tuple.0.summary) \(tuple.1.summary) \(last)>" }
    func collectFresh(_ identifiers: inout [UUID]) {
        a.collectFresh(&identifiers)
        inner.collectFresh(&identifiers)
        tuple.0.collectFresh(&identifiers)
        tuple.1.collectFresh(&identifiers)
    }
}

final class CoveredBox<A: Sample, B: Sample, C: Sample, Choice: Bits>: SampleObject {
    var a = A.initial
    var inner = Pair<B, C>()
    var tuple = (C.initial, A.initial)
    var last = 1
    init() { Token.liveCount += 1 }
    deinit { Token.liveCount -= 1 }

    static var slots: [Slot<CoveredBox>] {
        chosen(
            [
                { Slot("a", \CoveredBox.a, isRequired: $0) }, { Slot("inner", \CoveredBox.inner, isRequired: $0) },
                { Slot("innerA", \CoveredBox.inner.a, isRequired: $0) },
                { Slot("innerB", \CoveredBox.inner.b, isRequired: $0) },
                { Slot("first", \CoveredBox.tuple.0, isRequired: $0) },
                { Slot("second", \CoveredBox.tuple.1, isRequired: $0) },
                { Slot("last", \CoveredBox.last, isRequired: $0) }, { Slot("alias", \CoveredBox.a, isRequired: $0) },
            ], Choice.value)
    }
    static var streamMembers: StreamMembers { StreamMembers(slots.map(\.member)) }

    var summary: String { "<\(a.summary) \(inner.summary) \(tuple.0.summary) \(tuple.1.summary) \(last)>" }
    func collectFresh(_ identifiers: inout [UUID]) {
        a.collectFresh(&identifiers)
        inner.collectFresh(&identifiers)
        tuple.0.collectFresh(&identifiers)
        tuple.1.collectFresh(&identifiers)
    }
}
