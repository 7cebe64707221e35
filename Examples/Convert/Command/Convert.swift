// The command `convert`: any format that we read to any that we write, in constant memory.
// This file owns the run from arguments to exit status; Conversion does the work, Arguments reads the command line.

import PlistStreaming

@main
enum Convert {
    /// The exit statuses, which scripts may rely on.
    enum Status {
        static let success: Int32 = 0
        /// The input is bad, or reading or writing failed; no output was written.
        static let failure: Int32 = 1
        /// The command line is wrong, or lacks an option for a database that exists; nothing was read.
        static let usage: Int32 = 2
    }

    static func main() {
        // The limit of a file's size is then reported as an error of writing instead of ending the process.
        signal(SIGXFSZ, SIG_IGN)
        exit(run(Array(CommandLine.arguments.dropFirst())))
    }

    /// A Boolean value that indicates whether Swift's strings have the bytes of the command line.
    private static var isCommandLineText: Bool {
        // SAFETY: the system's arguments are as many strings as it says, and stay.
        (0..<Int(CommandLine.argc)).allSatisfy { index in
            CommandLine.unsafeArgv[index].map { String(validatingCString: $0) != nil } ?? true
        }
    }

    private static func run(_ words: [String]) -> Int32 {
        let arguments: Arguments
        do throws(UsageError) {
            guard isCommandLineText else { throw UsageError(message: "names that are not UTF-8 cannot be given") }
            arguments = try Arguments(words)
        } catch {
            complain("convert: error: \(error.message)\nTry 'convert --help'.\n")
            return Status.usage
        }
        if arguments.wantsHelp {
            print(Arguments.help)
            return Status.success
        }
        let conversion = Conversion(arguments)
        do throws(UsageError) {
            try conversion.check()
        } catch {
            complain("convert: error: \(error.message)\n")
            return Status.usage
        }
        do throws(StreamError) {
            try conversion.run()
            let file = arguments.input == "-" ? "<stdin>" : arguments.input
            for line in conversion.warnings.lines(ofFile: file) { complain(line + "\n") }
            return Status.success
        } catch {
            complain(Self.describe(error, input: arguments.input, output: arguments.output) + "\n")
            return Status.failure
        }
    }

    /// The error as a compiler words it, with the file it belongs to.
    ///
    /// A writer that cannot write throws through the reader, which adds the place in the input; there is nothing there.
    private static func describe(_ error: StreamError, input: String, output: String) -> String {
        if error.kind == .cannotWrite {
            return "\(output == "-" ? "<stdout>" : output): error: \(error.message)"
        }
        return error.compilerDescription(file: input == "-" ? "<stdin>" : input)
    }
}
