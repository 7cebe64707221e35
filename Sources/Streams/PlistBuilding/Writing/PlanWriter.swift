// Sends values to sinks by their plans. It is the counterpart of `ValueStateMachine`.

import PlistStreaming

/// The parts of a plan that are needed to send several values, determined once for all of them.
///
/// PERF: JSONRecords/writing; the members of structures are sent in a loop that is specialised for the sink. All other values
/// are sent by a call.
@safe @usableFromInline
struct WritingForm {
    /// The plan of the elements, for arrays of values without their own encoder.
    @usableFromInline let element: StreamPlan?
    /// The members, for structures without their own encoder.
    @usableFromInline let members: UnsafeBufferPointer<BoundMember>?
    /// The layout of the members, which owns their names.
    @usableFromInline let layout: ObjectLayout?

    @usableFromInline
    init(_ plan: StreamPlan) {
        switch plan.shape {
        case .array(let element) where unsafe plan.writable == nil:
            (self.element, layout) = (element, nil)
            unsafe members = nil
        case .object(let layout) where unsafe plan.writable == nil && !layout.isClass:
            (element, self.layout) = (nil, layout)
            unsafe members = UnsafeBufferPointer(layout.members)
        default:
            (element, layout) = (nil, nil)
            unsafe members = nil
        }
    }
}

@usableFromInline
package struct PlanWriter {
    @usableFromInline let options: WritingOptions
    // PERF: trees of objects; looked up once. An access that begins while a value is written ends before writing continues.
    /// A Boolean value that indicates whether a caller is modifying any value. It is nil until the first object or container.
    private(set) var isModifying: Bool?

    @usableFromInline
    package init(options: WritingOptions) { self.options = options }

    /// The same writer with `isModifying` set.
    var looked: PlanWriter {
        guard isModifying == nil else { return self }
        var writer = self
        unsafe writer.isModifying = ObjectAccess.isModifying()
        return writer
    }

    /// Returns the writer for the elements of an array.
    @usableFromInline @inline(never)
    func ofElements(_ element: StreamPlan) -> PlanWriter {
        switch element.innermost.shape {
        case .object, .array, .dictionary: looked
        default: self
        }
    }

    // PERF: JSONRecords/writing; inlinable down to the members, so that their loop is specialised for the sink.
    /// Sends the value at an address, using its known form.
    @inlinable
    func write<Sink: PlistSink & ~Copyable>(
        _ address: UnsafeRawPointer, _ plan: StreamPlan, _ form: WritingForm, to sink: inout Sink, depth: Int
    ) throws(StreamError) {
        if let members = unsafe form.members, let layout = form.layout {
            try unsafe writeMembers(of: address, at: address, members, layout, to: &sink, depth)
        } else if let element = form.element {
            try unsafe writeArray(address, element, to: &sink, depth)
        } else {
            try unsafe write(address, plan, to: &sink, depth: depth)
        }
    }

    @inlinable
    func writeArray<Sink: PlistSink & ~Copyable>(
        _ address: UnsafeRawPointer, _ element: StreamPlan, to sink: inout Sink, _ depth: Int
    ) throws(StreamError) {
        try checkDepth(depth)
        try sink.beginArray()
        let (form, writer) = (WritingForm(element), ofElements(element))
        let operations = unsafe element.operations
        try unsafe operations.pointee.elements(address) { (first, count) throws(StreamError) in
            guard let first = unsafe first else { return }
            for index in 0..<count {
                let address = unsafe first + index * operations.pointee.stride
                do throws(StreamError) {
                    try unsafe writer.write(address, element, form, to: &sink, depth: depth + 1)
                } catch {
                    throw error.within(.index(index))
                }
            }
        }
        try sink.endArray()
    }

    @inlinable
    func writeMembers<Sink: PlistSink & ~Copyable>(
        of address: UnsafeRawPointer, at base: UnsafeRawPointer, _ members: UnsafeBufferPointer<BoundMember>,
        _ layout: ObjectLayout, to sink: inout Sink, _ depth: Int
    ) throws(StreamError) {
        try checkDepth(depth)
        try sink.beginDictionary()
        for index in members.indices {
            // SAFETY: the layout keeps the members; a fast kind identifies the type of the member, which has an offset.
            let member = unsafe members[index]
            do throws(StreamError) {
                switch unsafe member.fast {
                case .integer:
                    try unsafe sink.writeKey(member.name.bytes)
                    try unsafe sink.writeInteger(base.load(fromByteOffset: member.offset, as: Int64.self))
                case .real:
                    try unsafe sink.writeKey(member.name.bytes)
                    try unsafe sink.writeReal(base.load(fromByteOffset: member.offset, as: Double.self))
                case .bool:
                    try unsafe sink.writeKey(member.name.bytes)
                    try unsafe sink.writeBool(base.load(fromByteOffset: member.offset, as: Bool.self))
                case .string:
                    try unsafe sink.writeKey(member.name.bytes)
                    try unsafe (base + member.offset).assumingMemoryBound(to: String.self).pointee
                        .withUTF8Span { (span) throws(StreamError) in try sink.writeString(span) }
                default:
                    try unsafe writeOther(index, of: address, at: base, layout, to: &sink, depth)
                }
            } catch {
                throw layout.located(error, member: index)
            }
        }
        try sink.endDictionary()
    }

    /// Sends the value at an address.
    @usableFromInline
    func write<Sink: PlistSink & ~Copyable>(
        _ address: UnsafeRawPointer, _ plan: StreamPlan, to sink: inout Sink, depth: Int
    ) throws(StreamError) {
        // SAFETY: the address is that of a value of the plan's type; a fast kind identifies a type.
        switch plan.fast {
        case .integer: return try sink.writeInteger(unsafe address.load(as: Int64.self))
        case .real: return try sink.writeReal(unsafe address.load(as: Double.self))
        case .bool: return try sink.writeBool(unsafe address.load(as: Bool.self))
        case .string:
            return try unsafe address.assumingMemoryBound(to: String.self).pointee
                .withUTF8Span { (span) throws(StreamError) in try sink.writeString(span) }
        default: break
        }
        if let writable = unsafe plan.writable?(address) ?? nil { return try writable.write(to: &sink) }
        switch plan.shape {
        case .scalar(_, let get):
            try send(unsafe get(address), to: &sink)
        case .optional(let wrapped):
            try unsafe writeOptional(address, wrapped, to: &sink, depth)
        case .array(let element):
            try unsafe writeArray(address, element, to: &sink, depth)
        case .dictionary(let element):
            try unsafe writeDictionary(address, element, to: &sink, depth)
        case .object(let layout):
            try unsafe writeObject(address, layout, to: &sink, depth)
        case .converted(let form, _, let revert):
            try unsafe ValueStateMachine.withTemporary(form.operations) { (memory) throws(StreamError) in
                unsafe revert(address, memory)
                defer { unsafe form.operations.pointee.deinitialize(memory) }
                try unsafe write(UnsafeRawPointer(memory), form, to: &sink, depth: depth)
            }
        case .propertyList:
            try unsafe address.assumingMemoryBound(to: PropertyList.self).pointee.send(to: &sink)
        }
    }

    @inlinable
    func checkDepth(_ depth: Int) throws(StreamError) {
        // PERF: JSONRecords/writing; the stack isn't checked for flat values.
        if depth >= options.depthLimit || depth > 2 && isStackUsedUp { throw tooDeep() }
    }

    @usableFromInline @inline(never)
    var isStackUsedUp: Bool { StackBounds.isNearEnd }

    @usableFromInline @inline(never)
    func tooDeep() -> StreamError {
        let limit =
            isStackUsedUp
            ? "more levels of nesting than the stack of the thread allows"
            : "more than \(options.depthLimit) levels of nesting"
        return StreamError(.limitExceeded, "\(limit), or objects that refer to each other in a cycle")
    }

    private func writeOptional<Sink: PlistSink & ~Copyable>(
        _ address: UnsafeRawPointer, _ wrapped: StreamPlan, to sink: inout Sink, _ depth: Int
    ) throws(StreamError) {
        try unsafe wrapped.operations.pointee.unwrap(address) { (value) throws(StreamError) in
            guard let value = unsafe value else { return try sink.writeNull() }
            try unsafe write(value, wrapped, to: &sink, depth: depth)
        }
    }

    /// Sends the members in the order of their keys, which is the same for equal dictionaries.
    private func writeDictionary<Sink: PlistSink & ~Copyable>(
        _ address: UnsafeRawPointer, _ element: StreamPlan, to sink: inout Sink, _ depth: Int
    ) throws(StreamError) {
        try checkDepth(depth)
        try sink.beginDictionary()
        try unsafe element.operations.pointee.members(address) { (key, value) throws(StreamError) in
            do throws(StreamError) {
                try key.withUTF8Span { (span) throws(StreamError) in try sink.writeKey(span) }
                try unsafe write(value, element, to: &sink, depth: depth + 1)
            } catch {
                throw error.within(.key(key))
            }
        }
        try sink.endDictionary()
    }

    private func writeObject<Sink: PlistSink & ~Copyable>(
        _ address: UnsafeRawPointer, _ layout: ObjectLayout, to sink: inout Sink, _ depth: Int
    ) throws(StreamError) {
        try checkDepth(depth)
        if layout.isClass {
            // An object of a subclass is written by its own class. The object is kept alive while other code may replace it.
            let object = unsafe address.assumingMemoryBound(to: AnyObject.self).pointee
            if type(of: object) != layout.type, try writeBound(any: object, to: &sink, depth: depth) { return }
            defer { withExtendedLifetime(object) {} }
            let base = unsafe UnsafeRawPointer(Unmanaged.passUnretained(object).toOpaque())
            let members = unsafe UnsafeBufferPointer(layout.members)
            let writer = looked
            return try unsafe withUnsafePointer(to: object) { (address) throws(StreamError) in
                let address = unsafe UnsafeRawPointer(address)
                if writer.isModifying == true { unsafe layout.checkRead(of: base, referredToAt: address) }
                try unsafe writer.writeMembers(of: address, at: base, members, layout, to: &sink, depth)
            }
        }
        let base = unsafe UnsafeRawPointer(layout.members(ofValueAt: UnsafeMutableRawPointer(mutating: address)))
        let members = unsafe UnsafeBufferPointer(layout.members)
        try unsafe writeMembers(of: address, at: base, members, layout, to: &sink, depth)
    }

    /// Sends a member of an uncommon type.
    @usableFromInline
    func writeOther<Sink: PlistSink & ~Copyable>(
        _ index: Int, of address: UnsafeRawPointer, at base: UnsafeRawPointer, _ layout: ObjectLayout,
        to sink: inout Sink, _ depth: Int
    ) throws(StreamError) {
        let member = unsafe layout.members[index]
        if unsafe member.offset >= 0 {
            try unsafe writeMember(member, base + member.offset, to: &sink, depth)
        } else if let declared = layout.declared?[index] {
            try unsafe ValueStateMachine.withTemporary(member.plan.operations) { (memory) throws(StreamError) in
                unsafe declared.get(address, memory)
                defer { unsafe member.plan.operations.pointee.deinitialize(memory) }
                try unsafe writeMember(member, UnsafeRawPointer(memory), to: &sink, depth)
            }
        }
    }

    private func writeMember<Sink: PlistSink & ~Copyable>(
        _ member: BoundMember, _ address: UnsafeRawPointer, to sink: inout Sink, _ depth: Int
    ) throws(StreamError) {
        if case .optional(let wrapped) = unsafe member.plan.shape, options.nilMembers != .writeNull {
            var isNil = true
            try unsafe wrapped.operations.pointee.unwrap(address) { unsafe isNil = $0 == nil }
            if isNil { return }
        }
        try unsafe sink.writeKey(member.name.bytes)
        try unsafe write(address, member.plan, to: &sink, depth: depth + 1)
    }

    /// Sends a scalar.
    package func send<Sink: PlistSink & ~Copyable>(_ value: ScalarValue, to sink: inout Sink) throws(StreamError) {
        switch value {
        case .null: try sink.writeNull()
        case .bool(let value): try sink.writeBool(value)
        case .integer(let value): try sink.writeInteger(value)
        case .unsigned(let value): try sink.writeUnsigned(value)
        case .real(let value): try sink.writeReal(value)
        case .date(let seconds): try sink.writeDate(secondsSince2001: seconds)
        case .number(let text):
            try text.withUTF8Span { (span) throws(StreamError) in try sink.writeNumber(text: span) }
        case .string(let text):
            try text.withUTF8Span { (span) throws(StreamError) in try sink.writeString(span) }
        case .data(let bytes):
            try unsafe bytes.withUnsafeBufferPointer { (buffer) throws(StreamError) in
                try unsafe sink.writeData(UnsafeRawBufferPointer(buffer).bytes)
            }
        }
    }

    // MARK: Values of any type

    /// Sends a value if it has its own encoder or a bound type.
    /// - Returns: `true` if the value was sent.
    package func writeBound<Sink: PlistSink & ~Copyable>(
        any value: Any, to sink: inout Sink, depth: Int
    ) throws(StreamError) -> Bool {
        try checkDepth(depth)
        if let writable = value as? any StreamEncodable {
            try writable.write(to: &sink)
        } else if let bound = value as? any StreamValue {
            try write(bound: bound, to: &sink, depth: depth)
        } else {
            return false
        }
        return true
    }

    private func write<Value: StreamValue, Sink: PlistSink & ~Copyable>(
        bound value: Value, to sink: inout Sink, depth: Int
    ) throws(StreamError) {
        // An object is bound by its own class, which may be a subclass of its static type.
        func bind<Own: StreamValue>(_ type: Own.Type) throws(StreamError) -> (plan: StreamPlan, owner: AnyObject) {
            try PlanBinder.bind(type, options.keyMapping)
        }
        var own: any StreamValue.Type = Value.self
        if Value.self is AnyObject.Type, let type = type(of: value as AnyObject) as? any StreamValue.Type { own = type }
        let (plan, owner) = try bind(own)
        defer { withExtendedLifetime(owner) {} }
        try unsafe withUnsafePointer(to: value) { (address) throws(StreamError) in
            if depth == 0, try unsafe offer(UnsafeRawPointer(address), plan, to: &sink) { return }
            try unsafe write(UnsafeRawPointer(address), plan, to: &sink, depth: depth)
        }
    }
}
