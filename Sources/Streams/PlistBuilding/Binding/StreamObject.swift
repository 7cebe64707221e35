// The protocol for types with members: structures and classes that can be read from and written to streams.

import PlistStreaming

/// A structure or class whose stored properties are the members of a dictionary in a stream.
///
/// ```swift
/// struct Task: StreamObject {          // nothing more: the stored properties are found by reflection
///     var id = 0
///     var title = ""
///     var done: Bool? = nil
/// }
///
/// final class Person: StreamObject {   // or declared, which also renames, requires and leaves out
///     var fullName = ""
///     init() {}
///     static var streamMembers: StreamMembers { [.required("name", \Person.fullName)] }
/// }
/// ```
///
/// Reflection finds every stored property. All of them have to be variables of types that are ``StreamValue``, without
/// property wrappers, `lazy` and `weak`. Any other property causes an error when the type is bound. Values are written
/// directly to storage: `didSet` and `willSet` aren't called.
///
/// The storage of a wrapped property `a` is a property `_a`, which can't be distinguished from an ordinary property. A name
/// with an underscore is therefore rejected if its type may be a wrapper. This applies to types that conform to
/// ``StreamRepresentable``, `StreamObject` or `RawRepresentable`, except for `URL` and `UUID`.
///
/// Declared members don't have these restrictions. They can also be parts of stored properties, and several members can be
/// the same property. Values are assigned in the order of the stream, so that the last value is kept.
///
/// A missing member has the value from `init()`, which is called for each object: `var id = UUID()` is different each time. A
/// type is bound once, outside all locks, so `init()` can read other values. For a class with declared members, `init()` can
/// read values of the class itself only after the class is bound. Objects may be created, and conversions called, more often
/// than the number of values: if a reader finds an unexpected value, it discards the object and reads it again.
///
/// ## Isolation and exclusive access
///
/// Properties are read and set by address, on the thread that runs the builder or writer. If a class is isolated to a global
/// actor, isolate the conformance too, so that the compiler accepts its use only there:
///
/// ```swift
/// @MainActor final class Document: @MainActor StreamObject {
///     var title = ""
///     init() {}
/// }
/// ```
///
/// Don't make `init()` of such a class `nonisolated`, and don't use `@preconcurrency StreamObject`. With them, the compiler
/// allows writing an object on one thread while its actor changes it, which is a data race. If a class is
/// `@unchecked Sendable`, hold the lock of an object while you read or write it.
///
/// If one of an object's members is being modified further up the stack, writing the object stops the process, as the law of
/// exclusivity requires. The first page of this module has more about both topics.
public protocol StreamObject: StreamValue {
    /// Creates an object with the values for missing members.
    init()
    /// The members. They are found by reflection unless they are declared.
    static var streamMembers: StreamMembers { get }
}

extension StreamObject {
    /// The members found by reflection.
    public static var streamMembers: StreamMembers { .reflected }

    // PERF: StructBuilder/records; inlinable, so that the operations are specialised in the module of the type.
    /// The binding of a structure or class with members.
    @inlinable
    public static var streamBinding: StreamBinding {
        StreamBinding { (binder) throws(StreamError) in
            try unsafe binder.objectPlan(
                for: Self.self, ValueOperations(of: Self.self), members: streamMembers,
                make: { unsafe $0.initializeMemory(as: Self.self, to: Self()) })
        }
    }
}

/// The members of a type, in writing order.
public struct StreamMembers: ExpressibleByArrayLiteral {
    let declared: [StreamMember]?

    /// All stored properties, found by reflection.
    public static let reflected: StreamMembers = StreamMembers(declared: nil)

    private init(declared: [StreamMember]?) { self.declared = declared }

    /// Declares the members.
    public init(arrayLiteral elements: StreamMember...) { declared = elements }

    /// Declares the members.
    public init(_ members: [StreamMember]) { declared = members }
}

// SAFETY: the properties of a member never change, and its functions capture only sendable key paths and types.
extension StreamMembers: @unchecked Sendable {}

/// One declared member, with a name in the stream and a property.
@safe
public struct StreamMember {
    let name: String
    let isRequired: Bool
    let root: Any.Type
    let valueType: Any.Type
    /// The offset of the property in a structure, or nil.
    let structureOffset: Int?
    /// Returns the offset of the property in the memory of an object, or nil if the property isn't stored there.
    let objectOffset: (AnyObject) -> Int?
    let bind: (PlanBinder) throws(StreamError) -> StreamPlan
    /// Moves the value at the first address into the property of the value at the second address.
    let set: (UnsafeMutableRawPointer, UnsafeMutableRawPointer) -> Void
    /// Initializes memory with the property of the value at the first address.
    let get: (UnsafeRawPointer, UnsafeMutableRawPointer) -> Void

    /// Declares a member that keeps its default if it is missing.
    public static func member<Root, Value: StreamValue>(
        _ name: String, _ property: WritableKeyPath<Root, Value> & Sendable
    ) -> StreamMember {
        StreamMember(name, property, isRequired: false)
    }

    /// Declares a member that must be received.
    public static func required<Root, Value: StreamValue>(
        _ name: String, _ property: WritableKeyPath<Root, Value> & Sendable
    ) -> StreamMember {
        StreamMember(name, property, isRequired: true)
    }

    private init<Root, Value: StreamValue>(_ name: String, _ property: WritableKeyPath<Root, Value>, isRequired: Bool) {
        self.name = name
        self.isRequired = isRequired
        root = Root.self
        valueType = Value.self
        structureOffset = MemoryLayout<Root>.offset(of: property)
        bind = { (binder) throws(StreamError) in try binder.plan(for: Value.self) }
        objectOffset = { object in
            guard let property = property as? ReferenceWritableKeyPath<Root, Value>, var root = object as? Root else {
                return nil
            }
            // SAFETY: only the address is used. If it is within the object, the property is stored there.
            let start = unsafe UnsafeRawPointer(Unmanaged.passUnretained(object).toOpaque())
            return unsafe withUnsafeMutablePointer(to: &root[keyPath: property as WritableKeyPath]) { address in
                unsafe UnsafeRawPointer(address) - start
            }
        }
        // SAFETY: a member is bound only to its root type, which the binder checks.
        unsafe set = { value, root in
            unsafe root.assumingMemoryBound(to: Root.self).pointee[keyPath: property] =
                value.assumingMemoryBound(to: Value.self).move()
        }
        unsafe get = { root, value in
            unsafe value.initializeMemory(
                as: Value.self, to: root.assumingMemoryBound(to: Root.self).pointee[keyPath: property])
        }
    }
}
