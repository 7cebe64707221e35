// The files that a target declares as resources, for its tests to read. A supervisor passes their folders to the worker. In the
// process of another test runner, they are in the same folder as the test executable with the tests.

#if DEBUG || IN_CLASS_TESTS

internal import InClassTestingSystem

/// A resource of the tested module.
public struct TestResource: Sendable {
    /// The absolute path, for code that reads files itself.
    public let path: String
    /// The contents of the file.
    public let bytes: [UInt8]

    /// The contents as UTF-8 text. Ill-formed sequences are replaced.
    public var text: String { String(decoding: bytes, as: UTF8.self) }
}

/// Reads a resource of the tested module by name and extension.
///
/// The name may contain folders that the target copies (`"images/small"`). The function works in any working directory.
/// - Throws: If the resource is missing, an error that ends the test. The recorded issue names the searched folders.
public func resource(
    _ name: String, _ fileExtension: String, file: StaticString = #filePath, line: UInt = #line, column: UInt = #column
) throws -> TestResource {
    let fileName = fileExtension.isEmpty ? name : "\(name).\(fileExtension)"
    let folders = ResourceFolders.ofTheModule ?? []
    for folder in folders {
        let path = "\(folder)/\(fileName)"
        if let bytes = contents(path) { return TestResource(path: path, bytes: bytes) }
    }
    let reason = folders.isEmpty ? "the module has no resources" : "no such file in \(folders.joined(separator: ", "))"
    fail("resource \(quoted(fileName)) not found: \(reason)", file: file, line: line, column: column)
    throw RequirementNotMet()
}

/// Returns the contents of a regular file, or nil if the file can't be read.
func contents(_ path: String) -> [UInt8]? {
    var status = stat()
    guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG, let file = fopen(path, "re") else { return nil }
    defer { fclose(file) }
    var bytes = [UInt8](repeating: 0, count: Int(status.st_size))
    return fread(&bytes, 1, bytes.count, file) == bytes.count ? bytes : nil
}

// MARK: - Folders of resources

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
    /// - Parameter executable: The file that contains the tests, in the folder of products or in a bundle there.
    /// - Returns: The folders, or nil if there is not exactly one candidate.
    static func beside(_ executable: String, of module: String) -> [String]? {
        guard let path = realpath(executable, nil) else { return nil }
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
extension TestResource: SelfTesting {
    public static var testSelectors: TestSelectors {
        [
            "testReadsFiles": testReadsFiles, "testMissingResourceEndsTheTest": testMissingResourceEndsTheTest,
        ]
    }

    private static func testReadsFiles() throws {
        let text = String(decoding: try requireNotNil(contents(#filePath)), as: UTF8.self)
        expectTrue(text.hasPrefix("// The files that a target declares"), "start of this file")
        expectNil(contents("/"), "a folder")
    }

    private static func testMissingResourceEndsTheTest() {
        let issues = Recorder.issues {
            do {
                _ = try resource("missing", "txt")
                fail("went on")
            } catch {}
        }
        expectEqual(issues.map { String($0.message.prefix(32)) }, [#"resource "missing.txt" not found"#])
    }
}

extension ResourceFolders: SelfTesting {
    static var testSelectors: TestSelectors {
        .each(
            "testFindsResourcesBesideTheExecutable",
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
        ) { executable, made, found in
            let folder = try temporaryDirectory()
            for path in made + [executable] {
                var inner = folder
                for part in path.split(separator: "/") {
                    inner += "/\(part)"
                    mkdir(inner, 0o700)
                }
            }
            expectEqual(beside("\(folder)/\(executable)", of: "Goods") ?? [], found.map { "\(folder)/\($0)" })
        }
    }
}
#endif
#endif
