// An element around records, of which the parts are sent as they come.

import PlistStreaming

/// What is sent of an element, and which of its children came.
struct OpenLevel {
    enum Kind {
        /// It is a string unless a child comes.
        case undecided
        case dictionary
        /// An array of its children, whatever their names.
        case array
    }
    /// What follows the last child.
    enum Run {
        case none
        /// The array of the children with one name is open.
        case array
        /// A child is held until it is known whether another one of its name follows; for members that take any value.
        case held
        /// There can be no other child of the name.
        case single
    }

    var kind: Kind
    var expected: ExpectedValue
    var run = Run.none
    var runName: Int32 = -1
    /// The number of children of the run.
    var runCount = 0
    /// The namespace of the names of the run.
    var runNamespace: Int32 = -1
    /// A Boolean value that indicates whether children are held until the end, because the sink may get each key once, and more
    /// of their names may come.
    var isHolding = false
    /// The name of the last child that is held so.
    var heldName: Int32 = -1
    /// A name of which something was sent.
    struct SentName {
        let namespace: Int32
        let isAttribute: Bool
    }
    /// The names of the runs so far.
    var seen: [Int32: SentName] = [:]
    /// Those of attributes and children that are not wanted.
    var unwanted: Set<Int32> = []
    /// A Boolean value that indicates whether a child has come.
    var hasElements = false
    var text: [UInt8] = []
    var runStart = 0
}
