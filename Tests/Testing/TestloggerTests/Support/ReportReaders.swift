// Reads the reports of a run with independent readers: JSON lines with Foundation, and JUnit reports with an XML parser
// and a schema. The readers share no code with the writers of the reports.

import Foundation
import Testing

#if canImport(FoundationXML)
import FoundationXML
#endif

/// An object in a report of JSON lines.
struct ReportedEvent {
    let members: [String: Any]

    /// Parses every line of a report.
    static func read(_ text: String) throws -> [ReportedEvent] {
        guard text.hasSuffix("\n") else { throw ProgramError(description: "the last line has no end") }
        return try text.split(separator: "\n").map { line in
            guard let members = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any] else {
                throw ProgramError(description: "no object: \(line)")
            }
            return ReportedEvent(members: members)
        }
    }

    subscript(name: String) -> String? { members[name] as? String }
    func number(_ name: String) -> Int? { (members[name] as? NSNumber)?.intValue }
    var event: String { self["event"] ?? "" }
    /// The full name of the test, `Type.test`.
    var test: String { "\(self["type"] ?? "").\(self["test"] ?? "")" }
}

/// A case of a JUnit report.
struct JUnitCase: Equatable {
    var name = ""
    var attributes: [String: String] = [:]
    /// The names of the child elements, such as `failure`, with their attributes and texts.
    var elements: [(name: String, attributes: [String: String], text: String)] = []

    static func == (one: Self, other: Self) -> Bool { one.name == other.name && one.attributes == other.attributes }

    /// The name of the element `failure`, `error` or `skipped` if the case contains one, otherwise `passed`.
    var outcome: String { elements.first { ["failure", "error", "skipped"].contains($0.name) }?.name ?? "passed" }
}

/// A parser of JUnit reports.
final class JUnitReader: NSObject, XMLParserDelegate {
    private(set) var cases: [JUnitCase] = []
    /// The attributes of the root and of each suite.
    private(set) var suites: [[String: String]] = []
    private var current: JUnitCase?
    private var depth = 0

    /// Parses a report.
    init(_ data: Data) throws {
        super.init()
        let parser = XMLParser(data: data)
        parser.delegate = self
        guard parser.parse() else {
            throw ProgramError(description: "no XML: \(parser.parserError.map { "\($0)" } ?? "")")
        }
    }

    func parser(
        _ parser: XMLParser, didStartElement name: String, namespaceURI: String?, qualifiedName: String?,
        attributes: [String: String]
    ) {
        if name == "testsuites" || name == "testsuite" { suites.append(attributes) }
        if name == "testcase" {
            current = JUnitCase(
                name: "\(attributes["classname"] ?? "").\(attributes["name"] ?? "")", attributes: attributes)
        } else {
            current?.elements.append((name, attributes, ""))
        }
    }

    func parser(_ parser: XMLParser, foundCharacters text: String) {
        if let last = current?.elements.indices.last { current?.elements[last].text += text }
    }

    func parser(_ parser: XMLParser, foundCDATA block: Data) {
        self.parser(parser, foundCharacters: String(decoding: block, as: UTF8.self))
    }

    func parser(_ parser: XMLParser, didEndElement name: String, namespaceURI: String?, qualifiedName: String?) {
        if name == "testcase", let done = current {
            cases.append(done)
            current = nil
        }
    }

    /// Expects files to be valid according to the schema of JUnit reports.
    static func expectValid(_ files: [URL], sourceLocation: SourceLocation = #_sourceLocation) throws {
        let schema = Fixtures.checkout.appending(path: "Tests/Testing/Schemas/junit.xsd").path
        let result = try RunningPrograms.run(
            ["xmllint", "--noout", "--schema", schema] + files.map(\.path), in: Fixtures.folder)
        #expect(result.status == 0, "\(result)", sourceLocation: sourceLocation)
    }

    static let hasValidator = RunningPrograms.path(of: "xmllint") != nil
}
