// The in-class tests of `OutputFile`: when the file appears, what is left behind, links, owners, descriptors.

#if DEBUG || IN_CLASS_TESTS
import InClassTesting
import PlistStreaming

#if canImport(Darwin)
@preconcurrency import Darwin
#elseif canImport(Musl)
@preconcurrency import Musl
#else
@preconcurrency import Glibc
#endif

/// Tests of `OutputFile`, which is noncopyable and has no fixture.
enum OutputFileTests {}

extension OutputFileTests: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testAppearsWhenItIsComplete": testAppearsWhenItIsComplete,
            "testLeavesNothingUncommitted": testLeavesNothingUncommitted,
            "testLeavesNothingAfterASignal": testLeavesNothingAfterASignal,
            "testIgnoresWhatWasIgnored": testIgnoresWhatWasIgnored,
            "testKeepsLinksAndPermissions": testKeepsLinksAndPermissions,
            "testMakesTheFileThatALinkLeadsTo": testMakesTheFileThatALinkLeadsTo,
            "testKeepsTheOwner": testKeepsTheOwner,
            "testIsInNobodysWay": testIsInNobodysWay,
            "testTellsWhatKilledOnesHaveLeft": testTellsWhatKilledOnesHaveLeft,
            "testWritesToDescriptors": testWritesToDescriptors,
            "testKeepsAFileThatIsProtected": testKeepsAFileThatIsProtected,
            "testReportsADirectoryThatIsNotThere": testReportsADirectoryThatIsNotThere,
            "testRefusesToReplaceAnOpenDatabase": testRefusesToReplaceAnOpenDatabase,
        ]
    }

    /// Calls a closure with a new directory, which is removed with what is in it.
    private static func withDirectory(_ body: (String) throws -> Void) throws {
        var template = Array("/tmp/output-file-XXXXXX".utf8CString)
        let directory = String(cString: try requireNotNil(mkdtemp(&template), "a new directory"))
        defer {
            for file in files(directory) { unlink("\(directory)/\(file)") }
            rmdir(directory)
        }
        try body(directory)
    }

    private static func files(_ directory: String) -> [String] {
        OutputFile.names(in: directory).filter { $0 != "." && $0 != ".." }.sorted()
    }

    private static func testAppearsWhenItIsComplete() throws {
        for isNamed in [false, true] {
            try withDirectory { directory in
                let file = try OutputFile(path: "\(directory)/out", isNamed: isNamed)
                expectEqual(write(file.descriptor, "done", 4), 4, "written bytes")
                expectFalse(files(directory).contains("out"), "the file before it is complete")
                try file.commit()
                expectEqual(files(directory), ["out"], "files, with a temporary name: \(isNamed)")
                var status = stat()
                expectEqual(stat("\(directory)/out", &status), 0, "stat")
                expectEqual(status.st_size, 4, "size")
            }
        }
    }

    private static func testLeavesNothingUncommitted() throws {
        for isNamed in [false, true] {
            try withDirectory { directory in
                do {
                    let file = try OutputFile(path: "\(directory)/out", isNamed: isNamed)
                    expectEqual(write(file.descriptor, "half", 4), 4, "written bytes")
                }
                expectEqual(files(directory), [], "files, with a temporary name: \(isNamed)")
            }
        }
    }

    private static func testLeavesNothingAfterASignal() throws {
        for isNamed in [false, true] {
            for number in [SIGINT, SIGTERM, SIGHUP] {
                try withDirectory { directory in
                    expectExit(.signal(number), "the end by a signal") {
                        guard let file = try? OutputFile(path: "\(directory)/out", isNamed: isNamed) else { return }
                        write(file.descriptor, "half", 4)
                        // The thread of a test takes no signals.
                        var none = sigset_t()
                        sigemptyset(&none)
                        pthread_sigmask(SIG_SETMASK, &none, nil)
                        raise(number)
                        _ = file.descriptor
                    }
                    expectEqual(files(directory), [], "files, with a temporary name: \(isNamed)")
                }
            }
        }
    }

    private static func testIgnoresWhatWasIgnored() throws {
        try withDirectory { directory in
            expectExit(.exit(7), "a process that was started by nohup") {
                _ = signal(SIGHUP, SIG_IGN)
                guard let file = try? OutputFile(path: "\(directory)/out", isNamed: true) else { return }
                raise(SIGHUP)
                try? file.commit()
                raise(SIGHUP)
                exit(7)
            }
            expectEqual(files(directory), ["out"], "files")
        }
    }

    private static func testKeepsAFileThatIsProtected() throws {
        for isNamed in [false, true] {
            try withDirectory { directory in
                close(open("\(directory)/out", O_CREAT | O_WRONLY, 0o444))
                chmod(directory, 0o777)
                expectExit(.exit(7), "a file that may not be written to") {
                    // Root may write to any file.
                    if geteuid() == 0 { setuid(65_534) }
                    do throws(StreamError) {
                        try OutputFile(path: "\(directory)/out", isNamed: isNamed).commit()
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
                close(open("\(directory)/real", O_CREAT | O_WRONLY, 0o640))
                expectEqual(symlink("real", "\(directory)/link"), 0, "symlink")
                try OutputFile(path: "\(directory)/link", isNamed: isNamed).commit()
                var status = stat()
                expectEqual(lstat("\(directory)/link", &status), 0, "lstat")
                expectEqual(status.st_mode & S_IFMT, S_IFLNK, "the type of the link")
                expectEqual(stat("\(directory)/real", &status), 0, "stat")
                expectEqual(status.st_mode & 0o777, 0o640, "permissions")
            }
        }
    }

    private static func testRefusesToReplaceAnOpenDatabase() throws {
        for ending in ["", "-wal", "-journal"] {
            try withDirectory { directory in
                close(open("\(directory)/out\(ending)", O_CREAT | O_WRONLY, 0o640))
                let file = try OutputFile(path: "\(directory)/out", isNamed: true)
                if ending.isEmpty {
                    expectNoThrow("without a log") { try file.checkIsNoOpenDatabase() }
                } else {
                    let error = expectThrows(StreamError.self, ending) { try file.checkIsNoOpenDatabase() }
                    expectTrue(error?.message.hasSuffix("out\(ending)") ?? false, "the file in \(error?.message ?? "")")
                }
            }
        }
    }

    private static func testReportsADirectoryThatIsNotThere() {
        for isNamed in [false, true] {
            let error = expectThrows(StreamError.self, "no directory") {
                try OutputFile(path: "/nonexistent/out", isNamed: isNamed).commit()
            }
            expectEqual(error?.kind, .cannotWrite, "kind")
        }
    }

    private static func put(_ text: String, to path: String, isNamed: Bool) throws {
        let file = try OutputFile(path: path, isNamed: isNamed)
        expectEqual(write(file.descriptor, text, text.utf8.count), text.utf8.count, "written bytes")
        try file.commit()
    }

    private static func text(_ path: String) throws -> String {
        var text = ""
        try InputFile(path: path).readChunks { bytes in text += String(validating: bytes) ?? "?" }
        return text
    }

    private static func testMakesTheFileThatALinkLeadsTo() throws {
        for isNamed in [false, true] {
            try withDirectory { directory in
                expectEqual(symlink("new", "\(directory)/link"), 0, "symlink")
                try put("one", to: "\(directory)/link", isNamed: isNamed)
                expectEqual(files(directory), ["link", "new"], "files")
                var status = stat()
                expectEqual(lstat("\(directory)/link", &status), 0, "lstat")
                expectEqual(status.st_mode & S_IFMT, S_IFLNK, "the type of the link")
                // A file with two names keeps both, whichever is written to.
                expectEqual(link("\(directory)/new", "\(directory)/other"), 0, "link")
                for text in ["longer than before", "x"] {
                    try put(text, to: "\(directory)/other", isNamed: isNamed)
                    for name in ["new", "other"] { expectEqual(try self.text("\(directory)/\(name)"), text, name) }
                }
                expectEqual(files(directory), ["link", "new", "other"], "files")
            }
        }
    }

    private static func testKeepsTheOwner() throws {
        guard geteuid() == 0 else { try skip("only root gives files away") }
        for isNamed in [false, true] {
            try withDirectory { directory in
                close(open("\(directory)/out", O_CREAT | O_WRONLY, 0o640))
                expectEqual(chown("\(directory)/out", 1, 2), 0, "chown")
                chmod("\(directory)/out", 0o4750)
                try put("x", to: "\(directory)/out", isNamed: isNamed)
                let state = try OutputPlace("\(directory)/out").state
                expectEqual([state?.owner, state?.group], [1, 2], "owner and group")
                expectEqual(state?.mode, 0o4750, "mode")
                // Who cannot give it to its owner writes into it.
                chmod(directory, 0o777)
                chmod("\(directory)/out", 0o666)
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

    private static func testIsInNobodysWay() throws {
        try withDirectory { directory in
            let name = String(repeating: "é", count: 127)
            for _ in 0..<2 {
                expectExit(.signal(SIGKILL), "a process that is killed") {
                    guard let file = try? OutputFile(path: "\(directory)/\(name)", isNamed: true) else { return }
                    kill(getpid(), SIGKILL)
                    _ = file.descriptor
                }
            }
            let left = files(directory)
            expectEqual(left.count, 2, "what is left: \(left)")
            expectTrue(left.allSatisfy { $0.hasPrefix(".convert-") && Format(path: $0) == nil }, "their names: \(left)")
            for isNamed in [false, true] { try put("x", to: "\(directory)/\(name)", isNamed: isNamed) }
            expectEqual(files(directory).count, 3, "files")
        }
    }

    private static func testTellsWhatKilledOnesHaveLeft() throws {
        try withDirectory { directory in
            // No system has so large numbers of processes.
            let left = [".convert-\(Int32.max - 1)-b.partial", ".convert-\(Int32.max)-a.partial"]
            let others = [
                ".convert-1-a.partial", ".convert-\(getpid())-a.partial", ".convert-a.partial", ".convert--7-a.partial",
                ".convert-0-a.partial", ".convert-\(Int32.max)-a", "convert-\(Int32.max)-a.partial",
                ".convert-\(Int32.max)-a-b.partial", ".convert-99999999999-a.partial", ".convert-x-a.partial",
            ]
            for name in left + others { close(open("\(directory)/\(name)", O_CREAT | O_WRONLY, 0o600)) }
            let output = try OutputFile(path: "\(directory)/out", isNamed: true)
            expectEqual(output.abandonedFiles(), left.map { "\(directory)/\($0)" }, "abandoned files")
            #if os(Linux)
            expectEqual(try OutputFile(path: "\(directory)/out").abandonedFiles(), [], "beside a file without a name")
            #endif
            try output.commit(isDurable: false)
            expectEqual(files(directory).count, left.count + others.count + 1, "files after all")
        }
    }

    private static func testWritesToDescriptors() throws {
        try withDirectory { directory in
            let descriptor = open("\(directory)/log", O_CREAT | O_WRONLY, 0o600)
            defer { close(descriptor) }
            expectEqual(write(descriptor, "before ", 7), 7, "before")
            for isNamed in [false, true] { try put("x", to: "/dev/fd/\(descriptor)", isNamed: isNamed) }
            expectEqual(write(descriptor, " after", 6), 6, "after")
            expectEqual(try text("\(directory)/log"), "before xx after", "text")
            expectEqual(files(directory), ["log"], "files")
        }
    }
}
#endif
