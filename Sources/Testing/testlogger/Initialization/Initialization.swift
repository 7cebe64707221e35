// `swift package testlogger init [TARGET]`: prepares a package for in-class tests and writes a first test. Every check
// that needs no change comes first. If SwiftPM can't load the changed package, all files are restored.

internal import InClassSystem
import TestSupervision

struct Initialization {
    let facts: PackageFacts

    /// Prepares the package that a file of the command plugin describes.
    static func run(_ path: String) -> ExitStatus {
        Interruption.watchSignals()
        // SwiftPM's lock on the build folder is held as long as the plugin runs.
        unsetenv("SWIFTPM_BUILD_DIR")
        do {
            let facts = PackageFacts(String(decoding: try FileAccess.contents(of: path), as: UTF8.self))
            try Initialization(facts: facts).run()
            return .passed
        } catch let error as ManifestError {
            let place = "\(error.place.path):\(error.place.line):\(error.place.column)"
            let lines = error.description.split(separator: "\n", maxSplits: 1)
            TestLogger.complain("\(place): error: \(lines[0]); nothing was changed", severity: nil)
            if lines.count > 1 { TestLogger.complain(String(lines[1]), severity: nil) }
        } catch {
            TestLogger.complain("\(error)")
        }
        return .notRun
    }

    func run() throws {
        let target = try chosenTarget()
        let manifest = try usedManifest()
        var editor = ManifestEditor(
            try FileAccess.contents(of: "\(facts.root)/\(manifest)"), path: "\(facts.root)/\(manifest)")
        let plan = ManifestPlan(facts: facts, target: target, editor: editor)
        guard !plan.isEmpty else {
            print("nothing to do: \(plan.summary)")
            return
        }
        try check(plan)
        do throws(ManifestError) { try plan.edit(&editor) } catch {
            throw ManifestError(place: error.place, description: "\(error.description)\n\(plan.instructions(editor))")
        }
        var changes: [FileChange] = []
        // Each step leaves a package that can be built.
        if plan.makesTested {
            changes.append(try FileChange("\(facts.root)/\(plan.testedFolder)/Tested.swift", Self.targetText))
        }
        changes.append(try FileChange(editor.path, String(decoding: editor.bytes, as: UTF8.self)))
        let hasTests = try hasTests(target)
        let testFile = "\(target.folder)/FirstTests.swift"
        if !hasTests { changes.append(try FileChange(testFile, Self.testText(isLibrary: plan.isLibrary))) }
        for change in changes { print(change.diff(root: facts.root), terminator: "") }
        try apply(changes) { output in
            hasTests || Self.sources(of: target.name, in: output).contains("FirstTests.swift")
                ? nil : "target '\(target.name)' doesn't compile \(testFile): check its 'sources:' and 'exclude:'"
        }
        print("\(manifest): \(plan.summary)")
        if !hasTests { print("move the first test to the bottom of the file of the type it tests") }
        if let program = target.program {
            print("'swift run \(program)' does not wait for the tests, 'swift build' does")
        }
        for note in notes(manifest) { print(note) }
        print("now: swift build")
    }

    // MARK: Checks

    private func chosenTarget() throws -> PackageFacts.Target {
        let candidates = facts.candidates
        let names = candidates.map(\.name).joined(separator: ", ")
        guard let first = candidates.first else {
            throw UsageError(description: "the package has no Swift target that can be tested")
        }
        guard facts.words.count <= 1 else {
            throw UsageError(
                description: "one target at a time: swift package testlogger init \(facts.words[0])")
        }
        if let name = facts.words.first {
            guard let target = candidates.first(where: { $0.name == name }) else {
                if facts.names.contains(name), !facts.targets.contains(where: { $0.name == name }) {
                    throw UsageError(
                        description: "target '\(name)' is neither a Swift library nor a Swift program, so no "
                            + "build runs its tests: move the code to be tested to a library target (known are \(names))"
                    )
                }
                throw UsageError(
                    description: "there is no Swift target '\(name)'"
                        + suggestion(for: name, among: candidates.map(\.name)) + " (known are \(names))")
            }
            return target
        }
        guard candidates.count == 1 else {
            throw UsageError(
                description: "name the target to be tested (\(names)): swift package testlogger init \(first.name)")
        }
        return first
    }

    /// The manifests by name, with the tools version of each.
    private var manifests: [(name: String, version: [Int])] {
        get throws {
            try FileAccess.names(in: facts.root)
                .filter { $0 == "Package.swift" || $0.hasPrefix("Package@swift-") && $0.hasSuffix(".swift") }
                .map { name in
                    let text = String(decoding: try FileAccess.contents(of: "\(facts.root)/\(name)"), as: UTF8.self)
                    let version = text.firstMatch(of: /swift-tools-version:\s*([0-9.]+)/)?.1 ?? "3.1"
                    return (name, Self.numbers(version))
                }
        }
    }

    private static func numbers(_ version: some StringProtocol) -> [Int] {
        Array((version.split(separator: ".").map { Int($0) ?? 0 } + [0, 0, 0]).prefix(3))
    }

    /// The manifest that SwiftPM has read: the one with the package's tools version.
    func usedManifest() throws -> String {
        guard facts.isAtLeast(5, 6) else {
            throw ManifestError(
                place: .init(path: "\(facts.root)/Package.swift", line: 1, column: 1),
                description:
                    "tools version \(facts.toolsVersion) has no build tool plugins: write '// swift-tools-version: 5.9'"
            )
        }
        let version = Self.numbers(facts.toolsVersion)
        return try manifests.last { $0.version == version }?.name ?? "Package.swift"
    }

    func notes(_ manifest: String) -> [String] {
        let version = Self.numbers(facts.toolsVersion)
        return ((try? manifests) ?? []).filter { $0.name != manifest }.compactMap { other in
            let bytes = (try? FileAccess.contents(of: "\(facts.root)/\(other.name)")) ?? []
            let path = "\(facts.root)/\(other.name)"
            if version.lexicographicallyPrecedes(other.version) {
                return "\(path):1:1: warning: newer compilers read this manifest: make the same changes here"
            }
            guard let place = ManifestEditor(bytes, path: path).dependency(facts.identity) else { return nil }
            return "\(path):\(place.line):\(place.column): warning: older compilers read this manifest and can't build "
                + "InClassTesting: remove this dependency"
        }
    }

    private func check(_ plan: ManifestPlan) throws {
        if plan.isLibrary, "\(facts.root)/".contains("/checkouts/") {
            throw UsageError(
                description: "\(facts.root) is in a folder 'checkouts', as the packages that SwiftPM checks out for "
                    + "others are: move the package; nothing was changed")
        }
        if let tested = facts.tested, plan.makesTested || !tested.hasPlugin {
            throw UsageError(
                description: "a target 'Tested' exists already: add 'plugins: [\(plan.plugin)]' to a target that "
                    + "depends on '\(plan.target.name)'; nothing was changed")
        }
        if plan.makesTested, facts.names.contains("Tested") || FileAccess.exists("\(facts.root)/\(plan.testedFolder)") {
            throw UsageError(
                description: "\(facts.root)/\(plan.testedFolder) exists already, where 'init' would make a target: "
                    + "rename it; nothing was changed")
        }
        if plan.makesTested, facts.folders.contains(where: { "\(facts.root)/Tested/".hasPrefix("\($0)/") }) {
            throw UsageError(
                description: "a target has the whole package as its folder, so there is no place for the target "
                    + "'Tested': give it a 'path:'; nothing was changed")
        }
        if FileAccess.exists("\(plan.target.folder)/FirstTests.swift"), try !hasTests(plan.target) {
            throw UsageError(
                description: "\(plan.target.folder)/FirstTests.swift exists already; nothing was changed")
        }
    }

    /// Returns true if the target has tests: the first one, or others.
    private func hasTests(_ target: PackageFacts.Target) throws -> Bool {
        try target.sources.contains { source in
            String(decoding: try FileAccess.contents(of: source), as: UTF8.self).contains("import InClassTesting")
        }
    }

    /// The sources of a target in the output of `swift package describe`.
    private static func sources(of target: String, in description: String) -> [String] {
        let targets = description.split(separator: "\nTargets:\n").last ?? ""
        let lines = targets.split(separator: "\n", omittingEmptySubsequences: false)
            .drop { $0 != "    Name: \(target)" }
        return lines.drop { $0 != "    Sources:" }.dropFirst().prefix { $0.hasPrefix("        ") }
            .map { String($0.dropFirst(8)) }
    }

    // MARK: Changing files

    /// Writes the changes, and takes them back if SwiftPM doesn't load the package then.
    ///
    /// - Parameter obstacle: returns a problem in the output of `swift package describe`.
    private func apply(_ changes: [FileChange], obstacle: (String) -> String?) throws {
        do {
            for change in changes { try change.apply() }
            let loaded = try ChildProcess.run(facts.swift + ["describe"])
            let output = String(decoding: loaded.output, as: UTF8.self)
            if let reason = Interruption.reason { throw UsageError(description: "ended by \(reason)") }
            guard loaded.end == .exited(0) else {
                TestLogger.complain(output, severity: nil)
                throw UsageError(description: "SwiftPM can't load the changed package")
            }
            if let obstacle = obstacle(output) { throw UsageError(description: obstacle) }
        } catch {
            for change in changes.reversed() { try change.takeBack() }
            throw UsageError(description: "\(error); all files were restored")
        }
    }

    // MARK: Texts

    private static let targetText =
        "// This target has no code of its own: in its build the in-class tests of the package run.\n"

    private static func testText(isLibrary: Bool) -> String {
        """
        // A first test. A type's tests belong at the bottom of the type's own file, in an extension of the type.

        #if \(isLibrary ? "SELF_TESTS && (DEBUG || IN_CLASS_TESTS)" : "DEBUG || IN_CLASS_TESTS")
        import InClassTesting

        enum FirstTests {}

        extension FirstTests: SelfTesting {
            static var testSelectors: TestSelectors { [
                "testAddition": testAddition,
            ] }

            private static func testAddition() {
                expectEqual(1 + 1, 2, "one and one")
            }
        }
        #endif

        """
    }
}

/// A change of a file, or a new file, that can be taken back.
struct FileChange {
    let path: String
    /// nil if the file is new.
    private let old: [UInt8]?
    private let new: [UInt8]
    /// The folders that are created for it, the innermost first.
    private let folders: [String]

    init(_ path: String, _ text: String) throws {
        self.path = path
        new = Array(text.utf8)
        old = FileAccess.exists(path) ? try FileAccess.contents(of: path) : nil
        var folders: [String] = []
        var folder = FileAccess.directory(of: path)
        while !FileAccess.exists(folder) {
            folders.append(folder)
            folder = FileAccess.directory(of: folder)
        }
        self.folders = folders
    }

    /// The change in the form of `diff -u`, before it is applied.
    func diff(root: String) -> String {
        let name = path.hasPrefix("\(root)/") ? String(path.dropFirst(root.utf8.count + 1)) : path
        let (oldName, oldPath) = old == nil ? ("/dev/null", "/dev/null") : ("a/\(name)", path)
        let words = ["diff", "-u", "-L", oldName, "-L", "b/\(name)", oldPath, "-"]
        // Few systems have no such program; there the name has to do.
        guard let result = try? ChildProcess.run(words, input: new), result.end == .exited(1) else {
            return "+++ b/\(name)\n"
        }
        return String(decoding: result.output, as: UTF8.self)
    }

    func apply() throws {
        for folder in folders.reversed() where mkdir(folder, 0o777) != 0 {
            throw SystemError("make the folder \(folder)")
        }
        if old == nil { try FileAccess.write(new, to: path) } else { try FileReplacement.write(new, to: path) }
    }

    func takeBack() throws {
        if let old {
            if try FileAccess.contents(of: path) != old { try FileReplacement.write(old, to: path) }
        } else {
            unlink(path)
            for folder in folders { rmdir(folder) }
        }
    }
}
