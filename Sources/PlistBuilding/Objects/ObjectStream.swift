// The stream of typed values: each value is handed over as soon as it is complete, and its memory is used again.

import PlistStreaming

/// A sink that builds values of a type at a depth of the stream and hands over each one as it is complete.
///
/// ```swift
/// var stream = try ObjectStream<Task>(depth: 1) { task in
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
public struct ObjectStream<Value: StreamValue>: PlistSink, ~Copyable {
    /// The machine, which the stream owns; see `ObjectBuilder`.
    @usableFromInline let machine: UnsafeMutablePointer<ValueMachine>
    @usableFromInline let receive: (borrowing Value) throws(StreamError) -> Void
    /// The number of values handed over.
    public var count: Int { unsafe delivery.pointee }
    /// The number of values handed over, by address, since readers hand over as well.
    @usableFromInline let delivery: UnsafeMutablePointer<Int>

    /// Makes a stream.
    /// - Parameters:
    ///   - depth: The number of containers around each value.
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
        self.receive = receive
        unsafe delivery = .allocate(capacity: 1)
        unsafe delivery.initialize(to: 0)
        unsafe Self.setDelivery(machine, delivery, receive)
    }

    // PERF: JSONRecords/streams; besides the initializer above, whose closure is called without another one around it.
    /// Makes a stream whose receiver may throw any error, which comes as the cause of one of the kind `receiverFailed`; see
    /// `StreamError.init(ofReceiver:)`.
    /// - Parameters:
    ///   - depth: The number of containers around each value.
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
    ///   - depth: The number of containers around each value.
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
    /// Lets readers that store members themselves hand over values.
    @inlinable
    static func setDelivery(
        _ machine: UnsafeMutablePointer<ValueMachine>, _ delivery: UnsafeMutablePointer<Int>,
        _ receive: @escaping (borrowing Value) throws(StreamError) -> Void
    ) {
        // SAFETY: the machine owns the closure; see `deliver` for the value, and `ValueMachine.release` for the object.
        let value = unsafe machine.pointee.root.assumingMemoryBound(to: Value.self)
        let object = unsafe machine.pointee.root.assumingMemoryBound(to: NativeObject.self)
        let isReference = unsafe machine.pointee.isReference
        // PERF: JSONRecords/streams; one closure around the receiver's, which is a nanosecond less than two.
        unsafe machine.pointee.setDelivery {
            unsafe delivery.pointee &+= 1
            do throws(StreamError) {
                try unsafe handOver(value, receive)
            } catch {
                unsafe machine.pointee.refuse(error)
                return false
            }
            return unsafe !isReference || isKnownUniquelyReferenced(&object.pointee)
        }
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
    public mutating func abandon(after error: StreamError) {
        let collected = error.isStopRequest ? unknownMembers : []
        reset()
        unsafe machine.pointee.unknownMembers = collected
    }

    // PERF: JSONRecords/streams; inlinable, so that values are handed over without copies by type.
    @inlinable @inline(never)
    mutating func deliver() throws(StreamError) {
        // SAFETY: the memory at the root holds a value of the type that the machine was made for, until it is released.
        let value = unsafe machine.pointee.root.assumingMemoryBound(to: Value.self)
        unsafe delivery.pointee += 1
        do throws(StreamError) {
            try unsafe Self.handOver(value, receive)
        } catch {
            unsafe machine.pointee.release()
            throw unsafe machine.pointee.refused(error)
        }
        unsafe machine.pointee.release()
    }

    /// A function of its own, so that no copy of a reference is left when it returns, however the code is compiled.
    @inlinable @inline(never)
    static func handOver(
        _ value: UnsafeMutablePointer<Value>, _ receive: (borrowing Value) throws(StreamError) -> Void
    ) throws(StreamError) {
        try unsafe BorrowedValue.send(value, receive)
    }

    @inlinable @inline(__always)  // PERF: JSONRecords/streams; one comparison a message.
    mutating func deliverIfFilled(after message: Void) throws(StreamError) {
        if unsafe machine.pointee.isFilled { try deliver() }
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
    public mutating func endArray() throws(StreamError) {
        try unsafe deliverIfFilled(after: machine.pointee.endArray())
    }
    /// Closes an object or dictionary.
    @inlinable
    public mutating func endDictionary() throws(StreamError) {
        try unsafe deliverIfFilled(after: machine.pointee.endDictionary())
    }
    /// Sets a value to null.
    @inlinable
    public mutating func writeNull() throws(StreamError) {
        try unsafe deliverIfFilled(after: machine.pointee.writeNull())
    }
    /// Sets a Boolean.
    @inlinable
    public mutating func writeBool(_ value: Bool) throws(StreamError) {
        try unsafe deliverIfFilled(after: machine.pointee.writeBool(value))
    }
    /// Sets an integer.
    @inlinable
    public mutating func writeInteger(_ value: Int64) throws(StreamError) {
        try unsafe deliverIfFilled(after: machine.pointee.writeInteger(value))
    }
    /// Sets an unsigned integer.
    @inlinable
    public mutating func writeUnsigned(_ value: UInt64) throws(StreamError) {
        try unsafe deliverIfFilled(after: machine.pointee.writeUnsigned(value))
    }
    /// Sets a floating-point number.
    @inlinable
    public mutating func writeReal(_ value: Double) throws(StreamError) {
        try unsafe deliverIfFilled(after: machine.pointee.writeReal(value))
    }
    /// Sets a number that neither integers nor reals hold.
    @inlinable
    public mutating func writeNumber(text: RawSpan) throws(StreamError) {
        try unsafe deliverIfFilled(after: machine.pointee.writeNumber(text: text))
    }
    /// Sets a string.
    @inlinable
    public mutating func writeString(_ utf8: RawSpan) throws(StreamError) {
        try unsafe deliverIfFilled(after: machine.pointee.writeString(utf8))
    }
    /// Sets data.
    @inlinable
    public mutating func writeData(_ bytes: RawSpan) throws(StreamError) {
        try unsafe deliverIfFilled(after: machine.pointee.writeData(bytes))
    }
    /// Sets a date.
    @inlinable
    public mutating func writeDate(secondsSince2001 seconds: Double) throws(StreamError) {
        try unsafe deliverIfFilled(after: machine.pointee.writeDate(secondsSince2001: seconds))
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
            end: { (sink) throws(StreamError) in
                let stream = unsafe sink.assumingMemoryBound(to: Self.self)
                try unsafe stream.pointee.deliverIfFilled(after: machine(sink).pointee.endLoan())
            })
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

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

enum ObjectStreamTests {
    final class Record: StreamObject {
        /// The number of objects that were made.
        nonisolated(unsafe) static var madeCount = 0
        var id = -1
        var name = "a default of more than fifteen bytes"
        var tags: [String] = []
        init() { unsafe Self.madeCount += 1 }
    }

    final class Parent: StreamObject {
        var child = Record()
        init() {}
    }

    /// Sends a script through a stream and returns what `describe` makes of the values.
    static func stream<Value: StreamValue>(
        _ script: String, depth: Int = 1, _ describe: @escaping (borrowing Value) -> String
    ) throws -> [String] {
        let received = Received()
        var stream = try ObjectStream<Value>(depth: depth) { value throws(StreamError) in
            received.texts.append(describe(value))
        }
        try EventScript.send(script, to: &stream)
        return received.texts
    }

    final class Received {
        var texts: [String] = []
        var kept: [Record] = []
    }
}

extension ObjectStreamTests: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testHandsOverValuesOfAnyKindInOrder": testHandsOverValuesOfAnyKindInOrder,
            "testHandsOverAtEveryDepth": testHandsOverAtEveryDepth,
            "testSetsMembersBackBetweenRecords": testSetsMembersBackBetweenRecords,
            "testUsesOneObjectWhenNobodyKeepsIt": testUsesOneObjectWhenNobodyKeepsIt,
            "testNeverChangesAKeptObject": testNeverChangesAKeptObject,
            "testMakesObjectsWithObjectsAnew": testMakesObjectsWithObjectsAnew,
            "testStopsOnRequest": testStopsOnRequest,
            "testPassesOnErrorsOfTheReceiver": testPassesOnErrorsOfTheReceiver,
            "testSaysWhichValueTheReceiverRefused": testSaysWhichValueTheReceiverRefused,
            "testErrorsHaveThePathFromTheRoot": testErrorsHaveThePathFromTheRoot,
            "testDeliversNoPartOfAValue": testDeliversNoPartOfAValue,
            "testHandsOverUnknownMembersWithoutEnd": testHandsOverUnknownMembersWithoutEnd,
        ]
    }

    private static func testHandsOverValuesOfAnyKindInOrder() throws {
        let script = "[ integer 1 [ integer 2 ] null { key \"a\" integer 3 } string \"x\" ]"
        let kinds = try stream(script) { (value: borrowing PropertyList) in "\(value.kind) \(value.count)" }
        expectEqual(kinds, ["integer 0", "array 1", "null 0", "dictionary 1", "string 0"], "kinds")
        expectEqual(try stream("[ integer 1 integer 2 ]") { (value: borrowing Int) in "\(value)" }, ["1", "2"], "Int")
        expectEqual(try stream("[ ]") { (value: borrowing Int) in "\(value)" }, [], "of nothing")
    }

    private static func testHandsOverAtEveryDepth() throws {
        let script = "{ key \"count\" integer 9 key \"rows\" [ { key \"id\" integer 1 } { key \"id\" integer 2 } ] }"
        func ids(_ depth: Int) throws -> [String] {
            try stream(script, depth: depth) { (value: borrowing PropertyList) in
                value["id"]?.integerValue.map { "\($0)" } ?? "\(value.kind)"
            }
        }
        expectEqual(try ids(0), ["dictionary"], "depth 0")
        expectEqual(try ids(1), ["integer", "array"], "depth 1")
        expectEqual(try ids(2), ["1", "2"], "depth 2")
        expectEqual(try ids(3), ["integer", "integer"], "depth 3")
        expectEqual(try ids(4), [], "depth 4")
        let rows = try stream(script, depth: 2) { (value: borrowing Record) in "\(value.id)" }
        expectEqual(rows, ["1", "2"], "objects at depth 2")
    }

    private static let records = """
        [ { key "id" integer 1 key "name" string "first" key "tags" [ string "a" ] } { key "id" integer 2 } { }
        { key "tags" [ ] key "name" string "a name of more than fifteen bytes" } { } ]
        """

    private static func testSetsMembersBackBetweenRecords() throws {
        let texts = try stream(records) { (value: borrowing Record) in "\(value.id) \(value.name) \(value.tags)" }
        let name = "a default of more than fifteen bytes"
        expectEqual(
            texts,
            [
                "1 first [\"a\"]", "2 \(name) []", "-1 \(name) []", "-1 a name of more than fifteen bytes []",
                "-1 \(name) []",
            ], "records")
    }

    private static func testUsesOneObjectWhenNobodyKeepsIt() throws {
        var stream = try ObjectStream<Record> { _ throws(StreamError) in }
        let before = unsafe Record.madeCount
        let whole = "{ key \"id\" integer 1 key \"name\" string \"a\" key \"tags\" [ ] }"
        try EventScript.send("[ \(whole) \(whole) \(whole) ]", to: &stream)
        expectEqual(stream.count, 3, "values")
        expectEqual(unsafe Record.madeCount - before, 1, "objects made")
        try EventScript.send("[ \(whole) { } \(whole) { key \"id\" integer 2 } ]", to: &stream)
        expectEqual(unsafe Record.madeCount - before, 3, "objects made, with those that defaults were taken of")
    }

    private static func testNeverChangesAKeptObject() throws {
        let received = Received()
        var stream = try ObjectStream<Record> { value throws(StreamError) in
            if value.id % 7 == 0 { received.kept.append(copy value) }
        }
        let script = (0..<100).map { "{ key \"id\" integer \($0) key \"name\" string \"name \($0)\" }" }
        try EventScript.send("[ \(script.joined(separator: " ")) ]", to: &stream)
        let expected = (0..<100).filter { $0 % 7 == 0 }
        expectEqual(received.kept.map(\.id), expected, "numbers")
        expectEqual(received.kept.map(\.name), expected.map { "name \($0)" }, "names")
        expectEqual(Set(received.kept.map(ObjectIdentifier.init)).count, expected.count, "different objects")
    }

    private static func testMakesObjectsWithObjectsAnew() throws {
        let received = Received()
        var stream = try ObjectStream<Parent> { value throws(StreamError) in received.kept.append(value.child) }
        try EventScript.send("[ { key \"child\" { key \"id\" integer 1 } } { } { } ]", to: &stream)
        expectEqual(received.kept.map(\.id), [1, -1, -1], "children")
        expectEqual(Set(received.kept.map(ObjectIdentifier.init)).count, 3, "different children")
    }

    private static func testStopsOnRequest() throws {
        var stream = try ObjectStream<Int> { value throws(StreamError) in
            if value == 2 { throw StreamError.stopRequest() }
        }
        let error = expectThrows(StreamError.self, "a stop") {
            try EventScript.send("[ integer 1 integer 2 integer 3 ]", to: &stream)
        }
        expectTrue(error?.isStopRequest ?? false, "is a stop request")
        expectEqual(stream.count, 2, "values")
    }

    private static func testPassesOnErrorsOfTheReceiver() throws {
        struct Full: Error, Equatable { var count: Int }
        func refuse(_ value: Int) throws { if value == 2 { throw Full(count: value) } }
        let script = "[ integer 1 integer 2 integer 3 ]"
        var untyped = try ObjectStream<Int> { value in try refuse(value) }
        var typed = try ObjectStream<Int> { (value) throws(Full) in if value == 2 { throw Full(count: value) } }
        for isTyped in [false, true] {
            let error = expectThrows(StreamError.self, "an error of the receiver") {
                if isTyped { return try EventScript.send(script, to: &typed) }
                try EventScript.send(script, to: &untyped)
            }
            expectEqual(error?.kind, .receiverFailed, "kind")
            expectEqual(error?.cause as? Full, Full(count: 2), "cause")
        }
        expectEqual([untyped.count, typed.count], [2, 2], "values")
        var stopping = try ObjectStream<Int> { value in if value == 2 { throw StreamError.stopRequest() } }
        let stop = expectThrows(StreamError.self, "a stop") { try EventScript.send(script, to: &stopping) }
        expectTrue(stop?.isStopRequest ?? false, "is a stop request")
        var unknown = try ObjectStream<Record>(
            receivingUnknownMembers: { member in throw Full(count: member.path.steps.count) }, { _ in })
        let refused = expectThrows(StreamError.self, "an unknown member") {
            try EventScript.send("[ { key \"x\" null } ]", to: &unknown)
        }
        expectEqual(refused?.cause as? Full, Full(count: 2), "cause")
    }

    private static func testSaysWhichValueTheReceiverRefused() throws {
        let place = StreamPosition(byteOffset: 3, line: 1, column: 4)
        let member = StreamPath([.key("name")])
        let foreign = StreamError(.invalidSyntax, "m", position: place)
        let rows: [(any Error, StreamError.Kind, String)] = [
            (CancellationError(), .receiverFailed, "$[1]: the receiver failed: CancellationError()"),
            (StreamError(.typeMismatch, "m"), .typeMismatch, "$[1]: m"),
            // Of another value or text than the one that the values come from.
            (StreamError(.typeMismatch, "m", path: member), .receiverFailed, "$[1]: the receiver failed: $.name: m"),
            (foreign, .receiverFailed, "$[1]: the receiver failed: m at line 1, column 4 (byte 3)"),
            (StreamError.stopRequest(), .stopRequested, "the sink stopped the stream"),
            (
                StreamError.stopRequest().located(at: place), .receiverFailed,
                "$[1]: the receiver failed: the sink stopped the stream at line 1, column 4 (byte 3)"
            ),
        ]
        for (thrown, kind, description) in rows {
            var stream = try ObjectStream<Int> { value in if value == 2 { throw thrown } }
            var members = try ObjectStream<Record>(depth: 2, receivingUnknownMembers: { _ in throw thrown }, { _ in })
            let error = expectThrows(StreamError.self, description) {
                try EventScript.send("[ integer 1 integer 2 ]", to: &stream)
            }
            expectEqual(error?.kind, kind, "kind of \(description)")
            expectEqual(error?.description, description, "description")
            let unknown = expectThrows(StreamError.self, description) {
                try EventScript.send("{ key \"a\" [ { key \"x\" [ ] } ] }", to: &members)
            }
            let path = description.hasPrefix("$[1]") ? "$.a[0].x" + description.dropFirst(4) : description
            expectEqual(unknown?.description, path, "description of an error about an unknown member")
        }
        var typed = try ObjectStream<Int>(depth: 0) { _ throws(StreamError) in throw foreign }
        let error = expectThrows(StreamError.self, "a typed error") { try EventScript.send("integer 1", to: &typed) }
        expectEqual(error?.cause as? StreamError, foreign, "cause")
        expectEqual(error?.path?.description, "$", "path")
        expectNil(error?.position, "position, which only a reader knows")
    }

    private static func testErrorsHaveThePathFromTheRoot() {
        let error = expectThrows(StreamError.self, "a mismatch") {
            _ = try stream("{ key \"rows\" [ { } { key \"id\" true } ] }", depth: 2) { (_: borrowing Record) in "" }
        }
        expectEqual(error?.description, "$.rows[1].id: expected an integer, found true", "description")
    }

    private static func testHandsOverUnknownMembersWithoutEnd() throws {
        let received = Received()
        var stream = try ObjectStream<Record>(
            options: BuilderOptions(unknownMemberLimit: 3),
            receivingUnknownMembers: { member throws(StreamError) in
                received.texts.append("\(member.path) \(member.value.integerValue ?? -1)")
            },
            { value throws(StreamError) in received.texts.append("record \(value.id)") })
        let records = (0..<1_500).map { "{ key \"x\" integer \($0) key \"id\" integer \($0) }" }
        try EventScript.send("[ \(records.joined(separator: " ")) ]", to: &stream)
        expectEqual(received.texts, (0..<1_500).flatMap { ["$[\($0)].x \($0)", "record \($0)"] }, "in order")
        expectEqual(stream.unknownMembers, [], "kept")
        var collecting = try ObjectStream<Record>(
            options: BuilderOptions(unknownMembers: .collect, unknownMemberLimit: 3)
        ) { _ throws(StreamError) in }
        let error = expectThrows(StreamError.self, "more than are collected") {
            try EventScript.send("[ \(records.joined(separator: " ")) ]", to: &collecting)
        }
        expectEqual(error?.description, "$[3].x: there are more than 3 unknown members", "description")
        expectEqual(collecting.unknownMembers.count, 3, "collected")
    }

    private static func testDeliversNoPartOfAValue() throws {
        expectEqual(
            try stream("[ { key \"id\" integer 1 } { key \"id\" integer 2") { (value: borrowing Record) in "\(value.id)"
            },
            ["1"], "values of an incomplete stream")
    }
}
#endif
