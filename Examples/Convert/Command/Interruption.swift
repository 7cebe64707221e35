// Removes a file or prints a message when a signal ends the process, if the signal can be caught.

/// The reaction to an interruption of the process.
enum Interruption {
    // The signal handlers read the path. It is only changed while no handler is installed.
    nonisolated(unsafe) private static var path: UnsafeMutablePointer<CChar>?
    /// The message to print if the file exists. In that case, the file stays.
    nonisolated(unsafe) private static var message: UnsafeMutablePointer<CChar>?
    /// The signals that a handler was installed for.
    nonisolated(unsafe) private static var caught: [Int32] = []
    private static let signals = [SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGXCPU]

    /// Removes a file when a signal ends the process. Nil stands for no file. An ignored signal, such as under `nohup`,
    /// stays ignored.
    static func remove(_ file: String?) { install(file, nil) }

    /// Prints a message when a signal ends the process, if a file exists at that time.
    static func report(_ message: String, ifThereIs file: String) { install(file, message) }

    private static func install(_ file: String?, _ text: String?) {
        removeNothing()
        guard let file else { return }
        path = strdup(file)
        message = text.flatMap { strdup($0) }
        caught = signals.filter { !isIgnored($0) }
        for number in caught {
            _ = signal(number) { number in
                Interruption.end()
                signal(number, SIG_DFL)
                raise(number)
            }
        }
    }

    /// Handles a signal. Calls only functions that are allowed in a signal handler.
    private static func end() {
        guard let path else { return }
        guard let message else {
            unlink(path)
            return
        }
        if access(path, F_OK) == 0 { _ = write(STDERR_FILENO, message, strlen(message)) }
    }

    private static func removeNothing() {
        for number in caught { signal(number, SIG_DFL) }
        caught = []
        free(path)
        free(message)
        (path, message) = (nil, nil)
    }

    private static func isIgnored(_ number: Int32) -> Bool {
        var action = sigaction()
        sigaction(number, nil, &action)
        #if canImport(Darwin)
        let handler = unsafeBitCast(action.__sigaction_u.__sa_handler, to: Int.self)
        #else
        let handler = unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self)
        #endif
        return handler == unsafeBitCast(SIG_IGN, to: Int.self)
    }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting
import PlistStreaming

extension Interruption: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testRemovesTheUnfinishedFile": testRemovesTheUnfinishedFile,
            "testKeepsIgnoringIgnoredSignals": testKeepsIgnoringIgnoredSignals,
        ]
    }

    private static func output(isNamed: Bool) -> OutputFile.Options {
        var options = OutputFile.Options()
        (options.isNamed, options.noteTemporaryName) = (isNamed, remove)
        return options
    }

    private static func files(_ directory: String) -> [String] {
        OutputFile.names(in: directory).filter { $0 != "." && $0 != ".." }.sorted()
    }

    private static func testRemovesTheUnfinishedFile() throws {
        for isNamed in [false, true] {
            for number in [SIGINT, SIGTERM, SIGHUP] {
                let directory = try temporaryDirectory()
                expectExit(.signal(number), "the end by a signal") {
                    let options = output(isNamed: isNamed)
                    guard let file = try? OutputFile(path: "\(directory)/out", options: options) else { return }
                    write(file.descriptor, "half", 4)
                    // The thread of a test blocks all signals.
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

    private static func testKeepsIgnoringIgnoredSignals() throws {
        let directory = try temporaryDirectory()
        expectExit(.exit(7), "a process that was started by nohup") {
            _ = signal(SIGHUP, SIG_IGN)
            let options = output(isNamed: true)
            guard let file = try? OutputFile(path: "\(directory)/out", options: options) else { return }
            raise(SIGHUP)
            try? file.commit()
            raise(SIGHUP)
            exit(7)
        }
        expectEqual(files(directory), ["out"], "files")
    }
}
#endif
