// Describes bound types for writers that read values directly from memory instead of receiving messages: the memory layout of
// values, and the names of members in JSON. The descriptions are made with the plans. `PlanWriter` and messages are used for
// all other types.

import PlistStreaming

/// A member of a structure or class, with its forms in memory and in JSON.
@unsafe
package struct MemoryFormMember {
    /// The quoted name with its colon, padded with zeros to at least 16 bytes. It is freed with the layout.
    package let text: UnsafeRawPointer
    /// The number of bytes of the quoted name with its colon.
    package let length: Int
    /// The kind of the written value, or `none` for members that aren't common scalars.
    package let fast: FastKind
    /// A Boolean value that indicates whether the member is sent as messages, because the name needs escapes or the property
    /// has no offset.
    package let needsMessages: Bool
    /// The offset in the structure or object.
    package let offset: Int
    /// The description of the member's type.
    package let form: UnsafePointer<MemoryForm>

    /// The name of a member that can be written from memory.
    package var name: String {
        unsafe String(decoding: utf8, as: UTF8.self)
    }

    /// The bytes of the name. They are valid as long as the layout.
    package var utf8: UnsafeRawBufferPointer {
        // SAFETY: the name is quoted without escapes, and followed by a colon.
        unsafe UnsafeRawBufferPointer(start: text + 1, count: length - 3)
    }

    init(name: String, plan: StreamPlan, offset: Int) {
        let quoted = Array("\"\(name)\":".utf8)
        let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: max(quoted.count, 16), alignment: 8)
        unsafe memory.initializeMemory(as: UInt8.self, repeating: 0)
        unsafe memory.copyBytes(from: quoted)
        // SAFETY: the memory has at least 16 bytes, and it lives until `deallocate`.
        unsafe text = UnsafeRawPointer(memory.baseAddress.unsafelyUnwrapped)
        unsafe length = quoted.count
        unsafe needsMessages =
            offset < 0 || name.utf8.contains { $0 < 0x20 || $0 == UInt8(ascii: "\"") || $0 == UInt8(ascii: "\\") }
        unsafe fast = plan.written.pointee.fast
        unsafe self.offset = offset
        unsafe form = UnsafePointer(plan.written)
    }
}

/// The members of a structure or class in writing order.
@unsafe
struct MemoryFormMembers {
    let buffer: UnsafeMutableBufferPointer<MemoryFormMember>

    init(_ members: [(name: String, plan: StreamPlan, offset: Int)]) {
        unsafe buffer = .allocate(capacity: members.count)
        for (index, member) in members.enumerated() {
            unsafe buffer.initializeElement(
                at: index, to: MemoryFormMember(name: member.name, plan: member.plan, offset: member.offset))
        }
    }

    func deallocate() {
        for index in unsafe buffer.indices { unsafe buffer[index].text.deallocate() }
        unsafe buffer.deallocate()
    }
}

/// The memory layout of a type's values, for a writer. The plan of the type owns it.
@unsafe
package struct MemoryForm {
    /// The forms that writers can read.
    package enum Kind: UInt8 {
        /// A value that is sent as messages.
        case messages
        case scalar, optional, array, structure, object
        /// Types that have no form of their own in text: Foundation's dates and data, and dictionaries with any values.
        case date, data, dictionary
    }

    /// The form of the values.
    package private(set) var kind = Kind.messages
    /// The way to read a scalar from memory. It is `none` for all other types, and for a type with its own encoder.
    package private(set) var fast = FastKind.none
    /// The description of the values in an optional, an array or a dictionary.
    package private(set) var element: UnsafePointer<MemoryForm>?
    /// The members of a structure or object.
    package private(set) var members: UnsafeMutableBufferPointer<MemoryFormMember>?
    private let operations: UnsafePointer<ValueOperations>
    fileprivate private(set) unowned(unsafe) var plan: StreamPlan?
    fileprivate private(set) unowned(unsafe) var layout: ObjectLayout?

    init(_ operations: UnsafePointer<ValueOperations>) { unsafe self.operations = unsafe operations }

    /// Copies the form of the plan. The plan owns this description.
    mutating func take(_ plan: StreamPlan) {
        unsafe self.plan = plan
        unsafe (element, members, layout) = (nil, nil, nil)
        unsafe (kind, fast) = (.messages, .none)
        if unsafe Self.isKnown(plan.fast) && (plan.writable == nil || Self.winsAlways(plan.fast)) {
            unsafe fast = plan.fast
        }
        guard unsafe plan.writable == nil || fast != .none else { return }
        switch plan.shape {
        case .scalar: unsafe kind = fast == .none ? Self.foundationKind(of: plan.type) : .scalar
        case .optional(let wrapped): unsafe (kind, element) = (.optional, UnsafePointer(wrapped.written))
        case .array(let element): unsafe (kind, self.element) = (.array, UnsafePointer(element.written))
        case .object(let layout):
            unsafe (kind, members) = (layout.isClass ? .object : .structure, layout.written.buffer)
            unsafe self.layout = layout
        case .dictionary(let element): unsafe (kind, self.element) = (.dictionary, UnsafePointer(element.written))
        case .converted, .propertyList: unsafe kind = .messages
        }
    }

    /// Returns whether values of a kind are read from memory. Strings are read only if their memory layout is known.
    private static func isKnown(_ fast: FastKind) -> Bool {
        switch fast {
        case .none, .value, .columnBool, .columnString: false
        case .string, .optionalString: SmallText.checked.isLayoutKnown
        default: true
        }
    }

    /// Returns whether `PlanWriter` never uses an encoder for values of a kind.
    private static func winsAlways(_ fast: FastKind) -> Bool {
        fast == .integer || fast == .real || fast == .bool || fast == .string
    }

    // MARK: Memory

    // SAFETY: each of these functions takes the address of a value of the type that the form belongs to.

    /// The number of bytes from one value to the next in an array.
    package var stride: Int { unsafe operations.pointee.stride }

    /// Calls a closure with the address of the first element of an array, and their count.
    package func withElements(
        _ address: UnsafeRawPointer, _ body: (UnsafeRawPointer?, Int) throws(StreamError) -> Void
    ) throws(StreamError) {
        guard let element = unsafe element else { return }
        try unsafe element.pointee.operations.pointee.elements(address, body)
    }

    /// Calls a closure with the address of the value in an optional, or nil.
    package func withValue(
        _ address: UnsafeRawPointer, _ body: (UnsafeRawPointer?) throws(StreamError) -> Void
    ) throws(StreamError) {
        guard let element = unsafe element else { return }
        try unsafe element.pointee.operations.pointee.unwrap(address, body)
    }

    /// Calls a closure with each key of a dictionary, in order, and the address of its value.
    package func withMembers(
        _ address: UnsafeRawPointer, _ body: (String, UnsafeRawPointer) throws(StreamError) -> Void
    ) throws(StreamError) {
        guard let element = unsafe element else { return }
        try unsafe element.pointee.operations.pointee.members(address, body)
    }

    /// Returns the memory of an object, or nil if its class is a subclass.
    fileprivate func memory(ofObjectAt address: UnsafeRawPointer) -> UnsafeRawPointer? {
        guard let layout = unsafe layout else { return nil }
        let object = unsafe address.assumingMemoryBound(to: Unmanaged<AnyObject>.self).pointee
        let isExact = unsafe object._withUnsafeGuaranteedRef { type(of: $0) == layout.type }
        return unsafe isExact ? UnsafeRawPointer(object.toOpaque()) : nil
    }
}

/// A value that is offered to a writer that reads it from memory.
@unsafe
package struct ValueSource {
    /// The address of the value.
    package let address: UnsafeRawPointer
    /// The memory layout of the value.
    package let form: UnsafePointer<MemoryForm>
    private(set) var writer: PlanWriter
    /// A Boolean value that indicates whether members that are nil are left out.
    package let omitsNil: Bool

    init(_ address: UnsafeRawPointer, _ plan: StreamPlan, _ writer: PlanWriter) {
        unsafe self.address = unsafe address
        unsafe form = UnsafePointer(plan.written)
        unsafe self.writer = writer
        unsafe omitsNil = writer.options.nilMembers != .writeNull
    }

    /// Returns the memory of an object, or nil if its class is a subclass. Stops the process if the object is being modified.
    package static func memory(
        ofObjectAt address: UnsafeRawPointer, _ form: UnsafePointer<MemoryForm>, _ source: UnsafePointer<ValueSource>
    ) -> UnsafeRawPointer? {
        guard let object = unsafe form.pointee.memory(ofObjectAt: address) else { return nil }
        if unsafe source.pointee.writer.isModifying == nil {
            // SAFETY: every source is a variable of `offer`.
            unsafe UnsafeMutablePointer(mutating: source).pointee.writer = source.pointee.writer.looked
        }
        if unsafe source.pointee.writer.isModifying == true {
            unsafe form.pointee.layout?.checkRead(of: object, referredToAt: address)
        }
        return unsafe object
    }

    /// Throws an error for values that are nested too deep.
    @inline(__always)  // PERF: see `PlanWriter.checkDepth`; once a container.
    package func checkDepth(_ depth: Int) throws(StreamError) { try unsafe writer.checkDepth(depth) }

    /// Sends a value as messages.
    package func send<Sink: PlistSink & ~Copyable>(
        _ address: UnsafeRawPointer, _ form: UnsafePointer<MemoryForm>, to sink: inout Sink, depth: Int
    ) throws(StreamError) {
        guard let plan = unsafe form.pointee.plan else { return }
        try unsafe writer.write(address, plan, to: &sink, depth: depth)
    }

    /// Sends a member's key and value as messages, unless the member is left out.
    package func sendMember<Sink: PlistSink & ~Copyable>(
        _ index: Int, of address: UnsafeRawPointer, at base: UnsafeRawPointer, _ form: UnsafePointer<MemoryForm>,
        to sink: inout Sink, depth: Int
    ) throws(StreamError) {
        guard let layout = unsafe form.pointee.layout else { return }
        try unsafe writer.writeOther(index, of: address, at: base, layout, to: &sink, depth)
    }
}

extension ValuePort {
    /// The source behind the handle.
    package var value: UnsafePointer<ValueSource> {
        // SAFETY: handles are made only from such sources, and are valid for one call.
        unsafe source.assumingMemoryBound(to: ValueSource.self)
    }
}

extension PlanWriter {
    /// Offers the value at an address to a sink that may read it from memory. Returns false if the sink needs messages.
    @usableFromInline
    func offer<Sink: PlistSink & ~Copyable>(
        _ address: UnsafeRawPointer, _ plan: StreamPlan, to sink: inout Sink
    ) throws(StreamError) -> Bool {
        var source = unsafe ValueSource(address, plan, self)
        return try unsafe withUnsafeMutablePointer(to: &source) { (source) throws(StreamError) in
            try unsafe sink.writeValue(ValuePort(UnsafeRawPointer(source)))
        }
    }
}
