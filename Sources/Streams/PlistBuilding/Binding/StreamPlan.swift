// Describes how values of one type are read from messages and sent as messages. A plan is made once for a type and rule of
// names. `ValueStateMachine` uses it for reading, and `PlanWriter` for writing.

import PlistStreaming

/// A scalar message with its value. Its bytes are valid only during the message.
@unsafe @usableFromInline
package enum ScalarMessage {
    /// Null.
    case null
    /// A Boolean.
    case bool(Bool)
    /// An integer from -2^63 to 2^63 - 1.
    case integer(Int64)
    /// An unsigned integer. Readers always send one above 2^63 - 1.
    case unsigned(UInt64)
    /// A floating-point number.
    case real(Double)
    /// The text, in ASCII, of a number that neither integers nor reals can represent.
    case number(UnsafeRawBufferPointer)
    /// A string in UTF-8.
    case string(UnsafeRawBufferPointer)
    /// Bytes.
    case data(UnsafeRawBufferPointer)
    /// A point in time, in seconds since 2001-01-01 00:00:00 UTC.
    case date(Double)
}

/// A scalar value that is sent to a sink.
package enum ScalarValue: Sendable, Equatable {
    /// Null.
    case null
    /// A Boolean.
    case bool(Bool)
    /// An integer from -2^63 to 2^63 - 1.
    case integer(Int64)
    /// An integer up to 2^64 - 1.
    case unsigned(UInt64)
    /// A floating-point number.
    case real(Double)
    /// The text of a number that neither integers nor reals can represent.
    case number(String)
    /// A string.
    case string(String)
    /// Bytes.
    case data([UInt8])
    /// A point in time, in seconds since 2001-01-01 00:00:00 UTC.
    case date(Double)

    /// Copies a message.
    package init(_ scalar: borrowing StreamScalar) {
        self =
            switch scalar {
            case .null: .null
            case .bool(let value): .bool(value)
            case .integer(let value): .integer(value)
            case .unsigned(let value): .unsigned(value)
            case .real(let value): .real(value)
            case .number(let text): .number(String(validating: text) ?? "")
            case .string(let utf8): .string(String(validating: utf8) ?? "")
            case .data(let bytes): .data(Array(copying: bytes))
            case .date(let seconds): .date(seconds)
            }
    }
}

/// The kinds of values that can be stored without the plan.
@usableFromInline
package enum FastKind: UInt8, Sendable {
    case none, integer, real, bool, string, optionalInteger, optionalReal, optionalString, optionalBool
    /// Numbers of other sizes, which only readers store without the plan.
    case int8, int16, int32, uint8, uint16, uint32, uint64, float
    /// Values that only readers store, by the shape of the type: containers, optionals of them, conversions.
    case value
    /// A Boolean or a string of a column.
    case columnBool, columnString

    /// A Boolean value that indicates whether a string is stored without an optional around it.
    @inlinable package var isText: Bool { self == .string || self == .columnString }

    // PERF: PropertyLists/items written, JSONRecords/writing; once a member.
    /// Returns whether a scalar at an address, which must have a value of this kind, is nil.
    @inlinable @inline(__always)
    package func isNil(at address: UnsafeRawPointer) -> Bool {
        switch self {
        case .optionalInteger: unsafe address.load(as: Int64?.self) == nil
        case .optionalReal: unsafe address.load(as: Double?.self) == nil
        case .optionalBool: unsafe address.load(as: Bool?.self) == nil
        case .optionalString: unsafe address.assumingMemoryBound(to: String?.self).pointee == nil
        default: false
        }
    }
}

/// The way to read and write values of one type. All kinds of ``StreamValue`` provide a binding, so you can't create one
/// yourself.
public struct StreamBinding {
    @usableFromInline let makePlan: (PlanBinder) throws(StreamError) -> StreamPlan

    @usableFromInline
    init(_ makePlan: @escaping (PlanBinder) throws(StreamError) -> StreamPlan) { self.makePlan = makePlan }

    /// Returns the binding of a scalar type.
    static func scalar<Value>(
        _ expectation: String, fast: FastKind = .none, text: ExpectedValue.Kind = .text,
        read: @escaping (ScalarMessage) throws(StreamError) -> Value, get: @escaping (Value) -> ScalarValue
    ) -> StreamBinding {
        StreamBinding { (binder) throws(StreamError) in
            // SAFETY: a plan is used only for values of its type.
            let shape = unsafe StreamPlan.Shape.scalar(
                { (message, address) throws(StreamError) in
                    unsafe address.initializeMemory(as: Value.self, to: try read(message))
                }, { unsafe get($0.assumingMemoryBound(to: Value.self).pointee) })
            let plan = unsafe StreamPlan(
                ValueOperations(of: Value.self), fast: fast, expectation: expectation, shape: shape)
            plan.textKind = text
            return plan
        }
    }

    /// Returns the binding of a type whose values are converted from those of another type.
    static func converted<Value, Form: StreamValue>(
        _ convert: @escaping (Form) throws(StreamError) -> Value, _ revert: @escaping (Value) -> Form
    ) -> StreamBinding {
        StreamBinding { (binder) throws(StreamError) in
            let form = try binder.plan(for: Form.self)
            let convertMemory: StreamPlan.Convert = { (from, to) throws(StreamError) in
                do throws(StreamError) {
                    // SAFETY: the first address has a value of the form's type, the other has memory for a converted value.
                    unsafe to.initializeMemory(
                        as: Value.self, to: try convert(from.assumingMemoryBound(to: Form.self).move()))
                } catch {
                    throw error.ofThisText
                }
            }
            let revertMemory: StreamPlan.Revert = { from, to in
                // SAFETY: as above, in the other direction.
                unsafe to.initializeMemory(as: Form.self, to: revert(from.assumingMemoryBound(to: Value.self).pointee))
            }
            return unsafe StreamPlan(
                ValueOperations(of: Value.self), expectation: form.expectation,
                shape: .converted(from: form, convertMemory, revertMemory))
        }
    }
}

/// The way to read and write values of one type. Plans are made by the type, and used by builders and writers.
@safe @usableFromInline
final class StreamPlan {
    /// The type of the operations, which the binder checks.
    let type: Any.Type
    /// Reads a scalar into uninitialized memory. If it throws, the memory is still uninitialized.
    typealias Read = (ScalarMessage, UnsafeMutableRawPointer) throws(StreamError) -> Void
    /// Returns the value at an address as a scalar.
    typealias Get = (UnsafeRawPointer) -> ScalarValue
    /// Converts the value at the first address and moves it into uninitialized memory. If it throws, the value is only
    /// consumed.
    typealias Convert = (UnsafeMutableRawPointer, UnsafeMutableRawPointer) throws(StreamError) -> Void
    /// Converts a value back to its form, in uninitialized memory.
    typealias Revert = (UnsafeRawPointer, UnsafeMutableRawPointer) -> Void

    @safe
    enum Shape {
        case scalar(Read, Get)
        case optional(StreamPlan)
        case array(StreamPlan)
        case dictionary(StreamPlan)
        case object(ObjectLayout)
        case converted(from: StreamPlan, Convert, Revert)
        case propertyList
    }

    // PERF: JSONRecords/structures; by address, because a copy would count the references of twelve closures.
    @usableFromInline let operations: UnsafePointer<ValueOperations>
    @usableFromInline let fast: FastKind
    /// The name of the type in errors, such as `an integer`.
    let expectation: String
    /// The shape is set once, after the plan is made, because a type may contain arrays of itself. It is set again when the
    /// plan is released.
    var shape: Shape {
        didSet {
            unsafe written.pointee.take(self)
            unsafe record.pointee.take(self)
        }
    }
    /// The description of the type for readers of text. It is freed with this plan.
    let record: UnsafeMutablePointer<RecordShape>
    /// Returns the value at an address as a value with its own encoder, if its type has one.
    var writable: ((UnsafeRawPointer) -> (any StreamEncodable)?)? { didSet { unsafe written.pointee.take(self) } }
    /// The description of the type for writers of text. It is freed with this plan.
    let written: UnsafeMutablePointer<MemoryForm>
    /// The state machine of an earlier builder of this type, kept for the next one; see `ValueStateMachine.take`.
    let spare = SharedPlaces()
    /// A Boolean value that indicates whether this is the plan of an array of bytes, which is filled by a data message.
    var isBytes = false
    /// The kind of message for a scalar in text.
    var textKind = ExpectedValue.Kind.text

    init(_ operations: ValueOperations, fast: FastKind = .none, expectation: String, shape: Shape) {
        type = unsafe operations.type
        // SAFETY: freed with this plan, which is the only owner.
        let memory = UnsafeMutablePointer<ValueOperations>.allocate(capacity: 1)
        unsafe memory.initialize(to: operations)
        unsafe self.operations = UnsafePointer(memory)
        self.fast = fast
        self.expectation = expectation
        self.shape = shape
        unsafe written = .allocate(capacity: 1)
        unsafe written.initialize(to: MemoryForm(UnsafePointer(memory)))
        unsafe record = .allocate(capacity: 1)
        unsafe record.initialize(to: RecordShape(UnsafePointer(memory), fast: fast))
        unsafe written.pointee.take(self)
        unsafe record.pointee.take(self)
    }

    @usableFromInline
    deinit {
        if let stateMachine = unsafe spare.take() { unsafe ValueStateMachine.free(stateMachine) }
        spare.deallocate()
        unsafe record.deallocate()
        let memory = unsafe UnsafeMutablePointer(mutating: operations)
        unsafe memory.deinitialize(count: 1)
        unsafe memory.deallocate()
        unsafe written.deallocate()
    }

    /// Releases the references of the plan, which may refer to itself. The plan isn't used after this call.
    func releaseReferences() {
        shape = .propertyList
        unsafe writable = nil
    }

    /// Returns the error for a value of an unexpected type.
    @inline(never)
    func mismatch(_ found: ScalarMessage) -> StreamError {
        unsafe Self.mismatch(expected: expectation, found)
    }

    @inline(never)
    static func mismatch(expected: String, _ found: ScalarMessage) -> StreamError {
        unsafe StreamError(.typeMismatch, "expected \(expected), found \(found.summary)")
    }

    @inline(never)
    func mismatch(found: String) -> StreamError {
        StreamError(.typeMismatch, "expected \(expectation), found \(found)")
    }
}

extension ScalarMessage {
    /// A description of the value for errors: its type, and at most 64 bytes of it.
    package var summary: String {
        switch unsafe self {
        case .null: "null"
        case .bool(let value): "\(value)"
        case .integer(let value): "integer \(value)"
        case .unsigned(let value): "integer \(value)"
        case .real(let value): "real \(value)"
        case .number(let text): unsafe "number \(ShownText.shortened(text))"
        case .string(let text): unsafe "string \(ShownText.quoted(text))"
        case .data(let bytes): "data of \(bytes.count) bytes"
        case .date(let seconds): "date \(seconds)"
        }
    }
}
