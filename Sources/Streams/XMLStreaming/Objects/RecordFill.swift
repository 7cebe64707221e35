// Stores buffered elements directly in the record buffer of a builder. A child that fits its member is stored there. From the
// first child that doesn't fit, the rest is sent as messages, with the same results and errors. This file reports no errors.

import PlistBuilding
import PlistCoding
import PlistStreaming

/// Stores the children of elements at the addresses of the members of records.
enum RecordFill {
    /// The value that is returned for a complete record.
    static var complete: Int32 { -2 }

    /// Stores the children and attributes of an element.
    ///
    /// - Returns: The first child or attribute that isn't stored, -1 if required members are missing, or ``complete``.
    static func fill(
        _ state: UnsafeMutablePointer<RecordState>, _ element: BufferedElements.Node,
        _ record: borrowing BufferedRecord,
        _ names: borrowing NameTable, _ marks: [UInt8]
    ) -> Int32 {
        // SAFETY: the builder has made the state for records in its own memory. This code relies on two facts: each member
        // with a kind has memory for that kind at its offset from the base, and a member with a shape has a value of that
        // type.
        unsafe (state.pointee.doneCount, state.pointee.isOpen) = (0, true)
        var (index, next, seen) = (element.firstChild, 0, UInt64(0))
        var hasStrays = false
        // Columns are filled by messages.
        guard let members = unsafe state.pointee.members, unsafe members.pointee.column == nil else { return index }
        let (count, base) = unsafe (state.pointee.memberCount, state.pointee.base)
        while index >= 0 {
            let node = record[index]
            if !node.isRepeat {
                let found = unsafe member(of: node.name, names, state, members, next, count)
                if found >= 0 {
                    let place = unsafe UnsafeMutableRawPointer(bitPattern: base &+ members[found].offset)
                    let isPlain = marks.isEmpty && seen &>> UInt64(found) & 1 == 0
                    guard isPlain, let place = unsafe place,
                        unsafe store(index, record, names, members + found, to: place, state)
                    else { break }
                    seen |= 1 &<< UInt64(found)
                    next = found &+ 1
                } else if unsafe !state.pointee.skipsUnknown
                    || names.withName(node.name, { unsafe $0.withUnsafeBytes { unsafe state.pointee.isNear($0) } })
                {
                    // Messages report names that differ from a member's name only in case. If nothing is stored, they report
                    // all names.
                    if seen == 0 { index = element.firstChild }
                    break
                } else {
                    hasStrays = true
                }
            }
            index = node.next
        }
        unsafe (state.pointee.seen, state.pointee.next) = (seen, next)
        guard index < 0 else { return index }
        // The builder decides whether that is an error.
        if hasStrays && seen == 0 { return element.firstChild }
        guard unsafe state.pointee.complete & ~seen == 0 || state.pointee.fillMissing(base, seen: seen) else {
            return -1
        }
        unsafe (state.pointee.doneCount, state.pointee.isOpen) = (1, false)
        if unsafe state.pointee.delivers { _ = unsafe state.pointee.deliver() }
        return complete
    }

    /// Returns the index of the member with a name, or -1 if no member has it.
    @inline(__always)  // PERF: XML/objects; once a member.
    private static func member(
        of name: Int32, _ names: borrowing NameTable, _ state: UnsafeMutablePointer<RecordState>,
        _ members: UnsafeMutablePointer<RecordMember>, _ next: Int, _ count: Int
    ) -> Int {
        names.withName(name) { name in
            // Most members come in their order, with some of them missing.
            for index in next..<min(count, next &+ 3) where unsafe isNamed(members + index, name) { return index }
            // SAFETY: the pointer does not leave the closure.
            return unsafe name.withUnsafeBytes { unsafe state.pointee.index(of: $0) } ?? -1
        }
    }

    @inline(__always)
    private static func isNamed(_ member: UnsafeMutablePointer<RecordMember>, _ name: RawSpan) -> Bool {
        // The member's text has quotes around the name and a colon after it.
        let count = unsafe member.pointee.length &- 3
        guard count == name.byteCount else { return false }
        return unsafe UnsafeRawBufferPointer(start: member.pointee.text + 1, count: count).bytes.hasSameBytes(as: name)
    }

    // MARK: Members

    /// Stores a child, or all children with its name, as a member. Returns false if it has to be sent as messages.
    @inline(__always)
    private static func store(
        _ index: Int32, _ record: borrowing BufferedRecord, _ names: borrowing NameTable,
        _ member: UnsafeMutablePointer<RecordMember>, to place: UnsafeMutableRawPointer,
        _ state: UnsafeMutablePointer<RecordState>
    ) -> Bool {
        let node = record[index]
        // SAFETY: see fill.
        if node.nextSame < 0, !node.isNil, !node.hasElements {
            let text = record.text(of: node)
            let isInitialized = unsafe state.pointee.isInitialized
            switch unsafe member.pointee.kind {
            case .string:
                unsafe SmallText.store(text, to: place, isInitialized: isInitialized)
                return true
            case .optionalString:
                unsafe SmallText.store(text, toOptional: place, isInitialized: isInitialized)
                return true
            case .integer, .optionalInteger, .real, .optionalReal, .bool, .optionalBool:
                return unsafe storeScalar(text, unsafe member.pointee.kind, to: place)
            default: break
            }
        }
        guard let shape = unsafe member.pointee.shape, unsafe member.pointee.kind != .none else { return false }
        guard unsafe state.pointee.isInitialized else {
            return unsafe storeMember(index, record, names, shape, to: place, state)
        }
        let memory = unsafe state.pointee.spareMemory(for: shape)
        guard unsafe storeMember(index, record, names, shape, to: memory, state) else { return false }
        unsafe shape.pointee.replace(place, by: memory)
        return true
    }

    /// Stores a number or a Boolean, which needs no deinitialization. Returns false if the text isn't one.
    private static func storeScalar(_ text: RawSpan, _ kind: FastKind, to place: UnsafeMutableRawPointer) -> Bool {
        let value = text.withoutXMLWhitespaceAround
        let isOptional = kind == .optionalInteger || kind == .optionalReal || kind == .optionalBool
        if value.byteCount == 0, !isOptional { return false }
        switch kind {
        case .integer, .optionalInteger:
            return unsafe store(NumberText.shortInteger(value), of: value, isOptional, to: place)
        case .real, .optionalReal:
            return unsafe store(NumberText.real(value, as: Double.self), of: value, isOptional, to: place)
        default:
            return unsafe store(ElementText.bool(value), of: value, isOptional, to: place)
        }
    }

    @inline(__always)
    private static func store<Value: BitwiseCopyable>(
        _ value: Value?, of text: RawSpan, _ isOptional: Bool, to place: UnsafeMutableRawPointer
    ) -> Bool {
        if value == nil, text.byteCount > 0 { return false }
        if isOptional {
            unsafe place.initializeMemory(as: Value?.self, to: value)
        } else if let value {
            unsafe place.storeBytes(of: value, as: Value.self)
        }
        return true
    }

    // MARK: Values of any type

    /// Stores a child, or all children with its name, in uninitialized memory. If it returns false, the memory is still
    /// uninitialized.
    private static func storeMember(
        _ index: Int32, _ record: borrowing BufferedRecord, _ names: borrowing NameTable,
        _ shape: UnsafePointer<RecordShape>, to place: UnsafeMutableRawPointer,
        _ state: UnsafeMutablePointer<RecordState>
    ) -> Bool {
        let node = record[index]
        switch unsafe shape.pointee.kind {
        case .array:
            return unsafe storeArray(index, record, names, shape, to: place, state)
        case .optional:
            guard let wrapped = unsafe shape.pointee.element, !node.isNil else { return false }
            if unsafe wrapped.pointee.kind == .scalar, node.textCount == 0 { return false }
            if unsafe wrapped.pointee.fillsOptional {
                return unsafe storeMember(index, record, names, wrapped, to: place, state)
            }
            let memory = unsafe state.pointee.wrappedMemory(for: wrapped)
            guard unsafe storeMember(index, record, names, wrapped, to: memory, state) else { return false }
            unsafe shape.pointee.wrap(memory, to: place)
            return true
        default:
            guard node.nextSame < 0 else { return false }
            return unsafe storeValue(node, record, names, shape, to: place, state)
        }
    }

    /// Stores one child in uninitialized memory. If it returns false, the memory is still uninitialized.
    @inline(__always)
    private static func storeValue(
        _ node: BufferedElements.Node, _ record: borrowing BufferedRecord, _ names: borrowing NameTable,
        _ shape: UnsafePointer<RecordShape>, to place: UnsafeMutableRawPointer,
        _ state: UnsafeMutablePointer<RecordState>
    ) -> Bool {
        guard !node.isNil else { return false }
        switch unsafe shape.pointee.kind {
        case .scalar:
            guard !node.hasElements else { return false }
            return unsafe storeText(record.text(of: node), shape, to: place)
        case .object:
            return unsafe storeObject(node, record, names, shape, to: place, state)
        default:
            return false
        }
    }

    /// Stores a scalar in uninitialized memory.
    @inline(__always)
    private static func storeText(
        _ text: RawSpan, _ shape: UnsafePointer<RecordShape>, to place: UnsafeMutableRawPointer
    ) -> Bool {
        // SAFETY: see fill.
        switch unsafe shape.pointee.fast {
        case .string:
            unsafe SmallText.store(text, to: place, isInitialized: false)
            return true
        case .integer, .real, .bool:
            return unsafe storeScalar(text, shape.pointee.fast, to: place)
        default:
            return unsafe storeByType(text, shape, to: place)
        }
    }

    /// Stores the value that the type reads from the message for a text.
    @inline(never)
    private static func storeByType(
        _ text: RawSpan, _ shape: UnsafePointer<RecordShape>, to place: UnsafeMutableRawPointer
    ) -> Bool {
        let kind = unsafe shape.pointee.expectedValue.kind
        // SAFETY: see fill; the pointer does not leave the closure.
        switch kind {
        case .text:
            return unsafe text.withUnsafeBytes { unsafe shape.pointee.read(.string($0), to: place) }
        case .integer, .number:
            guard let number = NumberText.shortInteger(text.withoutXMLWhitespaceAround) else { return false }
            return unsafe shape.pointee.read(.integer(number), to: place)
        default:
            return false
        }
    }

    /// Stores an object; recursion is bounded by `RecordState.enter`.
    private static func storeObject(
        _ node: BufferedElements.Node, _ record: borrowing BufferedRecord, _ names: borrowing NameTable,
        _ shape: UnsafePointer<RecordShape>, to place: UnsafeMutableRawPointer,
        _ state: UnsafeMutablePointer<RecordState>
    ) -> Bool {
        guard node.textCount == 0, let inner = unsafe state.pointee.enter(0, last: 0),
            unsafe inner.pointee.provide(shape, at: place, capacity: 1) > 0
        else { return false }
        unsafe (inner.pointee.delivers, inner.pointee.doneCount) = (false, 0)
        if unsafe fill(inner, node, record, names, []) == complete { return true }
        unsafe inner.pointee.abandon(shape, at: place)
        return false
    }

    /// Stores children with the same name as an array. If it returns false, the memory is still uninitialized.
    private static func storeArray(
        _ first: Int32, _ record: borrowing BufferedRecord, _ names: borrowing NameTable,
        _ shape: UnsafePointer<RecordShape>, to place: UnsafeMutableRawPointer,
        _ state: UnsafeMutablePointer<RecordState>
    ) -> Bool {
        let node = record[first]
        guard !node.isAttribute, let element = unsafe shape.pointee.element, unsafe element.pointee.fast != .uint8,
            unsafe element.pointee.capacity > 0, let inner = unsafe state.pointee.enter(0, last: 0)
        else { return false }
        let (capacity, stride) = unsafe (element.pointee.capacity, element.pointee.stride)
        let memory = unsafe RecordState.elementMemory(inner)
        // Elements are first completed in separate memory and then moved to the array together. Most arrays need only one
        // such move.
        var (index, count, isMade) = (first, 0, false)
        while index >= 0 {
            let next = record[index]
            if count == capacity {
                unsafe element.pointee.move(memory, count, to: place, isMade: isMade)
                (count, isMade) = (0, true)
            }
            // Messages reject names that differ only in their namespaces.
            guard next.namespace == node.namespace,
                unsafe storeValue(next, record, names, element, to: memory + count * stride, inner)
            else {
                unsafe element.pointee.deinitialize(memory, count)
                if isMade { unsafe shape.pointee.deinitialize(place) }
                return false
            }
            count += 1
            index = next.nextSame
        }
        unsafe element.pointee.move(memory, count, to: place, isMade: isMade)
        return true
    }
}
