// Which packages are tested by a build: the one that is built, and those that it depends on by path, which are worked on
// beside it. Whoever depends on a version of a package trusts its tests: they run where that package itself is built.

import Foundation
import PackagePlugin

struct LocalPackages {
    /// The packages, the one that is built first.
    let all: [Package]
    /// The package of each of their targets.
    private let owners: [String: Package]

    init(root: Package) {
        var all: [Package] = []
        var seen: Set<String> = []
        func visit(_ package: Package) {
            guard seen.insert(package.id).inserted else { return }
            all.append(package)
            for dependency in package.dependencies {
                // The tester is a tool, wherever it comes from.
                guard case .local = dependency.package.origin, !dependency.package.isTester else { continue }
                visit(dependency.package)
            }
        }
        visit(root)
        self.all = all
        owners = Dictionary(
            all.flatMap { package in package.targets.map { ($0.id, package) } }, uniquingKeysWith: { first, _ in first }
        )
    }

    /// What a build looks at to know whether the options of its tests have changed.
    ///
    /// The native system asks the plugin seldom, and builds nothing when an input that it was told of is gone: it looks at
    /// the folder, into which the file comes and from which it goes. While the file is there, each step asks for the next.
    func optionFiles(_ layout: BuildLayout) -> [URL] {
        let folder = all[0].directoryURL
        guard layout.isSwiftBuild else { return [folder] }
        let file = folder.appending(path: ".testlogger")
        return FileManager.default.fileExists(atPath: file.path) ? [file] : []
    }

    /// The package that a target belongs to, when it is one of these.
    func owner(of target: any Target) -> Package? { owners[target.id] }

    /// A target and all it depends on in these packages, in an order that is always the same.
    func closure(of target: any Target) -> [any Target] {
        var found: [any Target] = []
        var seen: Set<String> = []
        func visit(_ target: any Target) {
            guard owner(of: target) != nil, seen.insert(target.id).inserted else { return }
            if (target as? any SourceModuleTarget)?.kind == .macro { return }
            target.dependencyTargets.forEach(visit)
            found.append(target)
        }
        visit(target)
        return found
    }
}

extension Package {
    /// Whether this is the package of the library and of these plugins.
    var isTester: Bool { targets.contains { $0.isTestingLibrary } }
}

extension Target {
    /// Whether this is the library that tests import.
    var isTestingLibrary: Bool { (self as? any SourceModuleTarget)?.moduleName == "InClassTesting" }

    /// The targets that it depends on itself, those of products included.
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
