// Decodes a document in another encoding to UTF-8. The byte ranges of its parts are offsets in the UTF-8 form.

import PlistStreaming

/// Functions that detect the encoding of a document and decode it.
enum DocumentText {
    /// Returns the UTF-8 form of a document, or nil if the document is in UTF-8 or if its encoding can't be detected, so that
    /// it can't be read.
    ///
    /// Bytes that can't be decoded are left out, because a reader finds the same error and reports its position.
    /// - Complexity: O(*n*) in the bytes; O(1) for most documents in UTF-8.
    static func decode(_ bytes: [UInt8], _ options: XMLReaderOptions) -> [UInt8]? {
        guard let encoding = encoding(of: bytes, options), encoding != .utf8 else { return nil }
        var input = EncodedInput()
        input.known = encoding
        var decoded: [UInt8] = []
        bytes.withRawSpan { bytes in
            input.begin(bytes, limit: .max)
            input.isFinal = true
            while case let piece = input.refill(bytes), let range = piece.range {
                // A byte order mark has three bytes in UTF-8.
                if piece.markCount > 0 { decoded += [0xEF, 0xBB, 0xBF] }
                decoded += Array(copying: input.decoded.bytes.extracting(range))
            }
        }
        return decoded
    }

    private static func encoding(of bytes: [UInt8], _ options: XMLReaderOptions) -> XMLEncoding? {
        if let encoding = options.encoding { return encoding }
        // A document that begins with a tag, a comment or a document type is in UTF-8.
        let declaresNothing =
            bytes.count >= 2 && bytes[0] == UInt8(ascii: "<") && bytes[1] != UInt8(ascii: "?") && bytes[1] != 0
        if declaresNothing { return .utf8 }
        var scanner = XMLScanner(options: options)
        var sink = SkippingSink()
        var rest = bytes[...]
        // The declaration may be long. The reader of the document will find its errors again.
        while !rest.isEmpty, scanner.failure == nil, scanner.tokenizer.phase == .start {
            try? rest.prefix(512).withRawSpan { (bytes) throws(StreamError) in try scanner.feed(bytes, into: &sink) }
            rest = rest.dropFirst(512)
        }
        return scanner.input.encoding
    }
}
