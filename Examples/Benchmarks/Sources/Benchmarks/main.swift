// The command: swift run -c release --package-path Examples/Benchmarks Benchmarks [--filter TEXT] [--smoke]
// To add benchmarks, write a file with a `Suite` and add it to the list below.

#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

let suites = [
    jsonReaderSuite,
    jsonRecordsSuite,
    jsonWriterSuite,
    sqliteImportSuite,
    sqliteSuite,
    stringTableSuite,
]

var filter = ""
var rounds = 11
var scale = Scale.full

func printError(_ message: String) {
    let text = "error: \(message)\n"
    write(STDERR_FILENO, text, text.utf8.count)
}

var arguments = CommandLine.arguments.dropFirst()
while let argument = arguments.popFirst() {
    switch argument {
    case "--filter":
        filter = arguments.popFirst() ?? ""
    case "--rounds":
        guard let text = arguments.popFirst(), let number = Int(text), number > 0 else {
            printError("--rounds needs a positive number")
            exit(2)
        }
        rounds = number
    case "--rows":
        guard let text = arguments.popFirst(), let number = Int(text), number > 0 else {
            printError("--rows needs a positive number")
            exit(2)
        }
        sqliteRowCount = number
    case "--smoke":
        (scale, rounds) = (.smoke, 1)
    case "--help":
        print(
            """
            usage: Benchmarks [--filter TEXT] [--rounds N] [--rows N] [--smoke]

            --filter TEXT  runs the suites and groups whose name contains TEXT, such as StringTable/hit
            --rounds N     the number of timed runs of each case; 11 at first
            --rows N       the number of rows of SQLite/insert and SQLite/read; 2,000,000 at first
            --smoke        runs everything once on small input, which checks results and measures nothing
            """)
        exit(0)
    default:
        printError("unknown option \(argument); --help lists the known ones")
        exit(2)
    }
}

var groupCount = 0
do {
    for suite in suites where filter.isEmpty || suite.name.hasPrefix(filter.prefix(suite.name.count)) {
        for group in try suite.makeGroups(scale)
        where filter.isEmpty || "\(suite.name)/\(group.name)".contains(filter) {
            let measurements = try measure(group, rounds: rounds)
            groupCount += 1
            if scale == .full { print(report(group, suite: suite.name, measurements: measurements)) }
        }
    }
} catch {
    printError("\(error)")
    exit(1)
}
if groupCount == 0 {
    printError("no benchmark contains \(filter)")
    exit(4)
}
if scale == .smoke { print("\(groupCount) groups run, all results equal") }
