// The state of an open element around records, whose children are sent as they are read.

import PlistStreaming

/// The messages sent for an element so far, and the children it had.
struct OpenLevel {
    enum Kind {
        /// A string, unless a child follows.
        case undecided
        case dictionary
        /// An array of all children, regardless of their names.
        case array
    }
    /// The state after the last child.
    enum Run {
        /// The array of the children with one name is open.
        case array
        /// A child is buffered until it is known whether another child with its name follows. Used for members that take any
        /// value.
        case buffered
        /// No other child with this name is possible.
        case single
    }

    var kind: Kind
    var expected: ExpectedValue
    var run = Run.single
    var runName: Int32 = -1
    /// The number of children of the run.
    var runCount = 0
    /// The namespace of the names of the run.
    var runNamespace: Int32 = -1
    /// A Boolean value that indicates whether children are buffered until the end. They are if the sink can take each key only
    /// once and more children with their names may follow.
    var isBuffering = false
    /// The name of the last child that is buffered until the end.
    var bufferedName: Int32 = -1
    /// A name that a value was sent for.
    struct SentName {
        let namespace: Int32
        let isAttribute: Bool
    }
    /// The names of the runs so far.
    var seen: [Int32: SentName] = [:]
    /// The names of attributes and children that the sink ignores.
    var unwanted: Set<Int32> = []
    /// A Boolean value that indicates whether the element has had a child.
    var hasElements = false
    var text: [UInt8] = []
    var runStart = 0
}
