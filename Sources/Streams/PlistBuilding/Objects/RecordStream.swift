// Builders that deliver each value as soon as it is complete, and use its memory again for the next value.

import PlistStreaming

/// A builder that delivers each value at a depth of the stream as soon as it is complete.
///
/// ```swift
/// var stream = try RecordStream<Task>(depth: 1) { task in
///     if task.id == 42 { throw StreamError.stopRequest() }
/// }
/// // … a reader sends `[{…}, {…}, …]` …
/// ```
///
/// At depth 0, the whole stream is the value. At depth 1, each element of an array or each value of a dictionary is a value,
/// and so on. Containers above the depth aren't built. Memory is needed for only one value, regardless of the length of the
/// stream.
///
/// If the closure doesn't keep an object, the object is used again for the next value, with its members set to their
/// defaults. Strong references keep an object, but `weak` and `unowned` references don't. Objects with stored properties that
/// aren't members are created again for each value.
///
/// ``ObjectBuilder/unknownMembers`` has the unknown members of all values since the beginning or since
/// ``ObjectBuilder/reset()``, with paths from the root of the stream. They remain after a stop request.
public typealias RecordStream<Value: StreamValue> = ObjectBuilder<Value>

extension ObjectBuilder {
    /// The number of delivered values. It is 0 in a builder that keeps its value.
    public var count: Int { unsafe stateMachine.pointee.delivery?.pointee ?? 0 }

    /// Creates a builder that delivers values.
    ///
    /// - Parameters:
    ///   - depth: The number of containers around each value. A negative number is treated as 0.
    ///   - options: The options for unknown and missing members, null and names.
    ///   - receive: A closure that gets each value in order. It may throw; `StreamError.stopRequest()` ends the stream.
    /// - Throws: An error of the kind `misuse` if the type can't be bound.
    @inlinable
    public init(
        depth: Int = 1, options: BuilderOptions = BuilderOptions(),
        _ receive: @escaping (borrowing Value) throws(StreamError) -> Void
    ) throws(StreamError) {
        try self.init(handingOver: Value.self, depth: depth, options: options, receive)
    }

    /// Creates a builder that delivers values of a type other than its own; see `init(building:options:)`.
    @inlinable
    package init<Other: StreamValue>(
        handingOver type: Other.Type, depth: Int, options: BuilderOptions, expectsArray: Bool = false,
        _ receive: @escaping (borrowing Other) throws(StreamError) -> Void
    ) throws(StreamError) {
        let stateMachine = try unsafe ValueStateMachine.make(for: type, options: options, streamingDepth: depth)
        unsafe stateMachine.pointee.expectsArray = expectsArray
        unsafe self.stateMachine = unsafe stateMachine
        unsafe Self.setDelivery(stateMachine, receive)
    }

    // PERF: JSONRecords/streams; in addition to the initializer above, whose closure is called without another one around it.
    /// Creates a builder that delivers values to a closure that may throw any error. The error becomes the cause of an error
    /// of the kind `receiverFailed`; see `StreamError.init(ofReceiver:)`.
    ///
    /// - Parameters:
    ///   - depth: The number of containers around each value. A negative number is treated as 0.
    ///   - options: The options for unknown and missing members, null and names.
    ///   - receive: A closure that gets each value in order. It may throw; `StreamError.stopRequest()` ends the stream.
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

    /// Creates a builder that delivers values and any number of unknown members, without collecting them.
    ///
    /// - Parameters:
    ///   - depth: The number of containers around each value. A negative number is treated as 0.
    ///   - options: The options for missing members, null and names.
    ///   - receiveUnknown: A closure that gets each unknown member before the value that contains it.
    ///   - receive: A closure that gets each value in order. Both closures may throw any error, as above.
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
        unsafe stateMachine.pointee.receiveUnknown = { member throws(StreamError) in
            do throws(UnknownFailure) { try receiveUnknown(member) } catch { throw StreamError(ofReceiver: error) }
        }
    }

    // PERF: JSONRecords/streams; inlinable, so that values are delivered without copies by type.
    /// Makes the state machine, and readers that store members themselves, deliver values to a closure.
    @inlinable
    static func setDelivery<Other: StreamValue>(
        _ stateMachine: UnsafeMutablePointer<ValueStateMachine>,
        _ receive: @escaping (borrowing Other) throws(StreamError) -> Void
    ) {
        // SAFETY: the state machine owns the closures and calls them while the memory at the root has a value of the type that
        // the state machine was made for; see `ValueStateMachine.release` for the object.
        let value = unsafe stateMachine.pointee.root.assumingMemoryBound(to: Other.self)
        let object = unsafe stateMachine.pointee.root.assumingMemoryBound(to: NativeObject.self)
        let isReference = unsafe stateMachine.pointee.isReference
        let delivery = unsafe stateMachine.pointee.makeDelivery()
        // PERF: JSONRecords/streams; one closure around the receiver's closure takes a nanosecond less than two.
        unsafe stateMachine.pointee.setDelivery(
            { () throws(StreamError) in
                unsafe delivery.pointee &+= 1
                try unsafe handOver(value, receive)
            },
            toReaders: {
                unsafe delivery.pointee &+= 1
                do throws(StreamError) {
                    try unsafe handOver(value, receive)
                } catch {
                    unsafe stateMachine.pointee.refuse(error)
                    return false
                }
                return unsafe !isReference || isKnownUniquelyReferenced(&object.pointee)
            })
    }

    /// Delivers a value. This is a separate function, so that no copy of a reference is left when it returns, regardless of
    /// optimization.
    @inlinable @inline(never)
    static func handOver<Other: StreamValue>(
        _ value: UnsafeMutablePointer<Other>, _ receive: (borrowing Other) throws(StreamError) -> Void
    ) throws(StreamError) {
        try unsafe BorrowedValue.send(value, receive)
    }
}

/// Passes a value without copying it.
@usableFromInline
enum BorrowedValue {
    // PERF: JSONRecords/streams; noncopyable, so that no reference is counted during the call.
    @inlinable @inline(__always)
    static func send<Value: ~Copyable>(
        _ value: UnsafeMutablePointer<Value>, _ receive: (borrowing Value) throws(StreamError) -> Void
    ) throws(StreamError) {
        try unsafe receive(value.pointee)
    }
}
