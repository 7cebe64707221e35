// Connects other test runners, such as swift-testing with its parameterized tests, to in-class tests: every in-class test of
// a module becomes a separate case.

#if DEBUG || IN_CLASS_TESTS

/// An in-class test as a value, which another test runner can list and run.
///
/// To make every in-class test of a module a case of `swift test`, add these lines to a test target. Editors then show
/// each case in their list of tests. You can run each case alone, and its failures appear at their own lines:
/// ```swift
/// @Test(arguments: await InClassTest.all(inModule: "Stacks"))
/// func inClassTests(_ test: InClassTest) async {
///     for issue in await test.run() {
///         Issue.record("\(issue)", sourceLocation: issue.sourceLocation(SourceLocation.init(fileID:filePath:line:column:)))
///     }
/// }
/// ```
public struct InClassTest: Sendable, Identifiable, CustomStringConvertible {
    /// The type's name without its module.
    public let typeName: String
    /// The name of the test in its list.
    public let testName: String
    private let module: String
    private let resourceFolders: [String]?
    // SAFETY: `SerialExecution` runs one test at a time.
    private nonisolated(unsafe) let body: TestBody

    /// The name of the test, as `Type.test`. It is the same in every run, so an editor can use it to select the test.
    public var id: String { description }

    /// The name of the test, as `Type.test`.
    public var description: String { "\(typeName).\(testName)" }

    /// Returns the tests in the `testSelectors` of a module that is linked into this process, sorted by type.
    ///
    /// - Complexity: O(number of conformance records in the process).
    @MainActor
    public static func all(inModule module: String) async -> [InClassTest] {
        let folders = ResourceFolders.beside(SystemSymbol.executable.path, of: module)
        return TypeDiscovery.testedTypes().tested.filter { $0.module == module }.flatMap { tested in
            tested.type.testSelectors.entries.map { entry in
                InClassTest(
                    typeName: tested.name, testName: entry.name, module: module, resourceFolders: folders,
                    body: entry.body)
            }
        }
    }

    /// Runs the test. If several callers call this function at the same time, the tests run one after another.
    ///
    /// - Returns: All issues that aren't known issues, or an empty array if the test is skipped.
    public func run() async -> [InClassTestIssue] {
        await SerialExecution.shared.run { await found() }
    }

    private func found() async -> [InClassTestIssue] {
        TestDirectory.testBegins(type: typeName, test: testName)
        ResourceFolders.bridged = resourceFolders
        defer { ResourceFolders.bridged = nil }
        let recorded = await Recorder.issues {
            do { try await body() } catch { try? recordThrown(error, from: "the test") }
        }
        // Issues of detached tasks and other threads. They belong to this test or an earlier one.
        var issues = (recorded + Recorder.takeStrays()).filter { $0.knownReason == nil }
            .map { InClassTestIssue(module: module, place: $0.place, description: $0.text) }
        if let kept = TestDirectory.testEnds(hasFailed: !issues.isEmpty), !issues.isEmpty {
            issues[issues.count - 1].description += "\nits temporary directory is kept: \(kept)"
        }
        return issues
    }
}

/// An issue of an in-class test.
public struct InClassTestIssue: Sendable, CustomStringConvertible {
    let module: String
    let place: CallPlace

    /// A description, such as the actual and the expected value. If the test has left a temporary directory, the
    /// description of the last issue also contains its path.
    public fileprivate(set) var description: String

    /// Returns the position of the issue as a value of another test runner. If an error without a position ended the
    /// test, returns the position of the caller.
    ///
    /// The closure receives a file ID such as `Stacks/Stack.swift`, a path, a line and a column. The line and the
    /// column are counted from 1.
    public func sourceLocation<Location>(
        _ location: (_ fileID: String, _ filePath: String, _ line: Int, _ column: Int) -> Location,
        fileID: String = #fileID, filePath: String = #filePath, line: Int = #line, column: Int = #column
    ) -> Location {
        if place == .test { return location(fileID, filePath, line, column) }
        let path = place.path
        let name = path.utf8.lastIndex(of: UInt8(ascii: "/")).map { path[path.index(after: $0)...] } ?? path[...]
        return location("\(module)/\(name)", path, place.line, place.column)
    }
}

/// Runs one operation after another, because issues are assigned to the one running test.
private actor SerialExecution {
    static let shared = SerialExecution()
    private var last: Task<[InClassTestIssue], Never>?

    func run(_ body: @escaping @Sendable () async -> [InClassTestIssue]) async -> [InClassTestIssue] {
        let task = Task { [last] in
            _ = await last?.value
            return await body()
        }
        last = task
        return await task.value
    }
}

// MARK: - In-class tests

#if SELF_TESTS
private enum BridgedTests {}

extension BridgedTests: SelfTesting {
    static var testSelectors: TestSelectors { ["testPasses": {}] }
}

extension InClassTest: SelfTesting {
    public static var testSelectors: TestSelectors {
        [
            "testListsTestsOfAModule": testListsTestsOfAModule,
            "testReturnsIssuesWithTheirPositions": testReturnsIssuesWithTheirPositions,
            "testFailureNamesItsTemporaryDirectory": testFailureNamesItsTemporaryDirectory,
            "testKnownIssuesPass": {
                expectEqual(await test { withKnownIssue("7") { fail("known") } }.run().count, 0)
            },
            "testSkipsPass": { expectEqual(await test { try skip("not here") }.run().count, 0) },
        ]
    }

    private static func testListsTestsOfAModule() async {
        let names = await all(inModule: "InClassTesting").map(\.description)
        expectTrue(names.contains("BridgedTests.testPasses"))
        expectEqual(await all(inModule: "Nowhere").count, 0)
        expectEqual(Set(await all(inModule: "InClassTesting").map(\.id)).count, names.count, "each is known by its own")
    }

    private static func test(_ body: @escaping TestBody) -> InClassTest {
        InClassTest(typeName: "T", testName: "test", module: "M", resourceFolders: nil, body: body)
    }

    private static func place(_ issue: InClassTestIssue) -> String {
        issue.sourceLocation { "\($0)|\($1)|\($2)|\($3)" }
    }

    private static func testReturnsIssuesWithTheirPositions() async throws {
        let line = #line + 1
        let issues = await test { expectEqual(1, 2, "a\nb") }.run()
        expectEqual(issues.map(\.description), [#"got 1 instead of expected 2 for a\nb"#])
        expectEqual(issues.map(place), ["M/InClassTest.swift|\(#filePath)|\(line)|46"])
        expectEqual(await test { fail("not reached") }.run().map(\.description), ["not reached"])
        // An error has no position. If a caller requests one, it gets its own position.
        struct Refused: Error {}
        let thrown = try requireNotNil(await test { throw Refused() }.run().first, "issue")
        expectTrue(thrown.description.contains("Refused"))
        let own = thrown.sourceLocation(
            { "\($0)|\($1)|\($2)|\($3)" }, fileID: "A/a.swift", filePath: "/a.swift", line: 3, column: 4)
        expectEqual(own, "A/a.swift|/a.swift|3|4")
    }

    private static func testFailureNamesItsTemporaryDirectory() async throws {
        for isFailing in [true, false] {
            let issues = await test {
                _ = try TestDirectory.make(named: "inner", in: temporaryDirectory())
                if isFailing { fail("on purpose") }
            }.run()
            expectEqual(issues.count, isFailing ? 1 : 0)
            guard let words = issues.first?.description.split(separator: "\n"), words.count == 2 else { continue }
            let start = "its temporary directory is kept: "
            expectTrue(words[1].hasPrefix(start), String(words[1]))
            TestDirectory.remove(String(words[1].dropFirst(start.count)))
        }
    }
}
#endif

#endif
