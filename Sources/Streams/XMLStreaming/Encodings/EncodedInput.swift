// Detects the encoding of the input and converts it to UTF-8, piece by piece.

import PlistStreaming

/// The unread part of a chunk, and the bytes that are kept for the next one.
struct EncodedInput: ~Copyable {
    /// The reason why the input can't be read further.
    struct Problem: Sendable {
        var kind: StreamError.Kind
        var message: String
    }

    /// A piece of the chunk, or of the decoded bytes.
    struct Piece {
        var range: Range<Int>?
        var problem: Problem?
        /// The number of bytes of a byte order mark before the piece.
        var markCount = 0
    }

    /// The encoding, or nil before the first bytes.
    private(set) var encoding: XMLEncoding?
    /// A Boolean value that indicates whether the piece is a part of the chunk, which is then in UTF-8.
    private(set) var isChunk = true
    /// The piece in UTF-8 if the chunk has another encoding.
    private(set) var decoded = KeptStack<UInt8>()
    /// A Boolean value that indicates whether the last chunk was read.
    var isFinal = false
    /// A Boolean value that indicates whether the bytes are from strings. They are then in UTF-8, regardless of the
    /// declaration.
    private(set) var isText = false
    /// The encoding set by the options, which overrides the document's declaration.
    var known: XMLEncoding?
    /// Bytes that wait for more bytes, or that precede the bytes of the chunk.
    private var undecoded = KeptStack<UInt8>()
    private var isBuffered = false
    private var offset = 0
    private var end = 0
    private var isClipped = false
    private var limit = 0
    private(set) var totalCount = 0
    private var hasMark = false
    private var markCount = 0
    private var problem: Problem?

    // SPEC: XML 1.0, section 4.3.3: external encoding information has precedence.
    /// Marks the input as text from strings if no byte was read yet.
    mutating func takeText() { if totalCount == 0 { isText = true } }

    /// Begins a chunk. Bytes beyond the limit are ignored.
    mutating func begin(_ chunk: RawSpan, limit: Int) {
        offset = 0
        end = min(chunk.byteCount, max(0, limit - totalCount))
        isClipped = end < chunk.byteCount
        self.limit = limit
        totalCount += chunk.byteCount
    }

    /// Keeps the first bytes of a character for the next piece.
    mutating func hold(_ bytes: RawSpan) {
        undecoded.append(contentsOf: bytes)
        isBuffered = true
    }

    /// Returns whether a declaration may change the encoding from assumed UTF-8 to another one.
    func mayBecome(_ encoding: XMLEncoding) -> Bool {
        self.encoding == .utf8 && !hasMark && encoding.isByteEncoding
    }

    /// Continues in another encoding, with bytes that were pieces before and with the piece starting at an offset.
    mutating func restart(in encoding: XMLEncoding, with bytes: [UInt8], from start: Int, to pieceEnd: Int) {
        self.encoding = encoding
        let held = [UInt8](copying: undecoded.bytes)
        undecoded.removeAll()
        for byte in bytes { undecoded.append(byte) }
        if isChunk {
            offset = start
        } else {
            // SAFETY: they are two different memory areas.
            if start < pieceEnd {
                undecoded.append(contentsOf: unsafe decoded.unscopedBytes.extracting(start..<pieceEnd))
            }
            for byte in held { undecoded.append(byte) }
        }
        isBuffered = false
    }

    /// Finds the next piece after the last one was used.
    mutating func refill(_ chunk: RawSpan) -> Piece {
        if encoding == nil {
            if let result = detect(chunk) { return result }
        }
        var piece = nextPiece(chunk)
        if piece.range == nil && piece.problem == nil && isClipped && offset == end {
            piece.problem = Problem(kind: .limitExceeded, message: "more than \(limit) bytes of input")
        }
        if piece.range != nil {
            piece.markCount = markCount
            markCount = 0
        }
        return piece
    }

    /// Detects the encoding. Returns a piece with the problem if that isn't possible.
    private mutating func detect(_ chunk: RawSpan) -> Piece? {
        while true {
            if let found = XMLEncoding.detect(undecoded.bytes, isLast: isFinal) {
                guard let encoding = isText ? .utf8 : known ?? found.encoding else {
                    return Piece(problem: Problem(kind: .invalidText, message: "the encoding is not supported"))
                }
                self.encoding = encoding
                markCount = encoding == found.encoding ? found.markCount : 0
                undecoded.removeFirst(markCount)
                hasMark = markCount > 0
                return nil
            }
            guard offset < end else { return Piece() }
            undecoded.append(chunk.byte(at: offset))
            offset += 1
        }
    }

    private mutating func nextPiece(_ chunk: RawSpan) -> Piece {
        guard let encoding else { return Piece() }
        if encoding == .utf8, undecoded.isEmpty || isBuffered && offset == end && !isFinal {
            guard undecoded.isEmpty, offset < end else { return Piece() }
            defer { offset = end }
            isChunk = true
            return Piece(range: offset..<end)
        }
        decoded.removeAll()
        isBuffered = false
        isChunk = false
        while decoded.isEmpty {
            if let problem { return Piece(problem: problem) }
            let result: (count: Int, problem: String?)
            if undecoded.isEmpty {
                let part = chunk.extracting(offset..<min(end, offset + 1 << 14))
                guard part.byteCount > 0 else { return Piece() }
                result = encoding.decode(part, into: &decoded)
                offset += result.count
                if result.problem == nil, offset < end, end - offset < 4, decoded.isEmpty || part.byteCount < 1 << 14 {
                    undecoded.append(contentsOf: chunk.extracting(offset..<end))
                    offset = end
                }
            } else {
                let count = min(8, end - offset)
                undecoded.append(contentsOf: chunk.part(offset, count))
                offset += count
                result = encoding.decode(unsafe undecoded.unscopedBytes, into: &decoded)
                undecoded.removeFirst(result.count)
                if result.count == 0, count == 0, result.problem == nil {
                    guard isFinal else { return Piece() }
                    problem = Problem(kind: .invalidText, message: CharacterCheck.Problem.partial.message)
                }
            }
            if let message = result.problem { problem = Problem(kind: .invalidText, message: message) }
        }
        return Piece(range: 0..<decoded.count)
    }
}
