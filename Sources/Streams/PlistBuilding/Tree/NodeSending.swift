// Functions that trees, tapes and encoded values share: sending one scalar or node to a sink, and keeping the last value of a
// repeated key.

import PlistStreaming

extension PlistSink where Self: ~Copyable {
    /// Sends a scalar.
    @inlinable @inline(__always)  // PERF: SQLite/reading; once a cell, in a loop that is specialised for the sink.
    package mutating func write(_ message: ScalarMessage) throws(StreamError) {
        switch unsafe message {
        case .integer(let value): try writeInteger(value)
        case .string(let text): try unsafe writeString(text.bytes)
        case .real(let value): try writeReal(value)
        case .null: try writeNull()
        case .data(let bytes): try unsafe writeData(bytes.bytes)
        case .bool(let value): try writeBool(value)
        case .date(let seconds): try writeDate(secondsSince2001: seconds)
        case .unsigned(let value): try writeUnsigned(value)
        case .number(let text): try unsafe writeNumber(text: text.bytes)
        }
    }

    /// Sends a scalar by its tag and payload, or opens the container that they represent.
    ///
    /// - Parameter withBytes: Calls a closure with the text or data of the node.
    @inlinable @inline(__always)  // PERF: PropertyList/send; specialises the closure.
    package mutating func send(
        _ tag: PropertyListNode.Tag, _ payload: UInt64, withBytes: ((UnsafeRawBufferPointer) -> Void) -> Void
    ) throws(StreamError) {
        switch tag {
        case .null: try writeNull()
        case .no: try writeBool(false)
        case .yes: try writeBool(true)
        case .integer: try writeInteger(Int64(bitPattern: payload))
        case .unsigned: try writeUnsigned(payload)
        case .real: try writeReal(Double(bitPattern: payload))
        case .date: try writeDate(secondsSince2001: Double(bitPattern: payload))
        case .array: try beginArray()
        case .dictionary: try beginDictionary()
        case .number, .string, .data:
            var thrown: StreamError?
            // SAFETY: the bytes are used within the closure only.
            unsafe withBytes { bytes in
                do throws(StreamError) {
                    switch tag {
                    case .number: try unsafe writeNumber(text: bytes.bytes)
                    case .string: try unsafe writeString(bytes.bytes)
                    default: try unsafe writeData(bytes.bytes)
                    }
                } catch {
                    thrown = error
                }
            }
            if let thrown { throw thrown }
        }
    }
}

/// The members of a dictionary with repeated keys. It keeps the last value of each key, at the position of the first one.
package struct KeptMembers<Member> {
    package private(set) var members: [Member] = []
    private var places: [UInt32: Int] = [:]

    /// Makes an empty list.
    package init() {}

    /// Adds the next member of the dictionary.
    package mutating func add(_ member: Member, key: UInt32) {
        if let place = places[key] {
            members[place] = member
        } else {
            places[key] = members.count
            members.append(member)
        }
    }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

enum KeptMembersTests {}

extension KeptMembersTests: SelfTesting {
    static var testSelectors: TestSelectors {
        ["testLastDuplicateTakesFirstPosition": testLastDuplicateTakesFirstPosition]
    }

    private static func testLastDuplicateTakesFirstPosition() {
        for (keys, expected) in [
            ([], []), ([1], [0]), ([1, 2, 3], [0, 1, 2]), ([1, 1, 1], [2]), ([1, 2, 1, 3, 2], [2, 4, 3]),
        ] as [([UInt32], [Int])] {
            var kept = KeptMembers<Int>()
            for (index, key) in keys.enumerated() { kept.add(index, key: key) }
            expectEqual(kept.members, expected, "of keys \(keys)")
        }
    }
}
#endif
