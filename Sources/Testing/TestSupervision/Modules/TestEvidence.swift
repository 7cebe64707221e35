// Determines whether a module has tests, without linking it.

extension ModuleDescription {
    /// A Boolean value that indicates whether the module's own objects contain the name of a type in InClassTesting.
    /// The objects of every module with tests do.
    package var usesLibrary: Bool {
        var own = self
        own.fileMaps = Array(fileMaps.prefix(1))
        own.objects = objects.filter { FileAccess.name(of: $0) == "\(target).o" }
        own.executables = executables.filter { FileAccess.name(of: $0) == "\(target)-" }
        // Mangled names contain the length and the name of the library. Errors in objects are reported when they are
        // linked.
        guard let objects = try? own.resolvedObjects(), !objects.isEmpty else { return true }
        return objects.contains { Self.file($0, holds: "14InClassTesting") }
    }

    /// A Boolean value that indicates whether the module exports InClassTesting to other modules. Such a module needs
    /// no tests.
    package var isTestKit: Bool {
        sources.contains { Self.file($0, holds: "@_exported import InClassTesting") }
    }

    /// A Boolean value that indicates whether a source declares a list of tests.
    package var listsTests: Bool {
        SourceScan(sources: sources, module: module).types.values.contains { !$0.lists.isEmpty }
    }

    private static func file(_ path: String, holds text: StaticString) -> Bool {
        ((try? FileAccess.contents(of: path)) ?? []).withUnsafeBytes { ByteSearch.offset(of: text, in: $0) != nil }
    }
}

// MARK: - In-class tests

#if SELF_TESTS && (DEBUG || IN_CLASS_TESTS)
import InClassTesting

enum TestEvidence {}

extension TestEvidence: SelfTesting {
    static var testSelectors: TestSelectors {
        ["testFindsUsesInOwnObjects": testFindsUsesInOwnObjects, "testFindsListsInSources": testFindsListsInSources]
    }

    private static func testFindsUsesInOwnObjects() throws {
        let root = try temporaryDirectory()
        func write(_ text: String, _ name: String) throws {
            try FileAccess.write(Array(text.utf8), to: "\(root)/\(name)")
        }
        var module = ModuleDescription()
        module.target = "my-kit"
        expectTrue(module.usesLibrary, "without objects")
        module.objects = ["my-kit.o", "InClassTesting.o"].map { "\(root)/\($0)" }
        for name in ["my-kit.o", "my.o"] { try write("$s6my_kit", name) }
        try write("$s14InClassTesting", "InClassTesting.o")
        expectFalse(module.usesLibrary)
        try write("$s6my_kit1SV14InClassTesting", "my-kit.o")
        expectTrue(module.usesLibrary)
        module.fileMaps = ["a", "b"].map { "\(root)/\($0).json" }
        for name in ["a", "b"] { try write("{\"\(name)\": {\"object\": \"\(root)/\(name).o\"}}", "\(name).json") }
        module.objects = []
        try write("", "a.o")
        try write("14InClassTesting", "b.o")
        expectFalse(module.usesLibrary, "what only the second module names")
        try write("14InClassTesting", "a.o")
        expectTrue(module.usesLibrary)
        module = ModuleDescription()
        module.target = "tool"
        module.executables = ["tool-", "tool-x-"].map { "\(root)/\($0)" }
        for name in ["tool-1A", "tool-x-2B"] {
            try write(name.hasPrefix("tool-x") ? "14InClassTesting" : "", "\(name)-testable.o")
        }
        expectEqual(try module.resolvedObjects(), ["tool-1A", "tool-x-2B"].map { "\(root)/\($0)-testable.o" })
        expectFalse(module.usesLibrary, "a program whose name is the beginning of another's")
    }

    private static func testFindsListsInSources() throws {
        let path = "\(try temporaryDirectory())/a.swift"
        let rows = [
            ("", false, false), ("@_exported import InClassTesting", false, true),
            ("import InClassTesting\n// static var testSelectors: none", false, false),
            ("extension A: SelfTesting {\n    static var testSelectors: TestSelectors { [:] }", true, false),
            ("actor A {\n    nonisolated static let testSelectors: TestSelectors = [:]\n}", true, false),
            ("struct A { /*\n static let testSelectors: TestSelectors = [:]\n*/ }", false, false),
            ("print(A.testSelectors, \" testSelectors\")", false, false),
        ]
        var module = ModuleDescription()
        module.sources = ["/none.swift", path]
        for (text, listsTests, isTestKit) in rows {
            try FileAccess.write(Array(text.utf8), to: path)
            expectEqual(module.listsTests, listsTests, text)
            expectEqual(module.isTestKit, isTestKit, text)
        }
    }
}
#endif
