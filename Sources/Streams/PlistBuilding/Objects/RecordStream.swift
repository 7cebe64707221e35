// The stream of typed values: each value is handed over as soon as it is complete, and its memory is used again.

import PlistStreaming

/// A sink that builds values of a type at a depth of the stream and hands over each one as it is complete.
///
/// ```swift
/// var stream = try RecordStream<Task>(depth: 1) { task in
///     if task.id == 42 { throw StreamError.stopRequest() }
/// }
/// // … a reader sends `[{…}, {…}, …]` …
/// ```
///
/// At depth 0 the whole stream is the value, at depth 1 each element of an array or each value of a dictionary, and so on.
/// Values above the depth are not built. Memory is that of one value, however long the stream is.
///
/// An object of a class is used again for the next value, with its members set back to their defaults, when nobody kept
/// it; a strong reference keeps it, `weak` and `unowned` ones do not. Objects that have stored properties which are no
/// members of their own are made anew each time.
@safe
public struct RecordStream<Value: StreamValue>: PlistSink, ~Copyable {
    /// The machine, which the stream owns; see `ObjectBuilder`.
    @usableFromInline let machine: UnsafeMutablePointer<ValueMachine>
    /// The number of values handed over, by address, since readers hand over as well.
    @usableFromInline let delivery: UnsafeMutablePointer<Int>
    /// The number of values handed over.
    public var count: Int { unsafe delivery.pointee }

    /// Makes a stream.
    /// - Parameters:
    ///   - depth: The number of containers around each value; a negative one is 0.
    ///   - options: What to do with unknown and missing members, nulls and names.
    ///   - receive: Gets each value in order, and may throw, `StreamError.stopRequest()` to end the stream.
    /// - Throws: An error of the kind `misuse` when the type cannot be bound.
    @inlinable
    public init(
        depth: Int = 1, options: BuilderOptions = BuilderOptions(),
        _ receive: @escaping (borrowing Value) throws(StreamError) -> Void
    ) throws(StreamError) {
        let made = try ValueMachine(Value.self, options: options, streamingDepth: depth)
        unsafe machine = .allocate(capacity: 1)
        unsafe machine.initialize(to: made)
        unsafe delivery = .allocate(capacity: 1)
        unsafe delivery.initialize(to: 0)
        unsafe Self.setDelivery(machine, delivery, receive)
    }

    // PERF: JSONRecords/streams; besides the initializer above, whose closure is called without another one around it.
    /// Makes a stream whose receiver may throw any error, which comes as the cause of one of the kind `receiverFailed`; see
    /// `StreamError.init(ofReceiver:)`.
    /// - Parameters:
    ///   - depth: The number of containers around each value; a negative one is 0.
    ///   - options: What to do with unknown and missing members, nulls and names.
    ///   - receive: Gets each value in order, and may throw, `StreamError.stopRequest()` to end the stream.
    /// - Throws: An error of the kind `misuse` when the type cannot be bound.
    @inlinable
    public init<Failure: Error>(
        depth: Int = 1, options: BuilderOptions = BuilderOptions(),
        _ receive: @escaping (borrowing Value) throws(Failure) -> Void
    ) throws(StreamError) {
        try self.init(depth: depth, options: options) { value throws(StreamError) in
            do throws(Failure) { try receive(value) } catch { throw StreamError(ofReceiver: error) }
        }
    }

    /// Makes a stream that hands over unknown members as well, however many come, and collects none.
    /// - Parameters:
    ///   - depth: The number of containers around each value; a negative one is 0.
    ///   - options: What to do with missing members, nulls and names.
    ///   - receiveUnknown: Gets each member that the type does not have, before the value that it is in.
    ///   - receive: Gets each value in order. Both may throw any error, as above.
    /// - Throws: An error of the kind `misuse` when the type cannot be bound.
    @inlinable
    public init<UnknownFailure: Error, Failure: Error>(
        depth: Int = 1, options: BuilderOptions = BuilderOptions(),
        receivingUnknownMembers receiveUnknown: @escaping (UnknownMember) throws(UnknownFailure) -> Void,
        _ receive: @escaping (borrowing Value) throws(Failure) -> Void
    ) throws(StreamError) {
        var options = options
        options.unknownMembers = .collect
        try self.init(depth: depth, options: options, receive)
        unsafe machine.pointee.receiveUnknown = { member throws(StreamError) in
            do throws(UnknownFailure) { try receiveUnknown(member) } catch { throw StreamError(ofReceiver: error) }
        }
    }

    // PERF: JSONRecords/streams; inlinable, so that values are handed over without copies by type.
    /// Lets the machine, and readers that store members themselves, hand over values.
    @inlinable
    static func setDelivery(
        _ machine: UnsafeMutablePointer<ValueMachine>, _ delivery: UnsafeMutablePointer<Int>,
        _ receive: @escaping (borrowing Value) throws(StreamError) -> Void
    ) {
        // SAFETY: the machine owns the closures and calls them while the memory at the root holds a value of the type that the machine
        // was made for; see `ValueMachine.release` for the object.
        let value = unsafe machine.pointee.root.assumingMemoryBound(to: Value.self)
        let object = unsafe machine.pointee.root.assumingMemoryBound(to: NativeObject.self)
        let isReference = unsafe machine.pointee.isReference
        // PERF: JSONRecords/streams; one closure around the receiver's, which is a nanosecond less than two.
        unsafe machine.pointee.setDelivery(
            { () throws(StreamError) in
                unsafe delivery.pointee &+= 1
                try unsafe handOver(value, receive)
            },
            toReaders: {
                unsafe delivery.pointee &+= 1
                do throws(StreamError) {
                    try unsafe handOver(value, receive)
                } catch {
                    unsafe machine.pointee.refuse(error)
                    return false
                }
                return unsafe !isReference || isKnownUniquelyReferenced(&object.pointee)
            })
    }

    deinit {
        // SAFETY: allocated and initialized by the initializer, and no one else has the address.
        unsafe machine.deinitialize(count: 1)
        unsafe machine.deallocate()
        unsafe delivery.deallocate()
    }

    /// The members that the type does not have, if the options collect them, with paths from the root of the stream: of all values
    /// since the beginning, or since ``reset()``, also of several documents.
    public var unknownMembers: [UnknownMember] { unsafe machine.pointee.unknownMembers }

    /// Gives up the value under construction; the next message begins a new stream.
    public mutating func reset() { unsafe machine.pointee.reset() }

    /// Gives up the value under construction, of which nothing more comes. After a request to stop, unknown members that were
    /// collected stay.
    public mutating func cancel(with error: StreamError) { unsafe machine.pointee.cancel(with: error) }

    /// Calls a closure with a builder that hands values over as this stream does, if the type is `ValueBuilder`.
    public mutating func withSelf<Known: PlistSink & ~Copyable>(
        as type: Known.Type, _ body: (inout Known) throws(StreamError) -> Void
    ) throws(StreamError) -> Bool {
        var builder = unsafe ValueBuilder(sharing: machine)
        do throws(StreamError) {
            let isKnown = try builder.withSelf(as: type, body)
            builder.leave()
            return isKnown
        } catch {
            builder.leave()
            throw error
        }
    }

    /// A function of its own, so that no copy of a reference is left when it returns, however the code is compiled.
    @inlinable @inline(never)
    static func handOver(
        _ value: UnsafeMutablePointer<Value>, _ receive: (borrowing Value) throws(StreamError) -> Void
    ) throws(StreamError) {
        try unsafe BorrowedValue.send(value, receive)
    }

    /// Opens an array.
    @inlinable
    public mutating func beginArray() throws(StreamError) { try unsafe machine.pointee.beginArray() }
    /// Opens an object or dictionary.
    @inlinable
    public mutating func beginDictionary() throws(StreamError) { try unsafe machine.pointee.beginDictionary() }
    /// Names the member that follows.
    @inlinable
    public mutating func writeKey(_ utf8: RawSpan) throws(StreamError) { try unsafe machine.pointee.writeKey(utf8) }
    /// Closes an array.
    @inlinable
    public mutating func endArray() throws(StreamError) { try unsafe machine.pointee.endArray() }
    /// Closes an object or dictionary.
    @inlinable
    public mutating func endDictionary() throws(StreamError) { try unsafe machine.pointee.endDictionary() }
    /// Sets a value to null.
    @inlinable
    public mutating func writeNull() throws(StreamError) {
        try unsafe machine.pointee.writeNull()
    }
    /// Sets a Boolean.
    @inlinable
    public mutating func writeBool(_ value: Bool) throws(StreamError) {
        try unsafe machine.pointee.writeBool(value)
    }
    /// Sets an integer.
    @inlinable
    public mutating func writeInteger(_ value: Int64) throws(StreamError) {
        try unsafe machine.pointee.writeInteger(value)
    }
    /// Sets an unsigned integer.
    @inlinable
    public mutating func writeUnsigned(_ value: UInt64) throws(StreamError) {
        try unsafe machine.pointee.writeUnsigned(value)
    }
    /// Sets a floating-point number.
    @inlinable
    public mutating func writeReal(_ value: Double) throws(StreamError) {
        try unsafe machine.pointee.writeReal(value)
    }
    /// Sets a number that neither integers nor reals hold.
    @inlinable
    public mutating func writeNumber(text: RawSpan) throws(StreamError) {
        try unsafe machine.pointee.writeNumber(text: text)
    }
    /// Sets a string.
    @inlinable
    public mutating func writeString(_ utf8: RawSpan) throws(StreamError) {
        try unsafe machine.pointee.writeString(utf8)
    }
    /// Sets data.
    @inlinable
    public mutating func writeData(_ bytes: RawSpan) throws(StreamError) {
        try unsafe machine.pointee.writeData(bytes)
    }
    /// Sets a date.
    @inlinable
    public mutating func writeDate(secondsSince2001 seconds: Double) throws(StreamError) {
        try unsafe machine.pointee.writeDate(secondsSince2001: seconds)
    }

    // PERF: JSONRecords; inlinable, so that a reader calls the machine without a call between.
    /// The memory of objects and arrays, lent to the readers of this package.
    @inlinable
    public static var memoryPort: MemoryPort? {
        // SAFETY: the functions take the address of a sink of this type, which is valid during the call.
        func machine(_ sink: UnsafeMutableRawPointer) -> UnsafeMutablePointer<ValueMachine> {
            unsafe sink.assumingMemoryBound(to: Self.self).pointee.machine
        }
        return unsafe MemoryPort(
            lendingOf: Self.self,
            begin: { (sink, kind) throws(StreamError) in try unsafe machine(sink).pointee.beginLoan(of: kind) },
            end: { (sink) throws(StreamError) in try unsafe machine(sink).pointee.endLoan() },
            expected: { sink in unsafe machine(sink).pointee.expectedValue() },
            checkHeader: { sink, names in unsafe machine(sink).pointee.problem(ofHeader: names) },
            watchNames: { sink, names in unsafe machine(sink).pointee.watchNames(names) })
    }
}

/// Lending a value of which no copy is made.
@usableFromInline
enum BorrowedValue {
    // PERF: JSONRecords/streams; noncopyable, so that no reference is counted on the way.
    @inlinable @inline(__always)
    static func send<Value: ~Copyable>(
        _ value: UnsafeMutablePointer<Value>, _ receive: (borrowing Value) throws(StreamError) -> Void
    ) throws(StreamError) {
        try unsafe receive(value.pointee)
    }
}
