// The bridge to test runners that take their cases as values, swift-testing's parameterised tests above all: every
// in-class test of a module as a case of its own.

#if DEBUG || IN_CLASS_TESTS

/// An in-class test as a value, for another test runner to list and run.
///
/// A few lines in a test target make every in-class test of a module a case of `swift test` and of the editor's list, which
/// can be run again by itself, and whose failures are at their own lines:
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
    /// The name in the list.
    public let testName: String
    private let module: String
    private let resourceFolders: [String]?
    // SAFETY: `SerialExecution` runs one test at a time.
    private nonisolated(unsafe) let body: TestBody

    /// What stays the same from run to run, by which an editor asks for this test alone: its name, as `Type.test`.
    public var id: String { description }

    /// The name of the test, as `Type.test`.
    public var description: String { "\(typeName).\(testName)" }

    /// Finds the tests of the lists `testSelectors` of a module that is linked into this process, sorted by type.
    ///
    /// - Complexity: O(number of conformance records in the process).
    @MainActor
    public static func all(inModule module: String) async -> [InClassTest] {
        let folders = ResourceFolders.beside(SystemSymbol.image.path, of: module)
        return TypeDiscovery.testedTypes().tested.filter { $0.module == module }.flatMap { tested in
            tested.type.testSelectors.entries.map { entry in
                InClassTest(
                    typeName: tested.name, testName: entry.name, module: module, resourceFolders: folders,
                    body: entry.body)
            }
        }
    }

    /// Runs the test; in-class tests run one at a time, however many callers there are.
    ///
    /// - Returns: every issue that is not known; none for a test that skips itself.
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
        // Those of detached tasks and other threads, which belong to this test or an earlier one.
        var issues = (recorded + Recorder.takeStrays()).filter { $0.knownReason == nil }
            .map { InClassTestIssue(module: module, place: $0.place, description: $0.text) }
        if let kept = TestDirectory.testEnds(hasFailed: !issues.isEmpty), !issues.isEmpty {
            issues[issues.count - 1].description += "\nits temporary directory is kept: \(kept)"
        }
        return issues
    }
}

/// What an in-class test did not do as expected.
public struct InClassTestIssue: Sendable, CustomStringConvertible {
    let module: String
    let place: CallPlace

    /// What was got and expected; then, of the last issue of a test, the temporary directory that it has left.
    public fileprivate(set) var description: String

    /// Makes the other test runner's value for the line of the issue, or for the caller's where an error without one
    /// ended the test.
    ///
    /// The function makes it of an ID such as `Stacks/Stack.swift`, a path, a line and a column, both from 1.
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

/// Runs one thing after another: issues belong to the one test that is running.
private actor SerialExecution {
    static let shared = SerialExecution()
    private var last: Task<Void, Never>?

    func run(_ body: @escaping @Sendable () async -> [InClassTestIssue]) async -> [InClassTestIssue] {
        let previous = last
        let task = Task {
            await previous?.value
            return await body()
        }
        last = Task { _ = await task.value }
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
            "testListsTheTestsOfAModule": testListsTheTestsOfAModule,
            "testTellsWhatWasRecordedAndWhere": testTellsWhatWasRecordedAndWhere,
            "testNamesTheDirectoryOfAFailure": testNamesTheDirectoryOfAFailure,
            "testKnownIssuesPass": {
                expectEqual(await test { withKnownIssue("7") { fail("known") } }.run().count, 0)
            },
            "testSkipsPass": { expectEqual(await test { try skip("not here") }.run().count, 0) },
        ]
    }

    private static func testListsTheTestsOfAModule() async {
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

    private static func testTellsWhatWasRecordedAndWhere() async throws {
        let line = #line + 1
        let issues = await test { expectEqual(1, 2, "a\nb") }.run()
        expectEqual(issues.map(\.description), [#"got 1 instead of expected 2 for a\nb"#])
        expectEqual(issues.map(place), ["M/InClassTest.swift|\(#filePath)|\(line)|46"])
        expectEqual(await test { fail("not reached") }.run().map(\.description), ["not reached"])
        // An error has no place, but whoever asks for one gets his own.
        struct Refused: Error {}
        let thrown = try requireNotNil(await test { throw Refused() }.run().first, "issue")
        expectTrue(thrown.description.contains("Refused"))
        let own = thrown.sourceLocation(
            { "\($0)|\($1)|\($2)|\($3)" }, fileID: "A/a.swift", filePath: "/a.swift", line: 3, column: 4)
        expectEqual(own, "A/a.swift|/a.swift|3|4")
    }

    private static func testNamesTheDirectoryOfAFailure() async throws {
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
