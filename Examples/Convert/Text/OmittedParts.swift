// Counts the parts of an XML document that values don't contain, for one warning with the place of the first part.

import XMLStreaming

/// The counts of the parts of an XML document that are left out.
struct OmittedParts {
    enum Part: String, CaseIterable {
        case rootName = "the name of the root element"
        case documentType = "the document type"
        case namespaces = "namespace declarations"
        case comments
        case instructions = "processing instructions"
        case order = "the order of repeated children and of mixed text"
    }

    private var counts: [Part: Int] = [:]
    /// The place of the first part.
    private(set) var first: XMLSourceRange?

    mutating func add(_ part: Part, count: Int = 1, at place: XMLSourceRange) {
        guard count > 0 else { return }
        counts[part, default: 0] += count
        first = first ?? place
    }

    /// The list of the parts for a warning, or nil if nothing is left out.
    var summary: String? {
        let found = Part.allCases.compactMap { part in
            counts[part].map { [.rootName, .documentType].contains(part) ? part.rawValue : "\(part.rawValue) (\($0))" }
        }
        return found.isEmpty ? nil : found.joined(separator: ", ")
    }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

extension OmittedParts: SelfTesting {
    static var testSelectors: TestSelectors {
        ["testListsEachKindOnce": testListsEachKindOnce]
    }

    private static func testListsEachKindOnce() {
        var parts = OmittedParts()
        expectNil(parts.summary, "nothing")
        parts.add(.comments, at: XMLSourceRange(byteRange: 7..<9))
        parts.add(.namespaces, count: 0, at: XMLSourceRange(byteRange: 3..<9))
        parts.add(.comments, at: XMLSourceRange(byteRange: 17..<19))
        parts.add(.documentType, at: XMLSourceRange(byteRange: 27..<29))
        expectEqual(parts.summary, "the document type, comments (2)", "summary")
        expectEqual(parts.first?.byteRange, 7..<9, "the first one")
    }
}
#endif
