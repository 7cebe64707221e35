// In-class tests of handlers: their arguments, the order of calls, and skipped elements.

#if DEBUG || IN_CLASS_TESTS
import InClassTesting
import PlistBuilding
import PlistStreaming

enum XMLHandlersTests {
    fileprivate struct Person: StreamObject, Equatable {
        var id = 0
        var name = ""
        var phone: [String] = []
    }
    fileprivate final class Log {
        var lines: [String] = []
        var title = ""
    }
}

extension XMLHandlersTests: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testCallsHandlersAsElementsClose": testCallsHandlersAsElementsClose,
            "testPassesValuesToOuterHandlers": testPassesValuesToOuterHandlers,
            "testComparesNamesByBytes": testComparesNamesByBytes,
            "testMatchesNamespaces": testMatchesNamespaces,
            "testBindsElementsToTypes": testBindsElementsToTypes,
            "testSkipsUnneededElements": testSkipsUnneededElements,
            "testReportsPathOfFailedHandlers": testReportsPathOfFailedHandlers,
            "testRefusesUnknownEntities": testRefusesUnknownEntities,
            "testStopsIfAHandlerStops": testStopsIfAHandlerStops,
            "testRefusesBadDeclarations": testRefusesBadDeclarations,
            "testBuffersOnlyOpenElements": testBuffersOnlyOpenElements,
            "testHandlesManyPathsQuickly": testHandlesManyPathsQuickly,
            "testCountsBufferedBytesAtAnyDepth": testCountsBufferedBytesAtAnyDepth,
        ]
    }

    private static let document = """
        <people v="1"><person id="1" x="y"><name>Ada <b>bold</b>L&amp;</name><phone>1</phone><phone>2</phone></person>
        <other><name>no</name></other><person id="2"><name><![CDATA[<B>]]></name></person><!-- c --></people>
        """

    /// Reads a document at once and in pieces, each time with new handlers, and returns the logged calls.
    private static func log(
        _ text: String, namespaces: [String: String] = [:],
        _ declare: (inout XMLHandlers, Log) throws -> Void
    ) throws -> [String] {
        let whole = Log()
        var handlers = XMLHandlers(namespaces: namespaces)
        try declare(&handlers, whole)
        try handlers.readXML(text)
        for size in [1, 7] {
            let pieces = Log()
            var handlers = XMLHandlers(namespaces: namespaces)
            try declare(&handlers, pieces)
            var reader = XMLReader(sink: handlers)
            let bytes = Array(text.utf8)
            for start in stride(from: 0, to: bytes.count, by: size) {
                try reader.feed(Array(bytes[start..<min(bytes.count, start + size)]))
            }
            try reader.finish()
            expectEqual(pieces.lines, whole.lines, "in pieces of \(size)")
        }
        return whole.lines
    }

    private static func testCallsHandlersAsElementsClose() throws {
        let lines = try log(document) { handlers, log in
            try handlers.onText("people/person/name") { log.lines.append("name \($0)") }
            try handlers.onAttribute("people/person/@id") { log.lines.append("id \($0)") }
            try handlers.onAttribute("*/@v") { log.lines.append("v \($0)") }
            try handlers.onText("//b") { log.lines.append("b \($0)") }
            try handlers.onElement("people/person") { person in
                log.lines.append("person \(person.attribute("x") ?? "-") \(person.allAttributes.count)")
            }
            try handlers.onElement("people") { people in log.lines.append("\(people.name) \(people.text.utf8.count)") }
            try handlers.onText("people/person/name", of: log, \.title)
        }
        expectEqual(
            lines,
            ["v 1", "id 1", "b bold", "name Ada L&", "person y 2", "id 2", "name <B>", "person - 1", "people 1"],
            "calls")
        var handlers = XMLHandlers()
        let target = Log()
        try handlers.onText("people/person/name", of: target, \.title)
        try handlers.readXML(document)
        expectEqual(target.title, "<B>", "the member")
        // The value of a handler's last expression isn't kept after the element is closed.
        var names: Set<String> = []
        var counting = XMLHandlers()
        try counting.onElement("people/person") { person in names.insert(person.name) }
        try counting.readXML(document)
        expectEqual(names, ["person"], "names")
        expectTrue(counting.values.isEmpty, "values")
    }

    /// Tests that names are compared by their bytes, as in documents, even if their strings are equal.
    private static func testComparesNamesByBytes() throws {
        var handlers = XMLHandlers()
        try handlers.collectElement("//\u{E9}") { element in element.text }
        try handlers.collectElement("//e\u{301}") { element in element.text }
        try handlers.onElement("a") { element in
            expectEqual(try element.values("e\u{301}", as: String.self), ["2", "3"], "decomposed")
            expectEqual(try element.value("\u{E9}", as: String.self), "1", "composed")
        }
        try handlers.readXML("<a><e\u{301}>2</e\u{301}><\u{E9}>1</\u{E9}><e\u{301}>3</e\u{301}></a>")
    }

    private static func testPassesValuesToOuterHandlers() throws {
        var handlers = XMLHandlers()
        try handlers.collectElement("//name") { name in name.text }
        try handlers.collectElement("//phone") { phone in Int(phone.text) }
        try handlers.collectElement("people/person") { person in
            let id = person.attribute("id").flatMap { Int($0) } ?? 0
            return Person(
                id: id, name: try person.value("name") ?? "",
                phone: try person.values("phone", as: Int.self).map { "\($0)" })
        }
        try handlers.collectElement("people") { people in
            expectNil(try people.value("sink", as: Int.self), "a value that is not there")
            expectThrows(StreamError.self, "a value of another type") { _ = try people.value("person", as: Int.self) }
            return try people.values("person", as: Person.self)
        }
        try handlers.readXML(document)
        let people = handlers.values.first?.value as? [Person]
        expectTrue(
            people == [Person(id: 1, name: "Ada L&", phone: ["1", "2"]), Person(id: 2, name: "<B>")], "\(people ?? [])")
        expectEqual(handlers.values.count, 1, "values")
        expectEqual(handlers.values.first?.name, "people", "the name of the value")
    }

    private static func testMatchesNamespaces() throws {
        let text = """
            <f:feed xmlns:f="urn:f" xmlns="urn:d" xmlns:x="urn:x"><entry x:id="1" id="2" f:id="3">a</entry><x:entry>b</x:entry>
            <f:entry>c</f:entry></f:feed>
            """
        let namespaces = ["a": "urn:f", "d": "urn:d", "x": "urn:x"]
        let lines = try log(text, namespaces: namespaces) { handlers, log in
            try handlers.onText("a:feed/d:entry") { log.lines.append("d \($0)") }
            try handlers.onText("a:feed/entry") { log.lines.append("any \($0)") }
            try handlers.onText("feed/x:*") { log.lines.append("x \($0)") }
            try handlers.onAttribute("//d:entry/@x:id") { log.lines.append("x:id \($0)") }
            try handlers.onAttribute("//entry/@id") { log.lines.append("id \($0)") }
            try handlers.onElement("//d:entry") { entry in
                log.lines.append(
                    "\(entry.localName) \(entry.attribute("id", in: "urn:f") ?? "") \(entry.attribute("f:id") ?? "")")
            }
        }
        expectEqual(lines, ["x:id 1", "id 2", "d a", "any a", "entry 3 3", "any b", "x b", "any c"], "calls")
        let only = try log(text, namespaces: ["": "urn:d", "f": "urn:f"]) { handlers, log in
            try handlers.onText("f:feed/entry") { log.lines.append($0) }
        }
        expectEqual(only, ["a"], "names without a prefix in a namespace")
    }

    private static func testBindsElementsToTypes() throws {
        let lines = try log(document.replacingBold()) { handlers, log in
            try handlers.onObject("people/person", Person.self) { person in
                guard person.id > 0 else { return }
                log.lines.append("\(person.id) \(person.phone)")
            }
            try handlers.onText("people/person/phone") { log.lines.append("phone \($0)") }
        }
        expectEqual(lines, ["phone 1", "phone 2", "1 [\"1\", \"2\"]", "2 []"], "calls")
        var handlers = XMLHandlers()
        try handlers.collectObject("people/person", Person.self) { person in person.id == 2 ? person : nil }
        try handlers.collectElement("people") { people in try people.values("person", as: Person.self) }
        try handlers.readXML(document.replacingBold())
        expectTrue(handlers.values.first?.value as? [Person] == [Person(id: 2, name: "<B>")], "values")
        var nested = XMLHandlers()
        var count = 0
        try nested.onObject("//a", PropertyList.self) { list in
            count += 1
            expectEqual(list.description, #"{"a": {"b": "1"}}"#, "the outer one")
        }
        try nested.readXML("<a><a><b>1</b></a></a>")
        expectEqual(count, 1, "elements within one that is bound")
    }

    private static func testSkipsUnneededElements() throws {
        var handlers = XMLHandlers()
        try handlers.onText("a/b/c") { _ in }
        func interest(_ name: String) throws -> XMLInterest {
            var memory = XMLTagMemory()
            name.withUTF8Span { memory.begin(XMLName($0)) }
            return try handlers.startElement(memory.startTag)
        }
        expectEqual(try interest("a"), .content, "on the way")
        expectEqual(try interest("x"), .skipChildren, "another element")
        try "x".withUTF8Span { try handlers.endElement(XMLEndTag(name: XMLName($0))) }
        expectEqual(try interest("b"), .content, "on the way")
        expectEqual(try interest("c"), .content, "the element itself")
        expectEqual(try interest("d"), .skipChildren, "within it")
    }

    private struct Failure: Error {}

    private static func testReportsPathOfFailedHandlers() throws {
        let rows: [(String, StreamError.Kind, String, (inout XMLHandlers) throws -> Void)] = [
            (
                "$.people.person.name", .receiverFailed, "closure",
                { try $0.onText("people/person/name") { _ in throw Failure() } }
            ),
            (
                "$.people.person", .receiverFailed, "attribute",
                { try $0.onAttribute("people/person/@id") { _ in throw Failure() } }
            ),
            (
                "$.people.person", .unrepresentable, "an error of the value",
                { try $0.onElement("people/person") { _ in throw StreamError(.unrepresentable, "m") } }
            ),
            (
                "$.people.person.name", .typeMismatch, "a bound type",
                { try $0.onObject("people/person", Person.self) { _ in } }
            ),
        ]
        for (path, kind, name, declare) in rows {
            var handlers = XMLHandlers()
            try declare(&handlers)
            let error = expectThrows(StreamError.self, name) { try handlers.readXML(document) }
            expectEqual(error?.kind, kind, "kind of \(name): \(error?.description ?? "")")
            expectEqual(error?.path?.description, path, "path of \(name)")
            expectNotNil(error?.position, "position of \(name)")
            let second = expectThrows(StreamError.self, "again") { try handlers.readXML(document) }
            expectEqual(second, error, "the same error for the same document, \(name)")
        }
    }

    /// Tests that an unknown entity is an error if a handler needs it, in attributes and in text.
    private static func testRefusesUnknownEntities() throws {
        let text = "<!DOCTYPE a SYSTEM 'x'><a><b c='1&e;'/><d>&e;</d><f/></a>"
        let rows: [(String?, (inout XMLHandlers) throws -> Void)] = [
            ("$.a.b", { try $0.onAttribute("a/b/@c") { _ in } }), ("$.a.b", { try $0.onElement("a/b") { _ in } }),
            ("$.a.d", { try $0.onText("a/d") { _ in } }), (nil, { try $0.onElement("a/f") { _ in } }),
        ]
        for (index, (path, declare)) in rows.enumerated() {
            var handlers = XMLHandlers()
            try declare(&handlers)
            var found: StreamError?
            do throws(StreamError) { try handlers.readXML(text) } catch { found = error }
            expectEqual(found?.kind, path == nil ? nil : .unrepresentable, "kind of row \(index)")
            expectEqual(found?.path?.description, path, "path of row \(index)")
        }
    }

    private static func testStopsIfAHandlerStops() throws {
        var handlers = XMLHandlers()
        var names: [String] = []
        try handlers.onText("//name") { name in
            names.append(name)
            throw StreamError.stopRequest()
        }
        let error = expectThrows(StreamError.self, "stop") { try handlers.readXML(document) }
        expectTrue(error?.isStopRequest ?? false, "a request to stop")
        expectEqual(names.count, 1, "calls")
    }

    private static func testRefusesBadDeclarations() throws {
        var handlers = XMLHandlers()
        for path in ["a/@b", "", "a//", "p:a"] {
            expectEqual(
                expectThrows(StreamError.self, path) { try handlers.onText(path) { _ in } }?.kind, .misuse, path)
        }
        expectEqual(
            expectThrows(StreamError.self, "an element") { try handlers.onAttribute("a/b") { _ in } }?.kind, .misuse,
            "a/b")
        // A rejected handler isn't added.
        try handlers.onText("a") { expectEqual($0, "x", "text") }
        try handlers.readXML("<c b='1'>y</c>")
        try handlers.readXML("<a b='1'>x</a>")
    }

    private static func testBuffersOnlyOpenElements() throws {
        var handlers = XMLHandlers()
        handlers.maxBufferedBytes = 1_000
        var count = 0
        try handlers.onText("a/b") { count += $0.utf8.count }
        var reader = XMLReader(sink: handlers)
        try reader.feed("<a>")
        for _ in 0..<1_000 { try reader.feed("<b>\(String(repeating: "x", count: 100))</b>") }
        expectEqual(count, 100_000, "bytes")
        let error = expectThrows(StreamError.self, "a long text") {
            try reader.feed("<b>")
            for _ in 0..<100 { try reader.feed(String(repeating: "x", count: 100)) }
        }
        expectEqual(error?.kind, .limitExceeded, "kind")
    }

    private static func testCountsBufferedBytesAtAnyDepth() throws {
        // If the bytes of all open elements were added up for each element, the deep document would take minutes.
        for (depth, limit, isGood) in [(1_000, 5_000, true), (1_000, 4_999, false), (20_000, 100_000, true)] {
            let options = XMLReaderOptions(limits: StreamLimits(depth: depth))
            let text = String(repeating: "<a b='12'>3", count: depth) + String(repeating: "</a>", count: depth)
            var handlers = XMLHandlers()
            handlers.maxBufferedBytes = limit
            var count = 0
            try handlers.onElement("//*") { _ in count += 1 }
            // Closed and canceled elements no longer count.
            for round in 1...(depth > 1_000 ? 1 : 2) {
                var thrown: StreamError?
                do throws(StreamError) { try handlers.readXML(text, options: options) } catch { thrown = error }
                expectEqual(thrown?.kind, isGood ? nil : .limitExceeded, "a limit of \(limit)")
                expectEqual(count, isGood ? depth * round : 0, "elements")
            }
        }
    }

    private static func testHandlesManyPathsQuickly() throws {
        // This would take minutes if the stack of states were searched for each element.
        var handlers = XMLHandlers()
        var count = 0
        for index in 0..<200 { try handlers.onText("//x\(index)//y") { _ in count += 1 } }
        let depth = 1_000
        var text = String(repeating: "<x7>", count: depth)
        text += String(repeating: "<z/>", count: 2_000) + "<y/>" + String(repeating: "</x7>", count: depth)
        try handlers.readXML(text)
        expectEqual(count, 1, "calls")
    }
}

extension String {
    /// The document without an element in text, because objects can't have one.
    fileprivate func replacingBold() -> String {
        var text = self
        if let range = text.firstRange(of: "<b>bold</b>") { text.removeSubrange(range) }
        return text
    }
}
#endif
