// The types with members: structures and classes that streams are read into and written from.

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
/// Reflection finds every stored property. It needs all of them to be variables of types that are ``StreamValue``, without
/// property wrappers, `lazy` and `weak`; any other one is an error of binding that says so. It writes storage directly:
/// `didSet` and `willSet` are not called. What stores a wrapped `a` is a property `_a`, of which nothing tells that it is not
/// meant: so a name with an underscore is refused where its type may be a wrapper, one that conforms to ``StreamRepresentable``,
/// `StreamObject` or `RawRepresentable`, other than `URL` and `UUID`. Declared members have none of these limits. They may also be parts of stored
/// properties, and several may be one property: what comes is assigned in its order, so that the last one wins.
///
/// A member that does not come has the value that `init()` gives it, made anew for each object: `var id = UUID()` is
/// another one each time. Objects are bound once, outside all locks, so `init()` may read other values itself; of a class
/// with declared members, only once it is bound also its own. Objects may be made, and conversions called, more often than
/// there are values: a value that is not what a reader expects is given up and read anew.
///
/// ## Isolation and exclusive access
///
/// Properties are read and set by address, wherever a builder or writer runs. For a class that is isolated to a global actor, isolate
/// the conformance, so that the compiler accepts it only there:
///
/// ```swift
/// @MainActor final class Document: @MainActor StreamObject {
///     var title = ""
///     init() {}
/// }
/// ```
///
/// Don't make `init()` of such a class `nonisolated`, and don't use `@preconcurrency StreamObject`: the compiler then accepts to write
/// an object on one thread while its actor changes it, which is a data race. Hold the lock of an object of an `@unchecked Sendable`
/// class while it is read or written.
///
/// Writing an object while one of its members is being modified further up the stack stops the process, as the law of exclusivity
/// demands. The first page of this module has more on both.
public protocol StreamObject: StreamValue {
    /// Makes an object with the values that members have when they do not come.
    init()
    /// The members; found by reflection unless declared.
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

/// The members of a type, in the order in which they are written.
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

// SAFETY: nothing of a member changes, and its functions hold no more than key paths that are Sendable, and types.
extension StreamMembers: @unchecked Sendable {}

/// One declared member: a name in the stream and a property.
@safe
public struct StreamMember {
    let name: String
    let isRequired: Bool
    let root: Any.Type
    let valueType: Any.Type
    /// The offset of the property in a structure, or nil.
    let structureOffset: Int?
    /// Returns the offset of the property in the memory of an object, or nil when it has no storage there.
    let objectOffset: (AnyObject) -> Int?
    let bind: (PlanBinder) throws(StreamError) -> StreamPlan
    /// Moves the value at the first address into the property of the value at the second one.
    let set: (UnsafeMutableRawPointer, UnsafeMutableRawPointer) -> Void
    /// Initializes memory with the property of the value at the first address.
    let get: (UnsafeRawPointer, UnsafeMutableRawPointer) -> Void

    /// Declares a member that keeps its value when it does not come.
    public static func member<Root, Value: StreamValue>(
        _ name: String, _ property: WritableKeyPath<Root, Value> & Sendable
    ) -> StreamMember {
        StreamMember(name, property, isRequired: false)
    }

    /// Declares a member that must come.
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
            // SAFETY: only the address is used. When it lies in the object, the property is stored there.
            let start = unsafe UnsafeRawPointer(Unmanaged.passUnretained(object).toOpaque())
            return unsafe withUnsafeMutablePointer(to: &root[keyPath: property as WritableKeyPath]) { address in
                unsafe UnsafeRawPointer(address) - start
            }
        }
        // SAFETY: a member is bound to its root type only, which the binder checks.
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
