// Provides the members of a bound structure or class as the columns of a row. Writers of tables need the type of a column
// before the first value, and read values directly from memory.

import PlistStreaming

/// A member of a bound type as a column.
package struct MemberColumn: Sendable {
    /// The kinds of a column's values.
    package enum Kind: Sendable, Hashable {
        case integer, real, bool, string, data, date
        /// Any scalar or container. The kind is known only for each value.
        case any
        /// Containers, which can't be stored in columns. The text describes the container in errors.
        case container(String)
    }

    package let name: String
    package let kind: Kind
    package let isOptional: Bool
    /// The storage of a value in memory: `Int64`, `Double`, `Bool`, `String` or an optional of them. It is `none` if only the
    /// plan can read the value.
    package let storage: FastKind
    /// The type of the property.
    package let type: ObjectIdentifier
    /// The offset from the start of the members, or -1 for a property without an offset.
    package let offset: Int
}

/// The members of a structure or class as columns.
@safe
package final class MemberColumns {
    package let columns: [MemberColumn]
    /// A Boolean value that indicates whether values are references to objects.
    package let isClass: Bool
    /// The number of bytes between values of an array.
    package let stride: Int
    private let layout: ObjectLayout
    private let plan: StreamPlan
    private let owner: AnyObject
    private let options: WritingOptions

    /// - Throws: `misuse` if the type can't be bound.
    package init<Row: StreamObject>(_ type: Row.Type, keyMapping: KeyMapping) throws(StreamError) {
        (plan, owner) = try PlanBinder.bind(type, keyMapping)
        guard case .object(let layout) = plan.shape else {
            throw StreamError(.misuse, "expected a type with members, found \(type)")
        }
        self.layout = layout
        isClass = layout.isClass
        stride = MemoryLayout<Row>.stride
        options = WritingOptions(keyMapping: keyMapping, nilMembers: .writeNull)
        columns = unsafe layout.members.indices.map { index in
            let member = unsafe layout.members[index]
            return unsafe MemberColumn(
                name: layout.keys[index], kind: member.plan.columnKind, isOptional: member.plan.acceptsNull,
                storage: member.offset >= 0 ? member.plan.fast.ofCells : .none,
                type: ObjectIdentifier(member.plan.type), offset: member.offset)
        }
    }

    /// Stops the process if code is modifying a member of the object whose reference is at an address.
    package func checkRead(ofObjectAt address: UnsafeRawPointer) {
        unsafe layout.checkRead(of: members(ofValueAt: address), referredToAt: address)
    }

    /// Returns the address of the members of the value at an address.
    package func members(ofValueAt address: UnsafeRawPointer) -> UnsafeRawPointer {
        unsafe UnsafeRawPointer(layout.members(ofValueAt: UnsafeMutableRawPointer(mutating: address)))
    }

    /// Returns the index of the column with a type and an offset from the start of the members, or nil if no column has them.
    package func index(ofOffset offset: Int, type: ObjectIdentifier) -> Int? {
        columns.firstIndex { $0.offset == offset && $0.type == type }
    }

    /// Sends a column's value from the value at an address.
    package func send<Sink: PlistSink & ~Copyable>(
        _ index: Int, ofValueAt address: UnsafeRawPointer, to sink: inout Sink
    ) throws(StreamError) {
        let member = unsafe layout.members[index]
        let writer = PlanWriter(options: options)
        // The key path of an object's property checks that the property isn't being modified.
        if isClass, layout.declared == nil {
            unsafe ObjectAccess.check(members(ofValueAt: address) + member.offset)
        }
        if unsafe member.offset >= 0 && (!isClass || layout.declared == nil) {
            try unsafe writer.writeCell(members(ofValueAt: address) + member.offset, member.plan, to: &sink)
        } else if let declared = layout.declared?[index] {
            try unsafe ValueStateMachine.withTemporary(member.plan.operations) { (memory) throws(StreamError) in
                unsafe declared.get(address, memory)
                defer { unsafe member.plan.operations.pointee.deinitialize(memory) }
                try unsafe writer.writeCell(UnsafeRawPointer(memory), member.plan, to: &sink)
            }
        }
    }

    /// Checks that the member of a column can be read from a scalar of a stream.
    package func check(_ message: ScalarMessage, _ index: Int) throws(StreamError) {
        let plan = unsafe layout.members[index].plan
        try unsafe ValueStateMachine.withTemporary(plan.operations) { (memory) throws(StreamError) in
            try unsafe plan.read(message, into: memory)
            unsafe plan.operations.pointee.deinitialize(memory)
        }
    }

    /// Sends a scalar in the form of a column's member. The text of a date, for example, is sent as a date.
    ///
    /// - Throws: The error of reading the scalar from a stream, and errors of the sink.
    package func send<Sink: PlistSink & ~Copyable>(
        _ message: ScalarMessage, readBy index: Int, to sink: inout Sink
    ) throws(StreamError) {
        let plan = unsafe layout.members[index].plan
        try unsafe ValueStateMachine.withTemporary(plan.operations) { (memory) throws(StreamError) in
            try unsafe plan.read(message, into: memory)
            defer { unsafe plan.operations.pointee.deinitialize(memory) }
            try unsafe PlanWriter(options: options).writeCell(UnsafeRawPointer(memory), plan, to: &sink)
        }
    }

    /// Sets a column to an integer in the value at an address.
    ///
    /// - Throws: The error of reading the integer from a stream.
    package func setInteger(_ value: Int64, _ index: Int, ofValueAt address: UnsafeMutableRawPointer)
        throws(StreamError)
    {
        let member = unsafe layout.members[index]
        try unsafe ValueStateMachine.withTemporary(member.plan.operations) { (memory) throws(StreamError) in
            try unsafe member.plan.read(.integer(value), into: memory)
            if unsafe member.offset >= 0 && (!isClass || layout.declared == nil) {
                let place = unsafe layout.members(ofValueAt: address) + member.offset
                if isClass { unsafe ObjectAccess.check(place, isModification: true) }
                unsafe member.plan.operations.pointee.replace(memory, place)
            } else if let declared = layout.declared?[index] {
                unsafe declared.set(memory, address)
            } else {
                unsafe member.plan.operations.pointee.deinitialize(memory)
            }
        }
    }
}

/// The keys of a row whose values are read as dates.
package enum DateKeys: Sendable {
    case all
    case some([String])

    /// Returns the keys of a type's date members, or all keys for a dictionary of dates.
    ///
    /// If the type can't be bound, no keys are returned, and its builder reports the error.
    package init<Row: StreamValue>(of type: Row.Type, keyMapping: KeyMapping) {
        self = .some([])
        guard let (plan, owner) = try? PlanBinder.bind(type, keyMapping) else { return }
        defer { withExtendedLifetime(owner) {} }
        switch plan.shape {
        case .object(let layout):
            self = .some(
                unsafe layout.members.indices.compactMap { index in
                    unsafe layout.members[index].plan.isDate ? layout.keys[index] : nil
                })
        case .dictionary(let value) where value.isDate: self = .all
        default: break
        }
    }

    package func contains(_ key: String) -> Bool {
        switch self {
        case .all: true
        case .some(let keys): keys.contains(key)
        }
    }
}

extension PlistSink where Self: ~Copyable {
    /// Sends a value as a table cell: an array of bytes as data, nil as null.
    package mutating func write<Value: StreamValue>(cell value: Value) throws(StreamError) {
        let (plan, owner) = try PlanBinder.bind(Value.self, .exact)
        defer { withExtendedLifetime(owner) {} }
        // SAFETY: the address is that of a value of the plan's type, and is used within the closure only.
        try unsafe withUnsafePointer(to: value) { (address) throws(StreamError) in
            try unsafe PlanWriter(options: WritingOptions(nilMembers: .writeNull))
                .writeCell(UnsafeRawPointer(address), plan, to: &self)
        }
    }
}

extension PlanWriter {
    /// Sends the value at an address as a table cell: an array of bytes as data.
    fileprivate func writeCell<Sink: PlistSink & ~Copyable>(
        _ address: UnsafeRawPointer, _ plan: StreamPlan, to sink: inout Sink
    ) throws(StreamError) {
        guard plan.columnKind == .data, unsafe (plan.writable?(address) ?? nil) == nil else {
            return try unsafe write(address, plan, to: &sink, depth: 0)
        }
        switch plan.shape {
        case .optional(let wrapped):
            try unsafe wrapped.operations.pointee.unwrap(address) { (value) throws(StreamError) in
                guard let value = unsafe value else { return try sink.writeNull() }
                try unsafe writeCell(value, wrapped, to: &sink)
            }
        case .scalar:
            try unsafe write(address, plan, to: &sink, depth: 0)
        case .converted(let form, _, let revert):
            try unsafe ValueStateMachine.withTemporary(form.operations) { (memory) throws(StreamError) in
                unsafe revert(address, memory)
                defer { unsafe form.operations.pointee.deinitialize(memory) }
                try unsafe writeCell(UnsafeRawPointer(memory), form, to: &sink)
            }
        default:
            // SAFETY: the only other type is an array of bytes, whose elements are adjacent.
            try unsafe address.assumingMemoryBound(to: [UInt8].self).pointee
                .withUnsafeBufferPointer { (bytes) throws(StreamError) in
                    try unsafe sink.writeData(UnsafeRawBufferPointer(bytes).bytes)
                }
        }
    }
}

extension StreamPlan {
    /// A Boolean value that indicates whether the values of this plan are dates.
    // PERF: SQLite/reading; once a member for each query.
    fileprivate var isDate: Bool {
        switch shape {
        case .scalar: expectation == "a date"
        case .optional(let wrapped): wrapped.isDate
        case .converted(let form, _, _): form.isDate
        default: false
        }
    }

    fileprivate var columnKind: MemberColumn.Kind {
        switch shape {
        case .scalar:
            // The name of a scalar type in errors identifies its kind.
            switch expectation {
            case "an integer": .integer
            case "a number": .real
            case "a Boolean": .bool
            case "a string": .string
            case "a date": .date
            case "data": .data
            default: .any
            }
        case .optional(let wrapped): wrapped.columnKind
        case .converted(let form, _, _): form.columnKind
        case .array: isBytes ? .data : .container("an array")
        case .dictionary, .object: .container("a dictionary")
        case .propertyList: .any
        }
    }
}

extension FastKind {
    /// The kind if writers of tables support it, otherwise `none`.
    fileprivate var ofCells: FastKind {
        switch self {
        case .integer, .real, .bool, .string, .optionalInteger, .optionalReal, .optionalBool, .optionalString: self
        default: .none
        }
    }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

extension MemberColumns: SelfTesting {
    /// The in-class tests of the columns.
    package static var testSelectors: TestSelectors {
        [
            "testFindsKindsAndStorage": testFindsKindsAndStorage,
            "testSendsEveryColumn": testSendsEveryColumn,
            "testSendsACell": testSendsACell,
            "testSetsIntegersThatFit": testSetsIntegersThatFit,
        ]
    }

    private enum Level: Int8, StreamValue { case low = -1, high = 1 }

    private struct Sample: StreamObject {
        var id: Int? = nil
        var title = "t"
        var small: Int16 = 3
        var ratio: Float? = 0.5
        var done = true
        var bytes: [UInt8] = [1, 255]
        var level = Level.low
        var tags: [String] = []
        var more: PropertyList? = nil
    }

    private final class Declared: StreamObject {
        var first = "a"
        var last = "b"
        var name: String {
            get { first + " " + last }
            set { first = newValue }
        }
        var number = 7
        init() {}
        static var streamMembers: StreamMembers {
            [.member("name", \Declared.name), .member("n", \Declared.number)]
        }
    }

    private static func testFindsKindsAndStorage() throws {
        let columns = try MemberColumns(Sample.self, keyMapping: .names { $0.uppercased() }).columns
        expectEqual(columns.map(\.name).prefix(3), ["ID", "TITLE", "SMALL"], "names")
        expectEqual(
            columns.map(\.kind),
            [.integer, .string, .integer, .real, .bool, .data, .integer, .container("an array"), .any], "kinds")
        expectEqual(
            columns.map(\.isOptional), [true, false, false, true, false, false, false, false, true], "optional")
        expectEqual(
            columns.map(\.storage),
            [.optionalInteger, .string, .none, .none, .bool, .none, .none, .none, .none], "storage")
        expectEqual(columns[1].offset, MemoryLayout.offset(of: \Sample.title), "offset")
    }

    private static func testSendsEveryColumn() throws {
        let columns = try MemberColumns(Sample.self, keyMapping: .exact)
        var trace = EventTrace()
        try unsafe withUnsafePointer(to: Sample()) { sample in
            for index in columns.columns.indices {
                try unsafe columns.send(index, ofValueAt: UnsafeRawPointer(sample), to: &trace)
            }
        }
        expectEqual(
            trace.text, "null string \"t\" integer 3 real 0.5 true data 01ff integer -1 [ ] null", "of a structure")
        let object = try MemberColumns(Declared.self, keyMapping: .exact)
        var other = EventTrace()
        try unsafe withUnsafePointer(to: Declared()) { value in
            for index in 0..<2 { try unsafe object.send(index, ofValueAt: UnsafeRawPointer(value), to: &other) }
        }
        expectEqual(other.text, "string \"a b\" integer 7", "of an object")
    }

    private static func testSendsACell() throws {
        var trace = EventTrace()
        try trace.write(cell: [1, 255] as [UInt8])
        try trace.write(cell: Int?.none)
        try trace.write(cell: Level.high)
        try trace.write(cell: ["a"])
        expectEqual(trace.text, "data 01ff null integer 1 [ string \"a\" ]")
        var builder = PropertyListBuilder()
        try builder.beginDictionary()
        let error = expectThrows(StreamError.self, "a cell where a key must be") { try builder.write(cell: 1) }
        expectEqual(error?.kind, .misuse, "kind")
    }

    private static func testSetsIntegersThatFit() throws {
        var sample = Sample()
        let columns = try MemberColumns(Sample.self, keyMapping: .exact)
        try unsafe withUnsafeMutablePointer(to: &sample) { value in
            try unsafe columns.setInteger(5, 0, ofValueAt: UnsafeMutableRawPointer(value))
            try unsafe columns.setInteger(6, 2, ofValueAt: UnsafeMutableRawPointer(value))
        }
        expectEqual(sample.id, 5, "an optional")
        expectEqual(sample.small, 6, "a small one")
        let error = expectThrows(StreamError.self, "too large") {
            try unsafe withUnsafeMutablePointer(to: &sample) { value in
                try unsafe columns.setInteger(70_000, 2, ofValueAt: UnsafeMutableRawPointer(value))
            }
        }
        expectEqual(error?.kind, .unrepresentable, "kind")
        expectEqual(sample.small, 6, "unchanged")
    }
}
#endif
