// Tests the checks before `init` writes files, and the restoring of files after an error. A shell command replaces
// SwiftPM.

#if SELF_TESTS && (DEBUG || IN_CLASS_TESTS)
internal import InClassSystem
import InClassTesting
import TestSupervision

extension Initialization: SelfTesting {
    static var testSelectors: TestSelectors {
        let tests: TestSelectors = [
            "testPreparesAPackage": testPreparesAPackage,
            "testRefusesExistingFiles": testRefusesExistingFiles,
        ]
        let obstacles = [
            ("SwiftPM refuses", "echo 'error: overlapping sources'; exit 1", "SwiftPM can't load the changed package"),
            ("sources are excluded", describe(sources: []), "doesn't compile"),
            ("interrupted", "kill -s TERM $PPID; \(describe(sources: ["FirstTests.swift"]))", "ended by SIGTERM"),
        ]
        return tests
            + .each("testRestoresFilesAfterFailure", obstacles, named: \.0) {
                try testRestoresFilesAfterFailure($1, $2)
            }
            + .each(
                "testChoosesTheManifestOfTheVersion", choices,
                named: { $0.manifests.keys.sorted().joined(separator: ", ") }
            ) {
                let package = try package($0.manifests)
                expectEqual(try package.usedManifest(), $0.name)
                let notes = try package.notes($0.name)
                expectEqual(notes.count, $0.noteCount, "\(notes)")
            }
            + .each("testRefusesUnsupportedManifests", refusedManifests) { message, lines, text in
                let package = try package(["Package.swift": text], "\(lines)\ntarget\tC\nprogram\tc\nuses\tA\n")
                expectEqual(try package.failure(), message)
            }
            + .each("testRefusesUnsuitableTargets", refusedWords) { words, message in
                var facts = try package().facts
                facts.words = words
                expectEqual(try Initialization(facts: facts).failure(), message)
            }
    }

    private static let manifest = """
        // swift-tools-version: 5.9
        let package = Package(name: "P", dependencies: [.package(path: "../inclasstesting")],
            targets: [.target(name: "A"), .target(name: "B")])
        """

    private static func describe(sources: [String]) -> String {
        let lines = sources.map { "        \($0)\n" }.joined()
        return
            "printf 'Name: P\nTargets:\n    Name: A\n    Sources:\n\(lines)    Name: B\n    Sources:\n        B.swift\n'"
    }

    /// Creates a package.
    ///
    /// - Parameters:
    ///   - lines: facts in addition to the usual ones.
    ///   - command: the shell command that replaces SwiftPM.
    private static func package(
        _ manifests: [String: String] = ["Package.swift": manifest], _ lines: String = "", _ command: String = "exit 7",
        in folder: String = "package"
    ) throws -> Initialization {
        let root = "\(try temporaryDirectory())/\(folder)"
        let source = "\(root)/Sources/A"
        try FileAccess.makeFolder(source)
        for (name, text) in manifests { try FileAccess.write(Array(text.utf8), to: "\(root)/\(name)") }
        try FileAccess.write(Array("struct A {}\n".utf8), to: "\(source)/A.swift")
        let facts = [
            ("root", root), ("tools-version", "5.9.0"), ("word", "A"), ("dependency", "InClassTesting"),
            ("identity", "inclasstesting"), ("swift", "/bin/sh"), ("swift", "-c"), ("name", "A"), ("name", "M"),
            ("target", "A"), ("folder", source),
            ("source", "\(source)/A.swift"), ("target", "B"), ("folder", "\(root)/Sources/B"),
        ]
        var result = PackageFacts(facts.map { "\($0)\t\($1)\n" }.joined() + lines)
        result.swift.append(command)
        return Initialization(facts: result)
    }

    /// The files in a package's folder with their contents.
    private var files: [String: String] {
        get throws {
            var files: [String: String] = [:]
            var folders = [facts.root]
            while let folder = folders.popLast() {
                for path in FileAccess.names(in: folder).map({ "\(folder)/\($0)" }) {
                    if FileAccess.isDirectory(path) {
                        folders.append(path)
                        files[path] = "a folder"
                    } else {
                        files[path] = String(decoding: try FileAccess.contents(of: path), as: UTF8.self)
                    }
                }
            }
            return files
        }
    }

    /// Runs the command, which must fail and change nothing. Returns the error without the package's folder.
    private func failure() throws -> String {
        let before = try files
        var text = ""
        do {
            try run()
            fail("the package is prepared")
        } catch let error as LocatedError {
            text = "\(error.place.text): \(error.message)"
        } catch { text = "\(error)" }
        expectEqual(try files, before, "files after '\(text)'")
        return text.replacing(facts.root + "/", with: "")
    }

    private static func testPreparesAPackage() throws {
        let package = try package(["Package.swift": manifest], "", describe(sources: ["A.swift", "FirstTests.swift"]))
        try package.run()
        let (files, root) = (try package.files, package.facts.root)
        expectEqual(files.count, 7, "files and folders")
        expectTrue(files["\(root)/Package.swift"]?.contains("plugins: [.plugin") ?? false, "the manifest")
        let first = files["\(root)/Sources/A/FirstTests.swift"]
        expectTrue(first?.contains("#if DEBUG || IN_CLASS_TESTS") ?? false, "the first test")
    }

    private static func testRestoresFilesAfterFailure(_ command: String, _ message: String) throws {
        let package = try package(["Package.swift": manifest], "", command)
        let root = package.facts.root
        // The signal and its handler only affect a child process.
        expectExit(.exit(7)) {
            Interruption.watchSignals()
            let text = (try? package.failure()) ?? ""
            let isEmpty = (try? package.files.count) == 4
            _exit(text.contains(message) && text.hasSuffix("; all files were restored") && isEmpty ? 7 : 1)
        }
        expectFalse(FileAccess.exists("\(root)/Sources/A/FirstTests.swift"), "whether the first test is left")
    }

    /// Manifests, the name of the manifest that `init` edits, and the number of notes about the others.
    private static var choices: [(manifests: [String: String], name: String, noteCount: Int)] {
        let (new, old) = ("Package.swift", "Package@swift-5.7.swift")
        let newer = manifest.replacing("5.9", with: "6.4")
        let older = "// swift-tools-version:5.7\nlet package = Package(name: \"P\")\n"
        return [
            ([new: older, "Package@swift-5.9.swift": manifest], "Package@swift-5.9.swift", 0),
            ([new: manifest, old: older], new, 0), ([new: manifest, "Package@swift-6.4.swift": newer], new, 1),
            ([new: manifest, old: manifest.replacing("5.9", with: "5.7")], new, 1),
        ]
    }

    private static let refusedManifests: [(message: String, lines: String, text: String)] = [
        (
            """
            Package.swift:3:20: target 'A' isn't declared by a literal '.target(name: "A", …)'; nothing was changed
            write by hand
            in 'dependencies:' of 'A': .product(name: "InClassTesting", package: "InClassTesting")
            in 'plugins:' of 'C': .plugin(name: "InClassTests", package: "InClassTesting")
            """,
            "", manifest.replacing(".target(name: \"A\")", with: "make(\"A\")").replacing("\"P\"", with: "\"A\"")
        )
    ]

    private static let refusedWords = [
        ([], "name the target to be tested (A, B): swift package testlogger init A"),
        (["AA"], "there is no Swift target 'AA'; did you mean 'A'? (known are A, B)"),
        (
            ["M"],
            "target 'M' is neither a Swift library nor a Swift program, so no build runs its tests: move the code to "
                + "be tested to a library target (known are A, B)"
        ),
        (["A", "B"], "one target at a time: swift package testlogger init A"),
    ]

    private static func testRefusesExistingFiles() throws {
        let library = "library-product\tyes\n"
        let checkout = try package(["Package.swift": manifest], library, in: "checkouts/p")
        expectTrue(try checkout.failure().contains("is in a folder 'checkouts'"), "a folder 'checkouts'")
        let taken = try package(in: "taken")
        try FileAccess.makeFolder("\(taken.facts.root)/Sources/Tested")
        expectTrue(try taken.failure().hasPrefix("Sources/Tested exists already"), "a folder 'Tested'")
        let written = try package(in: "written")
        try FileAccess.write([], to: "\(written.facts.root)/Sources/A/FirstTests.swift")
        expectEqual(try written.failure(), "Sources/A/FirstTests.swift exists already; nothing was changed")
    }
}
#endif
