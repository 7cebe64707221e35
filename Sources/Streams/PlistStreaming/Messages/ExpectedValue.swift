// The type that a sink expects next. Readers of formats without types of values, such as XML, ask the sink
// before they choose a message. The sink checks the sent message as usual.
//
// Readers of rows do not ask here. They know all columns before the first value, and learn once, from a record buffer, how
// each member is stored (`FastKind`). This also distinguishes a `String` from other types that are spelled as text: a field
// that looks like a number is text for a string, and may be a number for a date.

/// The next value that a sink expects, as far as it is known.
@usableFromInline
package struct ExpectedValue: Sendable, Equatable {
    /// The kind of message for the value.
    @usableFromInline
    package enum Kind: UInt8, Sendable {
        /// The sink accepts any value, or does not specify it.
        case any
        /// The sink ignores any value.
        case nothing
        /// A value that is created from a string: text, and dates, URLs and other types that are spelled as text.
        case text
        case integer, real, bool, array, dictionary
        /// A number that is rounded once from its text, such as a `Float`.
        case number
    }

    @usableFromInline package var kind: Kind
    /// A Boolean value that indicates whether null stands for a missing value.
    @usableFromInline package var isOptional: Bool

    @inlinable
    package init(_ kind: Kind, isOptional: Bool = false) {
        self.kind = kind
        self.isOptional = isOptional
    }

    /// The expectation of sinks that do not specify one.
    @inlinable package static var any: ExpectedValue { ExpectedValue(.any) }
}

extension PlistSink where Self: ~Copyable {
    // PERF: XML/objects; inlinable, so that a reader that is specialised for a sink asks it without the closures of its port.
    /// The next value that the sink expects: the value of the member after a key, or the next element in an array.
    @inlinable @inline(__always)
    package mutating func expectedValue() -> ExpectedValue {
        guard let expected = unsafe Self.ownPort?.expected else { return .any }
        // SAFETY: the functions of a type's own port take the address of a sink of the type, during the call.
        return unsafe withUnsafeMutablePointer(to: &self) { sink in unsafe expected(UnsafeMutableRawPointer(sink)) }
    }
}
