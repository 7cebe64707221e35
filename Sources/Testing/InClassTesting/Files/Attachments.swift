// Files that are kept with a failed test.

#if DEBUG || IN_CLASS_TESTS

internal import InClassTestingSystem

/// Keeps a text as a file if the running test fails.
///
/// The text is written as UTF-8. See ``attach(_:named:file:line:column:)-(Sequence<UInt8>,_,_,_,_)``.
public func attach(
    _ text: String, named name: String, file: StaticString = #filePath, line: UInt = #line, column: UInt = #column
) {
    attach(text.utf8, named: name, file: file, line: line, column: column)
}

/// Keeps bytes, such as `Data`, as a file if the running test fails.
///
/// The file is written immediately into the test's temporary directory, so it exists even if the test crashes. Reports name
/// the file with the failure. If the test passes, the file is removed with the directory. If the name is used again, the
/// second file gets a number: `page-2.html`. In the child process of an exit expectation, no file is kept. The test fails if
/// the name isn't a file name or the file can't be written.
public func attach(
    _ bytes: some Sequence<UInt8>, named name: String, file: StaticString = #filePath, line: UInt = #line,
    column: UInt = #column
) {
    do { try TestDirectory.attach(Array(bytes), named: name) } catch {
        fail("can't attach \(quoted(name)): \(error.description)", file: file, line: line, column: column)
    }
}

extension TestDirectory {
    fileprivate static func attach(_ bytes: [UInt8], named name: String) throws(MissingError) {
        if ["", ".", ".."].contains(name)
            || name.utf8.contains(where: { $0 == UInt8(ascii: "/") || $0 < 0x20 || $0 == 0x7F })
            || name.contains("]]")
        {
            throw MissingError(description: "the name isn't a file name")
        }
        let folder = try path()
        let dot = name.dropFirst().lastIndex(of: ".") ?? name.endIndex
        var unused = name
        var file = open("\(folder)/\(name)", O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0o600)
        while file < 0, errno == EEXIST {
            let number = nextNumber(of: "\(folder)/\(name)")
            unused = "\(name[..<dot])-\(number)\(name[dot...])"
            file = open("\(folder)/\(unused)", O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0o600)
        }
        guard file >= 0 else { throw MissingError(description: String(cString: strerror(errno))) }
        defer { close(file) }
        var sent = 0
        while sent < bytes.count {
            let count = bytes[sent...].withUnsafeBytes { inclass_write(file, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw MissingError(description: String(cString: strerror(errno))) }
            sent += count
        }
        Recorder.send { $0.add("attachment", text: unused) }
    }
}

// MARK: - In-class tests

#if SELF_TESTS
enum AttachmentTests: SelfTesting {
    static var testSelectors: TestSelectors {
        ["testWritesFilesWithUniqueNames": testWritesFilesWithUniqueNames]
            + .each("testRejectsInvalidNames", refused) { name, reason in
                expectEqual(
                    Recorder.issues { attach("", named: name) }.map(\.message),
                    ["can't attach \(quoted(name)): \(reason)"])
            }
    }

    private static func testWritesFilesWithUniqueNames() throws {
        attach("text", named: "page.html")
        attach("", named: "page.html")
        attach([0, 255] as [UInt8], named: ".hidden")
        attach([1].lazy.map(UInt8.init), named: ".hidden")
        let folder = try temporaryDirectory()
        expectEqual(
            Set(TestDirectory.names(in: folder)), ["page.html", "page-2.html", ".hidden", ".hidden-2"])
        for (name, size) in [("page.html", 4), ("page-2.html", 0), (".hidden", 2), (".hidden-2", 1)] {
            var status = stat()
            expectEqual(stat("\(folder)/\(name)", &status), 0, name)
            expectEqual(Int(status.st_size), size, name)
        }
    }

    private static let refused =
        ["", ".", "..", "a/b", "a\0b"].map { ($0, "the name isn't a file name") }
        + [(String(repeating: "x", count: 300), "File name too long")]
}
#endif

#endif
