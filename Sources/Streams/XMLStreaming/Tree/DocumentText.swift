// The UTF-8 form of a document that is in another encoding, which the places of its parts are offsets in.

import PlistStreaming

/// Finds the encoding of a document, and decodes it.
enum DocumentText {
    /// A sink that stops where the encoding is known.
    private struct Stop: XMLSink {
        /// As `NullSink` has it.
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

    /// The UTF-8 form of a document; nil for one in UTF-8, and for one of which the encoding is not found, which cannot be read.
    ///
    /// What cannot be decoded is left out, since a reader finds it as well, and says where it is.
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
        // What begins with a tag, a comment or a document type, is in UTF-8.
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
                // Its error is found again by who reads the document.
                try? scanner.feed(bytes.extracting(offset..<end), into: &stop)
                offset = end
            }
        }
        return scanner.input.encoding
    }
}
