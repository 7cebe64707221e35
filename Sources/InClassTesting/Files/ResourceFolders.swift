// Where a build has put the resources of the tested module: a supervisor says so; in another test runner's process they
// lie beside what holds the tests.

#if DEBUG || IN_CLASS_TESTS

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

enum ResourceFolders {
    // SAFETY: set before and after each test of the bridge, which runs one at a time.
    nonisolated(unsafe) static var bridged: [String]?

    /// The folders, or nil when nothing says where they are.
    static var ofTheModule: [String]? { bridged ?? list("IN_CLASS_RESOURCES", ":") }

    /// What the supervisor has told this worker, of several things.
    static func list(_ variable: String, _ separator: Character) -> [String]? {
        getenv(variable).map { String(cString: $0).split(separator: separator).map(String.init) }
    }

    /// Finds the folders that SwiftPM has made of a module's resources, `Package_Target.resources` or `.bundle`, or nil
    /// when there are none.
    ///
    /// - Parameter image: the file that holds the tests, in the folder of products or in a bundle there.
    static func beside(_ image: String, of module: String) -> [String]? {
        guard let path = realpath(image, nil) else { return nil }
        defer { free(path) }
        var folders: [String] = []
        // A bundle is `Contents/MacOS`, beside which it has its own resources, in a folder named `….xctest`.
        var parts = String(cString: path).split(separator: "/").dropLast()
        if let bundle = parts.lastIndex(where: { $0.hasSuffix(".xctest") }) {
            folders.append("/" + (parts[...bundle] + ["Contents", "Resources"]).joined(separator: "/"))
            parts = parts[..<bundle]
        }
        folders.append("/" + parts.joined(separator: "/"))
        let paths = folders.flatMap { folder in TestDirectory.names(in: folder).map { "\(folder)/\($0)" } }
        let all = paths.filter { isBundle($0, of: module) }
        // Not those of `New_Goods`, which is built beside `Goods`.
        let others = paths.compactMap { identifier($0, [".build"]) }.filter { $0.hasSuffix("_\(module)") }
        let own = all.filter { path in !others.contains { isBundle(path, of: $0) } }
        let found = own.isEmpty ? all : own
        // Of two packages or targets whose names end alike, the module itself has the shorter one.
        let length = found.map(\.utf8.count).min()
        return found.isEmpty ? nil : found.filter { $0.utf8.count == length }
    }

    /// Whether a folder is of a target whose module has this name.
    private static func isBundle(_ path: String, of module: String) -> Bool {
        identifier(path, [".resources", ".bundle"])?.hasSuffix("_\(module)") ?? false
    }

    /// The name of a folder without its ending, as that of a module is made of it, or nil for any other ending.
    private static func identifier(_ path: String, _ endings: [String]) -> String? {
        guard let ending = endings.first(where: path.hasSuffix),
            let name = path.dropLast(ending.count).split(separator: "/").last
        else { return nil }
        return String(name.map { $0.isLetter || $0.isNumber ? $0 : "_" })
    }
}

// MARK: - In-class tests

#if SELF_TESTS
extension ResourceFolders: SelfTesting {
    static var testSelectors: TestSelectors {
        .each(
            "testFindsWhatLiesBesideAnImage",
            [
                ("ShopPackageTests.xctest", ["Shop_Goods.resources", "Shop_Food.resources"], ["Shop_Goods.resources"]),
                ("Shop.xctest/Contents/MacOS/Shop", ["Shop_Goods.bundle"], ["Shop_Goods.bundle"]),
                (
                    "Shop.xctest/Contents/MacOS/Shop", ["Shop.xctest/Contents/Resources/Shop_Goods.bundle"],
                    ["Shop.xctest/Contents/Resources/Shop_Goods.bundle"]
                ),
                ("shop", ["my-shop_Goods.resources", "my-shop_New-Goods.resources"], ["my-shop_Goods.resources"]),
                (
                    "shop", ["big-shop_Goods.resources", "a_New_Goods.resources", "New-Goods.build"],
                    ["big-shop_Goods.resources"]
                ),
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
