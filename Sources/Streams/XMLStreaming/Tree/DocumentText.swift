// Decodes a document in another encoding to UTF-8. The byte ranges of its parts are offsets in the UTF-8 form.

import PlistStreaming

/// Functions that detect the encoding of a document and decode it.
enum DocumentText {
    /// A sink that stops the reader as soon as the encoding is known.
    private struct Stop: XMLSink {
        /// The same value as in `NullSink`.
        let hasSize = true
        mutating func startElement(_ tag: borrowing XMLStartTag) throws(StreamError) -> XMLInterest {
            throw StreamError.stopRequest()
        }
        mutating func documentType(_ type: borrowing XMLDocumentType) throws(StreamError) {
            throw StreamError.stopRequest()
        }
        mutating func comment(_ comment: borrowing XMLComment) throws(StreamError) {
            throw StreamError.stopRequest()
        }
    }

    /// Returns the UTF-8 form of a document, or nil if the document is in UTF-8 or if its encoding can't be detected, so that
    /// it can't be read.
    ///
    /// Bytes that can't be decoded are left out, because a reader finds the same error and reports its position.
    /// - Complexity: O(*n*) in the bytes; O(1) for most documents in UTF-8.
    static func decode(_ bytes: [UInt8], _ options: XMLReaderOptions) -> [UInt8]? {
        guard let encoding = encoding(of: bytes, options), encoding != .utf8 else { return nil }
        var decoded = KeptStack<UInt8>()
        let mark = unsafe bytes.withUnsafeBytes { bytes in
            // SAFETY: the span does not leave the closure, here and below.
            unsafe XMLEncoding.detect(bytes.bytes, isLast: true)?.markCount ?? 0
        }
        // A byte order mark has three bytes in UTF-8.
        if mark > 0 { for byte: UInt8 in [0xEF, 0xBB, 0xBF] { decoded.append(byte) } }
        unsafe bytes.withUnsafeBytes { bytes in
            let bytes = unsafe bytes.bytes
            var offset = mark
            while offset < bytes.byteCount {
                let result = encoding.decode(bytes.extracting(offset..<bytes.byteCount), into: &decoded)
                offset += result.count
                if result.count == 0 || result.problem != nil { return }
            }
        }
        return [UInt8](copying: decoded.bytes)
    }

    private static func encoding(of bytes: [UInt8], _ options: XMLReaderOptions) -> XMLEncoding? {
        if let encoding = options.encoding { return encoding }
        // A document that begins with a tag, a comment or a document type is in UTF-8.
        let declaresNothing =
            bytes.count >= 2 && bytes[0] == UInt8(ascii: "<") && bytes[1] != UInt8(ascii: "?") && bytes[1] != 0
        if declaresNothing { return .utf8 }
        var scanner = XMLScanner(options: options)
        var stop = Stop()
        unsafe bytes.withUnsafeBytes { bytes in
            // SAFETY: the span does not leave the closure.
            let bytes = unsafe bytes.bytes
            var offset = 0
            while offset < bytes.byteCount, scanner.failure == nil {
                let end = min(bytes.byteCount, offset + 512)
                // The reader of the document will find the same error again.
                try? scanner.feed(bytes.extracting(offset..<end), into: &stop)
                offset = end
            }
        }
        return scanner.input.encoding
    }
}
