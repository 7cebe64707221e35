// The walk through the objects of a binary property list, starting at the root, without recursion. This file handles
// the containers. `BinaryPlistWalk+Scalars` handles the values without children, `BinaryPlistWalk+Errors` the errors.

import PlistStreaming

/// A walk through the objects of one binary property list.
///
/// The input isn't trusted: each offset, count and reference is compared with the bytes before it is used. An object
/// that is referenced in two places is sent twice, within the limits of the options. An object that contains itself is
/// refused.
@usableFromInline
struct BinaryPlistWalk: ~Copyable {
    /// A container that is open.
    @usableFromInline
    struct Container {
        /// The number of the object.
        @usableFromInline let object: Int
        /// The offset of its first reference.
        @usableFromInline let start: Int
        /// The number of elements or members.
        @usableFromInline let count: Int
        @usableFromInline let isDictionary: Bool
        /// The number of elements or members that are sent or being sent.
        @usableFromInline var index: Int = 0

        @inlinable
        init(object: Int, start: Int, count: Int, isDictionary: Bool) {
            (self.object, self.start, self.count, self.isDictionary) = (object, start, count, isDictionary)
        }
    }

    @usableFromInline let table: BinaryObjectTable
    @usableFromInline let limits: StreamLimits
    // PERF: PropertyLists/items read; the innermost container is outside the array, so that only containers access the
    // array.
    /// The container around the current value; a count of -1 means no container.
    @usableFromInline var innermost = Container(object: 0, start: 0, count: -1, isDictionary: false)
    /// The containers around the innermost one, the outermost first. The root has no container.
    @usableFromInline var outer: [Container] = []
    /// A bit for each object, which is set while the object is open.
    @usableFromInline var openObjects: [UInt64]
    /// The number of values that may still be sent.
    @usableFromInline var valuesLeft: Int
    @usableFromInline var contentBytesLeft: Int
    /// The offset of the current object, for errors.
    @usableFromInline var place: Int
    /// The UTF-8 of a string that is stored in UTF-16, or the digits of a number.
    @usableFromInline var text: [UInt8] = []
    @usableFromInline var failure: StreamError?

    @usableFromInline
    init(_ bytes: RawSpan, _ options: BinaryPlistReaderOptions) throws(StreamError) {
        try BinaryObjectTable.checkBeginning(bytes, limit: options.limits.totalByteCount)
        table = try BinaryObjectTable(bytes)
        limits = options.limits
        openObjects = []
        valuesLeft = options.valueLimit(forByteCount: bytes.byteCount)
        contentBytesLeft = options.contentByteLimit(forByteCount: bytes.byteCount)
        place = bytes.byteCount - BinaryObjectTable.trailerByteCount
    }

    // PERF: PropertyLists/binary; inlinable, like the following functions, so that it specializes for sinks of other
    // packages.
    /// Sends the root and its contents.
    @inlinable
    mutating func send<Sink: PlistSink & ~Copyable>(_ bytes: RawSpan, to sink: inout Sink) throws(StreamError) {
        var object = table.root
        while true {
            try sendObject(object, bytes, to: &sink)
            guard let next = try sendNext(bytes, to: &sink) else { return }
            object = next
        }
    }

    /// Ends the containers that are complete, sends the key of the next member, and returns the next object; nil at the
    /// end.
    @inlinable @inline(__always)
    mutating func sendNext<Sink: PlistSink & ~Copyable>(
        _ bytes: RawSpan, to sink: inout Sink
    ) throws(StreamError) -> Int? {
        while true {
            guard innermost.index < innermost.count else {
                if innermost.count < 0 { return nil }
                try endInnermost(to: &sink)
                continue
            }
            let container = innermost
            innermost.index = container.index &+ 1
            var reference = container.start &+ container.index &* table.referenceByteCount
            if container.isDictionary {
                guard let key = table.reference(at: reference, in: bytes) else { throw noObject(reference) }
                try sendString(key, bytes, isKey: true, to: &sink)
                reference &+= container.count &* table.referenceByteCount
            }
            guard let object = table.reference(at: reference, in: bytes) else { throw noObject(reference) }
            return object
        }
    }

    @inlinable
    mutating func endInnermost<Sink: PlistSink & ~Copyable>(to sink: inout Sink) throws(StreamError) {
        if innermost.isDictionary { try sink.endDictionary() } else { try sink.endArray() }
        openObjects[innermost.object &>> 6] &= ~(1 &<< UInt64(truncatingIfNeeded: innermost.object & 63))
        innermost = outer.removeLast()
    }

    /// Sends a value; for a container, only its beginning.
    @inlinable @inline(__always)
    mutating func sendObject<Sink: PlistSink & ~Copyable>(
        _ object: Int, _ bytes: RawSpan, to sink: inout Sink
    ) throws(StreamError) {
        guard let offset = table.offset(of: object, in: bytes) else { throw noOffset(of: object) }
        place = offset
        try countValue()
        let marker = bytes.byte(at: offset)
        switch marker &>> 4 {
        case 0x5, 0x6: try sendString(at: offset, bytes, isKey: false, to: &sink)
        case 0x1: try sendInteger(marker, bytes, to: &sink)
        case 0x2, 0x3: try sendReal(marker, bytes, to: &sink)
        case 0x0: try sendSingle(marker, to: &sink)
        case 0x4: try sendData(bytes, to: &sink)
        case 0x8: try sendUID(marker, bytes, to: &sink)
        case 0xA, 0xB, 0xC: try begin(object, bytes, isDictionary: false, to: &sink)
        case 0xD: try begin(object, bytes, isDictionary: true, to: &sink)
        default: throw unknown(marker)
        }
    }

    /// Sends the beginning of an array, a set or a dictionary.
    @inlinable
    mutating func begin<Sink: PlistSink & ~Copyable>(
        _ object: Int, _ bytes: RawSpan, isDictionary: Bool, to sink: inout Sink
    ) throws(StreamError) {
        guard let header = BinaryObject(at: place, in: bytes) else { throw noCount() }
        let byteCount = header.count &* table.referenceByteCount &* (isDictionary ? 2 : 1)
        guard byteCount <= table.start &- header.start else {
            throw beyondEnd("\(header.count) \(isDictionary ? "members" : "elements")")
        }
        guard outer.count < limits.depth else { throw tooMany("levels of nesting", limits.depth) }
        if openObjects.isEmpty { openObjects = Array(repeating: 0, count: table.count / 64 + 1) }
        let bit: UInt64 = 1 &<< UInt64(truncatingIfNeeded: object & 63)
        guard openObjects[object &>> 6] & bit == 0 else { throw containsItself(object) }
        openObjects[object &>> 6] |= bit
        if isDictionary { try sink.beginDictionary() } else { try sink.beginArray() }
        outer.append(innermost)
        innermost = Container(object: object, start: header.start, count: header.count, isDictionary: isDictionary)
    }

    @inlinable @inline(__always)
    mutating func countValue() throws(StreamError) {
        valuesLeft &-= 1
        if valuesLeft < 0 { throw tooManyValues() }
    }
}
