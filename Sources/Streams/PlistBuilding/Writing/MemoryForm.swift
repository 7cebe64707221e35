// What a writer knows of a bound type that it reads from memory itself, instead of being sent messages: how values lie there, and
// the names of members as JSON has them. Made with plans; all else is left to `PlanWriter` and messages.

import PlistStreaming

/// A member of a structure or class, as memory and as JSON have it.
@unsafe
package struct MemoryFormMember {
    /// The quoted name with its colon, and zeros up to 16 bytes at least; freed with the layout.
    package let text: UnsafeRawPointer
    /// The number of bytes of the quoted name with its colon.
    package let length: Int
    /// What is written; `none` for members that are no common scalars.
    package let fast: FastKind
    /// A Boolean value that indicates whether the name needs escapes, or the property has no place in memory, so that messages
    /// are sent for the member.
    package let needsMessages: Bool
    /// The offset in the structure or object.
    package let offset: Int
    /// What is known of the member's type.
    package let form: UnsafePointer<MemoryForm>

    /// The name of a member that can be written from memory.
    package var name: String {
        unsafe String(decoding: utf8, as: UTF8.self)
    }

    /// The bytes of the name, which live as long as the layout.
    package var utf8: UnsafeRawBufferPointer {
        // SAFETY: the name is quoted as it is, and followed by a colon.
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

/// The members of a structure or class in the order in which they are written.
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

/// How values of a type lie in memory, for a writer; owned by the plan of the type.
@unsafe
package struct MemoryForm {
    /// The forms that a writer knows.
    package enum Kind: UInt8 {
        /// A value for which messages are sent.
        case messages
        case scalar, optional, array, structure, object
        /// What text has no form of its own for: Foundation's dates and data, and dictionaries of any values.
        case date, data, dictionary
    }

    /// The form of the values.
    package private(set) var kind = Kind.messages
    /// How a scalar is read from memory; `none` for all else, and for a type with an encoder of its own.
    package private(set) var fast = FastKind.none
    /// What is inside an optional, an array or a dictionary.
    package private(set) var element: UnsafePointer<MemoryForm>?
    /// The members of a structure or object.
    package private(set) var members: UnsafeMutableBufferPointer<MemoryFormMember>?
    private let operations: UnsafePointer<ValueOperations>
    fileprivate private(set) unowned(unsafe) var plan: StreamPlan?
    fileprivate private(set) unowned(unsafe) var layout: ObjectLayout?

    init(_ operations: UnsafePointer<ValueOperations>) { unsafe self.operations = unsafe operations }

    /// Takes what the plan has become; the plan owns this form.
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

    /// Returns whether values of a kind are read from memory: strings only where their memory is known.
    private static func isKnown(_ fast: FastKind) -> Bool {
        switch fast {
        case .none, .value, .columnBool, .columnString: false
        case .string, .optionalString: SmallText.checked.isLayoutKnown
        default: true
        }
    }

    /// Returns whether `PlanWriter` does not ask values of a kind for an encoder of their own.
    private static func winsAlways(_ fast: FastKind) -> Bool {
        fast == .integer || fast == .real || fast == .bool || fast == .string
    }

    // MARK: Memory

    // SAFETY: each of these takes the address of a value of the type that the form belongs to.

    /// The number of bytes from one value to the next in an array.
    package var stride: Int { unsafe operations.pointee.stride }

    /// Calls a closure with the address of the first element of an array, and their count.
    package func withElements(_ address: UnsafeRawPointer, _ body: (UnsafeRawPointer?, Int) -> Void) {
        guard let element = unsafe element else { return }
        unsafe element.pointee.operations.pointee.elements(address, body)
    }

    /// Calls a closure with the address of the value in an optional, or nil.
    package func withValue(_ address: UnsafeRawPointer, _ body: (UnsafeRawPointer?) -> Void) {
        guard let element = unsafe element else { return }
        unsafe element.pointee.operations.pointee.unwrap(address, body)
    }

    /// Calls a closure with each key, in order, and the address of its value, in a dictionary.
    package func withMembers(_ address: UnsafeRawPointer, _ body: (String, UnsafeRawPointer) -> Void) {
        guard let element = unsafe element else { return }
        unsafe element.pointee.operations.pointee.members(address, body)
    }

    /// The memory of an object, or nil for one of a subclass.
    fileprivate func memory(ofObjectAt address: UnsafeRawPointer) -> UnsafeRawPointer? {
        guard let layout = unsafe layout else { return nil }
        let object = unsafe address.assumingMemoryBound(to: Unmanaged<AnyObject>.self).pointee
        let isExact = unsafe object._withUnsafeGuaranteedRef { type(of: $0) == layout.type }
        return unsafe isExact ? UnsafeRawPointer(object.toOpaque()) : nil
    }
}

/// A value on its way to a writer that reads it from memory.
@unsafe
package struct ValueSource {
    /// The address of the value.
    package let address: UnsafeRawPointer
    /// How it lies in memory.
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

    /// The memory of an object, which nobody is modifying, or nil for one of a subclass.
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

    /// Refuses values that are nested too deep.
    @inline(__always)  // PERF: see `PlanWriter.checkDepth`; once a container.
    package func checkDepth(_ depth: Int) throws(StreamError) { try unsafe writer.checkDepth(depth) }

    /// Sends a value by messages.
    package func send<Sink: PlistSink & ~Copyable>(
        _ address: UnsafeRawPointer, _ form: UnsafePointer<MemoryForm>, to sink: inout Sink, depth: Int
    ) throws(StreamError) {
        guard let plan = unsafe form.pointee.plan else { return }
        try unsafe writer.write(address, plan, to: &sink, depth: depth)
    }

    /// Sends a member by messages: its key and its value, if it is not left out.
    package func sendMember<Sink: PlistSink & ~Copyable>(
        _ index: Int, of address: UnsafeRawPointer, at base: UnsafeRawPointer, _ form: UnsafePointer<MemoryForm>,
        to sink: inout Sink, depth: Int
    ) throws(StreamError) {
        guard let layout = unsafe form.pointee.layout else { return }
        try unsafe writer.writeOther(index, of: address, at: base, layout, to: &sink, depth)
    }
}

extension ValuePort {
    /// The description behind the handle.
    package var value: UnsafePointer<ValueSource> {
        // SAFETY: handles are made of such descriptions only, and are valid for one call.
        unsafe source.assumingMemoryBound(to: ValueSource.self)
    }
}

extension PlanWriter {
    /// Offers the value at an address to a sink that may read it from memory; false when the sink wants messages.
    @usableFromInline
    func offer<Sink: PlistSink & ~Copyable>(
        _ address: UnsafeRawPointer, _ plan: StreamPlan, to sink: inout Sink
    ) throws(StreamError) -> Bool {
        var source = unsafe ValueSource(address, plan, self)
        var thrown: StreamError?
        var isWritten = false
        unsafe withUnsafeMutablePointer(to: &source) { source in
            do throws(StreamError) {
                isWritten = try unsafe sink.writeValue(ValuePort(UnsafeRawPointer(source)))
            } catch {
                thrown = error
            }
        }
        if let thrown { throw thrown }
        return isWritten
    }
}
