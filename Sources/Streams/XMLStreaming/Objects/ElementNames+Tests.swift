// The in-class tests of elements whose names differ from the members of a type, sent as messages or stored in memory.

#if DEBUG || IN_CLASS_TESTS
import InClassTesting
import PlistBuilding
import PlistStreaming

enum ElementNamesTests {
    fileprivate struct Child: StreamObject, Equatable {
        var id = 0
        var name = ""
    }

    fileprivate struct Family: StreamObject {
        var title = ""
        var Children: [Child] = []
        var head: Child?
    }

    fileprivate struct Results: StreamObject {
        var hit: [Child]?
        var next: Child?
    }

    fileprivate final class Pet: StreamObject {
        var id = 0
        var owner = Child()
        init() {}
    }
}

extension ElementNamesTests: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testRefusesElementsOfOtherNames": testRefusesElementsOfOtherNames,
            "testAcceptsElementsWithSomeMembers": testAcceptsElementsWithSomeMembers,
            "testAcceptsOtherInputAfterADocument": testAcceptsOtherInputAfterADocument,
        ]
    }

    private static func outcome<Value: StreamValue>(
        _ type: Value.Type, _ text: String, _ options: XMLObjectOptions = XMLObjectOptions(),
        _ builderOptions: BuilderOptions = BuilderOptions()
    ) -> String {
        func result(_ body: () throws -> Void) -> String {
            do { try body(); return "taken" } catch { return "\(error)" }
        }
        let whole = result {
            var builder = try ObjectBuilder<Value>(options: builderOptions)
            try builder.readXML(text, objectOptions: options)
            _ = try builder.takeResult()
        }
        let bytes = Array(text.utf8)
        for split in bytes.indices {
            let pushed = result {
                let messages = XMLRecordAdapter(try ObjectBuilder<Value>(options: builderOptions), options: options)
                var reader = XMLReader(sink: messages)
                try reader.feed(Array(bytes[..<split]))
                try reader.feed(Array(bytes[split...]))
                try reader.finish()
            }
            expectEqual(pushed, whole, "\(text) in two pieces, the first of \(split) bytes")
        }
        return whole
    }

    private static func testRefusesElementsOfOtherNames() {
        let list = "<f><title>t</title><Children><Child id='1'/><Child id='2'/></Children></f>"
        expectEqual(
            outcome(Family.self, list),
            "$.Children[0]: none of the children and attributes \"Child\" is a member of Child; the nearest: \"id\" "
                + "at line 1, column 60 (byte 59)", "a list in an element")
        expectEqual(
            outcome(Family.self, list, XMLObjectOptions(wrappedArrays: ["Children"])), "taken", "as options say")
        let rows: [(any StreamValue.Type, String, String)] = [
            (Child.self, "<c><Id>1</Id></c>", "$: none of the children and attributes \"Id\" is a member of Child"),
            (
                Child.self, "<c ID='1'><name>a</name></c>",
                "$: \"ID\" is not a member of Child, but differs from the missing \"id\""
            ),
            (Child.self, "<c>text</c>", "$: none of the children and attributes \"#text\" is a member of Child"),
            (
                [Child].self, "<l><c id='1'/><c x='1'>a</c></l>",
                "$[1]: none of the children and attributes \"x\", \"#text\""
            ),
            ([Child].self, "<l><c id='1'><Name>a</Name></c></l>", "$[0]: \"Name\" is not a member of Child"),
            ([Pet].self, "<l><p><id>1</id><owner><i/></owner></p></l>", "$[0].owner: none of the children"),
            ([Pet].self, "<l><p><Owner><id>1</id></Owner><id>1</id></p></l>", "$[0]: \"Owner\" is not a member of Pet"),
            (
                [Child].self, "<l><c x='1' y='2'><Name>a</Name></c></l>",
                "$[0]: none of the children and attributes \"x\", \"y\", \"Name\""
            ),
            (Results.self, "<r total='1'><Child/></r>", "$: none of the children and attributes \"total\", \"Child\""),
            (Results.self, "<r total='1'>a</r>", "$: none of the children and attributes \"total\", \"#text\""),
            (Results.self, "<r HIT='1'/>", "$: \"HIT\" is not a member of Results"),
            (Results.self, "<r total='1'><next x='1'/></r>", "$.next: none of the children and attributes \"x\""),
            ([Results].self, "<l><r total='1'><a/></r></l>", "$[0]: none of the children and attributes"),
            (Family.self, "<f><title/><head><n/></head></f>", "$.head: none of the children and attributes \"n\""),
        ]
        for (type, text, expected) in rows {
            let found = outcome(type, text)
            expectTrue(found.hasPrefix(expected), "\(found) for \(text)")
        }
    }

    private static func testAcceptsElementsWithSomeMembers() {
        let rows: [(any StreamValue.Type, String)] = [
            (Child.self, "<c/>"), (Child.self, "<c> </c>"), (Child.self, "<c><id>1</id><x/></c>"),
            (Child.self, "<c Id='2' id='1'/>"), (Child.self, "<c><Name>a</Name><name>b</name></c>"),
            ([Pet].self, "<l><p Id='1'><id>1</id><owner><x/><id>1</id></owner></p><p/></l>"),
            (Results.self, "<r total='0'/>"), (Results.self, "<r total='0'> <!-- no hits --> </r>"),
            ([Results].self, "<l><r total='0'/><r total='0'>\n</r></l>"),
            (PropertyList.self, "<c><Id>1</Id></c>"), ([String: String].self, "<c><Id>1</Id></c>"),
        ]
        for (type, text) in rows { expectEqual(outcome(type, text), "taken", text) }
        for options in [BuilderOptions(checksNames: false), BuilderOptions(unknownMembers: .collect)] {
            expectEqual(outcome([Child].self, "<l><c><Id>1</Id></c></l>", XMLObjectOptions(), options), "taken", "")
        }
    }

    /// Builders accept values from other readers after they have read XML.
    private static func testAcceptsOtherInputAfterADocument() throws {
        var builder = try ObjectBuilder<Child>()
        for text in ["<c><id>1</id></c>", "<c><Id>1</Id></c>", "<c>"] {
            try? builder.readXML(text)
            builder.reset()
            try EventScript.send(#"{ key "Id" integer 1 }"#, to: &builder)
            expectEqual(try builder.takeResult(), Child(), text)
        }
    }
}
#endif
