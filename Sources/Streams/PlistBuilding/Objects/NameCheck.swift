// Checks for unknown names. If no name is known, or if a name is nearly that of a member, a value of defaults would hide a
// mistake. Readers of CSV check all columns once. For XML, the state machine checks each dictionary.

import PlistStreaming
import StringTables

/// A comparison of received names with known names.
struct NameCheck {
    let known: KeySet
    /// The owner of the known names for messages, such as `member of Stop`.
    let owner: String

    /// Finds a column that differs only in case or space from a known name without a column. If no name is known, finds any
    /// column.
    ///
    /// - Complexity: O(*n*) in the names.
    func problem(ofHeader names: [String]) -> NameProblem? {
        let places = names.map { known.index(of: $0) }
        guard known.count > 0, places.contains(nil) else { return nil }
        if places.allSatisfy({ $0 == nil }) {
            return NameProblem(index: 0, message: nothingKnown("columns", names, count: names.count))
        }
        let missing = Set(0..<known.count).subtracting(places.compactMap(\.self))
        let folded = Dictionary(missing.map { (Self.folded(known[$0]), $0) }, uniquingKeysWith: min)
        for (index, name) in names.enumerated() where places[index] == nil {
            if let near = folded[Self.folded(name)] {
                return NameProblem(index: index, message: nearlyKnown(name, near))
            }
        }
        return nil
    }

    /// Returns a name in lower case, without surrounding white space.
    private static func folded(_ name: String) -> String {
        func isSpace(_ character: Character) -> Bool { character.isWhitespace || character == "\u{FEFF}" }
        let end = name.reversed().drop(while: isSpace)
        return String(end.reversed().drop(while: isSpace)).lowercased()
    }

    /// Returns the message that none of the received names is known, with the known names that are nearest to the first of
    /// them.
    func nothingKnown(_ what: String, _ names: [String], count: Int) -> String {
        let shown = names.prefix(5).map { ShownText.quoted($0.utf8) }
        let more = count > shown.count ? " (and \(count - shown.count) more)" : ""
        var nearest: [String] = []
        for name in names.prefix(5) {
            let word = Array(Self.folded(ShownText.shortened(name.utf8)).utf8)
            let ranked = (0..<min(known.count, 100)).map { index in
                (NearestName.distance(word, Array(known[index].lowercased().utf8.prefix(64))), known[index])
            }
            let found = ranked.min { $0.0 < $1.0 }.map { ShownText.quoted($0.1.utf8) } ?? ""
            if !nearest.contains(found) { nearest.append(found) }
        }
        return "none of the \(what) \(shown.joined(separator: ", "))\(more) is a \(owner); the nearest: "
            + nearest.joined(separator: ", ")
    }

    /// Returns the message that a name differs from a known name only in case or space.
    func nearlyKnown(_ name: String, _ index: Int) -> String {
        let (found, nearest) = (ShownText.quoted(name.utf8), ShownText.quoted(known[index].utf8))
        return "\(found) is not a \(owner), but differs from the missing \(nearest) only in case or space"
    }
}

extension ObjectLayout {
    /// A comparison of names with the member names.
    var nameCheck: NameCheck { NameCheck(known: keys, owner: "member of \(typeName)") }

    /// A Boolean value that indicates whether a member is an array, so that an element without children may be an empty list.
    fileprivate var hasLists: Bool {
        unsafe members.contains { member in
            if case .array = unsafe member.plan.innermost.shape { true } else { false }
        }
    }
}

extension ValueStateMachine {
    /// Returns the problem in the names of columns, if the next values are their records.
    @usableFromInline
    func problem(ofHeader names: [String]) -> NameProblem? {
        let isRecord = unsafe top.pointee.kind == .array || top.pointee.kind == .passing && depth == streamingDepth
        guard options.checksNames, options.unknownMembers != .collect, isRecord else { return nil }
        // Above the streaming depth, the element of a level is the delivered value.
        guard case .object(let layout) = unsafe top.pointee.elementPlan.takeUnretainedValue().innermost.shape else {
            return nil
        }
        return layout.nameCheck.problem(ofHeader: names)
    }

    /// Sets which names of objects are compared, if the options allow it.
    @usableFromInline
    mutating func watchNames(_ names: NameWatch) {
        if names == .continuedArray { return continuesArray = true }
        watchesNames = names != .none && options.checksNames && options.unknownMembers == .ignore
        if unsafe names == .attributesOnly && top.pointee.kind == .object && top.pointee.hasStrays {
            strays[depth].areAttributes = true
        }
    }

    /// Records an unknown name in the open object.
    mutating func noteStray(_ name: RawSpan) {
        if unsafe !top.pointee.hasStrays {
            while strays.count <= depth { strays.append((0, [], [], false)) }
            strays[depth] = (0, [], [], false)
            unsafe top.pointee.hasStrays = true
        }
        strays[depth].count += 1
        // SAFETY: the pointer does not leave the closure.
        let near = unsafe name.withUnsafeBytes { name in
            unsafe top.pointee.members.prefix(64).firstIndex { unsafe $0.name.isNear(name) }
        }
        let isFirst = unsafe top.pointee.seen == 0 && strays[depth].names.count < 5
        guard isFirst || near != nil, let text = String(validating: name) else { return }
        if isFirst { strays[depth].names.append(text) }
        if let near { strays[depth].near.append((text, near)) }
    }

    /// Throws an error for the open object if no name is known, or if a name is nearly that of a missing member.
    func checkStrays(_ layout: ObjectLayout) throws(StreamError) {
        let (found, seen) = unsafe (strays[depth], top.pointee.seen)
        // For types with more members, the received ones aren't all known.
        guard (1...64).contains(layout.keys.count) else { return }
        let near = found.near.first { seen & (1 << UInt64($0.member)) == 0 }
        let message =
            seen == 0 && !(found.areAttributes && layout.hasLists)
            ? layout.nameCheck.nothingKnown("children and attributes", found.names, count: found.count)
            : near.map { layout.nameCheck.nearlyKnown($0.name, $0.member) }
        if let message { throw located(StreamError(.unknownMember, message), isContainer: true) }
    }
}

extension UnsafeRawBufferPointer {
    /// Returns whether two names differ only in the case of ASCII letters.
    fileprivate func isNear(_ other: UnsafeRawBufferPointer) -> Bool {
        count == other.count
            && indices.allSatisfy { index in
                let (byte, different) = unsafe (self[index], self[index] ^ other[index])
                return different == 0 || different == 0x20 && (0x61...0x7A).contains(byte | 0x20)
            }
    }
}

extension RecordState {
    /// Returns whether a name differs from a member's name only in case.
    package func isNear(_ name: UnsafeRawBufferPointer) -> Bool {
        guard let members = unsafe members else { return false }
        return unsafe (0..<memberCount).contains { index in
            unsafe UnsafeRawBufferPointer(start: members[index].text + 1, count: members[index].length - 3).isNear(name)
        }
    }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

extension NameCheck: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testComparesHeaders": testComparesHeaders,
            "testComparesNamesOfObjects": testComparesNamesOfObjects,
            "testComparesManyNamesQuickly": testComparesManyNamesQuickly,
        ]
    }

    private static func testComparesHeaders() {
        let check = NameCheck(known: ["id", "name", "straße"], owner: "member of Stop")
        let rows: [([String], String?)] = [
            (["id"], nil), (["x", "id"], nil), ([], nil), (["id", "Id", "name", "straße"], nil),
            (
                ["Id", "Name"],
                #"0: none of the columns "Id", "Name" is a member of Stop; the nearest: "id", "name""#
            ),
            (
                ["a", "b", "c", "d", "e", "f", "g"],
                #"0: none of the columns "a", "b", "c", "d", "e" (and 2 more) is a member of Stop; the nearest: "id""#
            ),
            (
                ["id", "\u{FEFF}\u{A0}NAME\t"],
                "1: \(ShownText.quoted("\u{FEFF}\u{A0}NAME\t".utf8)) is not a member of Stop, "
                    + "but differs from the missing \"name\" only in case or space"
            ),
            (
                ["STRASSE", "id", "Straße"],
                #"2: "Straße" is not a member of Stop, but differs from the missing "straße" only in case or space"#
            ),
        ]
        for (names, expected) in rows {
            expectEqual(check.problem(ofHeader: names).map { "\($0.index): \($0.message)" }, expected, "\(names)")
        }
        expectNil(NameCheck(known: [], owner: "x").problem(ofHeader: ["a"])?.message, "nothing is known")
    }

    private struct Part: StreamObject, Equatable {
        var id = 1
        var name = ""
    }

    private final class PartObject: StreamObject {
        var id = 1
        var name = ""
        init() {}
    }

    private static func outcome<Value: StreamValue>(
        _ type: Value.Type, _ script: String, _ options: BuilderOptions = BuilderOptions(), isWatching: Bool = true
    ) -> String {
        do {
            var builder = try ObjectBuilder<Value>(options: options)
            builder.watchNames(isWatching ? .all : .none)
            try EventScript.send(script, to: &builder)
            _ = try builder.takeResult()
            return "taken"
        } catch { return "\(error)" }
    }

    private static func testComparesNamesOfObjects() {
        let rows = [
            ("{ }", "taken"), (#"{ key "x" integer 1 key "id" integer 2 }"#, "taken"),
            (#"{ key "Id" integer 1 key "id" integer 2 }"#, "taken"),
            (
                #"{ key "Id" integer 1 key "x" [ ] }"#,
                #"$: none of the children and attributes "Id", "x" is a member of PART; the nearest: "id""#
            ),
            (
                #"{ key "name" string "a" key "ID" integer 1 }"#,
                #"$: "ID" is not a member of PART, but differs from the missing "id" only in case or space"#
            ),
        ]
        for (script, expected) in rows {
            for (name, found) in [
                ("Part", outcome(Part.self, script)), ("PartObject", outcome(PartObject.self, script)),
            ] {
                expectEqual(found, expected.replacing("PART", with: name), script)
            }
            expectEqual(outcome(Part.self, script, isWatching: false), "taken", "not watched: \(script)")
            let options = BuilderOptions(checksNames: false)
            expectEqual(outcome(Part.self, script, options), "taken", "unchecked: \(script)")
            expectEqual(outcome(Part.self, script, BuilderOptions(unknownMembers: .collect)), "taken", "collected")
        }
        let list = #"[ { key "id" integer 1 } { key "x" integer 1 } ]"#
        expectTrue(outcome([Part].self, list).hasPrefix("$[1]: none of the"), outcome([Part].self, list))
        expectTrue(outcome([PartObject?].self, list).hasPrefix("$[1]: none of the"), "an optional object")
    }

    /// Tests more names than could be compared one by one with each other.
    private static func testComparesManyNamesQuickly() {
        var known = KeySet()
        for index in 0..<20_000 { known.insert("column\(index)") }
        let check = NameCheck(known: known, owner: "column")
        let names = ["column0"] + (0..<20_000).map { "other\($0)" }
        expectNil(check.problem(ofHeader: names)?.message, "other names")
        expectEqual(check.problem(ofHeader: names + ["Column19999"])?.index, 20_001, "the last name")
    }
}
#endif
