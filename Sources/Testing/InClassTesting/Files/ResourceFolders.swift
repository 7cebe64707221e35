// Finds the folders of the tested module's resources. A supervisor passes them to the worker. In the process of another test
// runner, they are in the same folder as the image with the tests.

#if DEBUG || IN_CLASS_TESTS

internal import InClassTestingSystem

enum ResourceFolders {
    // SAFETY: set before and after each test of the bridge, which runs one at a time.
    nonisolated(unsafe) static var bridged: [String]?

    /// The folders, or nil if they are unknown.
    static var ofTheModule: [String]? { bridged ?? list("IN_CLASS_RESOURCES", ":") }

    /// Returns the elements of an environment variable that the supervisor has set for this worker.
    static func list(_ variable: String, _ separator: Character) -> [String]? {
        getenv(variable).map { String(cString: $0).split(separator: separator).map(String.init) }
    }

    /// Finds the folder that SwiftPM has created for a module's resources, `Package_Target.resources` or `.bundle`.
    ///
    /// - Parameter image: The file that contains the tests, in the folder of products or in a bundle there.
    /// - Returns: The folders, or nil if there is not exactly one candidate.
    static func beside(_ image: String, of module: String) -> [String]? {
        guard let path = realpath(image, nil) else { return nil }
        defer { free(path) }
        var folders: [String] = []
        // A bundle's executable is in `Contents/MacOS` of a folder named `….xctest`. The bundle's own resources are next to
        // `MacOS`.
        var parts = String(cString: path).split(separator: "/").dropLast()
        if let bundle = parts.lastIndex(where: { $0.hasSuffix(".xctest") }) {
            folders.append("/" + (parts[...bundle] + ["Contents", "Resources"]).joined(separator: "/"))
            parts = parts[..<bundle]
        }
        folders.append("/" + parts.joined(separator: "/"))
        let found = folders.flatMap { folder in
            TestDirectory.names(in: folder).filter { module == owner(ofBundle: $0, in: folder) }
                .map { "\(folder)/\($0)" }
        }
        return found.count == 1 ? found : nil
    }

    /// Returns the module that a folder of this name belongs to. The name contains the package and the target, and either
    /// may contain an underscore, so the longest module name that has been built there is chosen.
    private static func owner(ofBundle name: String, in folder: String) -> String? {
        guard let ending = [".resources", ".bundle"].first(where: { name.hasSuffix($0) }) else { return nil }
        let stem = String(name.dropLast(ending.count).map { $0.isLetter || $0.isNumber ? $0 : "_" })
        let targets = stem.indices.filter { stem[$0] == "_" }.map { String(stem[stem.index(after: $0)...]) }
        return targets.first { target in
            ["Modules/", ""].contains { access("\(folder)/\($0)\(target).swiftmodule", F_OK) == 0 }
        } ?? targets.last
    }
}

// MARK: - In-class tests

#if SELF_TESTS
extension ResourceFolders: SelfTesting {
    static var testSelectors: TestSelectors {
        .each(
            "testFindsResourcesBesideAnImage",
            [
                ("ShopPackageTests.xctest", ["Shop_Goods.resources", "Shop_Food.resources"], ["Shop_Goods.resources"]),
                ("Shop.xctest/Contents/MacOS/Shop", ["Shop_Goods.bundle"], ["Shop_Goods.bundle"]),
                (
                    "Shop.xctest/Contents/MacOS/Shop", ["Shop.xctest/Contents/Resources/Shop_Goods.bundle"],
                    ["Shop.xctest/Contents/Resources/Shop_Goods.bundle"]
                ),
                (
                    "shop",
                    ["my-shop_Goods.resources", "S_New-Goods.resources", "Modules/New_Goods.swiftmodule"],
                    ["my-shop_Goods.resources"]
                ),
                ("shop", ["a_Goods.resources", "b_Goods.resources"], []),
                ("shop", ["ShopGoods.resources", "Shop_Goods.build", "Goods.bundle"], []),
            ], named: { "\($0.0): \($0.1[0])" }
        ) { image, made, found in
            let folder = try temporaryDirectory()
            for path in made + [image] {
                var inner = folder
                for part in path.split(separator: "/") {
                    inner += "/\(part)"
                    mkdir(inner, 0o700)
                }
            }
            expectEqual(beside("\(folder)/\(image)", of: "Goods") ?? [], found.map { "\(folder)/\($0)" })
        }
    }
}
#endif

#endif
