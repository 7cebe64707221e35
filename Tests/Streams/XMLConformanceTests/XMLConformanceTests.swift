// Runs the suite's tests. Valid and invalid documents are accepted, and their outputs compared if there are any.
// Documents that aren't well-formed are rejected if the document itself shows the error. A table here decides the other
// documents.

import Foundation
import PlistStreaming
import Testing
import XMLStreaming

@Suite(.enabled(if: !XMLCatalog.cases.isEmpty, "there is no suite at ../shared/corpora/xmlconf"))
struct XMLConformanceTests {
    /// Returns the outcome of a document that is read in chunks of the given sizes. The rest is one chunk.
    static func outcome(_ bytes: [UInt8], _ options: XMLReaderOptions, sizes: [Int] = []) -> (
        line: String, error: StreamError?
    ) {
        var reader = XMLReader(sink: XMLTrace(), options: options)
        do throws(StreamError) {
            var start = 0
            var sizes = sizes[...]
            while start < bytes.count {
                let end = min(bytes.count, start + (sizes.popFirst() ?? bytes.count))
                try reader.feed(Array(bytes[start..<end]))
                start = end
            }
            try reader.finish()
            return (reader.sink.line, nil)
        } catch {
            return (reader.sink.line, error)
        }
    }

    static func options(_ test: XMLCase) -> XMLReaderOptions { XMLReaderOptions(knowsNamespaces: test.knowsNamespaces) }

    @Test func suiteIsComplete() {
        #expect(XMLCatalog.cases.count > 900)
        for test in XMLCatalog.cases {
            #expect(FileManager.default.isReadableFile(atPath: test.file.path), "\(test.id) at \(test.file.path)")
        }
        #expect(Set(Self.decisions.keys).isSubset(of: XMLCatalog.cases.map(\.id)))
    }

    @Test func acceptsOrRefusesDocumentsAsExpected() {
        for test in XMLCatalog.cases {
            let error = Self.outcome(test.bytes, Self.options(test)).error
            if let decision = Self.decisions[test.id] {
                #expect((error != nil) == decision.isRefused, "\(test.id), \(decision.reason): \(error as Any)")
                continue
            }
            switch test.type {
            case "valid", "invalid": #expect(error == nil, "\(test.id): \(error as Any)")
            case "not-wf" where test.isCurrent && test.entities == "none":
                #expect(error != nil, "\(test.id) was accepted")
            default:
                Issue.record(
                    "not decided: \(test.id), \(test.type), \(test.entities) \(test.isCurrent): \(error as Any)")
            }
        }
    }

    @Test func writesExpectedOutputs() throws {
        var count = 0
        for test in XMLCatalog.cases where test.type == "valid" && test.entities == "none" {
            guard let output = test.output, Self.decisions[test.id] == nil else { continue }
            var expected = String(decoding: try Data(contentsOf: output), as: UTF8.self)
            // The second form begins with the declared notations, which the reader doesn't report as events.
            if expected.hasPrefix("<!DOCTYPE"), let end = expected.range(of: "]>\n") {
                expected.removeSubrange(..<end.upperBound)
            }
            var writer = CanonicalWriter()
            try writer.readXML(test.bytes, options: Self.options(test))
            #expect(writer.text == expected, "\(test.id)")
            count += 1
        }
        #expect(count > 130, "\(count) outputs")
    }

    /// The number of splits of a long document. `XML_SPLITS` sets a larger number, as in the second tier of `.ci/run`.
    private static let splitCount = Int(ProcessInfo.processInfo.environment["XML_SPLITS"] ?? "") ?? 60

    @Test func outcomeDoesNotDependOnSplits() {
        for test in XMLCatalog.cases {
            let (bytes, options) = (test.bytes, Self.options(test))
            let expected = Self.outcome(bytes, options)
            let single = Self.outcome(bytes, options, sizes: [Int](repeating: 1, count: bytes.count))
            #expect(single == expected, "\(test.id) byte by byte")
            // Use all splits of short documents and some of long documents, two at a time.
            let splits = Array(stride(from: 1, to: bytes.count, by: max(1, bytes.count / Self.splitCount)))
            let half = (splits.count + 1) / 2
            for index in 0..<half {
                let first = splits[index]
                let second = index + half < splits.count ? splits[index + half] : bytes.count
                let parts = Self.outcome(bytes, options, sizes: [first, second - first])
                if parts != expected { #expect(parts == expected, "\(test.id) split at \(first) and \(second)") }
            }
        }
    }

    struct Decision {
        var isRefused: Bool
        var reason: String

        static func refused(_ reason: String) -> Decision { Decision(isRefused: true, reason: reason) }
        static func accepted(_ reason: String) -> Decision { Decision(isRefused: false, reason: reason) }
    }

    /// The tests whose result the suite leaves to the processor, and the tests that need content outside of the
    /// document.
    static let decisions: [String: Decision] = [
        "not-wf-sa-081": .refused("an attribute refers to an external entity, whatever is in it"),
        "not-wf-sa-082": .refused("an attribute refers to an external entity, whatever is in it"),
        "not-wf-sa-140": .accepted("characters that names may have since the fifth edition"),
        "not-wf-sa-141": .accepted("characters that names may have since the fifth edition"),
        "not-wf-sa-185": .refused("the document says that it stands alone, and an entity is declared nowhere in it"),
        "not-wf-sa03": .refused("the document says that it stands alone, and an entity is declared nowhere in it"),
        "not-wf-not-sa-002": .refused("a declaration in the wrong place of the internal subset"),
        "not-wf-not-sa-001": .accepted("the error is in the external subset"),
        "not-wf-not-sa-003": .accepted("the error is in the external subset"),
        "not-wf-not-sa-004": .accepted("the error is in the external subset"),
        "not-wf-not-sa-006": .accepted("the error is in the external subset"),
        "not-wf-not-sa-007": .accepted("the error is in the external subset"),
        "not-wf-not-sa-008": .accepted("the error is in the external subset"),
        "not-wf-not-sa-009": .accepted("the error is in the external subset"),
        "not-wf-not-sa-005": .accepted("a parameter entity that the external subset may declare"),
        "not-wf-ext-sa-001": .accepted("the error is in an external entity"),
        "not-wf-ext-sa-002": .accepted("the error is in an external entity"),
        "not-wf-ext-sa-003": .accepted("the error is in an external entity"),
        "encoding07": .accepted("the error is in an external entity"),
        "cond01": .accepted("the error is in an external parameter entity or in the external subset"),
        "cond02": .accepted("the error is in an external parameter entity or in the external subset"),
        "decl01": .accepted("the error is in an external parameter entity or in the external subset"),
        "dtd07": .accepted("the error is in an external parameter entity or in the external subset"),
        "o-p09fail1": .accepted("the error is in the external subset"),
        "o-p09fail2": .accepted("the error is in the external subset"),
        "o-p30fail1": .accepted("the error is in the external subset"),
        "o-p31fail1": .accepted("the error is in the external subset"),
        "o-p61fail1": .accepted("the error is in the external subset"),
        "o-p62fail1": .accepted("the error is in the external subset"),
        "o-p62fail2": .accepted("the error is in the external subset"),
        "o-p63fail1": .accepted("the error is in the external subset"),
        "o-p63fail2": .accepted("the error is in the external subset"),
        "o-p64fail1": .accepted("the error is in the external subset"),
        "o-p64fail2": .accepted("the error is in the external subset"),
        "uri01": .accepted("a system identifier with a fragment is an error, but not of the grammar"),
        "o-p11pass1": .accepted("a system identifier with a fragment is an error, but not of the grammar"),
        "rmt-ns10-004": .accepted("names of namespaces are compared, and not checked to be absolute URIs"),
        "rmt-ns10-005": .accepted("names of namespaces are compared, and not checked to be absolute URIs"),
        "rmt-ns10-006": .accepted("names of namespaces are compared, and not checked to be absolute URIs"),
        "rmt-ns11-003": .refused("prefixes cannot be undeclared in Namespaces 1.0"),
        "rmt-ns11-004": .refused("prefixes cannot be undeclared in Namespaces 1.0"),
        "rmt-ns11-005": .refused("prefixes cannot be undeclared in Namespaces 1.0"),
        "ht-bh-ns11-007": .refused("reserved prefixes, in Namespaces 1.0 as in 1.1"),
        "ht-bh-ns11-008": .refused("reserved prefixes, in Namespaces 1.0 as in 1.1"),
    ]
}
