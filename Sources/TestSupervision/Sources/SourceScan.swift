// Finds in the sources of a module where its tests are listed and where they are declared. A worker knows tests by
// name only; this is what gives a crash, a thrown error or a list's mistake its line, and what notices a test that
// nobody listed.

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif
import TestEvents

/// A function that looks like a test: `test…` without parameters.
struct DeclaredTest: Equatable {
    var name: String
    var place: SourcePlace
    /// What an entry for it would be.
    var entry: String
    /// Inside an `#if` that is not about tests, so that it may not be compiled here.
    var isConditional: Bool
}

/// An entry of a list.
struct ListedTest: Equatable {
    var name: String
    /// The `test…` function it names, when that is all there is to it.
    var function: String?
    var place: SourcePlace
}

/// A list as it is written.
struct WrittenList: Equatable {
    var place: SourcePlace
    /// The `#if` that it is in, from the outermost to the innermost, each as it is written.
    var conditions: [String]
    var isOverride: Bool
    /// The entries whose names are literals; nil for a list that is made otherwise.
    var entries: [ListedTest]?
    /// Whether it is of the tests that run unless others are asked for.
    var isOfUnitTests: Bool
}

/// What the sources say about one type's tests, extensions taken together.
struct ScannedType: Equatable {
    var written: [WrittenList] = []
    /// What its declaration and what its extensions say it is.
    var declaredParents: Set<String> = []
    var addedParents: Set<String> = []
    /// The `#if` that each of them is stated in.
    var conditionsOfParents: [String: [String]] = [:]
    var isProtocol = false
    var lists: [SourcePlace] = []
    /// Behind the opening bracket of the first list.
    var insertion: SourcePlace?
    var isInsertionEmptyList = false
    var listed: [ListedTest] = []
    /// All words in the lists, to which a test may owe its being run.
    var listedWords: Set<String> = []
    var declared: [DeclaredTest] = []
}

/// The tests found in a module's sources, by the name of their type.
struct SourceScan {
    private(set) var types: [String: ScannedType] = [:]
    private let module: String

    /// Reads the sources that mention tests; one that cannot be read has none.
    ///
    /// - Complexity: O(bytes), of which only files that mention tests are looked at closely.
    init(sources: [String], module: String) {
        self.module = module
        for path in sources {
            guard let bytes = try? FileAccess.contents(of: path) else { continue }
            bytes.withUnsafeBytes { scan($0, path) }
        }
    }

    /// Creates a scan of one source, for tests of this type.
    init(text: String, path: String, module: String) {
        self.module = module
        Array(text.utf8).withUnsafeBytes { scan($0, path) }
    }

    /// What the sources say about a type by the name that workers use, `Outer.Inner` or `Table<Int>`.
    subscript(typeName: String) -> ScannedType? { types[Self.plainName(typeName)] }

    /// The place of a test's declaration, else of its entry, else of its type's list.
    func place(of test: PlannedTest) -> SourcePlace? {
        guard let type = self[test.typeName] else { return nil }
        let entry = type.listed.first { $0.name == test.testName }
        let declared =
            type.declared.first { $0.name == test.testName }
            ?? type.declared.first { $0.name == entry?.function }
        return declared?.place ?? entry?.place ?? type.lists.first
    }

    /// Whether a line belongs to a test: to its declaration or what follows up to the next one, or, above all tests of
    /// its file, to any test of a type that is tested there.
    func covers(_ line: ChosenLine, _ test: PlannedTest) -> Bool {
        guard let place = place(of: test), line.names(place.path) else { return false }
        let starts = types.values.flatMap(\.declared).filter { $0.place.path == place.path }.map(\.place.line)
        guard let start = starts.filter({ $0 <= line.line }).max() else { return true }
        return place.line == start
    }

    /// The name without generic arguments.
    static func plainName(_ name: String) -> String {
        var depth = 0
        return String(
            name.filter { character in
                if character == "<" { depth += 1 }
                defer { if character == ">" { depth -= 1 } }
                return depth == 0
            })
    }

    private mutating func scan(_ source: UnsafeRawBufferPointer, _ path: String) {
        guard
            ByteSearch.offset(of: "testSelectors", in: source) != nil
                || ByteSearch.offset(of: "func test", in: source) != nil
        else { return }
        var parser = SourceParser(source: source, path: path, module: module, types: types)
        parser.parse()
        types = parser.types
    }
}

// MARK: - In-class tests

#if SELF_TESTS && (DEBUG || IN_CLASS_TESTS)
import InClassTesting

extension SourceScan: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testFindsThePlaceOfATest": testFindsThePlaceOfATest,
            "testOffersTheRightEntry": testOffersTheRightEntry,
            "testReadsSourcesThatEndAnywhere": testReadsSourcesThatEndAnywhere,
        ]
    }

    /// Within each name, bracket and string; what is found of them is found of the whole, or less.
    private static func testReadsSourcesThatEndAnywhere() {
        let text = """
            @MainActor extension Outer.Inner: SelfTesting where T: P {
            class var testSelectors: TestSelectors { ["testA": testA, "b": { try f(1) }] + ["c": fixture(Self.testA)] }
            static var testSelectorsByType: [TestType: TestSelectors] { ["slow": ["d": testA]] }
            #if os(Linux) && DEBUG
            override func testA() async throws { "a \\(b) " }
            #endif
            }
            """
        let whole = scan(text)
        expectTrue(whole.types["Outer.Inner"] != nil, "the type")
        for count in 0...text.utf8.count {
            let part = scan(String(decoding: text.utf8.prefix(count), as: UTF8.self))
            expectTrue(
                part.types.keys.allSatisfy { "Outer.Inner".hasPrefix($0) }, "\(part.types.keys) of \(count) bytes")
        }
    }

    private static func scan(_ text: String) -> SourceScan { SourceScan(text: text, path: "/s.swift", module: "M") }

    private static func testFindsThePlaceOfATest() {
        let scan = scan(
            """
            extension S { static var testSelectors: TestSelectors { [
                "testA": testA,
                "testClosure": { _ in },
                "testOtherName": testA,
            ] }
            static func testA() {} }
            """)
        let rows = [("testA", 6), ("testClosure", 3), ("testOtherName", 6), ("testUnknown", 1)]
        for (name, line) in rows {
            let test = PlannedTest(typeName: "S", testName: name, testType: "unit", module: "M")
            expectEqual(scan.place(of: test)?.line, line, name)
        }
    }

    private static func testOffersTheRightEntry() {
        let declared = scan(
            """
            extension S {
                static func testA() {}
                func testB() {}
                mutating func testC() async throws {}
                @MainActor private static func testD() throws {}
            }
            """)["S"]?.declared
        expectEqual(
            declared?.map(\.entry),
            [
                "\"testA\": testA", "\"testB\": fixture(testB)", "\"testC\": fixture { try await $0.testC() }",
                "\"testD\": testD",
            ])
    }
}
#endif
