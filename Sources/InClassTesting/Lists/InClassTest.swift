// The bridge to test runners that take their cases as values, swift-testing's parameterised tests above all: every
// in-class test of a module as a case of its own.

#if DEBUG || IN_CLASS_TESTS

/// An in-class test as a value, for another test runner to list and run.
///
/// One line in a test target makes every in-class test of a module a case of `swift test` and of the editor's list:
/// ```swift
/// @Test(arguments: await InClassTest.all(inModule: "Stacks"))
/// func inClassTests(_ test: InClassTest) async throws { try await test.run() }
/// ```
public struct InClassTest: Sendable, CustomStringConvertible {
    /// The type's name without its module.
    public let typeName: String
    /// The name in the list.
    public let testName: String
    // SAFETY: `SerialExecution` runs one test at a time.
    private nonisolated(unsafe) let body: TestBody

    /// The name of the test, as `Type.test`.
    public var description: String { "\(typeName).\(testName)" }

    /// Finds the tests of the lists `testSelectors` of a module that is linked into this process, sorted by type.
    ///
    /// - Complexity: O(number of conformance records in the process).
    @MainActor
    public static func all(inModule module: String) async -> [InClassTest] {
        TypeDiscovery.testedTypes().tested.filter { $0.module == module }.flatMap { tested in
            tested.type.testSelectors.entries.map { entry in
                InClassTest(typeName: tested.name, testName: entry.name, body: entry.body)
            }
        }
    }

    /// Runs the test; in-class tests run one at a time, however many callers there are.
    ///
    /// - Throws: `InClassTestFailure` with every issue that is not known; nothing for a test that skips itself.
    public func run() async throws {
        if let failure = await SerialExecution.shared.run({ await failure() }) { throw failure }
    }

    private func failure() async -> InClassTestFailure? {
        Recorder.openCollection()
        TestDirectory.testBegins(type: typeName, test: testName)
        do { try await body() } catch { try? recordThrown(error, from: "the test") }
        let failures = Recorder.closeScope().collected.filter { $0.knownReason == nil }
        let keptDirectory = TestDirectory.testEnds(hasFailed: !failures.isEmpty)
        return failures.isEmpty ? nil : InClassTestFailure(issues: failures, keptDirectory: keptDirectory)
    }
}

/// What an in-class test did not do as expected, one line an issue in the compiler's form.
public struct InClassTestFailure: Error, CustomStringConvertible {
    let issues: [RecordedIssue]
    /// The temporary directory of the test, if something is in it.
    let keptDirectory: String?

    /// The issues, one a line, each with its place; then the temporary directory that the test has left.
    public var description: String {
        let lines = issues.map { issue in
            let place =
                issue.place == .test ? "" : "\(issue.place.path):\(issue.place.line):\(issue.place.column): error: "
            return place + issue.text
        }
        return (lines + (keptDirectory.map { ["its temporary directory is kept: \($0)"] } ?? [])).joined(
            separator: "\n")
    }
}

/// Runs one thing after another: issues belong to the one test that is running.
private actor SerialExecution {
    static let shared = SerialExecution()
    private var last: Task<Void, Never>?

    func run(_ body: @escaping @Sendable () async -> InClassTestFailure?) async -> InClassTestFailure? {
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
    static var testSelectors: TestSelectors {
        [
            "testPasses": {}
        ]
    }
}

extension InClassTest: SelfTesting {
    public static var testSelectors: TestSelectors {
        [
            "testListsTheTestsOfAModule": testListsTheTestsOfAModule,
            "testThrowsWhatWasRecorded": testThrowsWhatWasRecorded,
            "testKnownIssuesAndSkipsPass": testKnownIssuesAndSkipsPass,
            "testNamesTheDirectoryOfAFailure": testNamesTheDirectoryOfAFailure,
        ]
    }

    private static func testListsTheTestsOfAModule() async {
        let names = await all(inModule: "InClassTesting").map(\.description)
        expectTrue(names.contains("BridgedTests.testPasses"))
        expectEqual(await all(inModule: "Nowhere").count, 0)
    }

    private static func testThrowsWhatWasRecorded() async {
        let test = InClassTest(typeName: "T", testName: "test") { expectEqual(1, 2, "a\nb") }
        let failure = await expectThrows(InClassTestFailure.self) { try await test.run() }
        expectTrue(failure?.description.hasSuffix(#": error: got 1 instead of expected 2 for a\nb"#) ?? false)
        expectTrue(failure?.description.hasPrefix(#filePath) ?? false)
        let plain = InClassTest(typeName: "T", testName: "test") { fail("not reached") }
        let words = await expectThrows(InClassTestFailure.self) { try await plain.run() }
        expectTrue(words?.description.hasSuffix(": error: not reached") ?? false)
    }

    private static func testNamesTheDirectoryOfAFailure() async throws {
        for isFailing in [true, false] {
            let test = InClassTest(typeName: "T", testName: "test") {
                _ = try TestDirectory.make(named: "inner", in: temporaryDirectory())
                if isFailing { fail("on purpose") }
            }
            do {
                try await test.run()
                expectFalse(isFailing, "a failing test passed")
            } catch let failure as InClassTestFailure {
                let path = try requireNotNil(failure.keptDirectory, "directory of the failed test")
                expectTrue(failure.description.hasSuffix("\nits temporary directory is kept: \(path)"))
                TestDirectory.remove(path)
            }
        }
    }

    private static func testKnownIssuesAndSkipsPass() async throws {
        try await InClassTest(typeName: "T", testName: "test") { withKnownIssue("7") { fail("known") } }.run()
        try await InClassTest(typeName: "T", testName: "test") { try skip("not here") }.run()
    }
}
#endif

#endif
