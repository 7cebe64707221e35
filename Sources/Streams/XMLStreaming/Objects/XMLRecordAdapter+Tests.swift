// In-class tests of the messages for elements, with each document read at once and byte by byte.

#if DEBUG || IN_CLASS_TESTS
import InClassTesting
import PlistBuilding
import PlistStreaming

enum XMLRecordAdapterTests {
    fileprivate struct Person: StreamObject, Equatable {
        var id = 0
        var name = ""
        var nick: String? = nil
        var age: Int8? = nil
        var ratio: Float = 0
        var active = false
        var phone: [String] = []
        var address = Address()
        var tags: [String: Int] = [:]
    }
    fileprivate struct Address: StreamObject, Equatable {
        var zip = ""
        var lines: [Line] = []
    }
    fileprivate struct Line: StreamObject, Equatable {
        var kind = ""
        var text = ""
        static var streamMembers: StreamMembers {
            [.member("kind", \Line.kind), .member("#text", \Line.text)]
        }
    }
    fileprivate struct Feed: StreamObject, Equatable {
        var version = ""
        var title = ""
        var item: [Person] = []
        var numbers: [Int] = []
    }
    fileprivate struct Mixed: StreamObject, Equatable {
        var name = ""
        var int: [Int] = []
        var string: [String]? = nil
        var person: [Person] = []
    }
}

extension XMLRecordAdapterTests: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testSendsElementsAsMessages": testSendsElementsAsMessages,
            "testFollowsOptions": testFollowsOptions,
            "testRefusesToLoseValues": testRefusesToLoseValues,
            "testDecodesBoundTypes": testDecodesBoundTypes,
            "testReportsLocationOfErrors": testReportsLocationOfErrors,
            "testStreamsValues": testStreamsValues,
            "testFillsColumns": testFillsColumns,
            "testBuffersOneRecordAtATime": testBuffersOneRecordAtATime,
            "testAcceptsChildrenInAnyOrder": testAcceptsChildrenInAnyOrder,
            "testAppendsToArraysOfTypes": testAppendsToArraysOfTypes,
            "testBuffersChildrenUpToTheLimit": testBuffersChildrenUpToTheLimit,
            "testJoinsTextOfMixedContent": testJoinsTextOfMixedContent,
            "testDistinguishesNamespaces": testDistinguishesNamespaces,
            "testReadsLongRecords": testReadsLongRecords,
            "testIsReusableAfterAnError": testIsReusableAfterAnError,
            "testReadsNilElementsAsNull": testReadsNilElementsAsNull,
            "testKeepsTextOfElementsWithAttributes": testKeepsTextOfElementsWithAttributes,
            "testIgnoresUnknownMembersInAnyOrder": testIgnoresUnknownMembersInAnyOrder,
        ]
    }

    /// Returns the messages of a document, which have to be the same for every division into pieces.
    private static func messages(_ text: String, _ options: XMLObjectOptions = XMLObjectOptions()) throws -> String {
        var whole = EventTrace()
        var thrown: StreamError?
        do { try whole.readXML(text, objectOptions: options) } catch { thrown = error }
        let bytes = Array(text.utf8)
        for size in [1, 3] {
            var reader = XMLReader(sink: XMLRecordAdapter(EventTrace(), options: options))
            var pieceError: StreamError?
            do {
                for start in stride(from: 0, to: bytes.count, by: size) {
                    try reader.feed(Array(bytes[start..<min(bytes.count, start + size)]))
                }
                try reader.finish()
            } catch { pieceError = error }
            expectEqual(reader.sink.sink.text, whole.text, "messages of \(text) in pieces of \(size)")
            expectEqual(pieceError, thrown, "error of \(text) in pieces of \(size)")
        }
        if let thrown { throw thrown }
        return whole.text
    }

    private static func testSendsElementsAsMessages() throws {
        let rows = [
            ("<a/>", #"string """#), ("<a>x&amp;<![CDATA[<y>]]></a>", #"string "x&<y>""#),
            ("<a> \n</a>", #"string " \u{a}""#),
            ("<a b='1'/>", #"{ key "b" string "1" }"#),
            ("<a b='1'> x </a>", ##"{ key "b" string "1" key "#text" string " x " }"##),
            ("<a><b>1</b> <c/>\n</a>", #"{ key "b" string "1" key "c" string "" }"#),
            ("<a><b>1</b><b>2</b><b/></a>", #"{ key "b" [ string "1" string "2" string "" ] }"#),
            ("<a><b>1</b><c>2</c><c>3</c></a>", #"{ key "b" string "1" key "c" [ string "2" string "3" ] }"#),
            // Elements within a child of the root that are repeated but not adjacent.
            (
                "<a><b><c>1</c><d/><c>2</c></b></a>",
                #"{ key "b" { key "c" [ string "1" string "2" ] key "d" string "" } }"#
            ),
            (
                "<a><b c='1'><d><e/></d>t</b></a>",
                ##"{ key "b" { key "c" string "1" key "d" { key "e" string "" } key "#text" string "t" } }"##
            ),
            ("<a>t<b/></a>", ##"{ key "b" string "" key "#text" string "t" }"##),
            ("<a><b> </b></a>", #"{ key "b" string " " }"#),
            ("<a><!--c--><b>x<!--c-->y</b><?p i?></a>", #"{ key "b" string "xy" }"#),
            ("<p:a xmlns:p='u' p:b='1'><p:c/></p:a>", #"{ key "b" string "1" key "c" string "" }"#),
            (
                "<a xmlns:i='http://www.w3.org/2001/XMLSchema-instance'><b i:nil='true'/><b i:nil='0'>x</b></a>",
                ##"{ key "b" [ null { key "nil" string "0" key "#text" string "x" } ] }"##
            ),
        ]
        for (text, expected) in rows { expectEqual(try messages(text), expected, text) }
    }

    private static func testFollowsOptions() throws {
        let member = XMLObjectOptions(root: .member, attributePrefix: "@", textKey: "$")
        let named = XMLObjectOptions(names: .qualified, arrays: .named(["b", "p:c"]))
        let wrapped = XMLObjectOptions(wrappedArrays: ["list"])
        let records = XMLObjectOptions(arrays: .records)
        let recordsOfMember = XMLObjectOptions(root: .member, arrays: .records)
        let plain = XMLObjectOptions(arrays: .records, keepsRootAttributes: false)
        let rows: [(String, XMLObjectOptions, String)] = [
            ("<a b='1'>t</a>", member, #"{ key "a" { key "@b" string "1" key "$" string "t" } }"#),
            ("<a/>", member, #"{ key "a" string "" }"#),
            ("<a id='1'><id>2</id></a>", member, #"{ key "a" { key "@id" string "1" key "id" string "2" } }"#),
            ("<a><b>1</b></a>", named, #"{ key "b" [ string "1" ] }"#),
            ("<a><d><b>1</b><e/></d></a>", named, #"{ key "d" { key "b" [ string "1" ] key "e" string "" } }"#),
            ("<a><b c='1'/></a>", records, #"{ key "b" [ { key "c" string "1" } ] }"#),
            (
                "<a><b>1</b><b/><c><d/><e/><e/></c></a>", records,
                #"{ key "b" [ string "1" string "" ] key "c" [ { key "d" string "" key "e" [ string "" string "" ] } ] }"#
            ),
            ("<a><b>1</b></a>", recordsOfMember, #"{ key "a" { key "b" [ string "1" ] } }"#),
            ("<a v='1'/>", records, #"{ key "v" string "1" }"#), ("<a/>", records, "{ }"),
            ("<a>x</a>", records, ##"{ key "#text" string "x" }"##), ("<a/>", recordsOfMember, #"{ key "a" { } }"#),
            ("<a xmlns:p='u'><p:c/><c/></a>", named, #"{ key "p:c" [ string "" ] key "c" string "" }"#),
            ("<a><b><b>1</b><c/></b></a>", named, #"{ key "b" [ { key "b" [ string "1" ] key "c" string "" } ] }"#),
            ("<a><list><x>1</x><y>2</y></list></a>", wrapped, #"{ key "list" [ string "1" string "2" ] }"#),
            (
                "<a><c/><b/><c/><list><x>1</x></list><d/><e/><d/></a>", wrapped,
                #"{ key "c" [ string "" string "" ] key "b" string "" key "list" [ string "1" ] "#
                    + #"key "d" [ string "" string "" ] key "e" string "" }"#
            ),
            ("<a v='1'><b/><c/><b/></a>", plain, #"{ key "b" [ string "" string "" ] key "c" [ string "" ] }"#),
            ("<a v='1'>x</a>", XMLObjectOptions(keepsRootAttributes: false), #"string "x""#),
            ("<a><b><list/><c/></b></a>", wrapped, #"{ key "b" { key "list" [ ] key "c" string "" } }"#),
        ]
        for (text, options, expected) in rows { expectEqual(try messages(text, options), expected, text) }
    }

    private static func testRefusesToLoseValues() {
        let named = XMLObjectOptions(arrays: .named(["b"]))
        let rows: [(String, XMLObjectOptions, StreamError.Kind, String)] = [
            ("<a><b/><c/><b/></a>", named, .duplicateKey, "$.b"),
            ("<a xmlns:p='u' xmlns:q='v'><q:b/><c/><p:b/></a>", XMLObjectOptions(), .duplicateKey, "$.b"),
            ("<a xmlns:p='u'><p:b/><p:b/><c/><b/></a>", XMLObjectOptions(), .duplicateKey, "$.b[1]"),
            ("<a c='1'><b/><c/></a>", XMLObjectOptions(), .duplicateKey, "$.c"),
            ("<a b='1'><b/></a>", XMLObjectOptions(), .duplicateKey, "$.b"),
            ("<a><b c='1'><c/></b></a>", XMLObjectOptions(), .duplicateKey, "$.b"),
            ("<a xmlns:p='u' xmlns:q='v'><q:b/><p:b/></a>", XMLObjectOptions(), .duplicateKey, "$.b"),
            ("<a xmlns:p='u' xmlns:q='v'><d><q:b/><p:b/></d></a>", XMLObjectOptions(), .duplicateKey, "$.d"),
            ("<a><c/><c/></a>", named, .duplicateKey, "$.c"),
            ("<a><b><c/><c/></b></a>", named, .duplicateKey, "$.b[0]"),
            ("<a t='1'>x</a>", XMLObjectOptions(textKey: "t"), .duplicateKey, "$"),
            ("<a><b t='1'>x</b></a>", XMLObjectOptions(textKey: "t"), .duplicateKey, "$.b"),
            ("<a><list>x<y/></list></a>", XMLObjectOptions(wrappedArrays: ["list"]), .unrepresentable, "$.list"),
            ("<!DOCTYPE a SYSTEM 'x'><a><b>&e;</b></a>", XMLObjectOptions(), .unrepresentable, "$.b"),
            ("<!DOCTYPE a SYSTEM 'x'><a b='1&e;2'/>", XMLObjectOptions(), .unrepresentable, "$"),
            ("<!DOCTYPE a SYSTEM 'x'><a><b/><b c='&e;'/></a>", XMLObjectOptions(), .unrepresentable, "$.b[1]"),
            (
                "<!DOCTYPE a SYSTEM 'x' [<!ATTLIST b c CDATA '&e;'>]><a><b/></a>", XMLObjectOptions(),
                .unrepresentable, "$.b"
            ),
            ("<a><b>123456789</b></a>", XMLObjectOptions(maxBufferedBytes: 8), .limitExceeded, "$.b"),
            ("<a><b/><c/></a>", XMLObjectOptions(arrays: .named([]), maxBufferedBytes: 8), .limitExceeded, "$.b"),
        ]
        for (text, options, kind, path) in rows {
            let error = expectThrows(StreamError.self, text) { _ = try messages(text, options) }
            expectEqual(error?.kind, kind, "kind for \(text)")
            expectEqual(error?.path?.description, path, "path for \(text)")
            expectNotNil(error?.position, "position for \(text)")
        }
    }

    private static let document = """
        <feed version="2"><title>T &amp; t</title>
          <item id="007" unknown="x"><name lang="en">Ada</name><age/><ratio> 0.1 </ratio><active>1</active>
            <phone>1</phone><nick></nick><phone/><other><deep>x</deep></other>
            <address><lines kind="a">one</lines><zip>0123</zip><lines>two</lines></address><tags><x>1</x><y>2</y></tags>
          </item><item><phone>+1</phone><age>-128</age></item>
          <skipped><item/></skipped><numbers>1</numbers><skipped/>
        </feed>
        """

    private static func testDecodesBoundTypes() throws {
        var ada = Person(id: 7, name: "Ada", nick: "", age: nil, ratio: 0.1, active: true, phone: ["1", ""])
        ada.address = Address(zip: "0123", lines: [Line(kind: "a", text: "one"), Line(text: "two")])
        ada.tags = ["x": 1, "y": 2]
        let other = Person(age: -128, phone: ["+1"])
        let feed = Feed(version: "2", title: "T & t", item: [ada, other], numbers: [1])
        expectTrue(try XML.decode(Feed.self, from: document) == feed, "the feed")
        var reader = XMLReader(sink: XMLRecordAdapter(try ObjectBuilder<Feed>()))
        for byte in document.utf8 { try reader.feed([byte]) }
        try reader.finish()
        expectTrue(try reader.sink.sink.takeResult() == feed, "the feed byte by byte")
        expectEqual(try XML.decode([Int].self, from: "<a><b>1</b><c>2</c></a>"), [1, 2], "children of the root")
        expectEqual(try XML.decode([[Int]].self, from: "<a><b><c>1</c></b><b/></a>"), [[1], []], "arrays of arrays")
        expectEqual(try XML.decode(Int.self, from: Array("<a> 5 </a>".utf8)), 5, "the root as a number")
        expectEqual(
            try XML.decode([String: [Int]].self, from: "<a><b>1</b><b>2</b><c>3</c></a>"), ["b": [1, 2], "c": [3]],
            "a dictionary")
        expectEqual(
            try XML.decode(PropertyList.self, from: "<a><b>1</b></a>").description, #"{"b": "1"}"#, "a property list")
        expectEqual(try XML.decode(Person?.self, from: "<a><id>3</id></a>")?.id, 3, "an optional")
    }

    private static func testReportsLocationOfErrors() {
        let rows: [(String, StreamError.Kind, String)] = [
            ("<f><item/><item><age>128</age></item></f>", .unrepresentable, "$.item[1].age"),
            ("<f><item><id>x</id></item></f>", .typeMismatch, "$.item[0].id"),
            ("<f><item><name><x/></name></item></f>", .typeMismatch, "$.item[0].name"),
            ("<f><title/><title/></f>", .duplicateKey, "$.title"),
            ("<f><item><name/><id/><name/></item></f>", .duplicateKey, "$.item[0]"),
            ("<f><item><name/><name/></item></f>", .duplicateKey, "$.item[0]"),
            ("<f><title/><item/><title/></f>", .duplicateKey, "$.title"),
            ("<f><version/><item/><version/></f>", .duplicateKey, "$.version"),
            ("<f><numbers>1</numbers><item/><numbers>x</numbers></f>", .typeMismatch, "$.numbers[1]"),
            ("<f><item>x</f>", .invalidSyntax, "$.f.item"),
        ]
        for (text, kind, path) in rows {
            let error = expectThrows(StreamError.self, text) { _ = try XML.decode(Feed.self, from: text) }
            expectEqual(error?.kind, kind, "kind for \(text): \(error?.description ?? "")")
            expectEqual(error?.path?.description ?? "nil", path, "path for \(text)")
            expectNotNil(error?.position, "position for \(text)")
        }
    }

    private static func testStreamsValues() throws {
        for (depth, text) in [
            (1, "<all><p id='1'/><q id='2'/><p id='3'/></all>"), (2, "<all><x><p id='1'/><q id='2'/></x></all>"),
            (2, "<all><p id='1'/><p id='2'/><q id='3'/></all>"), (0, "<p id='1'/>"),
        ] {
            var ids: [Int] = []
            var stream = try RecordStream<Person>(depth: depth) { person in ids.append(person.id) }
            let options = XMLObjectOptions(wrappedArrays: ["x"])
            try stream.readXML(text, objectOptions: options)
            expectEqual(ids, Array(1...ids.count), "values of \(text)")
            expectEqual(ids.count, text.components(of: "id="), "number of values of \(text)")
        }
    }

    private static func testFillsColumns() throws {
        var builder = ColumnsBuilder(["id": .integer, "score": .real, "name": .string, "ok": .bool, "at.x": .integer])
        try builder.readXML(
            """
            <all><row id="1"><score>0.5</score><name>a</name><ok>true</ok><at><x>7</x></at><z><y/></z></row>
            <row><name/><id/></row></all>
            """)
        let columns = try builder.takeResult()
        expectEqual(columns.rowCount, 2, "rows")
        expectEqual([columns["id"]?.integer(0), columns["id"]?.integer(1)], [1, nil], "integers")
        expectEqual(columns["score"]?.real(0), 0.5, "reals")
        expectEqual(columns["at.x"]?.integer(0), 7, "an inner column")
    }

    private static func testBuffersOneRecordAtATime() throws {
        let record = "<item><name>\(String(repeating: "n", count: 100))</name></item>"
        var reader = XMLReader(
            sink: XMLRecordAdapter(
                try RecordStream<Person>(depth: 2) { _ in }, options: XMLObjectOptions(maxBufferedBytes: 2_000)))
        try reader.feed("<feed>")
        for _ in 0..<2_000 { try reader.feed(record) }
        try reader.feed("</feed>")
        try reader.finish()
        expectEqual(reader.sink.sink.count, 2_000, "values")
    }

    private static func testAcceptsChildrenInAnyOrder() throws {
        let rows = [
            ("<a><b>1</b><c/><b>2</b></a>", #"{ key "b" [ string "1" string "2" ] key "c" string "" }"#),
            (
                "<a><b>1</b><b>2</b><c>3</c><b>4</b><d/><c>5</c></a>",
                #"{ key "b" [ string "1" string "2" string "4" ] key "c" [ string "3" string "5" ] key "d" string "" }"#
            ),
            (
                "<a v='1'> <b><x/></b> t <c/> <c/><b/></a>",
                ##"{ key "v" string "1" key "b" [ { key "x" string "" } string "" ] key "c" [ string "" string "" ] "##
                    + ##"key "#text" string " t " }"##
            ),
        ]
        for (text, expected) in rows {
            expectEqual(try messages(text), expected, text)
            // The same content one level deeper.
            expectEqual(try messages("<r>\(text)</r>"), "{ key \"a\" \(expected) }", "within \(text)")
        }
        struct Coded: Decodable { let b: [Int] }
        expectEqual(try XML.decode(Coded.self, from: "<a><b>1</b><c/><b>2</b></a>").b, [1, 2], "a Codable type")
        expectEqual(
            try XML.decode(PropertyList.self, from: "<a><b>1</b><c/><b>2</b></a>").description,
            #"{"b": ["1", "2"], "c": ""}"#, "a property list")
    }

    private static func testAppendsToArraysOfTypes() throws {
        let text = """
            <r><int>1</int><string>a</string><person id='1'/><int>2</int><int>3</int><string>b</string><name>n</name>
            <person id='2'/><person><phone>1</phone></person><int>4</int></r>
            """
        let mixed = Mixed(
            name: "n", int: [1, 2, 3, 4], string: ["a", "b"],
            person: [Person(id: 1), Person(id: 2), Person(phone: ["1"])])
        expectTrue(try XML.decode(Mixed.self, from: text) == mixed, "a type")
        expectTrue(try XML.decode([Mixed].self, from: "<all>\(text)\(text)</all>") == [mixed, mixed], "records")
        let members = text.replacing("<person id='1'/>", with: "<x>7</x>").replacing("<name>n</name>", with: "")
            .replacing("<person id='2'/><person><phone>1</phone></person>", with: "<x>8</x>")
        expectEqual(
            try XML.decode([String: [String]].self, from: members),
            ["int": ["1", "2", "3", "4"], "string": ["a", "b"], "x": ["7", "8"]], "a dictionary")
        // Values that were already built are released if the next value doesn't fit.
        for bad in ["<int>x</int>", "<string><y/></string>", "<person><id>x</id></person>"] {
            expectThrows(StreamError.self, bad) {
                _ = try XML.decode(Mixed.self, from: text.replacing("</r>", with: "\(bad)</r>"))
            }
        }
        let optional = expectThrows(StreamError.self, "a dictionary of optional arrays") {
            _ = try XML.decode([String: [Int]?].self, from: "<r><a>1</a><b>1</b><a>2</a></r>")
        }
        expectEqual(optional?.path?.description, "$.a", "the path of what cannot go on")
    }

    private static func testBuffersChildrenUpToTheLimit() throws {
        let options = XMLObjectOptions(maxBufferedBytes: 3_000)
        func trace(_ text: String) throws -> String {
            var trace = EventTrace()
            try trace.readXML(text, objectOptions: options)
            return trace.text
        }
        // The content is far larger than the limit, but in the order of the names, which is also the order without a limit.
        let (x, y, z) = ("<x>\(String(repeating: "x", count: 99))</x>", "<y><v>1</v>a<w/>b</y>", "<z k='1'>2</z>")
        for (first, second) in [(1, 200), (2, 200), (60, 60), (0, 100)] {
            let middle = String(repeating: x, count: first) + String(repeating: y, count: second)
            let text = "<a><t/>" + middle + z + "<s/></a>"
            var whole = EventTrace()
            try whole.readXML(text)
            expectEqual(try trace(text), whole.text, "\(first) and \(second)")
            expectEqual(try messages(text, options), whole.text, "\(first) and \(second) in pieces")
        }
        // Elements of one array may be as far apart as the limit allows. The first name may come any number of times.
        let near = "<a>" + String(repeating: x + x + y, count: 4) + "</a>"
        expectEqual(try trace(near).components(of: "key \"x\""), 1, "buffered together")
        for (text, path) in [
            ("<a>" + String(repeating: x + y, count: 40) + "</a>", "$.y"),
            ("<a>" + String(repeating: x, count: 40) + String(repeating: y, count: 40) + x + "</a>", "$.x"),
            ("<a><t/>" + String(repeating: x, count: 40) + "<t/></a>", "$.t"),
            (
                "<a xmlns:p='u'><p:t/><t/>" + String(repeating: x, count: 40) + "<p:t/><z/></a>", "$[\"p:t\"]"
            ),
        ] {
            let error = expectThrows(StreamError.self, text) { _ = try trace(text) }
            expectEqual(error?.kind, .limitExceeded, "kind for \(text)")
            expectTrue(error?.message.contains("maxBufferedBytes") == true, "the option for \(text)")
            expectEqual(error?.path?.description, path, "path for \(text)")
        }
        // A name in two namespaces never becomes a single array.
        let clash = expectThrows(StreamError.self, "namespaces") {
            _ = try trace("<a xmlns:p='u'><t/><x/><p:x/>" + String(repeating: "<p:x>\(x)</p:x>", count: 40) + "</a>")
        }
        expectEqual(clash?.kind, .limitExceeded, "\(clash?.message ?? "")")
        // Values that are delivered one at a time need no memory, in any order.
        var count = 0
        var stream = try RecordStream<Line>(depth: 2, options: BuilderOptions(checksNames: false)) { _ in count += 1 }
        let feed = "<a>" + String(repeating: x + y, count: 2_000) + "</a>"
        try stream.readXML(feed, objectOptions: options)
        expectEqual(count, 4_000, "values in any order")
    }

    private static func testJoinsTextOfMixedContent() throws {
        let p = "<p>Hello <b>x</b> and <b>y</b>, bye</p>"
        let messages = ##"{ key "b" [ string "x" string "y" ] key "#text" string "Hello  and , bye" }"##
        expectEqual(try Self.messages(p), messages, "the root")
        expectEqual(try Self.messages("<a>\(p)</a>"), "{ key \"p\" \(messages) }", "a child")
        let nested = "<a><p>1<i>2<b>3</b>4<b/>5</i>6<i/></p><p>7<br/>8</p></a>"
        expectEqual(
            try Self.messages(nested),
            ##"{ key "p" [ { key "i" [ { key "b" [ string "3" string "" ] key "#text" string "245" } string "" ] "##
                + ##"key "#text" string "16" } { key "br" string "" key "#text" string "78" } ] }"##, "nested")
        expectEqual(
            try XML.decode(Line.self, from: "<p kind='k'>a<b/>c</p>", options: BuilderOptions(checksNames: false)),
            Line(kind: "k", text: "ac"), "a type")
        let error = expectThrows(StreamError.self, "a string") {
            _ = try XML.decode([String].self, from: "<a>\(p)</a>")
        }
        expectEqual(error?.kind, .typeMismatch, "the kind for a string")
        let array = expectThrows(StreamError.self, "an array") { _ = try XML.decode([String].self, from: p) }
        expectEqual(array?.kind, .unrepresentable, "the kind for an array")
        var adapter = XMLRecordAdapter(NullSink())
        try adapter.readXML("<a>x<b/>y<p>x<c/>y<c/></p></a>")
        expectEqual(adapter.movedCount, 4, "texts that lost their places")
    }

    private static func testDistinguishesNamespaces() throws {
        let rows = [
            ("<a xmlns:p='u'><p:b>1</p:b><b>2</b></a>", #"{ key "p:b" string "1" key "b" string "2" }"#),
            (
                "<a xmlns:p='u'><b>1</b><b>2</b><p:b>3</p:b><b>4</b><p:b>5</p:b></a>",
                #"{ key "b" [ string "1" string "2" string "4" ] key "p:b" [ string "3" string "5" ] }"#
            ),
            ("<a xmlns:p='u' p:v='1' v='2'/>", #"{ key "p:v" string "1" key "v" string "2" }"#),
            ("<a xmlns:p='u' v='1'><p:v>2</p:v></a>", #"{ key "v" string "1" key "p:v" string "2" }"#),
            ("<a xmlns='u' xmlns:p='u'><b>1</b><p:b>2</p:b></a>", #"{ key "b" [ string "1" string "2" ] }"#),
        ]
        for (text, expected) in rows {
            expectEqual(try messages(text), expected, text)
            let within = "{ key \"x\" string \"\" key \"a\" \(expected) }"
            expectEqual(try messages("<r><x/>\(text)</r>"), within, "within \(text)")
        }
        expectEqual(
            try messages("<r xmlns:p='u'><a v='1' p:v='2'/></r>", XMLObjectOptions(attributePrefix: "@")),
            #"{ key "a" { key "@v" string "1" key "@p:v" string "2" } }"#, "attributes")
        let item = "<item><m:name>y</m:name><name>n</name></item>"
        let feed = "<f xmlns:m='u'><title>t</title><m:title>x</m:title>\(item)</f>"
        let value = try XML.decode(Feed.self, from: feed)
        expectEqual([value.title, value.item.first?.name], ["t", "n"], "a type")
    }

    private static func testReadsLongRecords() throws {
        var text = "<all><r>"
        for index in 0..<8_000 { text += "<c\(index % 4_000)/>" }
        text += "</r><r/></all>"
        var trace = NullSink()
        try trace.readXML(text)
        let people = "<all>" + String(repeating: "<x/>", count: 20_000) + "</all>"
        expectEqual(try XML.decode([Person].self, from: people).count, 20_000, "records")
    }

    private static func testIsReusableAfterAnError() throws {
        var reader = XMLReader(sink: XMLRecordAdapter(try ObjectBuilder<[Person]>()))
        for bad in ["<a><b><id>x</id></b></a>", "<a><b><name>", "<a><b id='1'/><c>"] {
            expectThrows(StreamError.self, bad) {
                try reader.feed(bad)
                try reader.finish()
            }
            reader.reset()
            try reader.feed("<a><b id='5'/></a>")
            try reader.finish()
            expectEqual(try reader.sink.sink.takeResult().map(\.id), [5], "values after \(bad)")
            reader.reset()
        }
    }

    private static let instance = "xmlns:i='http://www.w3.org/2001/XMLSchema-instance'"

    private static func testReadsNilElementsAsNull() throws {
        let rows = [
            ("<a @ i:nil='true'/>", "null"), ("<a @ i:nil=' 1 '> <!--c-->\n</a>", "null"),
            ("<a @><b i:nil='\ttrue\n'/></a>", #"{ key "b" null }"#),
            ("<a @><b>1</b><b i:nil='1'/><b>2</b></a>", #"{ key "b" [ string "1" null string "2" ] }"#),
            ("<a @><b><c i:nil='1'> </c></b></a>", #"{ key "b" { key "c" null } }"#),
            ("<a @><b nil='1'>x</b></a>", ##"{ key "b" { key "nil" string "1" key "#text" string "x" } }"##),
        ]
        let named = XMLObjectOptions(root: .member, arrays: .named(["c"]), wrappedArrays: ["w"])
        for (text, expected) in rows {
            let text = text.replacing("@", with: instance)
            expectEqual(try messages(text), expected, text)
            guard !text.contains("<b>1") else { continue }
            let member = expected.replacing("key \"c\" null", with: "key \"c\" [ null ]")
            expectEqual(try messages(text, named), "{ key \"a\" \(member) }", "the member \(text)")
        }
        expectEqual(
            try messages("<a \(instance)><w i:nil='1' x='2'/></a>", named), "{ key \"a\" { key \"w\" null } }",
            "an array")
        for text in [
            "<a @ i:nil='true'>x</a>", "<a @ i:nil='true'><b/></a>", "<a @ i:nil='true' b='1'/>",
            "<a @><b i:nil='1'>x</b></a>", "<a @><b i:nil='1'><c/></b></a>", "<a @><b i:nil='1' c='2'/></a>",
            "<a @><b><c i:nil='1'> &#65;</c></b></a>", "<a @><b i:nil='1'>\n ]<![CDATA[]]]> </b></a>",
            "<a @><b><c i:nil='1' d='2'/></b></a>",
        ] {
            let text = text.replacing("@", with: instance)
            for options in [XMLObjectOptions(), named] {
                let error = expectThrows(StreamError.self, text) { _ = try messages(text, options) }
                expectEqual(error?.kind, .unrepresentable, "kind for \(text)")
                expectNotNil(error?.position, "position for \(text)")
            }
        }
        let nothing = try XML.decode(Person?.self, from: "<a \(instance) i:nil='1'/>")
        expectTrue(nothing == nil, "no value as the document")
        let item = try XML.decode(Person.self, from: "<a \(instance)><age unit='y' i:nil='1'/></a>")
        expectNil(item.age, "a number")
        let kind = expectThrows(StreamError.self, "no array") {
            _ = try XML.decode([Person].self, from: "<a \(instance) i:nil='1'/>")
        }
        expectEqual(kind?.kind, .typeMismatch, "no array")
    }

    private static func testKeepsTextOfElementsWithAttributes() throws {
        let text = ##"{ key "b" string "1" key "#text" string " " }"##
        for (document, expected) in [
            ("<a b='1'> </a>", text), ("<a><c b='1'> </c></a>", "{ key \"c\" \(text) }"),
            ("<a b='1'><!--c--> <!--c--></a>", text), ("<a b='1'></a>", #"{ key "b" string "1" }"#),
            ("<a b='1'> <c/> </a>", #"{ key "b" string "1" key "c" string "" }"#),
            ("<a><d b='1'> <c/> </d></a>", #"{ key "d" { key "b" string "1" key "c" string "" } }"#),
        ] {
            expectEqual(try messages(document), expected, document)
        }
        let address = try XML.decode(Address.self, from: "<a><lines kind='x'> </lines><lines> </lines></a>")
        expectEqual(address.lines.first, Line(kind: "x", text: " "), "a line")
        expectEqual(try XML.decode(Line.self, from: "<a kind='x'> </a>"), Line(kind: "x", text: " "), "the document")
    }

    private static func testIgnoresUnknownMembersInAnyOrder() throws {
        let unchecked = BuilderOptions(checksNames: false)
        for (attributes, content) in [
            ("u='1'", "<u/>"), ("u='1'", "<u/><u/>"), ("", "<u/><p:u/>"), ("", "<p:u/><name/><u/>"),
            ("", "<u/><name/><u/><p:u/>"), ("p:u='1' u='2'", "<name/>"), ("p:u='1'", "<u/><name/><u/>"),
        ] {
            for text in [
                "<a xmlns:p='v' \(attributes)>\(content)</a>", "<a xmlns:p='v'><b \(attributes)>\(content)</b></a>",
            ] {
                expectNoThrow(text) {
                    if text.contains("<b") {
                        expectEqual(try XML.decode([Person].self, from: text, options: unchecked).count, 1, text)
                    } else {
                        _ = try XML.decode(Person.self, from: text, options: unchecked)
                    }
                }
            }
            // Names of members that are read clash in any order.
            let text = "<a xmlns:p='v' \(attributes)>\(content)</a>".replacing("name", with: "other")
                .replacing("u=", with: "id=").replacing("u/>", with: "name/>")
            guard content.contains("<p:u/>") || content.contains("<u/><u/>"), content != "<u/><p:u/>" else { continue }
            let error = expectThrows(StreamError.self, text) { _ = try XML.decode(Person.self, from: text) }
            expectEqual(error?.kind, .duplicateKey, "kind for \(text)")
        }
    }
}

extension String {
    /// Returns the number of occurrences of a text in this string.
    fileprivate func components(of text: String) -> Int {
        split(separator: text, omittingEmptySubsequences: false).count - 1
    }
}
#endif
