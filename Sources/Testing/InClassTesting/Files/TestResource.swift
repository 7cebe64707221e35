// The files that a target declares as resources, for its tests to read.

#if DEBUG || IN_CLASS_TESTS

internal import InClassTestingSystem

/// A file of the tested module's resources.
public struct TestResource: Sendable {
    /// The absolute path, for code that reads files itself.
    public let path: String
    /// The contents.
    public let bytes: [UInt8]

    /// The contents as UTF-8 text. Ill-formed sequences are replaced.
    public var text: String { String(decoding: bytes, as: UTF8.self) }
}

/// Reads a resource of the tested module by name and extension.
///
/// The name may contain folders that the target copies (`"images/small"`). The function works in any working directory.
/// - Throws: An error that ends the test, after recording an issue that names the searched path.
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
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    var status = stat()
    guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
    var bytes: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 1 << 16)
    while true {
        let count = read(descriptor, &chunk, chunk.count)
        if count < 0, errno == EINTR { continue }
        guard count >= 0 else { return nil }
        if count == 0 { return bytes }
        bytes.append(contentsOf: chunk[..<count])
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
#endif

#endif
