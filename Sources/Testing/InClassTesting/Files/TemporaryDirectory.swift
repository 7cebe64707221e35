// Creates a directory for the running test when the test first asks for it, and removes it after the test has passed. The
// directory of a failed test stays, with the files that the test has attached, and the supervisor reports its path. The
// supervisor also handles the directories of dead workers.

#if DEBUG || IN_CLASS_TESTS

internal import InClassTestingSystem

/// Creates an empty directory for the running test and returns its absolute path.
///
/// Every call in a test returns the same directory, from any thread or task. Other tests, and other attempts of the
/// same test, use other directories. The directory is in `TMPDIR`. It is created by the first call of this function. If
/// the test passes or is skipped, the directory and its contents are removed. If the test fails, crashes or is stopped,
/// the directory stays unless it is empty, and a note below the failure contains its path.
/// - Throws: If the directory can't be created, an error that ends the test. The recorded issue contains the reason.
public func temporaryDirectory(file: StaticString = #filePath, line: UInt = #line, column: UInt = #column) throws
    -> String
{
    do { return try TestDirectory.path() } catch {
        fail("no temporary directory: \(error.description)", file: file, line: line, column: column)
        throw RequirementNotMet()
    }
}

/// The directory of the running test, if it has asked for one.
enum TestDirectory {
    struct MissingError: Error { var description: String }

    private static let lock = Lock()
    // SAFETY: read and written under the lock only.
    // PERF: stored in two parts, which are joined only if a test asks for the directory.
    private nonisolated(unsafe) static var typeName = ""
    private nonisolated(unsafe) static var testName = ""
    private nonisolated(unsafe) static var made: String?

    /// Prepares for a test, which has no directory yet.
    static func testBegins(type: String, test: String) {
        lock.withLock {
            typeName = type
            testName = test
            made = nil
        }
    }

    /// Removes the directory after a test.
    ///
    /// - Returns: The directory if it stays because the test has failed and the directory isn't empty.
    @discardableResult
    static func testEnds(hasFailed: Bool) -> String? {
        // PERF: for tests without a directory, this function only takes a lock.
        guard let path = lock.withLock({ made.take() }) else { return nil }
        if hasFailed, rmdir(path) != 0 { return path }
        remove(path)
        // Several workers share the supervisor's directory. A directory of this process only is removed when it is empty.
        if environment("IN_CLASS_TEMPORARY") == nil {
            rmdir(String(path.prefix(upTo: path.lastIndex(of: "/") ?? path.startIndex)))
        }
        return nil
    }

    private static func environment(_ name: String) -> String? {
        getenv(name).map { String(cString: $0) }.flatMap { $0.isEmpty ? nil : $0 }
    }

    /// Returns the directory, and creates it if it doesn't exist.
    static func path() throws(MissingError) -> String {
        try lock.withLock { () throws(MissingError) -> String in
            if let made { return made }
            let path = try make(named: "\(typeName).\(testName)", in: try runDirectory())
            made = path
            // The supervisor must know the directory before the test can crash.
            Recorder.send { $0.add("directory", [path]) }
            return path
        }
    }

    /// The parent of all directories of this run: named by the supervisor, or private to this process.
    private static func runDirectory() throws(MissingError) -> String {
        let parent = environment("TMPDIR") ?? "/tmp"
        let path = environment("IN_CLASS_TEMPORARY") ?? "\(parent)/in-class-tests-\(getuid())-\(getpid())"
        if mkdir(path, 0o700) == 0 { return path }
        let reason = String(cString: strerror(errno))
        // In a folder that is writable for all users, another user may own this name already.
        var status = stat()
        guard lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFDIR, status.st_uid == getuid() else {
            throw MissingError(description: "can't create \(path): \(reason)")
        }
        return path
    }

    /// Creates a new directory.
    static func make(named name: String, in folder: String) throws(MissingError) -> String {
        let base = "\(folder)/\(fileName(name))"
        var path = base
        while mkdir(path, 0o700) != 0 {
            guard errno == EEXIST else {
                throw MissingError(description: "can't create \(path): \(String(cString: strerror(errno)))")
            }
            // An earlier attempt, or a test with the same name in another list, has used this name.
            path = "\(base)-\(nextNumber(of: base))"
        }
        return path
    }

    private static let numberLock = Lock()
    // SAFETY: read and written under the lock only.
    private nonisolated(unsafe) static var numbers: [String: Int] = [:]

    /// Returns the next number, from 2, for another file or directory with this name. Each number is returned only once, so
    /// creating many files doesn't get slower.
    static func nextNumber(of path: String) -> Int {
        numberLock.withLock {
            numbers[path, default: 1] += 1
            return numbers[path, default: 2]
        }
    }

    /// Returns a test's name without characters that are special in paths or shells, short enough for the paths of sockets.
    static func fileName(_ name: String) -> String {
        var result = ""
        for scalar in name.unicodeScalars.prefix(60) {
            let isPlain = scalar.isASCII && (scalar.properties.isAlphabetic || scalar.properties.numericType != nil)
            if isPlain || "._-".unicodeScalars.contains(scalar) && !result.isEmpty {
                result.unicodeScalars.append(scalar)
            } else {
                result += "_"
            }
        }
        return result.isEmpty ? "test" : result
    }

    /// Removes a directory with its contents. Symbolic links are removed, not followed.
    static func remove(_ path: String) {
        guard rmdir(path) != 0, errno != ENOENT else { return }
        // The test may have removed its own permissions.
        chmod(path, 0o700)
        for name in names(in: path) {
            let inner = "\(path)/\(name)"
            var status = stat()
            guard lstat(inner, &status) == 0 else { continue }
            if status.st_mode & S_IFMT == S_IFDIR { remove(inner) } else { unlink(inner) }
        }
        rmdir(path)
    }

    /// Returns the names of a folder's contents in any order, or an empty array if the folder can't be read.
    static func names(in path: String) -> [String] {
        guard let stream = opendir(path) else { return [] }
        defer { closedir(stream) }
        var names: [String] = []
        while let name = inclass_next_name(stream) { names.append(String(cString: name)) }
        return names
    }
}

// MARK: - Attachments

/// Keeps a text as a file if the running test fails.
///
/// The text is written as UTF-8. For details, see ``attach(_:named:file:line:column:)-(Sequence<UInt8>,_,_,_,_)``.
public func attach(
    _ text: String, named name: String, file: StaticString = #filePath, line: UInt = #line, column: UInt = #column
) {
    attach(text.utf8, named: name, file: file, line: line, column: column)
}

/// Keeps bytes, such as `Data`, as a file if the running test fails.
///
/// The file is written immediately into the test's temporary directory, so it exists even if the test crashes. Reports
/// contain the path of the file with the failure. If the test passes, the file is removed with the directory. If the
/// test uses a name twice, the second file gets a number: `page-2.html`. In the child process of `expectTrap` or
/// `expectExit`, no file is kept. If the name isn't a file name, or if the file can't be written, the test fails.
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
        guard file >= 0, let stream = fdopen(file, "w") else {
            throw MissingError(description: String(cString: strerror(errno)))
        }
        let isWritten = fwrite(bytes, 1, bytes.count, stream) == bytes.count
        guard fclose(stream) == 0, isWritten else { throw MissingError(description: String(cString: strerror(errno))) }
        Recorder.send { $0.add("attachment", [unused]) }
    }
}

// MARK: - In-class tests

#if SELF_TESTS
extension TestDirectory: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testAllTasksOfATestShareOneDirectory": testAllTasksOfATestShareOneDirectory,
            "testMakesUniquePlainNames": testMakesUniquePlainNames,
            "testRemovesTreesWithoutFollowingLinks": testRemovesTreesWithoutFollowingLinks,
            "testReportsWhyItCannotBeMade": testReportsWhyItCannotBeMade,
        ]
    }

    private static func exists(_ path: String) -> Bool {
        var status = stat()
        return lstat(path, &status) == 0
    }

    private static func testAllTasksOfATestShareOneDirectory() async throws {
        let path = try temporaryDirectory()
        expectTrue(path.hasPrefix("/") && exists(path), path)
        expectTrue(path.hasSuffix("/TestDirectory.testAllTasksOfATestShareOneDirectory"), path)
        expectEqual(names(in: path), [])
        let others = await withTaskGroup(of: String?.self) { group in
            for _ in 0..<8 { group.addTask { try? temporaryDirectory() } }
            return await group.reduce(into: []) { $0.append($1) }
        }
        expectEqual(others, Array(repeating: path, count: 8))
    }

    private static func testMakesUniquePlainNames() throws {
        let folder = try temporaryDirectory()
        expectEqual(try make(named: "A<Int>.test/..", in: folder), "\(folder)/A_Int_.test_..")
        expectEqual(try make(named: "A<Int>.test/..", in: folder), "\(folder)/A_Int_.test_..-2")
        expectEqual(try make(named: "A<Int>.test/..", in: folder), "\(folder)/A_Int_.test_..-3")
        let long = String(repeating: "a", count: 60)
        for (name, plain) in [("", "test"), ("..", "_."), ("é x", "__x"), (long + "a", long)] {
            expectEqual(fileName(name), plain, "plain name of \(name)")
        }
    }

    private static func testRemovesTreesWithoutFollowingLinks() throws {
        let folder = try temporaryDirectory()
        let victim = "\(folder)/victim"
        let outside = "\(folder)/outside"
        for path in [outside, victim, "\(victim)/locked", "\(victim)/locked/inner"] { mkdir(path, 0o700) }
        symlink(outside, "\(victim)/link")
        close(open("\(victim)/locked/inner/file", O_CREAT | O_WRONLY, 0o400))
        close(open("\(outside)/file", O_CREAT | O_WRONLY, 0o400))
        chmod("\(victim)/locked", 0)
        remove(victim)
        expectFalse(exists(victim), "the directory is there")
        expectTrue(exists("\(outside)/file"), "what a link leads to is there")
        remove(victim)
    }

    private static func testReportsWhyItCannotBeMade() throws {
        let error = expectThrows(MissingError.self) { _ = try make(named: "a", in: "/nowhere") }
        expectEqual(error?.description, "can't create /nowhere/a: No such file or directory")
    }
}

enum AttachmentTests: SelfTesting {
    static var testSelectors: TestSelectors {
        ["testWritesFilesWithUniqueNames": testWritesFilesWithUniqueNames]
            + .each("testRejectsInvalidNames", refused) { name, reason in
                let issues = Recorder.issues { attach("", named: name) }
                expectEqual(issues.map(\.message), ["can't attach \(quoted(name)): \(reason)"])
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
