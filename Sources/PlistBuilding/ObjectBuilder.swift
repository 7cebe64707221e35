// The builder of typed values: one value of one type for each stream.

import PlistStreaming

/// A sink that builds a value of a type: a structure, an object, an array of them, or any other `StreamValue`.
///
/// ```swift
/// var builder = try ObjectBuilder<[Task]>()
/// // … a reader sends messages …
/// let tasks = try builder.takeResult()
/// ```
///
/// Errors name the way to the value: `$[12].address.zip: expected an integer, found string "x"`. After an error the builder
/// is to be reset before it is used again; nothing of the value is delivered.
public struct ObjectBuilder<Value: StreamValue>: PlistSink, ~Copyable {
    private var machine: ValueMachine

    /// Makes a builder.
    /// - Throws: An error of the kind `misuse` when the type cannot be bound.
    public init(options: BuilderOptions = BuilderOptions()) throws(StreamError) {
        machine = try ValueMachine(Value.self, options: options, streamingDepth: 0)
    }

    /// The members that the types do not have, if the options collect them.
    public var unknownMembers: [UnknownMember] { machine.unknownMembers }

    /// Returns the value, and makes room for the next one.
    /// - Throws: An error of the kind `unexpectedEnd` when the value is not complete.
    public mutating func takeResult() throws(StreamError) -> Value {
        guard machine.isFilled else { throw StreamError(.unexpectedEnd, "the value is not complete") }
        machine.isFilled = false
        // SAFETY: the memory at the root holds a value of the type that the machine was made for.
        return unsafe machine.root.assumingMemoryBound(to: Value.self).move()
    }

    /// Gives up the value under construction; the next message begins a new one.
    public mutating func reset() { machine.reset() }

    /// Opens an array.
    public mutating func beginArray() throws(StreamError) { try machine.beginArray() }
    /// Closes an array.
    public mutating func endArray() throws(StreamError) { try machine.endArray() }
    /// Opens an object or dictionary.
    public mutating func beginDictionary() throws(StreamError) { try machine.beginDictionary() }
    /// Closes an object or dictionary.
    public mutating func endDictionary() throws(StreamError) { try machine.endDictionary() }
    /// Names the member that follows.
    public mutating func writeKey(_ utf8: RawSpan) throws(StreamError) { try machine.writeKey(utf8) }
    /// Sets a value to null.
    public mutating func writeNull() throws(StreamError) { try machine.writeNull() }
    /// Sets a Boolean.
    public mutating func writeBool(_ value: Bool) throws(StreamError) { try machine.writeBool(value) }
    /// Sets an integer.
    public mutating func writeInteger(_ value: Int64) throws(StreamError) { try machine.writeInteger(value) }
    /// Sets an unsigned integer.
    public mutating func writeUnsigned(_ value: UInt64) throws(StreamError) { try machine.writeUnsigned(value) }
    /// Sets a floating-point number.
    public mutating func writeReal(_ value: Double) throws(StreamError) { try machine.writeReal(value) }
    /// Sets a number that neither integers nor reals hold.
    public mutating func writeNumber(text: RawSpan) throws(StreamError) { try machine.writeNumber(text: text) }
    /// Sets a string.
    public mutating func writeString(_ utf8: RawSpan) throws(StreamError) { try machine.writeString(utf8) }
    /// Sets data.
    public mutating func writeData(_ bytes: RawSpan) throws(StreamError) { try machine.writeData(bytes) }
    /// Sets a date.
    public mutating func writeDate(secondsSince2001 seconds: Double) throws(StreamError) {
        try machine.writeDate(secondsSince2001: seconds)
    }
}
