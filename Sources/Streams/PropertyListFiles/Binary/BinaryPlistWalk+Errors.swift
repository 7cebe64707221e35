// Creates the errors of the walk with their positions, outside the loops.

import PlistStreaming

extension BinaryPlistWalk {
    /// Records an error at the current object; its path is added when it leaves the walk.
    @usableFromInline @inline(never)
    mutating func fail(_ kind: StreamError.Kind, _ message: String) -> StreamError {
        let error = StreamError(kind, message, position: StreamPosition(byteOffset: place))
        failure = error
        return error
    }

    /// Returns the error to throw for an error of the walk or of the sink, with its position and path.
    @usableFromInline @inline(never)
    mutating func located(_ error: StreamError, _ bytes: RawSpan) -> StreamError {
        let located = failure ?? error.ofSink(at: StreamPosition(byteOffset: place))
        return located.isStopRequest ? located : located.located(at: path(bytes))
    }

    /// Returns the path to the current value.
    private func path(_ bytes: RawSpan) -> StreamPath {
        StreamPath(
            (outer.dropFirst() + (outer.isEmpty ? [] : [innermost])).map { container in
                let index = max(0, container.index - 1)
                guard container.isDictionary else { return .index(index) }
                return .key(key(at: container.start + index * table.referenceByteCount, bytes))
            })
    }

    /// Returns a key for a path; an invalid key isn't checked in detail.
    private func key(at reference: Int, _ bytes: RawSpan) -> String {
        guard let object = table.reference(at: reference, in: bytes), let offset = table.offset(of: object, in: bytes),
            let header = BinaryObject(at: offset, in: bytes)
        else { return "" }
        let isASCII = header.marker >> 4 == 0x5
        let byteCount = min(isASCII ? header.count : 2 * header.count, 256, max(0, table.start - header.start))
        guard isASCII || header.marker >> 4 == 0x6 else { return "" }
        let text = bytes.extracting(header.start..<header.start + byteCount)
        let bytes = Array(copying: text)
        if isASCII { return String(decoding: bytes, as: UTF8.self) }
        let units = stride(from: 0, to: bytes.count - 1, by: 2).map { UInt16(bytes[$0]) << 8 | UInt16(bytes[$0 + 1]) }
        return String(decoding: units, as: UTF16.self)
    }

    @usableFromInline @inline(never)
    mutating func noObject(_ reference: Int) -> StreamError {
        place = reference
        return fail(.invalidSyntax, "expected a reference to one of \(table.count) objects, found a larger number")
    }

    @usableFromInline @inline(never)
    mutating func noOffset(of object: Int) -> StreamError {
        place = table.start + object * table.offsetByteCount
        return fail(.invalidSyntax, "expected the offset of an object, from 8 to \(table.start - 1)")
    }

    @usableFromInline @inline(never)
    mutating func unknown(_ marker: UInt8) -> StreamError {
        fail(.invalidSyntax, "expected the marker of an object, found 0x\(String(marker, radix: 16))")
    }

    @usableFromInline @inline(never)
    mutating func noKey(_ marker: UInt8) -> StreamError {
        fail(.invalidSyntax, "expected a string as a key, found the marker 0x\(String(marker, radix: 16))")
    }

    @usableFromInline @inline(never)
    mutating func noCount() -> StreamError {
        fail(.invalidSyntax, "expected an integer of 1 to 8 bytes as the count of an object")
    }

    @usableFromInline @inline(never)
    mutating func beyondEnd(_ what: String) -> StreamError {
        fail(.invalidSyntax, "expected \(what), found the end of the objects")
    }

    @usableFromInline @inline(never)
    mutating func notASCII(_ text: RawSpan) -> StreamError {
        var offset = 0
        while offset < text.byteCount, text.byte(at: offset) < 0x80 { offset += 1 }
        return fail(.invalidText, "expected ASCII, found another byte at offset \(offset) of a string")
    }

    @usableFromInline @inline(never)
    mutating func containsItself(_ object: Int) -> StreamError {
        fail(.invalidSyntax, "expected a tree, found object \(object) inside itself")
    }

    @usableFromInline @inline(never)
    mutating func tooMany(_ what: String, _ limit: Int) -> StreamError {
        fail(.limitExceeded, "more than \(limit) \(what)")
    }

    @usableFromInline @inline(never)
    mutating func tooManyValues() -> StreamError {
        fail(.limitExceeded, "more values than the limit, because objects are referenced repeatedly")
    }

    @usableFromInline @inline(never)
    mutating func tooMuchContent() -> StreamError {
        fail(.limitExceeded, "more bytes of strings and data than the limit, because objects are referenced repeatedly")
    }
}
