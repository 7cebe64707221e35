// The in-class tests of `OutputFile`: creation of the file, leftover files, links, owners, descriptors.

// SAFETY: all unsafe code here is system calls, with paths and buffers that outlive the calls. Their results are copied
// immediately.

#if DEBUG || IN_CLASS_TESTS
import StreamingSystem
import InClassTesting

/// The tests of `OutputFile`, which is noncopyable and has no fixture.
enum OutputFileTests {}

extension OutputFileTests: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testFileAppearsWhenComplete": testFileAppearsWhenComplete,
            "testRemovesUncommittedFile": testRemovesUncommittedFile,
            "testKeepsLinksAndPermissions": testKeepsLinksAndPermissions,
            "testCreatesTargetOfLink": testCreatesTargetOfLink,
            "testReplacesAnyFileIfAsked": testReplacesAnyFileIfAsked,
            "testSurvivesKillsWhileOverwriting": testSurvivesKillsWhileOverwriting,
            "testKeepsTheOwner": testKeepsTheOwner,
            "testWritesDespiteFilesOfKilledProcesses": testWritesDespiteFilesOfKilledProcesses,
            "testListsFilesLeftByKilledProcesses": testListsFilesLeftByKilledProcesses,
            "testWritesToDescriptors": testWritesToDescriptors,
            "testKeepsReadOnlyFiles": testKeepsReadOnlyFiles,
            "testReportsMissingDirectory": testReportsMissingDirectory,
            "testRefusesToReplaceAnOpenDatabase": testRefusesToReplaceAnOpenDatabase,
        ]
    }

    /// Calls a closure with a new directory, which is removed with its contents.
    private static func withDirectory(_ body: (String) throws -> Void) throws {
        var template = Array("/tmp/output-file-XXXXXX".utf8CString)
        let directory = unsafe String(cString: try requireNotNil(mkdtemp(&template), "a new directory"))
        defer {
            for file in files(directory) { unsafe unlink("\(directory)/\(file)") }
            unsafe rmdir(directory)
        }
        try body(directory)
    }

    private static func options(isNamed: Bool, isDurable: Bool = true) -> OutputFile.Options {
        var options = OutputFile.Options()
        (options.isNamed, options.isDurable) = (isNamed, isDurable)
        return options
    }

    private static func files(_ directory: String) -> [String] {
        OutputFile.names(in: directory).filter { $0 != "." && $0 != ".." }.sorted()
    }

    private static func testFileAppearsWhenComplete() throws {
        for isNamed in [false, true] {
            try withDirectory { directory in
                let file = try OutputFile(path: "\(directory)/out", options: options(isNamed: isNamed))
                unsafe expectEqual(write(file.descriptor, "done", 4), 4, "written bytes")
                expectFalse(files(directory).contains("out"), "the file before it is complete")
                try file.commit()
                expectEqual(files(directory), ["out"], "files, with a temporary name: \(isNamed)")
                var status = stat()
                unsafe expectEqual(stat("\(directory)/out", &status), 0, "stat")
                expectEqual(status.st_size, 4, "size")
            }
        }
    }

    private static func testRemovesUncommittedFile() throws {
        for isNamed in [false, true] {
            try withDirectory { directory in
                do {
                    let file = try OutputFile(path: "\(directory)/out", options: options(isNamed: isNamed))
                    unsafe expectEqual(write(file.descriptor, "half", 4), 4, "written bytes")
                }
                expectEqual(files(directory), [], "files, with a temporary name: \(isNamed)")
            }
        }
    }

    private static func testKeepsReadOnlyFiles() throws {
        for isNamed in [false, true] {
            try withDirectory { directory in
                unsafe close(open("\(directory)/out", O_CREAT | O_WRONLY, 0o444))
                unsafe chmod(directory, 0o777)
                expectExit(.exit(7), "a file that may not be written to") {
                    // Root may write to any file.
                    if geteuid() == 0 { setuid(65_534) }
                    do throws(StreamError) {
                        try OutputFile(path: "\(directory)/out", options: options(isNamed: isNamed)).commit()
                    } catch {
                        exit(error.message == "cannot replace: Permission denied" ? 7 : 8)
                    }
                }
                expectEqual(files(directory), ["out"], "files")
            }
        }
    }

    private static func testKeepsLinksAndPermissions() throws {
        for isNamed in [false, true] {
            try withDirectory { directory in
                unsafe close(open("\(directory)/real", O_CREAT | O_WRONLY, 0o640))
                unsafe expectEqual(symlink("real", "\(directory)/link"), 0, "symlink")
                try OutputFile(path: "\(directory)/link", options: options(isNamed: isNamed)).commit()
                var status = stat()
                unsafe expectEqual(lstat("\(directory)/link", &status), 0, "lstat")
                expectEqual(status.st_mode & S_IFMT, S_IFLNK, "the type of the link")
                unsafe expectEqual(stat("\(directory)/real", &status), 0, "stat")
                expectEqual(status.st_mode & 0o777, 0o640, "permissions")
            }
        }
    }

    private static func testRefusesToReplaceAnOpenDatabase() throws {
        for ending in ["", "-wal", "-journal"] {
            try withDirectory { directory in
                unsafe close(open("\(directory)/out\(ending)", O_CREAT | O_WRONLY, 0o640))
                let file = try OutputFile(path: "\(directory)/out", options: options(isNamed: true))
                if ending.isEmpty {
                    expectNoThrow("without a log") { try file.checkIsNoOpenDatabase() }
                } else {
                    let error = expectThrows(StreamError.self, ending) { try file.checkIsNoOpenDatabase() }
                    expectTrue(error?.message.hasSuffix("out\(ending)") ?? false, "the file in \(error?.message ?? "")")
                }
            }
        }
    }

    private static func testReportsMissingDirectory() {
        for isNamed in [false, true] {
            let error = expectThrows(StreamError.self, "no directory") {
                try OutputFile(path: "/nonexistent/out", options: options(isNamed: isNamed)).commit()
            }
            expectEqual(error?.kind, .cannotWrite, "kind")
        }
    }

    private static func put(_ text: String, to path: String, isNamed: Bool) throws {
        let file = try OutputFile(path: path, options: options(isNamed: isNamed))
        unsafe expectEqual(write(file.descriptor, text, text.utf8.count), text.utf8.count, "written bytes")
        try file.commit()
    }

    private static func text(_ path: String) throws -> String {
        var text = ""
        try InputFile(path: path).readChunks { bytes in text += String(validating: bytes) ?? "?" }
        return text
    }

    private static func testCreatesTargetOfLink() throws {
        for isNamed in [false, true] {
            try withDirectory { directory in
                unsafe expectEqual(symlink("new", "\(directory)/link"), 0, "symlink")
                try put("one", to: "\(directory)/link", isNamed: isNamed)
                expectEqual(files(directory), ["link", "new"], "files")
                var status = stat()
                unsafe expectEqual(lstat("\(directory)/link", &status), 0, "lstat")
                expectEqual(status.st_mode & S_IFMT, S_IFLNK, "the type of the link")
                // A file with two names keeps both names.
                unsafe expectEqual(link("\(directory)/new", "\(directory)/other"), 0, "link")
                for text in ["longer than before", "x"] {
                    try put(text, to: "\(directory)/other", isNamed: isNamed)
                    for name in ["new", "other"] { expectEqual(try self.text("\(directory)/\(name)"), text, name) }
                }
                expectEqual(files(directory), ["link", "new", "other"], "files")
            }
        }
    }

    private static func testReplacesAnyFileIfAsked() throws {
        try withDirectory { directory in
            try put("old", to: "\(directory)/a", isNamed: false)
            unsafe expectEqual(link("\(directory)/a", "\(directory)/b"), 0, "link")
            var options = options(isNamed: false, isDurable: false)
            options.replacesAnyFile = true
            try OutputFile(path: "\(directory)/a", options: options).commit()
            expectEqual(try text("\(directory)/a"), "", "the new file")
            expectEqual(try text("\(directory)/b"), "old", "the old file by its other name")
        }
    }

    /// A file with two names is overwritten. If the process is killed during this, the file has the old or the new text, or the
    /// new text is in a file next to it.
    private static func testSurvivesKillsWhileOverwriting() throws {
        let count = 4 << 20
        for microseconds in [100, 500, 1_000, 2_000, 4_000, 8_000] {
            try withDirectory { directory in
                let old = try OutputFile(path: "\(directory)/out", options: options(isNamed: false, isDurable: false))
                unsafe expectEqual(write(old.descriptor, "old", 3), 3, "written bytes")
                try old.commit()
                unsafe expectEqual(link("\(directory)/out", "\(directory)/other"), 0, "link")
                expectExit(.signal(SIGALRM), "\(microseconds)") {
                    let file = try? OutputFile(path: "\(directory)/out", options: options(isNamed: false))
                    guard let file else { exit(1) }
                    let bytes = [UInt8](repeating: 0x78, count: count)
                    guard unsafe write(file.descriptor, bytes, count) == count else { exit(2) }
                    // A test may run in a thread of a library, and such threads block signals.
                    var signals = sigset_t()
                    unsafe sigemptyset(&signals)
                    unsafe pthread_sigmask(SIG_SETMASK, &signals, nil)
                    var timer = itimerval()
                    timer.it_value.tv_usec = numericCast(microseconds)
                    #if canImport(Darwin) || canImport(Musl)
                    unsafe setitimer(ITIMER_REAL, &timer, nil)
                    #else
                    unsafe setitimer(__itimer_which_t(0), &timer, nil)
                    #endif
                    try? file.commit()
                    while true { pause() }
                }
                for name in ["out", "other"] {
                    let text = try text("\(directory)/\(name)")
                    let isWhole = text == "old" || text == String(repeating: "x", count: count)
                    expectTrue(isWhole, "\(name) after \(microseconds): \(text.utf8.count) bytes")
                }
            }
        }
    }

    private static func testKeepsTheOwner() throws {
        guard geteuid() == 0 else { try skip("only root gives files away") }
        for isNamed in [false, true] {
            try withDirectory { directory in
                unsafe close(open("\(directory)/out", O_CREAT | O_WRONLY, 0o640))
                unsafe expectEqual(chown("\(directory)/out", 1, 2), 0, "chown")
                unsafe chmod("\(directory)/out", 0o4750)
                try put("x", to: "\(directory)/out", isNamed: isNamed)
                let state = try OutputPlace("\(directory)/out").state
                expectEqual([state?.owner, state?.group], [1, 2], "owner and group")
                expectEqual(state?.mode, 0o4750, "mode")
                // A process that cannot set the owner of a new file overwrites the old file.
                unsafe chmod(directory, 0o777)
                unsafe chmod("\(directory)/out", 0o666)
                expectExit(.exit(7), "another user") {
                    setuid(65_534)
                    try? put("of another", to: "\(directory)/out", isNamed: isNamed)
                    exit(7)
                }
                expectEqual(try OutputPlace("\(directory)/out").state?.owner, 1, "owner after another user")
                expectEqual(try text("\(directory)/out"), "of another", "text")
                expectEqual(files(directory), ["out"], "files")
            }
        }
    }

    private static func testWritesDespiteFilesOfKilledProcesses() throws {
        try withDirectory { directory in
            let name = String(repeating: "é", count: 127)
            for _ in 0..<2 {
                expectExit(.signal(SIGKILL), "a process that is killed") {
                    guard
                        let file = try? OutputFile(path: "\(directory)/\(name)", options: options(isNamed: true))
                    else { return }
                    kill(getpid(), SIGKILL)
                    _ = file.descriptor
                }
            }
            let left = files(directory)
            expectEqual(left.count, 2, "what is left: \(left)")
            expectTrue(left.allSatisfy { $0.hasPrefix(".output-") && $0.hasSuffix(".partial") }, "their names: \(left)")
            for isNamed in [false, true] { try put("x", to: "\(directory)/\(name)", isNamed: isNamed) }
            expectEqual(files(directory).count, 3, "files")
        }
    }

    private static func testListsFilesLeftByKilledProcesses() throws {
        try withDirectory { directory in
            // Process identifiers are smaller on all systems.
            let left = [".output-\(Int32.max - 1)-b.partial", ".output-\(Int32.max)-a.partial"]
            let others = [
                ".output-1-a.partial", ".output-\(getpid())-a.partial", ".output-a.partial", ".output--7-a.partial",
                ".output-0-a.partial", ".output-\(Int32.max)-a", "output-\(Int32.max)-a.partial",
                ".output-\(Int32.max)-a-b.partial", ".output-99999999999-a.partial", ".output-x-a.partial",
            ]
            for name in left + others { unsafe close(open("\(directory)/\(name)", O_CREAT | O_WRONLY, 0o600)) }
            let output = try OutputFile(path: "\(directory)/out", options: options(isNamed: true, isDurable: false))
            expectEqual(output.abandonedFiles(), left.map { "\(directory)/\($0)" }, "abandoned files")
            #if os(Linux)
            expectEqual(try OutputFile(path: "\(directory)/out").abandonedFiles(), [], "beside a file without a name")
            #endif
            try output.commit()
            expectEqual(files(directory).count, left.count + others.count + 1, "files after all")
        }
    }

    private static func testWritesToDescriptors() throws {
        try withDirectory { directory in
            let descriptor = unsafe open("\(directory)/log", O_CREAT | O_WRONLY, 0o600)
            defer { close(descriptor) }
            unsafe expectEqual(write(descriptor, "before ", 7), 7, "before")
            for isNamed in [false, true] { try put("x", to: "/dev/fd/\(descriptor)", isNamed: isNamed) }
            unsafe expectEqual(write(descriptor, " after", 6), 6, "after")
            expectEqual(try text("\(directory)/log"), "before xx after", "text")
            expectEqual(files(directory), ["log"], "files")
        }
    }
}
#endif
