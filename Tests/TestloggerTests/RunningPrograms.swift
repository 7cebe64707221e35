// Runs a program to its end and keeps what it wrote, with a limit on how long that may take: the whole process group
// is ended then, so that a build that hangs leaves nothing behind.

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif
import Foundation

/// What a program left behind.
struct ProgramResult: CustomStringConvertible {
    var words: [String]
    /// The exit status, or minus the number of the signal that ended the program.
    var status: Int32
    var output: String
    var errors: String

    /// Both streams, one after the other.
    var text: String { output + errors }
    var lines: [String] { text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init) }

    var description: String {
        "\(words.joined(separator: " ")): status \(status)\n\(output)\(errors.isEmpty ? "" : "--- errors ---\n\(errors)")"
    }
}

/// Why a program could not be run.
struct ProgramError: Error, CustomStringConvertible {
    var description: String
}

enum RunningPrograms {
    /// Variables that a test process has and that would change what a program started by it does.
    private static let removedVariables: Set<String> = [
        "RECORD_GOLDENS", "NO_COLOR", "GITHUB_ACTIONS", "IN_CLASS_TESTS_OFF", "XCTestConfigurationFilePath",
        "LLVM_PROFILE_FILE", "SWIFT_TESTING_ENABLED",
    ]

    /// Runs a program.
    ///
    /// - Parameters:
    ///   - words: the program, found on the path, and its arguments.
    ///   - folder: the working directory.
    ///   - environment: variables to add.
    /// - Throws: `ProgramError` when it cannot be started or does not end in time.
    static func run(
        _ words: [String], in folder: URL, environment: [String: String] = [:], timeLimit: Duration = .seconds(900)
    ) throws -> ProgramResult {
        let output = try TemporaryFile()
        let errors = try TemporaryFile()
        let process = try start(words, in: folder, environment: environment, output: output, errors: errors)
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
                throw ProgramError(
                    description: "\(words) did not end in \(timeLimit):\n\(try output.text())\n\(try errors.text())")
            }
            usleep(pause)
            pause = min(pause * 2, 50_000)
        }
        let signal = status & 0x7F
        return ProgramResult(
            words: words, status: signal == 0 ? status >> 8 & 0xFF : -signal, output: try output.text(),
            errors: try errors.text())
    }

    /// The path of a program, or nil when this machine does not have it.
    static func path(of program: String) -> String? {
        let folders = ProcessInfo.processInfo.environment["PATH"]?.split(separator: ":") ?? []
        return folders.map { "\($0)/\(program)" }.first { access($0, X_OK) == 0 }
    }

    private static func start(
        _ words: [String], in folder: URL, environment: [String: String], output: TemporaryFile, errors: TemporaryFile
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
        // A group of its own, which can be ended as a whole.
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETPGROUP))
        posix_spawnattr_setpgroup(&attributes, 0)
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_adddup2(&actions, output.descriptor, 1)
        posix_spawn_file_actions_adddup2(&actions, errors.descriptor, 2)
        let variables = ProcessInfo.processInfo.environment
            .filter { !removedVariables.contains($0.key) }
            .merging(["TMPDIR": Fixtures.temporaryFolder.path]) { $1 }
            .merging(environment) { $1 }
        // The shell changes the folder, for which not every system's posix_spawn has a word, and becomes the program.
        let shell = ["/bin/sh", "-c", "cd -- \"$1\" && shift && exec \"$@\"", "sh", folder.path]
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

/// A file without a name that a program writes to: unlike a pipe it is never full and needs no reader.
private final class TemporaryFile {
    let descriptor: Int32

    init() throws {
        var template = Array("\(NSTemporaryDirectory())/output-XXXXXX".utf8CString)
        descriptor = mkstemp(&template)
        guard descriptor >= 0 else { throw ProgramError(description: "cannot create a temporary file") }
        unlink(template)
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
    }

    deinit { close(descriptor) }

    func text() throws -> String {
        lseek(descriptor, 0, SEEK_SET)
        let data = try FileHandle(fileDescriptor: descriptor, closeOnDealloc: false).readToEnd() ?? Data()
        return String(decoding: data, as: UTF8.self)
    }
}
