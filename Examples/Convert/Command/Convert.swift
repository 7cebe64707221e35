// The command `convert`: converts any supported format to any other in constant memory. This file covers the run from
// arguments to exit status. Conversion converts, and Arguments parses the command line.

import PlistStreaming

@main
enum Convert {
    /// The exit statuses. Scripts may rely on them.
    enum Status {
        static let success: Int32 = 0
        /// The input is invalid, or reading or writing failed. No output was written.
        static let failure: Int32 = 1
        /// The command line is invalid, or an option for an existing database is missing. No input was read.
        static let usage: Int32 = 2
    }

    static func main() {
        // Exceeding the file size limit is then a write error and doesn't end the process.
        signal(SIGXFSZ, SIG_IGN)
        exit(run(Array(CommandLine.arguments.dropFirst())))
    }

    /// A Boolean value that indicates whether the arguments are valid UTF-8, so that Swift's strings contain the same
    /// bytes.
    private static var isCommandLineText: Bool {
        // SAFETY: The array contains as many strings as `argc` says, and they exist as long as the process.
        (0..<Int(CommandLine.argc)).allSatisfy { index in
            CommandLine.unsafeArgv[index].map { String(validatingCString: $0) != nil } ?? true
        }
    }

    private static func run(_ commandLine: [String]) -> Int32 {
        let arguments: Arguments
        do throws(UsageError) {
            guard isCommandLineText else { throw UsageError(message: "file names must be UTF-8") }
            arguments = try Arguments(commandLine)
        } catch {
            printError("convert: error: \(error.message)\nTry 'convert --help'.\n")
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
            printError("convert: error: \(error.message)\n")
            return Status.usage
        }
        do throws(StreamError) {
            try conversion.run()
            let file = arguments.input == "-" ? "<stdin>" : arguments.input
            for line in conversion.warnings.lines(ofFile: file) { printError(line + "\n") }
            return Status.success
        } catch {
            printError(Self.describe(error, input: arguments.input, output: arguments.output) + "\n")
            return Status.failure
        }
    }

    /// Returns the error in the form of a compiler's message, with the file that it concerns.
    ///
    /// A write error is thrown through the reader, which adds the place in the input. The message leaves out that
    /// place.
    private static func describe(_ error: StreamError, input: String, output: String) -> String {
        if error.kind == .cannotWrite {
            return "\(output == "-" ? "<stdout>" : output): error: \(error.message)"
        }
        return error.compilerDescription(file: input == "-" ? "<stdin>" : input)
    }
}
