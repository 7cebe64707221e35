// The line and column of a part, for messages about a document that was read.

public import PlistStreaming

extension XMLSourceRange {
    /// Returns the position at which the part begins, by reading the document again up to the part.
    ///
    /// ```swift
    /// let position = try comment.place.position(in: .file("feed.xml"))   // line 3, column 7
    /// ```
    ///
    /// - Parameter source: The document, which must be the same as before.
    /// - Returns: The position of the first part at or after the first byte, or nil if the document has no such part.
    /// - Throws: Errors of the source and the document.
    /// - Complexity: O(*n*) in the bytes before the part.
    public func position(in source: some ByteSource) throws(StreamError) -> StreamPosition? {
        var finder = PartFinder(offset: byteRange.lowerBound)
        do throws(StreamError) { try finder.readXML(source) } catch {
            guard error.isStopRequest else { throw error }
            return error.position
        }
        return nil
    }
}

/// A sink that stops the reader at the first part at or after an offset, so that the error has the line.
private struct PartFinder: XMLSink {
    let offset: Int

    private func check(_ place: XMLSourceRange) throws(StreamError) {
        if place.byteRange.lowerBound >= offset { throw .stopRequest() }
    }

    mutating func startElement(_ tag: borrowing XMLStartTag) throws(StreamError) -> XMLInterest {
        try check(tag.place)
        return .content
    }
    mutating func endElement(_ tag: borrowing XMLEndTag) throws(StreamError) { try check(tag.place) }
    mutating func documentType(_ type: borrowing XMLDocumentType) throws(StreamError) { try check(type.place) }
    mutating func comment(_ comment: borrowing XMLComment) throws(StreamError) { try check(comment.place) }
    mutating func processingInstruction(
        _ instruction: borrowing XMLProcessingInstruction
    ) throws(StreamError) {
        try check(instruction.place)
    }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

enum SourcePositionTests {}

extension SourcePositionTests: SelfTesting {
    static var testSelectors: TestSelectors { ["testFindsTheLine": testFindsTheLine] }

    private static func testFindsTheLine() throws {
        func place(_ offset: Int) -> XMLSourceRange { XMLSourceRange(byteRange: offset..<offset) }
        let text = "<a>é\n é<!--c--></a>"
        let position = try place(9).position(in: text)
        expectEqual(position?.line, 2, "line")
        expectEqual(position?.column, 4, "column")
        expectNil(try place(100).position(in: text), "a part after the end")
        expectThrows(StreamError.self, "another document") { _ = try place(9).position(in: "<a>") }
    }
}
#endif
