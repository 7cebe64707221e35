// Creates a separate test for each row of a table, named after the row's value.

#if DEBUG || IN_CLASS_TESTS

extension TestSelectors {
    /// Returns a list with one test for each row of a table.
    ///
    /// ```swift
    /// ["testIsEmpty": testIsEmpty]
    ///     + .each("testParses", [("1+1", 2), ("2*3", 6)]) { text, value in
    ///         expectEqual(try Expression(text).value, value)
    ///     }
    /// ```
    /// Each row is a test with its own outcome. You can select and repeat it by its name, `testParses(1+1)`, which is
    /// also in reports. The name contains the description of the row. If the row is a tuple, or a structure without a
    /// description, the name contains the description of the first element. Equal names are numbered:
    /// `testParses(1+1)#2`.
    ///
    /// The rows must be the same, and in the same order, each time the list is created. Don't use the elements of a
    /// `Set` as rows, because their order varies. If a table has no rows, it fails.
    /// - Parameters:
    ///   - name: The name of the table, which selects all of its rows.
    ///   - rows: The cases.
    ///   - rowName: A closure that returns a text for the name of a row, to replace the row's description.
    ///   - test: The closure or function that tests one row. To pass a function, write
    ///     `.each("testParses", rows, testParses)`.
    /// - Complexity: O(number of rows).
    public static func each<Row>(
        _ name: String, _ rows: some Sequence<Row>, named rowName: ((Row) -> String)? = nil,
        _ test: @escaping (Row) async throws -> Void
    ) -> TestSelectors {
        table(name, rows, rowName) { row in { try await test(row) } }
    }

    fileprivate static func table<Row>(
        _ table: String, _ rows: some Sequence<Row>, _ rowName: ((Row) -> String)?, _ body: (Row) -> TestBody
    ) -> TestSelectors {
        var names: Set<String> = []
        var counts: [String: Int] = [:]
        var entries: [Entry] = []
        for row in rows {
            let plain = "\(table)(\(abridged(rowName.map { escaped($0(row)) } ?? text(of: row))))"
            var name = plain
            while !names.insert(name).inserted {
                counts[plain, default: 1] += 1
                name = "\(plain)#\(counts[plain, default: 1])"
            }
            entries.append(Entry(name: name, body: body(row), row: TableRow(table: table, index: entries.count)))
        }
        if entries.isEmpty {
            entries.append(
                Entry(name: table) {
                    Recorder.record(
                        RecordedIssue(place: .test, message: "the table has no rows"))
                })
        }
        return TestSelectors(entries: entries)
    }

    private static func text(of row: Any) -> String {
        let mirror = Mirror(reflecting: row)
        let isDescribed = row is any CustomStringConvertible || row is any CustomDebugStringConvertible
        switch mirror.displayStyle {
        case .optional: return mirror.children.first.map { text(of: $0.value) } ?? "nil"
        case .tuple, .struct:
            if !isDescribed, let first = mirror.children.first { return text(of: first.value) }
        default: break
        }
        return withoutDiscriminators(escaped(String(describing: row)))
    }

    private static func abridged(_ text: String) -> String { text.count > 80 ? "\(text.prefix(79))…" : text }
}

extension FixtureTesting where Self: ~Copyable {
    /// Returns a list with one test for each row of a table, each on a fresh fixture.
    ///
    /// ```swift
    /// ["testStartsEmpty": fixture(testStartsEmpty)]
    ///     + each("testPushes", [[1], [1, 2]]) { stack, row in try stack.testPushes(row) }
    /// ```
    /// For the names of the tests, the rules for rows and the complexity, see ``TestSelectors/each(_:_:named:_:)``.
    public static func each<Row>(
        _ name: String, _ rows: some Sequence<Row>, named rowName: ((Row) -> String)? = nil,
        _ test: @escaping (inout Self, Row) async throws -> Void, isolation: isolated (any Actor)? = #isolation
    ) -> TestSelectors {
        TestSelectors.table(name, rows, rowName) { row in
            fixture({ try await test(&$0, row) }, isolation: isolation)
        }
    }
}

// MARK: - Rows of the tests of this package

// They are the same in each run, and not part of the public API.

/// A SplitMix64 generator with a seed.
package struct TestRandom: RandomNumberGenerator {
    private var state: UInt64

    /// Creates a generator with a seed.
    package init(seed: UInt64) { state = seed }

    /// Returns the next number.
    package mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = (state ^ state &>> 30) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ mixed &>> 27) &* 0x94D0_49BB_1331_11EB
        return mixed ^ mixed &>> 31
    }
}

extension Sequence {
    /// Returns all elements in an optimized build, and every `step`th element in a debug build, where comparisons take about
    /// ten times as long. `.ci/run` runs the tests of an optimized build, too.
    package func sampledInDebug(every step: Int) -> [Element] {
        #if DEBUG
        enumerated().filter { $0.offset % step == 0 }.map(\.element)
        #else
        Array(self)
        #endif
    }
}

// MARK: - In-class tests

#if SELF_TESTS
private struct TableTests {
    var sum = 0
}

extension TableTests: FixtureTesting {
    static var testSelectors: TestSelectors {
        [
            "testNamesRowsAfterTheirFirstValue": testNamesRowsAfterTheirFirstValue,
            "testNumbersDuplicateNames": {
                expectEqual(names(["a", "a", "b", "a"]), ["t(a)", "t(a)#2", "t(b)", "t(a)#3"])
            },
            "testRowsKeepTheirTableAndIndex": testRowsKeepTheirTableAndIndex,
            "testEmptyTableFails": testEmptyTableFails,
        ]
            + .each("testPassesRowValuesAsParameters", [("1+1", 1, 2), ("2+3", 2, 5)]) { text, first, sum in
                expectEqual(first + (Int(text.suffix(1)) ?? 0), sum)
            }
            + each("testEachRowGetsANewFixture", 1...3) { tests, row in
                tests.sum += row
                expectEqual(tests.sum, row)
            }
    }

    static func testFixture() -> TableTests { TableTests() }

    private struct Plain {
        var name: String
        var value: Int
    }
    private struct Described: CustomStringConvertible {
        var description: String { "said\n" }
    }
    private enum Choice {
        case one
        case two(Int)
    }

    private static func names<Row>(_ rows: [Row], named: ((Row) -> String)? = nil) -> [String] {
        TestSelectors.each("t", rows, named: named) { _ in }.entries.map(\.name)
    }

    private static func testNamesRowsAfterTheirFirstValue() {
        expectEqual(names(["1+1", "a\tb", ""]), ["t(1+1)", "t(a\\tb)", "t()"])
        expectEqual(names([("x", 1), ("y", 2)]), ["t(x)", "t(y)"])
        expectEqual(names([(name: "x", 1)]), ["t(x)"])
        expectEqual(names([Plain(name: "p", value: 1)]), ["t(p)"])
        expectEqual(names([Described()]), ["t(said\\n)"])
        expectEqual(names([Choice.one, .two(2)]), ["t(one)", "t(two(2))"])
        expectEqual(names([nil, 1.5]), ["t(nil)", "t(1.5)"])
        expectEqual(names([[1, 2]]), ["t([1, 2])"])
        expectEqual(names([("x", 1), ("y", 2)], named: { "\($0.1)" }), ["t(1)", "t(2)"])
        let long = names([String(repeating: "a", count: 200)])[0]
        expectEqual(long.count, 83)
        expectTrue(long.hasSuffix("a…)"), "the end of a long name")
    }

    private static func testRowsKeepTheirTableAndIndex() {
        let list: TestSelectors = ["a": {}] + .timeLimit(.milliseconds(5), .each("t", [7, 8]) { _ in })
        expectEqual(list.entries.map { $0.row?.table }, [nil, "t", "t"])
        expectEqual(list.entries.map { $0.row?.index }, [nil, 0, 1])
        expectEqual(list.entries.map(\.timeLimit), [nil, .milliseconds(5), .milliseconds(5)])
    }

    private static func testEmptyTableFails() async throws {
        let list: TestSelectors = .each("t", [Int]()) { _ in }
        expectEqual(list.entries.map(\.name), ["t"])
        let issues = try await Recorder.issues { try await list.entries[0].body() }
        expectEqual(issues.map(\.message), ["the table has no rows"])
    }
}

extension TestRandom: SelfTesting {
    package static var testSelectors: TestSelectors {
        ["testMatchesTheReferenceImplementation": testMatchesTheReferenceImplementation]
    }

    // The first numbers of the reference implementation, https://prng.di.unimi.it/splitmix64.c.
    private static func testMatchesTheReferenceImplementation() {
        var random = TestRandom(seed: 1_234_567)
        let numbers = (0..<3).map { _ in random.next() }
        expectEqual(
            numbers, [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423], "numbers")
    }
}
#endif
#endif
