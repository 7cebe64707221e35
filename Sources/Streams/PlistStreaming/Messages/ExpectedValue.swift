// What a sink would like to be sent next. Readers of formats whose text does not say of what type a value is, such as XML, ask
// before they choose a message; what they then send is checked as ever.
//
// Readers of rows do not ask here. They know all columns before the first value, and learn from a loan, once, as what
// each member is stored (`FastKind`), which also tells a `String` from all else that is spelled as text: a field that
// looks like a number is text for the one, and may be a number for a date.

/// What a sink expects as its next value, as far as it knows.
@usableFromInline
package struct ExpectedValue: Sendable, Equatable {
    /// The kind of message that holds the value.
    @usableFromInline
    package enum Kind: UInt8, Sendable {
        /// The sink takes any value, or does not say.
        case any
        /// The value is dropped, whatever it is.
        case nothing
        /// What is made of a string: text, and dates, addresses and others that are spelled as text.
        case text
        case integer, real, bool, array, dictionary
        /// A number that is rounded from its text, once, such as a `Float`.
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

    /// What sinks expect that do not say.
    @inlinable package static var any: ExpectedValue { ExpectedValue(.any) }
}

extension PlistSink where Self: ~Copyable {
    // PERF: XML/objects; inlinable, so that a reader that is specialised for a sink asks it without the closures of its port.
    /// What the sink expects as its next value: behind a key the value of the member, in an array the element.
    @inlinable @inline(__always)
    package mutating func expectedValue() -> ExpectedValue {
        guard let expected = unsafe Self.ownPort?.expected else { return .any }
        // SAFETY: the functions of a type's own port take the address of a sink of the type, during the call.
        return unsafe withUnsafeMutablePointer(to: &self) { sink in unsafe expected(UnsafeMutableRawPointer(sink)) }
    }
}
