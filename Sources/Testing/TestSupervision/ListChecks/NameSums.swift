// Checks quickly whether a test may be missing from its list, so that the sources are only read closely in that case.
// Sums of hashes stand for the names: equal sums mean equal names in any order.

internal import InClassSystem
import TestEvents

enum NameSums {
    /// Returns whether the sources declare, list and plan the same names and the same number of lists. In each file,
    /// the functions `test…` must have the same names as the entries `"test…"`. In all files together, they must have
    /// the same names as the planned tests.
    ///
    /// If the sums differ, nothing is known: an entry may be a closure, and a function a helper.
    /// - Complexity: O(bytes of the sources) at the speed of `memmem`.
    static func showNothingLost(declared: UInt64?, plan: [PlannedTest]) -> Bool {
        var planned: UInt64 = 0
        var index = 0
        while index < plan.count {
            // The lists of a type are adjacent in the plan. The list of its unit tests comes first.
            let isUnit = plan[index].testType == "unit"
            if index == 0 || plan[index].typeName != plan[index - 1].typeName
                || isUnit != (plan[index - 1].testType == "unit")
            {
                planned &+= isUnit ? unitListWeight : otherListsWeight
            }
            // All rows of a table share one entry.
            if plan[index].row?.index ?? 0 == 0 {
                var name = plan[index].listedName
                planned &+= name.withUTF8 { hash(UnsafeRawBufferPointer($0), from: 4) }
            }
            index += 1
        }
        return declared == planned
    }

    /// Returns the sum of the names that the sources declare, or nil if a source lists other names, or has an entry that
    /// may run another function than the one with its name.
    static func declared(in sources: [String]) -> UInt64? {
        var declared: UInt64 = 0
        for path in sources {
            guard let bytes = try? FileAccess.contents(of: path) else { return nil }
            let (functions, entries) = bytes.withUnsafeBytes {
                (sum(of: "func test", in: $0), sum(of: "\"test", in: $0))
            }
            let nameThemselves = bytes.withUnsafeBytes { bytes in
                ByteSearch.ends(of: "\"test", in: bytes).allSatisfy { nameIsRepeated(in: bytes, from: $0) }
            }
            let (lists, conformances) = bytes.withUnsafeBytes {
                (
                    ByteSearch.ends(of: "testSelectors:", in: $0).count,
                    ByteSearch.ends(of: "SelfTesting", in: $0).count
                        + ByteSearch.ends(of: "FixtureTesting", in: $0).count
                )
            }
            // A list that several types inherit would hide the loss of another.
            guard functions == entries, nameThemselves, lists == conformances else { return nil }
            declared &+= functions &+ UInt64(lists) &* unitListWeight
            bytes.withUnsafeBytes {
                declared &+= UInt64(ByteSearch.ends(of: "testSelectorsByType:", in: $0).count) &* otherListsWeight
            }
        }
        return declared
    }

    /// The value that a list adds to a sum, because a list may contain no `test…`.
    private static let unitListWeight: UInt64 = 0x9FB2_1C65_1E98_DF25
    private static let otherListsWeight: UInt64 = 0xD6E8_FEB8_6659_FD93

    /// Adds up the hashes of all names that begin with `test` at the end of a marker.
    private static func sum(of marker: StaticString, in bytes: UnsafeRawBufferPointer) -> UInt64 {
        ByteSearch.ends(of: marker, in: bytes).reduce(0) { $0 &+ hash(bytes, from: $1) }
    }

    /// Returns whether the name that ends with the word at an offset is in the rest of its line again, as in
    /// `"testA": testA`.
    private static func nameIsRepeated(in bytes: UnsafeRawBufferPointer, from start: Int) -> Bool {
        var end = start
        while end < bytes.count, SwiftLexer.isWord(bytes[end]) { end &+= 1 }
        guard let base = bytes.baseAddress, end < bytes.count else { return false }
        let count = memchr(base + end, 0x0A, bytes.count - end).map { UnsafeRawPointer($0) - (base + end) }
        let rest = UnsafeRawBufferPointer(start: base + end, count: count ?? bytes.count - end)
        let name = UnsafeRawBufferPointer(start: base + start - 4, count: end - start + 4)
        guard let place = ByteSearch.offset(of: name, in: rest), place > 0 else { return false }
        let next = place + name.count
        return !SwiftLexer.isWord(rest[place - 1]) && (next == rest.count || !SwiftLexer.isWord(rest[next]))
    }

    /// Hashes the word at an offset with FNV-1a and a final mix. The hash of `testFixture` is zero.
    private static func hash(_ bytes: UnsafeRawBufferPointer, from start: Int) -> UInt64 {
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        var offset = start
        while offset < bytes.count, SwiftLexer.isWord(bytes[offset]) {
            hash = (hash ^ UInt64(bytes[offset])) &* 0x100_0000_01B3
            offset &+= 1
        }
        if offset - start == 7, bytes[start..<offset].elementsEqual("Fixture".utf8) { return 0 }
        hash = (hash ^ hash >> 31) &* 0x9E37_79B9_7F4A_7C15
        return hash ^ hash >> 29
    }
}

// MARK: - In-class tests

#if SELF_TESTS && (DEBUG || IN_CLASS_TESTS)
import InClassTesting

extension NameSums: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testDetectsUnplannedLists": testDetectsUnplannedLists
        ]
            + .each("testSumsDifferForDifferentNames", nameCases) { row in
                let functions = Array(row.functions.utf8).withUnsafeBytes { sum(of: "func test", in: $0) }
                let entries = Array(row.entries.utf8).withUnsafeBytes { sum(of: "\"test", in: $0) }
                expectEqual(functions == entries, row.areEqual, row.functions)
            }
    }

    private static func testDetectsUnplannedLists() throws {
        let inherited = "static var testSelectors: TestSelectors { ["
        let list = "extension S: SelfTesting { \(inherited)"
        let bothTests = [("S", "testA", "unit"), ("S", "testB", "unit")]
        func twoTests(_ second: String) -> String {
            "\(list)\n\"testA\": testA,\n\"testB\": \(second),\n] }\nfunc testA() {}\nfunc testB() {}"
        }
        let rows: [(text: String, planned: [(String, String, String)], isComplete: Bool)] = [
            ("\(list)\"testA\": testA] }; func testA() {}", [("S", "testA", "unit")], true),
            ("\(list)\"testA\": testA] }; func testA() {}", [], false),
            ("\(list)\"testA\": testA] }; func testA() {}\n\(list)helper", [("S", "testA", "unit")], false),
            ("\(list)\"a\": { f() }]", [("T", "b", "unit")], false),
            (
                "\(list)\"testA\": testA] }; func testA() {}\n\(inherited)\"testA\": testA] }; func testA() {}",
                [("S", "testA", "unit"), ("T", "testA", "unit")], false
            ),
            (twoTests("testB"), bothTests, true), (twoTests("fixture { try $0.testB() }"), bothTests, true),
            (twoTests("testA"), bothTests, false), (twoTests("{ f() }"), bothTests, false),
            (twoTests("testB2"), bothTests, false), (twoTests("atestB"), bothTests, false),
            ("static var testSelectorsByType: [TestType: TestSelectors] { slow }", [], false),
        ]
        let path = "\(try temporaryDirectory())/s.swift"
        for row in rows {
            try FileAccess.write(Array(row.text.utf8), to: path)
            let plan = row.planned.map { PlannedTest(typeName: $0, testName: $1, testType: $2, module: "M") }
            expectEqual(showNothingLost(declared: declared(in: [path]), plan: plan), row.isComplete, row.text)
        }
    }

    private static var nameCases: [(functions: String, entries: String, areEqual: Bool)] {
        [
            ("func testA() {} func testB()", "\"testB\": x, \"testA\"", true),
            ("func testA()", "", false), ("func testA()", "\"testB\"", false), ("", "", true),
            ("func testA() func testA()", "\"testA\"", false), ("func testFixture()", "", true),
            ("func testA2()", "\"testA\"", false), ("func testÄ()", "\"testÄ\": testÄ", true),
        ]
    }
}
#endif
