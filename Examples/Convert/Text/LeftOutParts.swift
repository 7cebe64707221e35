// The parts of an XML document that values don't have: counted while it is read, for one warning with the place of the first.

import PlistStreaming
import XMLStreaming

/// The numbers of the parts of an XML document that are left out.
struct LeftOutParts {
    enum Part: String, CaseIterable {
        case rootName = "the name of the root element"
        case documentType = "the document type"
        case namespaces = "declarations of namespaces"
        case comments
        case instructions = "processing instructions"
        case order = "the place of repeated children and of text among other children"
    }

    private var counts: [Part: Int] = [:]
    /// The offset of the first part in the UTF-8 form of the document.
    private(set) var firstOffset: Int?

    mutating func add(_ part: Part, count: Int = 1, at place: XMLSourceRange) {
        guard count > 0 else { return }
        counts[part, default: 0] += count
        firstOffset = firstOffset ?? place.byteRange.lowerBound
    }

    /// The list of the parts for a warning, or nil if nothing is left out.
    var words: String? {
        let found = Part.allCases.compactMap { part in
            counts[part].map { [.rootName, .documentType].contains(part) ? part.rawValue : "\(part.rawValue) (\($0))" }
        }
        return found.isEmpty ? nil : found.joined(separator: ", ")
    }
}

/// A sink that stops the reader at the first part at or after an offset, so that the error has the line.
struct PartFinder: XMLSink {
    private let offset: Int

    /// Returns the position of a part of a file, or nil if the file can't be read again.
    static func position(ofPartAt offset: Int, inFile path: String) -> StreamPosition? {
        var finder = PartFinder(offset: offset)
        do throws(StreamError) { try finder.readXML(.file(path)) } catch {
            return error.isStopRequest ? error.position : nil
        }
        return nil
    }

    private init(offset: Int) { self.offset = offset }

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

extension LeftOutParts: SelfTesting {
    static var testSelectors: TestSelectors {
        ["testListsEachKindOnce": testListsEachKindOnce, "testFindsLineAndColumn": testFindsLineAndColumn]
    }

    private static func testListsEachKindOnce() {
        var parts = LeftOutParts()
        expectNil(parts.words, "nothing")
        parts.add(.comments, at: XMLSourceRange(byteRange: 7..<9))
        parts.add(.namespaces, count: 0, at: XMLSourceRange(byteRange: 3..<9))
        parts.add(.comments, at: XMLSourceRange(byteRange: 17..<19))
        parts.add(.documentType, at: XMLSourceRange(byteRange: 27..<29))
        expectEqual(parts.words, "the document type, comments (2)", "words")
        expectEqual(parts.firstOffset, 7, "the first one")
    }

    private static func testFindsLineAndColumn() throws {
        let path = "\(try temporaryDirectory())/in.xml"
        try Conversion.write("<a>é\n é<!--c--></a>", to: path)
        let position = PartFinder.position(ofPartAt: 9, inFile: path)
        expectEqual(position?.line, 2, "line")
        expectEqual(position?.column, 4, "column")
        expectNil(PartFinder.position(ofPartAt: 100, inFile: path), "nothing there")
        expectNil(PartFinder.position(ofPartAt: 0, inFile: path + "x"), "no file")
    }
}
#endif
