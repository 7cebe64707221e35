// Follows Swift's law of exclusivity when properties of objects are read and set by address. The compiler adds its checks
// only to direct accesses of a property, so code that uses addresses has to make these checks itself.

import CStackAddress
import PlistStreaming

/// Checks that no caller is modifying memory that is about to be read or set by address.
@unsafe
package enum ObjectAccess {
    /// The runtime's record of an access: the address, the caller, and the previous record with 1 in its lowest bit for a
    /// modification.
    private typealias Note = (address: UInt, caller: UInt, previous: UInt)

    // swift/Runtime/ExclusivityFlags.h
    private static let (modification, isNoted) = (UInt(1), UInt(0x20))

    /// A Boolean value that indicates whether records have the expected layout. If not, each property is checked separately.
    private static let isLayoutKnown: Bool = {
        var (first, second) = (Note(0, 0, 0), Note(0, 0, 0))
        return unsafe withUnsafeMutablePointer(to: &first) { first in
            unsafe withUnsafeMutablePointer(to: &second) { second in
                // SAFETY: a record has three words, and isn't moved until its access ends.
                unsafe swift_beginAccess(first, first, modification | isNoted, nil)
                unsafe swift_beginAccess(second, second, isNoted, nil)
                defer {
                    unsafe swift_endAccess(second)
                    unsafe swift_endAccess(first)
                }
                return unsafe first.pointee.address == UInt(bitPattern: first) && first.pointee.previous & 1 == 1
                    && second.pointee.address == UInt(bitPattern: second)
                    && second.pointee.previous == UInt(bitPattern: first)
            }
        }
    }()

    // PERF: JSON of objects; the records are checked once for an object instead of once for each of its properties.
    /// Returns whether memory in a range may be under modification on this thread.
    package static func isModifying(_ range: Range<UInt> = 0..<UInt.max) -> Bool {
        guard unsafe isLayoutKnown else { return true }
        var note = Note(0, 0, 0)
        return unsafe withUnsafeMutablePointer(to: &note) { note in
            // SAFETY: see above; all other records in the list were begun by callers, which end them later.
            unsafe swift_beginAccess(note, note, isNoted, nil)
            // If the checks are disabled, no accesses are recorded.
            guard unsafe note.pointee.address != 0 else { return false }
            defer { unsafe swift_endAccess(note) }
            var previous = unsafe note.pointee.previous
            while let access = unsafe UnsafePointer<Note>(bitPattern: previous & ~1) {
                unsafe previous = access.pointee.previous
                if unsafe previous & 1 == 1 && range.contains(access.pointee.address) { return true }
            }
            return false
        }
    }

    /// Stops the process, with the runtime's message, if an access to a property overlaps with a caller's access.
    package static func check(_ property: UnsafeRawPointer, isModification: Bool = false) {
        var note = Note(0, 0, 0)
        unsafe withUnsafeMutablePointer(to: &note) { note in
            unsafe swift_beginAccess(property, note, isModification ? modification : 0, nil)
        }
    }
}

extension ObjectLayout {
    /// Stops the process if a caller is modifying a member of an object that is about to be read, as access to its properties
    /// would.
    ///
    /// - Parameters:
    ///   - object: The address of the object.
    ///   - value: The address of the reference to it.
    func checkRead(of object: UnsafeRawPointer, referredToAt value: UnsafeRawPointer) {
        let start = UInt(bitPattern: object)
        guard unsafe ObjectAccess.isModifying(start..<start + UInt(extent)) else { return }
        for index in unsafe members.indices {
            let member = unsafe members[index]
            // A declared member may be a part of the checked property. Only its key path can tell.
            if let declared = declared?[index] {
                unsafe member.plan.operations.withUninitializedMemory { memory in
                    unsafe declared.get(value, memory)
                    unsafe member.plan.operations.pointee.deinitialize(memory)
                }
            } else {
                unsafe ObjectAccess.check(object + member.offset)
            }
        }
    }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import StreamingSystem
import InClassTesting

/// An object with properties that tests modify while it is written. One property isn't a member.
final class ModifiedObject: StreamObject {
    struct Part: StreamObject { var text = "a text of more than fifteen bytes" }

    var id: Int? = 7
    var tags = ["a": "a text of more than fifteen bytes"]
    var part = Part()
    var other = 0
    init() {}
    static var streamMembers: StreamMembers {
        [
            .member("id", \ModifiedObject.id), .member("tags", \ModifiedObject.tags),
            .member("text", \ModifiedObject.part.text),
        ]
    }
}

/// The same members, found by reflection.
final class ReflectedObject: StreamObject {
    var id: Int? = 7
    var text = "a text of more than fifteen bytes"
    init() {}
}

/// Calls a closure while a value is being modified.
@_optimize(none)  // The optimizer ends an access early if nothing uses the value.
func modify<Value>(_ value: inout Value, _ body: () -> Void) { body() }

enum ObjectAccessTests {}

extension ObjectAccessTests: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testTrapsForPropertiesUnderModification": testTrapsForPropertiesUnderModification,
            "testReadsObjectsDuringOtherAccesses": testReadsObjectsDuringOtherAccesses,
            "testTrapsBeforeItSetsAProperty": testTrapsBeforeItSetsAProperty,
        ]
    }

    private static func write(_ value: some StreamValue) {
        var trace = EventTrace()
        do throws(StreamError) { try trace.write(value) } catch { fail("\(error)") }
    }

    private static func testTrapsForPropertiesUnderModification() {
        let (object, reflected) = (ModifiedObject(), ReflectedObject())
        expectExit(.signal(SIGABRT), "an element of a dictionary") { modify(&object.tags["a"]) { write(object) } }
        expectExit(.signal(SIGABRT), "a part of a property") { modify(&object.part.text) { write([object]) } }
        expectExit(.signal(SIGABRT), "a property that was found") {
            modify(&reflected.text) { write(["a": reflected]) }
        }
        expectExit(.signal(SIGABRT), "a nested access") {
            modify(&object.other) { modify(&reflected.id) { write(Optional(reflected)) } }
        }
        expectExit(.signal(SIGABRT), "a tree") { modify(&reflected.text) { _ = try? PropertyList(of: reflected) } }
        expectExit(.signal(SIGABRT), "an object behind another in a tree") {
            modify(&reflected.text) { _ = try? PropertyList(of: ["a": [[ReflectedObject()], [reflected]]]) }
        }
    }

    private static func testReadsObjectsDuringOtherAccesses() {
        let (object, other) = (ModifiedObject(), ModifiedObject())
        var values = [1]
        modify(&values) { modify(&other.tags) { modify(&object.other) { write(object) } } }
        unsafe withUnsafePointer(to: object.tags) { _ in write(object) }
        modify(&object.tags) {}
        write(object)
        unsafe expectFalse(ObjectAccess.isModifying(), "a modification that is over")
        modify(&object.other) { unsafe expectTrue(ObjectAccess.isModifying(), "one that is not") }
    }

    private static func testTrapsBeforeItSetsAProperty() throws {
        for (name, object) in [("id", ReflectedObject() as AnyObject), ("id", ModifiedObject() as AnyObject)] {
            expectExit(.signal(SIGABRT), "\(name) of \(object)") {
                if let object = object as? ReflectedObject { modify(&object.id) { setID(of: object) } }
                if let object = object as? ModifiedObject { modify(&object.id) { setID(of: object) } }
            }
        }
    }

    private static func setID<Object: StreamObject>(of object: Object) {
        do throws(StreamError) {
            let columns = try MemberColumns(Object.self, keyMapping: .exact)
            var object = object
            try unsafe withUnsafeMutablePointer(to: &object) { (address) throws(StreamError) in
                try unsafe columns.setInteger(1, 0, ofValueAt: UnsafeMutableRawPointer(address))
            }
        } catch {
            fail("\(error)")
        }
    }
}
#endif
