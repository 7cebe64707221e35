// Builds one typed value for each stream. `RecordStream` delivers several values.

import PlistStreaming

/// A sink that builds a value of a type: a structure, an object, an array of them, or any other `StreamValue`.
///
/// ```swift
/// var builder = try ObjectBuilder<[Task]>()
/// // … a reader sends messages …
/// let tasks = try builder.takeResult()
/// ```
///
/// Errors have the path to the value: `$[12].address.zip: expected an integer, found string "x"`. After a reader's error, no
/// part of the value is delivered, and the builder is empty. It accepts the next value like a new builder.
@safe
public struct ObjectBuilder<Value: StreamValue>: PlistSink, ~Copyable {
    /// The state machine, which the builder owns.
    // PERF: by address: the setter of a noncopyable stored property with a deinitializer cannot be inlinable.
    @usableFromInline let stateMachine: UnsafeMutablePointer<ValueStateMachine>

    /// Creates a builder.
    /// - Throws: An error of the kind `misuse` if the type can't be bound.
    public init(options: BuilderOptions = BuilderOptions()) throws(StreamError) {
        try self.init(building: Value.self, options: options)
    }

    /// Creates a builder for values of a type other than its own. The caller has to name the type again when it takes a
    /// value.
    ///
    /// PERF: JSONTyped/documents; a reader is specialised once for all types if it doesn't know them.
    package init<Other: StreamValue>(building type: Other.Type, options: BuilderOptions) throws(StreamError) {
        unsafe stateMachine = try ValueStateMachine.take(for: type, options: options)
    }

    /// Creates a builder for values of a plan.
    init(plan: StreamPlan, owner: AnyObject) {
        unsafe stateMachine = .allocate(capacity: 1)
        unsafe stateMachine.initialize(to: ValueStateMachine(plan, owner, options: BuilderOptions(), streamingDepth: 0))
    }

    deinit {
        // SAFETY: taken by the initializer, and no other code has the address.
        unsafe ValueStateMachine.recycle(stateMachine)
    }

    /// The unknown members, if the options collect them. They belong to one value, and remain after it is taken until the
    /// next value begins.
    public var unknownMembers: [UnknownMember] { unsafe stateMachine.pointee.unknownMembers }

    /// Returns the value and empties the builder, even if it throws.
    /// - Throws: An error of the kind `unexpectedEnd` if the value isn't complete.
    public mutating func takeResult() throws(StreamError) -> Value { try takeResult(of: Value.self) }

    /// Returns the value with the type that the builder was made for.
    package mutating func takeResult<Other: StreamValue>(of type: Other.Type) throws(StreamError) -> Other {
        precondition(
            unsafe stateMachine.pointee.plan.type == type, "expected the type that the builder was created for")
        guard unsafe stateMachine.pointee.isFilled else {
            if unsafe stateMachine.pointee.deliver != nil {
                throw StreamError(.misuse, "expected a builder that keeps its value, found one that delivers values")
            }
            let error = unsafe stateMachine.pointee.located(StreamError(.unexpectedEnd, "the value is not complete"))
            reset()
            throw error
        }
        unsafe stateMachine.pointee.isTaken = !stateMachine.pointee.unknownMembers.isEmpty
        unsafe stateMachine.pointee.isFilled = false
        // SAFETY: the memory at the root has a value of the type that the state machine was made for.
        return unsafe stateMachine.pointee.root.assumingMemoryBound(to: Other.self).move()
    }

    /// Discards the incomplete value. The next message begins a new value.
    public mutating func reset() { unsafe stateMachine.pointee.reset() }

    /// Discards the value, because an error ended the stream.
    public mutating func cancel(with error: StreamError) { unsafe stateMachine.pointee.cancel(with: error) }

    /// Calls a closure with this builder as a given type, if that is its own type or `ValueBuilder`.
    @inlinable
    public mutating func withSelf<Known: PlistSink & ~Copyable>(
        as type: Known.Type, _ body: (inout Known) throws(StreamError) -> Void
    ) throws(StreamError) -> Bool {
        let known = ObjectIdentifier(type)
        guard known == ObjectIdentifier(ValueBuilder.self) || known == ObjectIdentifier(Self.self) else { return false }
        // SAFETY: every builder is the address of a state machine, which has the type of its values. The address of this
        // builder is valid during the call.
        try unsafe withUnsafeMutablePointer(to: &self) { (sink) throws(StreamError) in
            try body(&(unsafe UnsafeMutableRawPointer(sink).assumingMemoryBound(to: Known.self).pointee))
        }
        return true
    }

    // PERF: JSONRecords/structures; inlinable, so that a reader calls the state machine directly.
    /// Opens an array.
    @inlinable
    public mutating func beginArray() throws(StreamError) { try unsafe stateMachine.pointee.beginArray() }
    /// Closes an array.
    @inlinable
    public mutating func endArray() throws(StreamError) { try unsafe stateMachine.pointee.endArray() }
    /// Opens an object or dictionary.
    @inlinable
    public mutating func beginDictionary() throws(StreamError) { try unsafe stateMachine.pointee.beginDictionary() }
    /// Closes an object or dictionary.
    @inlinable
    public mutating func endDictionary() throws(StreamError) { try unsafe stateMachine.pointee.endDictionary() }
    /// Names the member that follows.
    @inlinable
    public mutating func writeKey(_ utf8: RawSpan) throws(StreamError) {
        try unsafe stateMachine.pointee.writeKey(utf8)
    }
    /// Sets a value to null.
    @inlinable
    public mutating func writeNull() throws(StreamError) { try unsafe stateMachine.pointee.writeNull() }
    /// Sets a Boolean.
    @inlinable
    public mutating func writeBool(_ value: Bool) throws(StreamError) {
        try unsafe stateMachine.pointee.writeBool(value)
    }
    /// Sets an integer.
    @inlinable
    public mutating func writeInteger(_ value: Int64) throws(StreamError) {
        try unsafe stateMachine.pointee.writeInteger(value)
    }
    /// Sets an unsigned integer.
    @inlinable
    public mutating func writeUnsigned(_ value: UInt64) throws(StreamError) {
        try unsafe stateMachine.pointee.writeUnsigned(value)
    }
    /// Sets a floating-point number.
    @inlinable
    public mutating func writeReal(_ value: Double) throws(StreamError) {
        try unsafe stateMachine.pointee.writeReal(value)
    }
    /// Sets a number that isn't representable as an integer or a real.
    @inlinable
    public mutating func writeNumber(text: RawSpan) throws(StreamError) {
        try unsafe stateMachine.pointee.writeNumber(text: text)
    }
    /// Sets a string.
    @inlinable
    public mutating func writeString(_ utf8: RawSpan) throws(StreamError) {
        try unsafe stateMachine.pointee.writeString(utf8)
    }
    /// Sets data.
    @inlinable
    public mutating func writeData(_ bytes: RawSpan) throws(StreamError) {
        try unsafe stateMachine.pointee.writeData(bytes)
    }
    /// Sets a date.
    @inlinable
    public mutating func writeDate(secondsSince2001 seconds: Double) throws(StreamError) {
        try unsafe stateMachine.pointee.writeDate(secondsSince2001: seconds)
    }
    // PERF: JSONRecords; inlinable, so that a reader calls the state machine directly.
    /// The port that provides the memory of objects and arrays to the readers of this package.
    @inlinable
    public static var memoryPort: MemoryPort? {
        // SAFETY: the functions take the address of a sink of this type, which is valid during the call.
        func stateMachine(_ sink: UnsafeMutableRawPointer) -> UnsafeMutablePointer<ValueStateMachine> {
            unsafe sink.assumingMemoryBound(to: Self.self).pointee.stateMachine
        }
        return unsafe MemoryPort(
            recordBuffersOf: Self.self,
            begin: { (sink, kind) throws(StreamError) in
                try unsafe stateMachine(sink).pointee.beginRecordBuffer(of: kind)
            },
            end: { (sink) throws(StreamError) in try unsafe stateMachine(sink).pointee.endRecordBuffer() },
            expected: { sink in unsafe stateMachine(sink).pointee.expectedValue() },
            checkHeader: { sink, names in unsafe stateMachine(sink).pointee.problem(ofHeader: names) },
            watchNames: { sink, names in unsafe stateMachine(sink).pointee.watchNames(names) })
    }
}

extension ObjectBuilder where Value == PropertyList {
    // PERF: JSONTyped/documents, PropertyLists/binary, Archive/reload; a reader is specialised in its own module, once for
    // all types, which it never sees.
    /// Returns a value of any type. A reader sends the messages of the value to a builder that always has the same type.
    @usableFromInline
    package static func build<Other: StreamValue>(
        _ options: BuilderOptions, _ read: (inout ObjectBuilder) throws(StreamError) -> Void
    ) throws(StreamError) -> Other {
        var builder = try ObjectBuilder(building: Other.self, options: options)
        try read(&builder)
        return try builder.takeResult(of: Other.self)
    }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

// The types and rows are in `ObjectBuilder+Tests`, which also has the tests of binding.
extension ObjectBuilder {
    static func build(_ script: String, _ options: BuilderOptions = BuilderOptions()) throws -> Value {
        var builder = try ObjectBuilder(options: options)
        try EventScript.send(script, to: &builder)
        return try builder.takeResult()
    }
}
#endif
