// Plans the changes of a manifest by `init`. In a package without library products, literals are added to the targets.
// In a package with library products, a block is added at the end. Only the package's own checkout evaluates the block,
// so its clients neither fetch nor compile InClassTesting.

import TestEvents
import TestSupervision

struct ManifestPlan {
    let facts: PackageFacts
    let target: PackageFacts.Target
    /// A Boolean value that indicates whether the additions form a block that clients don't evaluate.
    let isLibrary: Bool
    private let hasBlock: Bool
    /// The names of the targets whose builds run the tests.
    private let users: [String]

    init(facts: PackageFacts, target: PackageFacts.Target, editor: ManifestEditor) {
        self.facts = facts
        self.target = target
        hasBlock = !editor.brackets(after: Self.blockStart).isEmpty
        // If the package already uses InClassTesting with literals, it keeps them.
        isLibrary = hasBlock || facts.hasLibraryProduct && !facts.targets.contains(where: \.hasLibrary)
        let users = isLibrary ? [] : facts.users(of: target)
        self.users = users.isEmpty ? ["Tested"] : users
    }

    private static let blockStart = ["let", "tested", "="]
    /// The platform that InClassTesting requires on macOS.
    private static let platform = ".macOS(\"15.0\")"

    private var product: String { ".product(name: \"InClassTesting\", package: \"\(facts.dependency)\")" }
    private var plugin: String { ".plugin(name: \"InClassTests\", package: \"\(facts.dependency)\")" }

    /// A Boolean value that indicates whether the target `Tested` is added.
    var makesTested: Bool {
        isLibrary ? !hasBlock : users == ["Tested"] && !facts.targets.contains { $0.name == "Tested" }
    }

    /// The folder of the target `Tested`, outside the folders of other targets.
    var testedFolder: String {
        let usual = "Sources/Tested"
        return facts.targets.contains { "\(facts.root)/\(usual)".hasPrefix("\($0.folder)/") } ? "Tested" : usual
    }

    private var testedPath: String { testedFolder == "Tested" ? " path: \"Tested\"," : "" }

    var summary: String {
        let names = users.map { "'\($0)'" }.joined(separator: ", ")
        return "'\(target.name)' depends on InClassTesting; its tests run in the build of \(names)"
    }

    var isEmpty: Bool { additions.isEmpty }

    /// The elements to add to array arguments of targets. A missing name stands for the package.
    private var additions: [(element: String, label: String, target: String?)] {
        var additions: [(element: String, label: String, target: String?)] = []
        if !target.hasLibrary { additions.append((product, "dependencies", target.name)) }
        if makesTested {
            let dependencies = "dependencies: [\"\(target.name)\"],\(testedPath)"
            additions.append((".target(name: \"Tested\", \(dependencies) plugins: [\(plugin)])", "targets", nil))
        }
        for user in facts.targets where users.contains(user.name) {
            if !user.dependencies.contains(target.name) {
                additions.append(("\"\(target.name)\"", "dependencies", user.name))
            }
            if !user.hasPlugin { additions.append((plugin, "plugins", user.name)) }
        }
        return additions
    }

    func edit(_ editor: inout ManifestEditor) throws(LocatedError) {
        if isLibrary { return try editBlock(&editor) }
        if let call = try? editor.package().call, platforms(editor, call) != nil {
            let old = editor.array("platforms", in: call).flatMap { list in
                editor.items(list).first { editor.text($0).hasPrefix(".macOS(") }
            }
            if let old {
                editor.replace(item: old, with: Self.platform)
            } else {
                try editor.add(Self.platform, to: "platforms", of: nil)
            }
        }
        for addition in additions { try editor.add(addition.element, to: addition.label, of: addition.target) }
    }

    /// The additions to write by hand into a manifest that can't be edited.
    func instructions(_ editor: ManifestEditor) -> String {
        var lines = ["write by hand"]
        if isLibrary {
            let package = try? editor.package()
            let platforms = package.flatMap { self.platforms(editor, $0.call) }
            lines = [
                "move the dependency on InClassTesting to the end of the manifest, into this block:",
                block(package: package?.name ?? "package", dependency: ".package(…)", platforms: platforms),
            ]
        } else {
            lines += additions.map { addition in
                let owner = addition.target.map { "'\($0)'" } ?? "the package"
                return "in '\(addition.label):' of \(owner): \(addition.element)"
            }
        }
        if makesTested { lines.append("create an empty file \(testedFolder)/Tested.swift") }
        return lines.joined(separator: "\n")
    }

    private func editBlock(_ editor: inout ManifestEditor) throws(LocatedError) {
        if let names = editor.brackets(after: Self.blockStart).first {
            return editor.append("\"\(target.name)\"", to: names)
        }
        let (name, call) = try editor.package()
        guard let (list, index) = editor.dependency(facts.identity) else {
            throw editor.error("'dependencies:' of the package doesn't name InClassTesting in a literal array")
        }
        let items = editor.items(list)
        let dependency = editor.text(items[index])
        let platforms = platforms(editor, call)
        if items.count > 1 {
            editor.remove(index, from: list)
        } else if let index = editor.items(call).firstIndex(where: { $0.contains(list) }) {
            editor.remove(index, from: call)
        }
        editor.append(lines: "\n" + block(package: name, dependency: dependency, platforms: platforms))
    }

    /// The platforms of the package's own checkout. Nil if they equal those of the package or are unknown.
    private func platforms(_ editor: ManifestEditor, _ call: Int) -> String? {
        guard editor.value("platforms", in: call) != nil else { return Self.platform }
        guard let list = editor.array("platforms", in: call) else { return nil }
        let platforms = editor.items(list).map(editor.text)
        let system = platforms.first { $0.hasPrefix(".macOS(") }
        if let version = system?.firstMatch(of: /[0-9]+/), (Int(version.output) ?? 0) >= 15 { return nil }
        return (platforms.filter { $0 != system } + [Self.platform]).joined(separator: ", ")
    }

    private func block(package: String, dependency: String, platforms: String?) -> String {
        let line = platforms.map { "    \(package).platforms = [\($0)]\n" } ?? ""
        let block = """
            // In-class tests. SwiftPM checks this package out into 'checkouts' if another one depends on its address, and
            // reads its manifest in "/" to choose a version. Other packages need nothing of this.
            if Context.packageDirectory != "/", !Context.packageDirectory.contains("/checkouts/") {
                let tested = ["\(target.name)"]
            \(line)    \(package).dependencies.append(\(dependency))
                for target in \(package).targets where tested.contains(target.name) {
                    target.dependencies.append(\(product))
                    target.swiftSettings = (target.swiftSettings ?? []) + [.define("SELF_TESTS")]
                }
                \(package).targets.append(
                    .target(
                        name: "Tested", dependencies: tested.map { .target(name: $0) },\(testedPath)
                        plugins: [\(plugin)]))
            }

            """
        return facts.version.lexicographicallyPrecedes([6, 2]) ? "#if compiler(>=6.2)\n\(block)#endif\n" : block
    }
}

// MARK: - Facts

/// The facts about a package that the command plugin passes to `swift package testlogger init`.
struct PackageFacts {
    struct Target {
        var name: String
        /// The name of the program that the target is built into, or nil for a library.
        var program: String?
        var folder = ""
        var sources: [String] = []
        /// A Boolean value that indicates whether the target depends on InClassTesting directly.
        var hasLibrary = false
        /// A Boolean value that indicates whether the target applies the plugin `InClassTests`.
        var hasPlugin = false
        /// The direct and indirect dependencies of the target.
        var dependencies: Set<String> = []
    }

    var root = ""
    /// The words after `init`.
    var words: [String] = []
    /// The version in the first line of the manifest, such as `5.9.0`.
    var toolsVersion = ""
    /// The name of this package in `.product(name:package:)`.
    var dependency = ""
    /// The last part of the package's path or address.
    var identity = ""
    var hasLibraryProduct = false
    /// The command that runs SwiftPM in a separate build folder.
    var swift: [String] = []
    /// The Swift targets that can be tested, and those that use such a target.
    var targets: [Target] = []
    /// The names of all targets.
    var names: [String] = []

    /// Reads lines with a key, a tab and a value. The lines after a target's name belong to the target.
    init(_ text: String) {
        for line in text.split(separator: "\n") {
            let parts = line.split(separator: "\t", maxSplits: 1).map(String.init)
            guard parts.count == 2 else { continue }
            let last = targets.count - 1
            switch parts[0] {
            case "root": root = parts[1]
            case "word": words.append(parts[1])
            case "tools-version": toolsVersion = parts[1]
            case "dependency": dependency = parts[1]
            case "identity": identity = parts[1]
            case "library-product": hasLibraryProduct = true
            case "swift": swift.append(parts[1])
            case "name": names.append(parts[1])
            case "target": targets.append(Target(name: parts[1]))
            case "program": targets[last].program = parts[1]
            case "folder": targets[last].folder = parts[1]
            case "source": targets[last].sources.append(parts[1])
            case "library": targets[last].hasLibrary = true
            case "plugin": targets[last].hasPlugin = true
            case "uses": targets[last].dependencies.insert(parts[1])
            default: break
            }
        }
    }

    /// The numbers of the tools version.
    var version: [Int] { Self.numbers(toolsVersion[...]) }

    /// Returns the numbers of a version without zeros at the end.
    static func numbers(_ version: Substring) -> [Int] {
        let numbers = version.split(separator: ".").map { Int($0) ?? 0 }
        return Array(numbers[..<((numbers.lastIndex { $0 != 0 } ?? -1) + 1)])
    }

    /// The targets that may be tested, libraries first.
    var candidates: [Target] {
        let candidates = targets.filter { $0.name != "Tested" || !$0.hasPlugin }
        return candidates.filter { $0.program == nil } + candidates.filter { $0.program != nil }
    }

    /// Returns the targets whose builds test a target: the programs that use it. If there are none, returns a library
    /// that applies the plugin, or else the libraries that no other library uses.
    func users(of target: Target) -> [String] {
        let users = targets.filter { $0.dependencies.contains(target.name) && $0.name != "Tested" }
        let programs = users.filter { $0.program != nil }
        if !programs.isEmpty { return programs.map(\.name) }
        if let user = users.first(where: \.hasPlugin) { return [user.name] }
        return users.filter { user in !users.contains { $0.dependencies.contains(user.name) } }.map(\.name)
    }
}

// MARK: - In-class tests

#if SELF_TESTS && (DEBUG || IN_CLASS_TESTS)
import InClassTesting

extension ManifestPlan: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testAddsProductAndPlugin": testAddsProductAndPlugin, "testAddsTestedTarget": testAddsTestedTarget,
            "testHidesAdditionsFromClients": testHidesAdditionsFromClients,
            "testPrintsInstructionsForEditing": testPrintsInstructionsForEditing,
        ]
            + .each("testKeepsOtherDependencies", ownPaths) { path in
                let own = ".package(path: \"\(path)\")"
                let other = ".package(url: \"https://h/other\", from: \"1.0.0\")"
                let manifest = "let package = Package(name: \"P\", dependencies: [\(other), \(own)])"
                let edited = try edit("library-product\tyes\n" + library, manifest).1 ?? ""
                expectTrue(edited.hasPrefix("let package = Package(name: \"P\", dependencies: [\(other), ])\n"), edited)
                expectTrue(edited.contains("dependencies.append(\(own))"), edited)
            }
            + .each("testRefusesUnsupportedManifests", refused, named: \.text) { lines, manifest, text in
                let error = expectThrows(LocatedError.self) { _ = try edit(lines, manifest) }
                expectTrue(error?.description.contains(text) ?? false, error?.description ?? "")
            }
    }

    private static let ownPaths = ["../InClassTesting", "https://h/inclasstesting", "/x/InClassTesting.git"]
    private static let refused: [(lines: String, manifest: String, text: String)] = [
        (library + program, "let package = Package(name: \"P\", targets: all)", "isn't declared by a literal"),
        ("library-product\tyes\n" + library, "let package = Package(name: \"P\")", "doesn't name InClassTesting"),
        (library + "library\tyes\n", "let package = Package(name: \"P\", targets: all)", "isn't a literal array"),
        (library + "library\tyes\n", "let package = Package(name: \"P\")", "isn't a literal array"),
    ]

    private static let start = """
        root\t/p
        tools-version\t6.2.0
        dependency\tInClassTesting
        identity\tinclasstesting

        """
    private static let library = "target\tA\nfolder\t/p/Sources/A\n"
    private static let program = "target\tapp\nfolder\t/p/Sources/app\nprogram\tapp\nuses\tA\n"

    /// Creates the plan for the first target, and the edited manifest, or nil if nothing changes.
    private static func edit(_ lines: String, _ manifest: String) throws -> (ManifestPlan, String?) {
        let facts = PackageFacts(start + lines)
        var editor = ManifestEditor(Array(manifest.utf8), path: "/p/Package.swift")
        let plan = ManifestPlan(facts: facts, target: facts.targets[0], editor: editor)
        if plan.isEmpty { return (plan, nil) }
        try plan.edit(&editor)
        return (plan, String(decoding: editor.bytes, as: UTF8.self))
    }

    private static func testAddsProductAndPlugin() throws {
        let manifest = """
            let package = Package(
                name: "P",
                platforms: [.macOS(.v26)],
                dependencies: [.package(url: "https://h/InClassTesting.git", branch: "main")],
                targets: [.target(name: "A"), .executableTarget(name: "app", dependencies: ["A"])])
            """
        let (plan, edited) = try edit(library + program, manifest)
        expectEqual(plan.summary, "'A' depends on InClassTesting; its tests run in the build of 'app'")
        let product = ".product(name: \"InClassTesting\", package: \"InClassTesting\")"
        let plugin = ".plugin(name: \"InClassTests\", package: \"InClassTesting\")"
        expectEqual(
            edited,
            manifest.replacing("\"A\")", with: "\"A\", dependencies: [\(product)])")
                .replacing("[\"A\"]", with: "[\"A\"], plugins: [\(plugin)]"))
        expectNil(try edit(library + "library\tyes\n" + program + "plugin\tyes\n", manifest).1)
    }

    private static func testAddsTestedTarget() throws {
        let manifest = "let package = Package(name: \"P\", targets: [.target(name: \"A\", dependencies: [])])"
        let (plan, edited) = try edit(library, manifest)
        expectEqual(plan.testedFolder, "Sources/Tested")
        expectEqual(
            edited,
            """
            let package = Package(name: "P", platforms: [.macOS("15.0")], targets: [.target(name: "A", dependencies: [\(plan.product)]), \
            .target(name: "Tested", dependencies: ["A"], plugins: [.plugin(name: "InClassTests", package: "InClassTesting")])])
            """)
        for (old, new) in [(".macOS(.v14), ", ".macOS(\"15.0\"), "), ("", "")] {
            let older = manifest.replacing("targets:", with: "platforms: [\(old).iOS(.v13)], targets:")
            let platforms = "platforms: [\(new).iOS(.v13)\(old.isEmpty ? ", .macOS(\"15.0\")" : "")], targets:"
            let edited = try edit(library, older).1 ?? ""
            expectTrue(edited.contains(platforms), edited)
        }
        let wide = try edit(library.replacing("Sources/A", with: "Sources"), manifest)
        expectEqual(wide.0.testedFolder, "Tested")
        expectTrue(wide.1?.contains("dependencies: [\"A\"], path: \"Tested\", plugins:") ?? false, "a path")
        let tested = "target\tTested\nplugin\tyes\n"
        let second = "let targets: [Target] = [.target(name: \"A\"), .target(name: \"Tested\", dependencies: [\"B\"])]"
        expectTrue(try edit(library + tested, second).1?.contains("[\"B\", \"A\"]") ?? false, "a second target")
        expectNil(try edit(library + "library\tyes\n\(tested)uses\tA\n", second).1)
        // A target with this name may exist for another purpose.
        let own = try edit(library + "target\tTested\nuses\tA\n", second).1 ?? ""
        expectTrue(own.contains("dependencies: [\"B\"], plugins: [.plugin("), own)
    }

    private static func testHidesAdditionsFromClients() throws {
        let manifest = """
            var p = Package(
              name: "P",
              platforms: [.macOS(.v10_15), .iOS(.v13)],
              dependencies: [
                .package(url: "git@h:x/InClassTesting.git", branch: "main"),
              ],
              targets: all)
            """
        let block = """

            // In-class tests. SwiftPM checks this package out into 'checkouts' if another one depends on its address, and
            // reads its manifest in "/" to choose a version. Other packages need nothing of this.
            if Context.packageDirectory != "/", !Context.packageDirectory.contains("/checkouts/") {
                let tested = ["A"]
                p.platforms = [.iOS(.v13), .macOS("15.0")]
                p.dependencies.append(.package(url: "git@h:x/InClassTesting.git", branch: "main"))
                for target in p.targets where tested.contains(target.name) {
                    target.dependencies.append(.product(name: "InClassTesting", package: "InClassTesting"))
                    target.swiftSettings = (target.swiftSettings ?? []) + [.define("SELF_TESTS")]
                }
                p.targets.append(
                    .target(
                        name: "Tested", dependencies: tested.map { .target(name: $0) },
                        plugins: [.plugin(name: "InClassTests", package: "InClassTesting")]))
            }

            """
        let facts = "library-product\tyes\n" + library + program
        let (plan, edited) = try edit(facts, manifest)
        let rest = "var p = Package(\n  name: \"P\",\n  platforms: [.macOS(.v10_15), .iOS(.v13)],\n  targets: all)\n"
        expectEqual(edited, rest + block)
        expectTrue(plan.makesTested, "whether it adds the target 'Tested'")
        let again = try edit(facts.replacing("target\tA", with: "target\tB"), rest + block)
        expectEqual(again.1, rest + block.replacing("[\"A\"]", with: "[\"A\", \"B\"]"))
        expectFalse(again.0.makesTested, "whether it adds a second 'Tested'")
        let old = try edit("tools-version\t5.9.0\n" + facts, manifest).1
        expectEqual(old, rest + "\n#if compiler(>=6.2)" + block + "#endif\n")
    }

    private static func testPrintsInstructionsForEditing() {
        func instructions(_ lines: String) -> String {
            let facts = PackageFacts(start + lines)
            let editor = ManifestEditor(Array("let p = Package(name: \"P\")".utf8), path: "/p")
            return ManifestPlan(facts: facts, target: facts.targets[0], editor: editor).instructions(editor)
        }
        expectEqual(
            instructions(library + program),
            """
            write by hand
            in 'dependencies:' of 'A': .product(name: "InClassTesting", package: "InClassTesting")
            in 'plugins:' of 'app': .plugin(name: "InClassTests", package: "InClassTesting")
            """)
        let file = "\ncreate an empty file Sources/Tested/Tested.swift"
        expectTrue(instructions(library).hasSuffix(file), instructions(library))
        let block = instructions("library-product\tyes\n" + library)
        expectTrue(block.hasSuffix(file), block)
        expectTrue(block.contains("    p.platforms = [.macOS(\"15.0\")]\n"), block)
    }
}
#endif
