// Builders that hand over one record after another: each value as soon as it is complete, and its memory is used again.

import PlistStreaming

/// A builder that hands over each value at a depth of the stream as soon as it is complete.
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
///
/// ``ObjectBuilder/unknownMembers`` are those of all values since the beginning, or since ``ObjectBuilder/reset()``, with paths
/// from the root of the stream. After a request to stop they stay.
public typealias RecordStream<Value: StreamValue> = ObjectBuilder<Value>

extension ObjectBuilder {
    /// The number of values handed over; 0 in a builder that keeps its value.
    public var count: Int { unsafe machine.pointee.delivery?.pointee ?? 0 }

    /// Creates a builder that hands over values.
    ///
    /// - Parameters:
    ///   - depth: The number of containers around each value; a negative one is 0.
    ///   - options: What to do with unknown and missing members, nulls and names.
    ///   - receive: Receives each value in order, and may throw, `StreamError.stopRequest()` to end the stream.
    /// - Throws: An error of the kind `misuse` if the type can't be bound.
    @inlinable
    public init(
        depth: Int = 1, options: BuilderOptions = BuilderOptions(),
        _ receive: @escaping (borrowing Value) throws(StreamError) -> Void
    ) throws(StreamError) {
        try self.init(handingOver: Value.self, depth: depth, options: options, receive)
    }

    /// Creates a builder that hands over values of another type than its own; see `init(building:options:)`.
    @inlinable
    package init<Other: StreamValue>(
        handingOver type: Other.Type, depth: Int, options: BuilderOptions, expectsArray: Bool = false,
        _ receive: @escaping (borrowing Other) throws(StreamError) -> Void
    ) throws(StreamError) {
        let machine = try unsafe ValueMachine.make(for: type, options: options, streamingDepth: depth)
        unsafe machine.pointee.expectsArray = expectsArray
        unsafe self.machine = unsafe machine
        unsafe Self.setDelivery(machine, receive)
    }

    // PERF: JSONRecords/streams; besides the initializer above, whose closure is called without another one around it.
    /// Creates a builder that hands over values to a closure that may throw any error. The error comes as the cause of one of the kind
    /// `receiverFailed`; see `StreamError.init(ofReceiver:)`.
    ///
    /// - Parameters:
    ///   - depth: The number of containers around each value; a negative one is 0.
    ///   - options: What to do with unknown and missing members, nulls and names.
    ///   - receive: Receives each value in order, and may throw, `StreamError.stopRequest()` to end the stream.
    /// - Throws: An error of the kind `misuse` if the type can't be bound.
    @inlinable
    public init<Failure: Error>(
        depth: Int = 1, options: BuilderOptions = BuilderOptions(),
        _ receive: @escaping (borrowing Value) throws(Failure) -> Void
    ) throws(StreamError) {
        try self.init(depth: depth, options: options) { value throws(StreamError) in
            do throws(Failure) { try receive(value) } catch { throw StreamError(ofReceiver: error) }
        }
    }

    /// Creates a builder that hands over values and unknown members as well, however many come, and collects none.
    ///
    /// - Parameters:
    ///   - depth: The number of containers around each value; a negative one is 0.
    ///   - options: What to do with missing members, nulls and names.
    ///   - receiveUnknown: Receives each member that the type does not have, before the value that it is in.
    ///   - receive: Receives each value in order. Both may throw any error, as above.
    /// - Throws: An error of the kind `misuse` if the type can't be bound.
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
    static func setDelivery<Other: StreamValue>(
        _ machine: UnsafeMutablePointer<ValueMachine>,
        _ receive: @escaping (borrowing Other) throws(StreamError) -> Void
    ) {
        // SAFETY: the machine owns the closures and calls them while the memory at the root holds a value of the type that the machine
        // was made for; see `ValueMachine.release` for the object.
        let value = unsafe machine.pointee.root.assumingMemoryBound(to: Other.self)
        let object = unsafe machine.pointee.root.assumingMemoryBound(to: NativeObject.self)
        let isReference = unsafe machine.pointee.isReference
        let delivery = unsafe machine.pointee.makeDelivery()
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

    /// A function of its own, so that no copy of a reference is left when it returns, however the code is compiled.
    @inlinable @inline(never)
    static func handOver<Other: StreamValue>(
        _ value: UnsafeMutablePointer<Other>, _ receive: (borrowing Other) throws(StreamError) -> Void
    ) throws(StreamError) {
        try unsafe BorrowedValue.send(value, receive)
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
