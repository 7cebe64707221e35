// Finds the packages whose tests run in a build: the built package and its local dependencies by path, which are edited
// together with it. The tests of other dependencies run where these packages themselves are built.

import Foundation
import PackagePlugin

struct LocalPackages {
    /// The packages, with the built package first.
    let all: [Package]
    /// The package of each target.
    private let owners: [String: Package]

    init(root: Package) {
        all = root.closure { package in
            // The package of InClassTesting is a tool, even as a local dependency.
            if case .local = package.origin { return !package.isTester }
            return false
        }
        owners = Dictionary(
            all.flatMap { package in package.targets.map { ($0.id, package) } }, uniquingKeysWith: { first, _ in first }
        )
    }

    /// Returns the file that runs the tests again when the options in `.testlogger` have changed.
    ///
    /// Swift Build runs the plugin in every build, so `.testlogger` itself is an input while it exists. The native build
    /// system runs the plugin only when the manifest or the names of sources change, and it fails if an input is missing.
    /// There the input is a link to `.testlogger`, or an empty file. A step without inputs has this file as its output, so
    /// the step runs when `.testlogger` has changed or is missing. testlogger creates the link when it finds a new
    /// `.testlogger`.
    func optionFile(_ layout: BuildLayout, folder: URL, _ commands: inout [Command]) throws -> URL? {
        let files = FileManager.default
        let file = all[0].directoryURL.appending(path: ".testlogger")
        let exists = files.fileExists(atPath: file.path)
        if layout.isSwiftBuild { return exists ? file : nil }
        // The extension of a file that is neither a source nor a resource.
        let link = folder.appending(path: "options.docc")
        if exists, (try? files.destinationOfSymbolicLink(atPath: link.path)) == nil {
            try? files.removeItem(at: link)
            try files.createSymbolicLink(at: link, withDestinationURL: file)
        }
        commands.append(
            .buildCommand(
                displayName: "Looking for .testlogger", executable: URL(filePath: "/bin/sh"),
                arguments: ["-c", #"[ -e "$0" ] || { rm -f "$0"; : > "$0"; }"#, link.path], outputFiles: [link]))
        return link
    }

    /// Returns the package of a target, or nil if the target isn't part of these packages.
    func owner(of target: any Target) -> Package? { owners[target.id] }

    /// Returns the name of an executable target's program.
    func programName(of target: any Target) -> String {
        let products = owner(of: target)?.products.compactMap { $0 as? ExecutableProduct } ?? []
        return products.first { $0.mainTarget.id == target.id }?.name ?? target.name
    }

    /// Returns a target and all its dependencies in these packages. Dependencies of macros are left out.
    func closure(of target: any Target) -> [any Target] {
        target.closure { $0.isMacro ? [] : $0.dependencyTargets.filter { owner(of: $0) != nil } }
    }
}

// MARK: Targets whose tests can't run

extension LocalPackages {
    /// Returns whether another target that may have the plugin depends on a target, so that the target's tests run there.
    func isReachedByPlugin(_ target: any Target) -> Bool {
        guard let owner = owner(of: target) else { return false }
        let manifest = ManifestText(folder: owner.directoryURL)
        return owner.targets.contains { other in
            other.id != target.id && manifest.mayHavePlugin(other.name)
                && closure(of: other).contains { $0.id == target.id }
        }
    }

    /// Returns the error for tests of a target that has the plugin itself.
    func adviceToMovePlugin(from target: any Target) -> String {
        let plugin = #"plugins: [.plugin(name: "InClassTests", package: "InClassTesting")]"#
        return place(of: target)
            + "error: '\(target.name)' lists tests, which the plugin InClassTests can't run for a "
            + "target that uses the plugin itself; add an empty Sources/Tested/Tested.swift and "
            + ".target(name: \"Tested\", dependencies: [\"\(target.name)\"], \(plugin))"
    }

    /// Returns the warning for tests of a macro, which is built as a program that the compiler runs.
    func adviceToMoveTests(from macro: any Target) -> String {
        place(of: macro)
            + "warning: the macro '\(macro.name)' lists tests, but no build runs the tests of macros; move the tested "
            + "code to a library target that '\(macro.name)' depends on, and make it a dependency of the target with the "
            + "plugin InClassTests"
    }

    private func place(of target: any Target) -> String {
        "\(ManifestText(folder: (owner(of: target) ?? all[0]).directoryURL).place(of: target.name)): "
    }
}

extension Package {
    /// A Boolean value that indicates whether this is the package of InClassTesting and of these plugins.
    var isTester: Bool { targets.contains { $0.isTestingLibrary } }

    /// Returns the package and its included dependencies at any depth, with the package first.
    func closure(_ isIncluded: (Package) -> Bool = { _ in true }) -> [Package] {
        reachable(from: self, id: \.id) { $0.dependencies.map(\.package).filter(isIncluded) }
    }
}

extension Target {
    /// A Boolean value that indicates whether this is the library that tests import.
    var isTestingLibrary: Bool { (self as? any SourceModuleTarget)?.moduleName == "InClassTesting" }

    var isMacro: Bool { (self as? any SourceModuleTarget)?.kind == .macro }

    /// Returns the target and its dependencies at any depth, with the target first.
    func closure(_ dependencies: (any Target) -> [any Target]) -> [any Target] {
        reachable(from: self, id: \.id, dependencies)
    }

    /// The direct dependencies, including the targets of products.
    var dependencyTargets: [any Target] {
        dependencies.flatMap { dependency -> [any Target] in
            switch dependency {
            case .target(let target): [target]
            case .product(let product): product.targets
            @unknown default: []
            }
        }
    }
}

/// Returns a node of a graph and all nodes that it leads to, each once and in a stable order.
private func reachable<Node>(from start: Node, id: (Node) -> String, _ next: (Node) -> [Node]) -> [Node] {
    var found: [Node] = []
    var seen: Set<String> = []
    func visit(_ node: Node) {
        guard seen.insert(id(node)).inserted else { return }
        found.append(node)
        next(node).forEach(visit)
    }
    visit(start)
    return found
}

// MARK: - Facts that SwiftPM does not pass to plugins

/// A package's manifest as text, for the position of a target's declaration and the target's plugins.
struct ManifestText {
    let path: String
    private let text: String

    init(folder: URL) {
        let url = folder.appending(path: "Package.swift")
        path = url.path
        text = (try? String(contentsOf: url, encoding: .utf8)) ?? ""
    }

    /// Returns the position of a target's declaration in the compiler's form, or the beginning of the file.
    func place(of target: String) -> String {
        let before = text[..<(declaration(of: target)?.startIndex ?? text.startIndex)]
        let lines = before.split(separator: "\n", omittingEmptySubsequences: false)
        return "\(path):\(max(1, lines.count)):\((lines.last?.utf8.count ?? 0) + 1)"
    }

    /// Returns whether a target may have the plugin. The result is false only if the declaration can be read and doesn't
    /// name the plugin.
    func mayHavePlugin(_ target: String) -> Bool {
        guard let declaration = declaration(of: target) else { return true }
        guard let plugins = declaration.firstRange(of: /\bplugins\s*:/) else { return false }
        let list = declaration[plugins.lowerBound...]
        // A constant instead of a literal may contain the plugin.
        return list.contains("InClassTests") || list.contains(/(?:[\[,]|plugins\s*:)\s*[A-Za-z_]/)
    }

    /// Returns the text from the dot of `.target(name: "…"` to its closing parenthesis.
    private func declaration(of target: String) -> Substring? {
        let start = /\.(?:target|executableTarget|testTarget|macro)\s*\(\s*name\s*:\s*"([^"]*)"/
        let declarations = text.matches(of: start).lazy.filter { $0.1 == target }
        return declarations.map { parenthesized(from: $0.range.lowerBound) }.first {
            // A dependency on the target begins in the same way, but has at most a condition after the name.
            $0.contains(/"\s*,\s*\w+\s*:/) && $0.prefixMatch(of: /\.target\([^,]*,\s*condition\s*:/) == nil
        }
    }

    /// Returns the text up to the parenthesis that closes the first parenthesis.
    private func parenthesized(from start: String.Index) -> Substring {
        var depth = 0
        var isString = false
        var previous: Character = " "
        for index in text[start...].indices {
            let character = text[index]
            if character == "\"", previous != "\\" { isString.toggle() }
            previous = character
            if isString { continue }
            if character == "(" { depth += 1 }
            if character == ")" { depth -= 1 }
            if depth == 0, character == ")" { return text[start...index] }
        }
        return text[start...]
    }
}
