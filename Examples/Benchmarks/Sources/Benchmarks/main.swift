// The command: swift run -c release --package-path Examples/Benchmarks Benchmarks [--filter TEXT] [--smoke]
// To add benchmarks, write a file with a `Suite` and add it to the list below; what must hold on input too large to be run
// eleven times is a `Check`.

#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

let suites = [
    archiveSuite,
    csvSuite,
    jsonReaderSuite,
    jsonRecordsSuite,
    jsonTypedSuite,
    jsonTreeSuite,
    jsonWriterSuite,
    propertyListSuite,
    sqliteImportSuite,
    sqliteSuite,
    stringTableSuite,
    xmlSuite,
]

let checks = [runOrder, jsonStreamMemory, jsonHostileMemory, handlersMemory, importMemory, linearity]

var filter = ""
var caseFilters: [String] = []
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
    case "--cases":
        caseFilters = (arguments.popFirst() ?? "").split(separator: ";").map(String.init)
        guard !caseFilters.isEmpty else {
            printError("--cases needs the beginnings of names")
            exit(2)
        }
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
    case "--bytes":
        guard let text = arguments.popFirst(), let number = Int(text), number > 0 else {
            printError("--bytes needs a positive number")
            exit(2)
        }
        csvImportByteCount = number
    case "--smoke":
        (scale, rounds) = (.smoke, 1)
    case "--help":
        print(
            """
            usage: Benchmarks [--filter TEXT] [--cases NAMES] [--rounds N] [--rows N] [--bytes N] [--smoke]

            --filter TEXT  runs the suites and groups whose name contains TEXT, such as StringTable/hit, and the check
                           whose name it is: \(checks.map(\.name).joined(separator: ", "))
            --cases NAMES  runs only the cases whose names begin with one of these, separated by semicolons, such as
                           "SQLiteTable, automatic;C, bind and step"; ratios are to the peers among them
            --rounds N     the number of timed runs of each case; 11 at first
            --rows N       the number of rows of SQLite/insert and SQLite/read; 2,000,000 at first
            --bytes N      the length of the text of ImportMemory; 10,000,000,000 at first
            --smoke        runs everything once on small input, which checks results and measures nothing
            """)
        exit(0)
    default:
        printError("unknown option \(argument); --help lists the known ones")
        exit(2)
    }
}

/// Ends the other processes, and then this one.
func end(_ status: Int32) -> Never {
    PythonPeers.stop()
    exit(status)
}

/// The processor, as far as the system tells, for the one who reads the figures later.
func machine() -> String {
    var model = "unknown processor"
    if let file = fopen("/proc/cpuinfo", "r") {
        defer { fclose(file) }
        var line = [CChar](repeating: 0, count: 1_024)
        while fgets(&line, Int32(line.count), file) != nil {
            let text = String(
                decoding: line.prefix { $0 != 0 && $0 != 10 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
            guard text.hasPrefix("model name"), let colon = text.firstIndex(of: ":") else { continue }
            model = String(text[colon...].dropFirst(2))
            break
        }
    }
    return "\(model), \(sysconf(Int32(_SC_NPROCESSORS_ONLN))) processors"
}

if scale == .full { print("\(machine()); medians of \(rounds) rounds, ± the middle half; ratios are of speeds\n") }

var groupCount = 0
var checkCount = 0
NativePeers.isOptimized = scale == .full
do {
    // Checks of memory come first, before there is any that others have left. Large ones run when they are asked for.
    for check in checks where scale == .smoke && check.name.hasPrefix(filter) || check.name == filter {
        print("\(check.name): \(try check.run(scale, caseFilters))")
        checkCount += 1
    }
    for suite in suites where filter.isEmpty || suite.name.hasPrefix(filter.prefix(suite.name.count)) {
        for whole in try suite.makeGroups(scale)
        where filter.isEmpty || "\(suite.name)/\(whole.name)".contains(filter) {
            let group = whole.selecting(caseFilters)
            guard !group.cases.isEmpty else { continue }
            let measurements = try measure(group, rounds: rounds, isSmoke: scale == .smoke)
            groupCount += 1
            if scale == .full {
                print(report(group, suite: suite.name, measurements: measurements))
                fflush(nil)
            }
        }
    }
} catch {
    printError("\(error)")
    end(1)
}
if groupCount + checkCount == 0 {
    printError("no benchmark contains \(filter)")
    end(4)
}
if scale == .smoke { print("\(groupCount) groups run, all results equal; \(checkCount) checks passed") }
end(0)
