// Selects the tests to run, and suggests names for those that don't exist.

internal import InClassSystem
import TestEvents

/// A pattern for names of tests: a POSIX extended regular expression that matches a part of `Type.test`, or a whole
/// name.
package final class TestPattern: @unchecked Sendable {
    /// The pattern as in the command line.
    package let text: String
    /// The compiled pattern, or nil for a whole name.
    // SAFETY: written by the initializer only.
    private var expression: UnsafeMutablePointer<regex_t>?

    /// Creates a pattern that matches a whole name.
    package init(exactly name: String) { text = name }

    /// Compiles a pattern.
    ///
    /// - Throws: `PatternError` with the message of the C library.
    package init(_ text: String) throws(PatternError) {
        self.text = text
        let expression = UnsafeMutablePointer<regex_t>.allocate(capacity: 1)
        let code = regcomp(expression, text, REG_EXTENDED | REG_NOSUB)
        guard code == 0 else {
            var message = [CChar](repeating: 0, count: 256)
            regerror(code, expression, &message, message.count)
            expression.deallocate()
            let bytes = message.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
            throw PatternError(pattern: text, reason: String(decoding: bytes, as: UTF8.self))
        }
        self.expression = expression
    }

    deinit {
        if let expression { regfree(expression) }
        expression?.deallocate()
    }

    var isExact: Bool { expression == nil }

    package func matches(_ test: PlannedTest) -> Bool {
        // Swift Testing separates types and tests with a slash.
        let names = [test.name, "\(test.module).\(test.name)", "\(test.typeName)/\(test.testName)"]
        return names.contains(where: matches)
    }

    func matches(_ name: String) -> Bool {
        expression.map { regexec($0, name, 0, nil, 0) == 0 } ?? (name == text)
    }
}

/// The error of an invalid regular expression.
package struct PatternError: Error, Equatable, CustomStringConvertible {
    package var pattern: String
    package var reason: String

    package var description: String { "'\(pattern)' is not a regular expression: \(reason)" }
}

/// A line of a source file, such as `Sources/Stack.swift:42`.
package struct ChosenLine: Equatable, Sendable {
    /// An absolute path, or the end of a path.
    package var path: String
    package var line: Int

    package init(path: String, line: Int) {
        self.path = path
        self.line = line
    }

    /// Reads `path:line` or `path:line:column`, or returns nil.
    package init?(_ text: String) {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard (2...3).contains(parts.count), parts[0].hasSuffix(".swift"), let line = Int(parts[1]), line > 0,
            parts.count == 2 || Int(parts[2]) != nil
        else { return nil }
        path = String(parts[0])
        self.line = line
    }

    /// Returns whether the line is in the source with an absolute path.
    package func names(_ source: String) -> Bool { Self.path(path, names: source) }

    /// Returns whether the line is in the given range of lines of a source.
    func isIn(_ source: String, _ first: Int, _ last: Int) -> Bool {
        first <= line && line <= last && names(source)
    }

    package static func path(_ path: String, names source: String) -> Bool {
        source == path || source.hasSuffix("/\(path)")
    }
}

/// The selection of tests: tests of the given types that match a filter and no exclusion. Without filters, all tests
/// match.
package struct TestChoice: Sendable {
    package var testTypes: [String] = []
    package var filters: [TestPattern] = []
    package var exclusions: [TestPattern] = []
    /// The lines whose tests run, or an empty array for no restriction.
    package var lines: [ChosenLine] = []
    /// The names of the tests that may run, or nil for no restriction.
    package var names: Set<String>?
    /// A Boolean value that indicates whether only tests that failed in the last run are selected.
    package var isFailedOnly = false
    /// A Boolean value that indicates whether only tests whose sources have changed since the last run are selected.
    package var isChangedOnly = false
    /// The part of the selected tests that this machine runs.
    package var shard: TestShard?
    /// A Boolean value that indicates whether the package's options contain the test types and exclusions.
    package var isUsual = false

    package init() {}

    /// A Boolean value that indicates whether a run of this selection also checks the lists. Only a run of all tests
    /// checks them. If several machines share the tests, only the first machine does.
    var checksLists: Bool { isOfAll(shard: shard?.index ?? 0 == 0) }

    /// A Boolean value that indicates whether all tests are selected, except those that the package's options exclude.
    var isOfAll: Bool { isOfAll(shard: shard == nil) }

    private func isOfAll(shard isWanted: Bool) -> Bool {
        filters.isEmpty && lines.isEmpty && !isFailedOnly && !isChangedOnly && names == nil && isWanted
            && (isUsual || testTypes.isEmpty && exclusions.isEmpty)
    }

    /// Returns whether a filter matches the name of a type.
    func asksFor(_ typeName: String) -> Bool { filters.contains { $0.matches(typeName) } }

    /// Returns the selected tests of a plan in its order.
    func indices(in plan: [PlannedTest], lastRun: LastRun, sources: TestedSources) -> [Int] {
        let isRestricted = !testTypes.isEmpty || !filters.isEmpty || !exclusions.isEmpty || names != nil
        var indices: [Int] = []
        indices.reserveCapacity(plan.count)
        var index = 0
        // PERF: A closure takes microseconds in a debug build, so this is a loop with a short check in the usual case.
        while index < plan.count {
            if isRestricted ? includes(plan[index]) : plan[index].testType == "unit" { indices.append(index) }
            index += 1
        }
        if !lines.isEmpty {
            let meant = Set(lines.flatMap { sources.scan.indices(in: plan, around: $0) })
            indices = indices.filter(meant.contains)
        }
        if isFailedOnly { indices = indices.filter { lastRun.failed.contains(plan[$0].name) } }
        if isChangedOnly, lastRun.isThere {
            indices = indices.filter { index in
                sources.scan.place(of: plan[index]).map { lastRun.changed.contains($0.path) } ?? true
            }
        }
        return shard?.part(of: indices) { plan[$0].name } ?? indices
    }

    package func includes(_ test: PlannedTest) -> Bool {
        let isOfType = testTypes.isEmpty ? test.testType == "unit" : testTypes.contains(test.testType)
        return isOfType && names?.contains(test.name) ?? true
            && (filters.isEmpty || filters.contains { $0.matches(test) })
            && !exclusions.contains { $0.matches(test) }
    }

    /// Finds test types and filters without tests.
    ///
    /// - Returns: A message for each, with a similar name.
    package func mistakes(in tests: [PlannedTest]) -> [String] {
        if testTypes.isEmpty, filters.isEmpty { return [] }
        let types = Set(tests.map(\.testType)).union(["unit"])
        var mistakes: [String] = []
        for type in testTypes where !types.contains(type) {
            mistakes.append("there is no test type '\(type)'" + suggestion(for: type, among: types.sorted()))
        }
        for filter in filters where !tests.contains(where: filter.matches) {
            mistakes.append("no test matches '\(filter.text)'" + advice(for: filter, among: tests))
        }
        return mistakes
    }

    private func advice(for filter: TestPattern, among tests: [PlannedTest]) -> String {
        let name = TestPattern(exactly: filter.text)
        guard let meant = tests.first(where: name.matches) ?? tests.first(where: { $0.testName == filter.text })
        else {
            let known = filter.isExact ? tests.map(\.name) : tests.flatMap { [$0.name, $0.testName] }
            return suggestion(for: filter.text, among: known)
        }
        return filter.isExact
            ? "; did you mean '\(meant.name)'?" : " as a pattern; '--exact' takes '\(meant.name)' as a name"
    }
}

/// A part of the selected tests, for one of several machines. The hash of a test's name determines its part, so adding
/// a test doesn't move other tests.
package struct TestShard: Equatable, Sendable {
    /// The index of the part, from 0.
    package var index: Int
    package var count: Int

    package init(index: Int, count: Int) {
        self.index = index
        self.count = count
    }

    /// Reads `I/N`, with I from 1 to N.
    package init?(_ text: String) {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 2, let number = Int(parts[0]), let count = Int(parts[1]), number >= 1, number <= count
        else { return nil }
        self.init(index: number - 1, count: count)
    }

    /// Returns the tests of this part, in the same order.
    package func part(of selected: [Int], name: (Int) -> String) -> [Int] {
        selected.filter { Self.hash(name($0)) % UInt64(count) == UInt64(index) }
    }

    /// Computes a 64-bit FNV-1a hash with a final mix. It is the same on every machine. Without the mix, the lowest bit
    /// would be the parity of the bytes.
    private static func hash(_ name: String) -> UInt64 {
        let hash = name.utf8.reduce(0xCBF2_9CE4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
        let mixed = (hash ^ hash >> 32) &* 0x9E37_79B9_7F4A_7C15
        return mixed ^ mixed >> 29
    }
}

/// Returns `; did you mean 'x'?` with the known name that is most similar to an unknown name, or an empty string if no name is
/// similar.
package func suggestion(for name: String, among known: [String]) -> String {
    let scored = known.lazy.filter { $0 != name }
        .map { (name: $0, distance: editDistance(Array(name.utf8), Array($0.utf8))) }
    guard let nearest = scored.min(by: { $0.distance < $1.distance }), nearest.distance <= max(2, name.utf8.count / 3)
    else { return "" }
    return "; did you mean '\(nearest.name)'?"
}

/// Returns the Levenshtein distance of two texts.
func editDistance(_ one: [UInt8], _ other: [UInt8]) -> Int {
    var row = Array(0...other.count)
    for (index, byte) in one.enumerated() {
        var diagonal = row[0]
        row[0] = index + 1
        for (column, otherByte) in other.enumerated() {
            let substituted = diagonal + (byte == otherByte ? 0 : 1)
            diagonal = row[column + 1]
            row[column + 1] = min(substituted, row[column] + 1, diagonal + 1)
        }
    }
    return row[other.count]
}

// MARK: - In-class tests

#if SELF_TESTS && (DEBUG || IN_CLASS_TESTS)
import InClassTesting

extension TestChoice: SelfTesting {
    package static var testSelectors: TestSelectors {
        [
            "testChoosesUnitTestsByDefault": testChoosesUnitTestsByDefault,
            "testReportsUnknownNames": testReportsUnknownNames,
            "testFindsFiltersOfATypeName": {
                var choice = TestChoice()
                expectFalse(choice.asksFor("Table<Int>"), "without a filter")
                choice.filters = [try TestPattern("Tab|x")]
                expectTrue(choice.asksFor("Table<Int>"), "of the type's name")
                expectFalse(choice.asksFor("Stack"), "another type")
            },
            "testRejectsInvalidPatterns": testRejectsInvalidPatterns,
        ]
            + .each("testFiltersAreRegularExpressions", filterCases) { row in
                var choice = TestChoice()
                choice.filters = try row.filters.map { try TestPattern($0) }
                choice.exclusions = try row.exclusions.map { try TestPattern($0) }
                expectEqual(names(choice), row.names, "\(row)")
            }
            + .each("testExactFiltersMatchWholeNames", exactNames) { name, count in
                var choice = TestChoice()
                choice.filters = [TestPattern(exactly: name)]
                expectEqual(names(choice).count, count)
                choice.exclusions = choice.filters
                choice.filters = []
                expectEqual(names(choice).count, 2 - count, "without it")
            }
            + .each("testOnlyFullRunsCheckLists", changes) { _, expected, change in
                var choice = TestChoice()
                change(&choice)
                expectEqual(choice.checksLists, expected)
                expectEqual(choice.isOfAll, expected && choice.shard == nil)
            }
    }

    private static let plan = [
        PlannedTest(typeName: "Stack", testName: "testPush", testType: "unit", module: "M"),
        PlannedTest(typeName: "Stack", testName: "testMany", testType: "slow", module: "M"),
        PlannedTest(typeName: "Queue", testName: "testPush", testType: "unit", module: "M"),
    ]

    private static func names(_ choice: TestChoice) -> [String] { plan.filter(choice.includes).map(\.name) }

    private static func testChoosesUnitTestsByDefault() {
        var choice = TestChoice()
        expectEqual(names(choice), ["Stack.testPush", "Queue.testPush"])
        choice.testTypes = ["slow"]
        expectEqual(names(choice), ["Stack.testMany"])
        choice.testTypes = ["slow", "unit"]
        expectEqual(names(choice).count, 3)
    }

    private static var filterCases: [(filters: [String], exclusions: [String], names: [String])] {
        [
            (["Stack"], [], ["Stack.testPush"]),
            (["^M.Queue"], [], ["Queue.testPush"]),
            (["Push$"], [], ["Stack.testPush", "Queue.testPush"]),
            (["Stack|Queue"], ["Q"], ["Stack.testPush"]),
            ([], ["Push"], []),
        ]
    }

    private static func testReportsUnknownNames() throws {
        var choice = TestChoice()
        choice.filters = [try TestPattern("Stack.testPsh")]
        choice.testTypes = ["slo", "unit"]
        expectEqual(
            choice.mistakes(in: plan),
            [
                "there is no test type 'slo'; did you mean 'slow'?",
                "no test matches 'Stack.testPsh'; did you mean 'Stack.testPush'?",
            ])
        choice.testTypes = []
        choice.filters = [TestPattern(exactly: "testMany")]
        expectEqual(choice.mistakes(in: plan), ["no test matches 'testMany'; did you mean 'Stack.testMany'?"])
        let row = PlannedTest(typeName: "S", testName: "t(1)", testType: "unit", module: "M")
        for name in ["t(1)", "S.t(1)"] {
            choice.filters = [try TestPattern(name)]
            expectEqual(
                choice.mistakes(in: [row]),
                ["no test matches '\(name)' as a pattern; '--exact' takes 'S.t(1)' as a name"])
        }
    }

    private static let exactNames = [
        ("Stack.testPush", 1), ("M.Stack.testPush", 1), ("Stack/testPush", 1), ("Stack", 0), ("Stack.testPus", 0),
        ("Stack.testPush.", 0), ("Stack.testPush(", 0), (".*", 0),
    ]

    private static var changes: [(name: String, checksLists: Bool, change: (inout TestChoice) -> Void)] {
        [
            ("all", true, { _ in }), ("a filter", false, { $0.filters = [TestPattern(exactly: "a")] }),
            ("failed tests", false, { $0.isFailedOnly = true }),
            ("changed sources", false, { $0.isChangedOnly = true }),
            ("a type", false, { $0.testTypes = ["slow"] }), ("names", false, { $0.names = [] }),
            ("an exclusion", false, { $0.exclusions = [TestPattern(exactly: "a")] }),
            ("a line", false, { $0.lines = ["a.swift:1"].compactMap(ChosenLine.init) }),
            ("the first machine", true, { $0.shard = TestShard(index: 0, count: 2) }),
            ("the second machine", false, { $0.shard = TestShard(index: 1, count: 2) }),
            (
                "the package's own choice", true,
                {
                    $0.testTypes = ["slow"]
                    $0.exclusions = [TestPattern(exactly: "a")]
                    $0.isUsual = true
                }
            ),
        ]
    }

    private static func testRejectsInvalidPatterns() {
        let error = expectThrows(PatternError.self) { _ = try TestPattern("a(b") }
        expectTrue(error?.description.hasPrefix("'a(b' is not a regular expression: ") ?? false)
    }
}

extension TestShard: SelfTesting {
    package static var testSelectors: TestSelectors {
        ["testReadsIndexAndCount": testReadsIndexAndCount, "testShardsCoverAllTestsOnce": testShardsCoverAllTestsOnce]
    }

    private static func testReadsIndexAndCount() {
        expectEqual(TestShard("2/3"), TestShard(index: 1, count: 3))
        expectEqual(TestShard("1/1"), TestShard(index: 0, count: 1))
        for text in ["", "0/3", "4/3", "1", "x:1/2", "1/2/3", "slice:1/2", "-1/2", "/2"] {
            expectNil(TestShard(text), text)
        }
    }

    private static func testShardsCoverAllTestsOnce() {
        func shards(_ all: [Int], _ count: Int) -> [[Int]] {
            (0..<count).map { TestShard(index: $0, count: count).part(of: all) { "Stack.testRow(\($0))" } }
        }
        for count in [0, 1, 7, 100] {
            for parts in 1...8 {
                let all = (0..<count).map { $0 * 3 }
                let shards = shards(all, parts)
                expectEqual(shards.flatMap(\.self).sorted(), all)
                for shard in shards { expectEqual(shard, shard.sorted(), "the order stays") }
            }
        }
        let (few, many) = (shards(Array(0..<1000), 4), shards(Array(0..<1100), 4))
        for (few, many) in zip(few, many) {
            expectEqual(many.filter { $0 < 1000 }, few, "those that were there stay")
            expectTrue((225...325).contains(many.count), "\(many.count) of 1100 in one of 4 parts")
        }
    }
}

enum SuggestionTests {}

extension SuggestionTests: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testSuggestsTheNearestName": testSuggestsTheNearestName,
            "testComputesEditDistances": testComputesEditDistances,
        ]
    }

    private static func testSuggestsTheNearestName() {
        // Two letters of a short name may differ. A third may differ in a long name.
        let rows = [
            ("ab", "b", true), ("abc", "", false), ("xy", "ab", true), ("xyz", "abc", false),
            ("abcdefgh", "abcdexxx", false),
            ("abcdefghi", "abcdefxxx", true), ("abcdefghi", "abcdexxxx", false), ("abcdefghijkl", "abcdefghxxxx", true),
        ]
        for (name, known, isNear) in rows {
            let expected = isNear ? "; did you mean '\(known)'?" : ""
            expectEqual(suggestion(for: name, among: ["entirely different", known, "another"]), expected, name)
        }
        expectEqual(suggestion(for: "a", among: []), "", "none")
        expectEqual(suggestion(for: "abc", among: ["abc", "abd"]), "; did you mean 'abd'?", "not itself")
    }

    private static func testComputesEditDistances() {
        let rows = [("", "", 0), ("a", "", 1), ("", "ab", 2), ("kitten", "sitting", 3), ("same", "same", 0)]
        for (one, other, distance) in rows { expectEqual(editDistance(Array(one.utf8), Array(other.utf8)), distance) }
    }
}
#endif
