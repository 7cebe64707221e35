// Runs programs and captures their output. Each run has a time limit. When it expires, the whole process group is
// killed, so that a hanging build leaves no processes behind.

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif
import Foundation

/// The exit status and the output of a program that has ended.
struct ProgramResult: CustomStringConvertible {
    var words: [String]
    /// The exit status, or the negated number of the signal that ended the program.
    var status: Int32
    var output: String
    var errors: String

    /// The standard output, followed by the standard error.
    var text: String { output + errors }
    var lines: [String] { text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init) }

    var description: String {
        "\(words.joined(separator: " ")): status \(status)\n\(output)\(errors.isEmpty ? "" : "--- errors ---\n\(errors)")"
    }
}

/// A failure of a program or of a test helper.
struct ProgramError: Error, CustomStringConvertible {
    var description: String
}

enum RunningPrograms {
    /// The variables of the test process that would change the behavior of the programs it starts.
    private static let removedVariables: Set<String> = [
        "RECORD_GOLDENS", "NO_COLOR", "GITHUB_ACTIONS", "IN_CLASS_TESTS_OFF", "XCTestConfigurationFilePath",
        "LLVM_PROFILE_FILE", "SWIFT_TESTING_ENABLED", "SWIFTPM_BUILD_DIR", "GITHUB_STEP_SUMMARY", "GITHUB_WORKSPACE",
    ]

    /// Runs a program and waits for its end.
    ///
    /// - Parameters:
    ///   - words: The program, which is searched for in `PATH`, and its arguments.
    ///   - folder: The working directory.
    ///   - environment: The variables to add.
    /// - Throws: `ProgramError` if the program can't be started or doesn't end within the time limit.
    static func run(
        _ words: [String], in folder: URL, environment: [String: String] = [:], timeLimit: Duration = .seconds(900)
    ) throws -> ProgramResult {
        try start(words, in: folder, environment: environment).result(within: timeLimit)
    }

    /// Runs `swift` with these arguments.
    static func swift(_ words: [String], in folder: URL, environment: [String: String] = [:]) throws -> ProgramResult {
        try outlastingSwiftPM(["swift"] + words, in: folder, environment: environment)
    }

    /// Runs a command line, which may call SwiftPM, in a shell.
    static func shell(_ line: String, in folder: URL, environment: [String: String] = [:]) throws -> ProgramResult {
        try outlastingSwiftPM(["bash", "-c", line], in: folder, environment: environment)
    }

    /// Runs a program, and repeats it up to two times if SwiftPM itself crashes. Prints a note for each crash.
    ///
    /// On Linux `swift-package` and `swift-build` sometimes crash in libdispatch's event loop, mostly with Swift Build
    /// (swiftlang/swift#87033). None of our code runs in those processes. If a test, testlogger or a plugin crashes,
    /// SwiftPM exits with a status, so our own failures are never retried.
    private static func outlastingSwiftPM(
        _ words: [String], in folder: URL, environment: [String: String]
    ) throws -> ProgramResult {
        let attempts = 3
        for attempt in 1..<attempts {
            let result = try run(words, in: folder, environment: environment, timeLimit: .seconds(1800))
            guard crashSignals.contains(-result.status) else { return result }
            print(
                "note: SwiftPM crashed with signal \(-result.status) (swiftlang/swift#87033) in attempt \(attempt) of "
                    + "\(attempts): \(words)")
        }
        return try run(words, in: folder, environment: environment, timeLimit: .seconds(1800))
    }

    private static let crashSignals: Set<Int32> = [SIGSEGV, SIGBUS, SIGILL, SIGTRAP, SIGABRT]

    /// Writes a shell script that programs can start.
    ///
    /// A child process writes the file. If this process wrote it, a program that another test starts at the same time
    /// could inherit the open descriptor, and the kernel can't start a file that is open for writing (ETXTBSY).
    static func writeScript(_ text: String, to file: URL) throws {
        let source = file.appendingPathExtension("sh")
        try Data(text.utf8).write(to: source)
        try install(source, to: file)
    }

    /// Copies an executable in a child process, for the same reason as `writeScript`.
    static func install(_ source: URL, to file: URL) throws {
        let result = try run(["install", "-m", "755", source.path, file.path], in: Fixtures.folder)
        guard result.status == 0 else { throw ProgramError(description: "\(result)") }
    }

    /// Waits until a condition is true.
    ///
    /// - Parameter what: A description of the condition for the error message.
    /// - Throws: `ProgramError` if the condition is still false after ten minutes.
    static func wait(for what: String, until condition: () throws -> Bool) throws {
        let deadline = ContinuousClock.now + .seconds(600)
        while try !condition() {
            if ContinuousClock.now > deadline { throw ProgramError(description: "waited ten minutes for \(what)") }
            usleep(5_000)
        }
    }

    /// Starts a program and returns while it runs.
    ///
    /// - Parameter input: The text of the standard input, or nil for an empty one.
    static func start(
        _ words: [String], in folder: URL, environment: [String: String] = [:], input: String? = nil
    ) throws -> RunningProgram {
        let output = try TemporaryFile()
        let errors = try TemporaryFile()
        let process = try start(
            words, in: folder, environment: environment, input: input.map { try TemporaryFile($0) }, output: output,
            errors: errors)
        return RunningProgram(words: words, process: process, output: output, errors: errors)
    }

    /// Returns the identifiers of all processes whose environment contains this assignment, including orphaned
    /// processes.
    static func processes(with assignment: String) throws -> [String] {
        let folder = URL(filePath: "/proc")
        return try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { name in
            guard name.allSatisfy(\.isNumber),
                let variables = try? Data(contentsOf: folder.appending(path: "\(name)/environ"))
            else { return false }
            return variables.split(separator: 0).contains { $0.elementsEqual(assignment.utf8) }
        }
    }

    /// Returns the processor time of a process in seconds, or 0 if the process has ended.
    static func processorTime(of process: String) -> Double {
        // The name can contain any character, so parse the fields after it. Two of them are the user time and the
        // system time in hundredths of a second.
        let text = try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8)
        let fields = text?.components(separatedBy: ") ").last?.split(separator: " ") ?? []
        return fields.count > 12 ? ((Double(fields[11]) ?? 0) + (Double(fields[12]) ?? 0)) / 100 : 0
    }

    /// Returns the path of a program, or nil if it isn't installed.
    static func path(of program: String) -> String? {
        let folders = ProcessInfo.processInfo.environment["PATH"]?.split(separator: ":") ?? []
        return folders.map { "\($0)/\(program)" }.first { access($0, X_OK) == 0 }
    }

    private static func start(
        _ words: [String], in folder: URL, environment: [String: String], input: TemporaryFile?, output: TemporaryFile,
        errors: TemporaryFile
    ) throws -> pid_t {
        #if canImport(Darwin)
        var actions: posix_spawn_file_actions_t?
        var attributes: posix_spawnattr_t?
        #else
        var actions = posix_spawn_file_actions_t()
        var attributes = posix_spawnattr_t()
        #endif
        posix_spawn_file_actions_init(&actions)
        posix_spawnattr_init(&attributes)
        defer {
            posix_spawn_file_actions_destroy(&actions)
            posix_spawnattr_destroy(&attributes)
        }
        // The program gets its own process group, so that the whole group can be killed.
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETPGROUP))
        posix_spawnattr_setpgroup(&attributes, 0)
        if let input {
            posix_spawn_file_actions_adddup2(&actions, input.descriptor, 0)
        } else {
            posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        }
        posix_spawn_file_actions_adddup2(&actions, output.descriptor, 1)
        posix_spawn_file_actions_adddup2(&actions, errors.descriptor, 2)
        let variables = try ProcessInfo.processInfo.environment
            .filter { !removedVariables.contains($0.key) }
            .merging(["TMPDIR": Fixtures.temporaryFolder.path]) { $1 }
            .merging(SharedBuild.enter(folder, for: words)) { $1 }
            .merging(environment) { $1 }
        // A shell changes the working directory and then executes the program, because not every system's posix_spawn
        // can change it. The shell unsets the variables that contain the folder, because SwiftPM recompiles plugins if
        // a variable has changed.
        let shell = ["/bin/sh", "-c", "cd -- \"$1\" && shift && unset PWD OLDPWD && exec \"$@\"", "sh", folder.path]
        var arguments = (shell + words).map { strdup($0) } + [nil]
        var assignments = variables.map { strdup("\($0.key)=\($0.value)") } + [nil]
        defer { for text in arguments + assignments { free(text) } }
        var process: pid_t = 0
        let code = posix_spawn(&process, shell[0], &actions, &attributes, &arguments, &assignments)
        guard code == 0 else {
            throw ProgramError(description: "cannot start \(words[0]): \(String(cString: strerror(code)))")
        }
        return process
    }
}

/// A program that runs at the same time as its test. Releasing the object kills the program's process group if the
/// program hasn't ended.
final class RunningProgram {
    let words: [String]
    let process: pid_t
    private let output: TemporaryFile
    private let errors: TemporaryFile
    private var hasEnded = false

    fileprivate init(words: [String], process: pid_t, output: TemporaryFile, errors: TemporaryFile) {
        self.words = words
        self.process = process
        self.output = output
        self.errors = errors
    }

    deinit {
        if hasEnded { return }
        kill(-process, SIGKILL)
        var status: Int32 = 0
        _ = waitpid(process, &status, 0)
    }

    /// Sends a signal to the program, but not to its child processes.
    func send(_ signal: Int32) { kill(process, signal) }

    /// The text that the program has written to its standard output so far.
    var outputSoFar: String { get throws { try output.text() } }

    /// Waits until a condition is true.
    ///
    /// - Parameter what: A description of the condition for the error message.
    /// - Throws: `ProgramError` if the program ends before the condition is true, or after ten minutes.
    func wait(for what: String, until condition: () throws -> Bool) throws {
        let deadline = ContinuousClock.now + .seconds(600)
        while try !condition() {
            var information = siginfo_t()
            let hasEnded =
                waitid(P_PID, id_t(process), &information, WEXITED | WNOHANG | WNOWAIT) == 0
                && information.si_signo == SIGCHLD
            if hasEnded, try condition() { return }
            if hasEnded || ContinuousClock.now > deadline {
                throw ProgramError(
                    description:
                        "\(words) \(hasEnded ? "ended before" : "has not come in ten minutes to") \(what):\n"
                        + (try output.text()) + (try errors.text()))
            }
            usleep(5_000)
        }
    }

    /// Waits for the program's end and returns its result.
    ///
    /// - Throws: `ProgramError` if the time limit expires. The program's process group is then killed.
    func result(within timeLimit: Duration = .seconds(600)) throws -> ProgramResult {
        let deadline = ContinuousClock.now + timeLimit
        var status: Int32 = 0
        var pause: UInt32 = 1_000
        while true {
            let ended = waitpid(process, &status, WNOHANG)
            if ended == process { break }
            if ended < 0, errno != EINTR { throw ProgramError(description: "cannot wait for \(words)") }
            if ContinuousClock.now > deadline {
                kill(-process, SIGKILL)
                _ = waitpid(process, &status, 0)
                hasEnded = true
                throw ProgramError(
                    description: "\(words) did not end in \(timeLimit):\n\(try output.text())\n\(try errors.text())")
            }
            usleep(pause)
            pause = min(pause * 2, 50_000)
        }
        hasEnded = true
        let signal = status & 0x7F
        return ProgramResult(
            words: words, status: signal == 0 ? status >> 8 & 0xFF : -signal, output: try output.text(),
            errors: try errors.text())
    }
}

/// An unlinked file for the input or the output of a program. Unlike a pipe, it never fills up and needs no reader.
private final class TemporaryFile {
    let descriptor: Int32

    /// Creates a file that contains a program's input.
    convenience init(_ text: String) throws {
        try self.init()
        let bytes = Array(text.utf8)
        guard pwrite(descriptor, bytes, bytes.count, 0) == bytes.count else {
            throw ProgramError(description: "cannot write a temporary file")
        }
    }

    init() throws {
        let path = "\(NSTemporaryDirectory())/output-\(UUID().uuidString)"
        descriptor = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw ProgramError(description: "cannot create \(path)") }
        unlink(path)
    }

    deinit { close(descriptor) }

    func text() throws -> String {
        lseek(descriptor, 0, SEEK_SET)
        let data = try FileHandle(fileDescriptor: descriptor, closeOnDealloc: false).readToEnd() ?? Data()
        return String(decoding: data, as: UTF8.self)
    }
}
