// `swift package testlogger init [TARGET]`: prepares a package for in-class tests and writes a first test. If SwiftPM can't
// load the changed package, all files are restored.

internal import InClassSystem
import TestReporting
import TestSupervision

struct Initialization {
    let facts: PackageFacts

    /// Prepares the package that a file of the command plugin describes.
    static func run(_ path: String) -> ExitStatus {
        Interruption.watchSignals()
        do {
            let facts = PackageFacts(String(decoding: try FileAccess.contents(of: path), as: UTF8.self))
            try Initialization(facts: facts).run()
            return .passed
        } catch {
            TestLogger.complain(error)
            return .notRun
        }
    }

    func run() throws {
        let target = try chosenTarget()
        let manifest = try usedManifest()
        let path = "\(facts.root)/\(manifest)"
        var editor = ManifestEditor(try FileAccess.contents(of: path), path: path)
        let plan = ManifestPlan(facts: facts, target: target, editor: editor)
        guard !plan.isEmpty else {
            print("nothing to do: \(plan.summary)")
            return
        }
        if plan.isLibrary, "\(facts.root)/".contains("/checkouts/") {
            throw UsageError(
                description:
                    "\(facts.root) is in a folder 'checkouts', as the packages that SwiftPM checks out for others "
                    + "are: move the package; nothing was changed")
        }
        let hasTests = try target.sources.contains { source in
            String(decoding: try FileAccess.contents(of: source), as: UTF8.self).contains("import InClassTesting")
        }
        let testFile = "\(target.folder)/FirstTests.swift"
        let testedFolder = "\(facts.root)/\(plan.testedFolder)"
        let newPaths = (plan.makesTested ? [testedFolder] : []) + (hasTests ? [] : [testFile])
        if let path = newPaths.first(where: FileAccess.exists) {
            throw UsageError(description: "\(path) exists already; nothing was changed")
        }
        do throws(LocatedError) { try plan.edit(&editor) } catch {
            throw LocatedError(at: error.place, "\(error.message); nothing was changed\n\(plan.instructions(editor))")
        }
        // Each step leaves a package that can be built.
        var changes: [FileChange] = []
        if plan.makesTested { changes.append(try FileChange("\(testedFolder)/Tested.swift", Self.targetText)) }
        changes.append(try FileChange(path, String(decoding: editor.bytes, as: UTF8.self)))
        if !hasTests { changes.append(try FileChange(testFile, Self.testText(isLibrary: plan.isLibrary))) }
        for change in changes { print(change.diff(root: facts.root), terminator: "") }
        try apply(changes) { output in
            // A product may have the target's name, but products come first.
            let rest = output.split(separator: "    Name: \(target.name)\n").last ?? ""
            let lines = rest.split(separator: "\n").prefix { !$0.hasPrefix("    Name: ") }
            if hasTests || lines.contains("        FirstTests.swift") { return }
            throw UsageError(
                description: "target '\(target.name)' doesn't compile \(testFile): check its 'sources:' and 'exclude:'")
        }
        print("\(manifest): \(plan.summary)")
        if !hasTests { print("move the first test to the bottom of the file of the type it tests") }
        if let program = target.program {
            print("'swift run \(program)' does not wait for the tests, 'swift build' does")
        }
        for note in try notes(manifest) { print(note) }
        print("now: swift build")
    }

    // MARK: Checks

    private func chosenTarget() throws -> PackageFacts.Target {
        let candidates = facts.candidates
        let names = candidates.map(\.name)
        let known = names.joined(separator: ", ")
        let message: String
        switch facts.words.count {
        case 0 where candidates.count == 1: return candidates[0]
        case 0 where candidates.isEmpty: message = "the package has no Swift target that can be tested"
        case 0: message = "name the target to be tested (\(known)): swift package testlogger init \(names[0])"
        case 1:
            let name = facts.words[0]
            if let target = candidates.first(where: { $0.name == name }) { return target }
            let isOther = facts.names.contains(name) && !facts.targets.contains { $0.name == name }
            message =
                isOther
                ? "target '\(name)' is neither a Swift library nor a Swift program, so no build runs its tests: move the "
                    + "code to be tested to a library target (known are \(known))"
                : "there is no Swift target '\(name)'\(suggestion(for: name, among: names)) (known are \(known))"
        default: message = "one target at a time: swift package testlogger init \(facts.words[0])"
        }
        throw UsageError(description: message)
    }

    /// Returns the manifests by name, with the tools version of each.
    private func manifests() throws -> [(name: String, version: [Int])] {
        try FileAccess.names(in: facts.root)
            .filter { $0 == "Package.swift" || $0.hasPrefix("Package@swift-") && $0.hasSuffix(".swift") }
            .map { name in
                let text = String(decoding: try FileAccess.contents(of: "\(facts.root)/\(name)"), as: UTF8.self)
                return (name, PackageFacts.numbers(text.firstMatch(of: /swift-tools-version:\s*([0-9.]+)/)?.1 ?? "3.1"))
            }
    }

    /// The manifest that SwiftPM has read: the one with the package's tools version.
    func usedManifest() throws -> String {
        try manifests().last { $0.version == facts.version }?.name ?? "Package.swift"
    }

    func notes(_ manifest: String) throws -> [String] {
        try manifests().filter { $0.name != manifest }.compactMap { other in
            let path = "\(facts.root)/\(other.name)"
            if facts.version.lexicographicallyPrecedes(other.version) {
                return "\(path):1:1: warning: newer compilers read this manifest: make the same changes here"
            }
            let editor = ManifestEditor(try FileAccess.contents(of: path), path: path)
            guard let (list, index) = editor.dependency(facts.identity) else { return nil }
            let place = editor.error("", at: editor.items(list)[index].lowerBound).place
            return "\(place.text): warning: older compilers read this manifest and can't build InClassTesting: "
                + "remove this dependency"
        }
    }

    // MARK: Changing files

    /// Writes the changes. If SwiftPM can't load the package afterwards, restores the files.
    ///
    /// - Parameter check: Throws if it finds a problem in the output of `swift package describe`.
    private func apply(_ changes: [FileChange], check: (String) throws -> Void) throws {
        do {
            for change in changes { try change.apply() }
            let loaded = try ChildProcess.run(facts.swift + ["describe"])
            let output = String(decoding: loaded.output, as: UTF8.self)
            if let reason = Interruption.reason { throw UsageError(description: "ended by \(reason)") }
            guard loaded.end == .exited(0) else {
                TestLogger.complain(output, severity: nil)
                throw UsageError(description: "SwiftPM can't load the changed package")
            }
            try check(output)
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
    private let path: String
    /// The old contents, or nil for a new file.
    private let old: [UInt8]?
    private let new: [UInt8]

    init(_ path: String, _ text: String) throws {
        self.path = path
        new = Array(text.utf8)
        old = FileAccess.exists(path) ? try FileAccess.contents(of: path) : nil
    }

    /// Returns the change in the form of `diff -u`, before it is applied.
    func diff(root: String) -> String {
        let name = TextStyle(root: root, isRelative: true).text(path)
        let (oldName, oldPath) = old == nil ? ("/dev/null", "/dev/null") : ("a/\(name)", path)
        let words = ["diff", "-u", "-L", oldName, "-L", "b/\(name)", oldPath, "-"]
        // Some systems don't have the program.
        guard let result = try? ChildProcess.run(words, input: new), result.end == .exited(1) else {
            return "+++ b/\(name)\n"
        }
        return String(decoding: result.output, as: UTF8.self)
    }

    func apply() throws {
        try FileAccess.makeFolder(FileAccess.directory(of: path))
        try FileReplacement.writeOutput(new, to: path)
    }

    func takeBack() throws {
        if let old {
            if try FileAccess.contents(of: path) != old { try FileReplacement.write(old, to: path) }
            return
        }
        unlink(path)
        // Only a folder that was created for the file is empty.
        var folder = FileAccess.directory(of: path)
        while rmdir(folder) == 0 { folder = FileAccess.directory(of: folder) }
    }
}
