// The entry point of the benchmarks: swift run -c release --package-path Examples/Benchmarks Benchmarks [NAME...]
// [--help]
// To add benchmarks, write a file with a `Suite` and add it to the list below. For requirements on inputs that are too
// large for eleven runs, use a `Check`.

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

func printError(_ message: String) {
    let text = "error: \(message)\n"
    write(STDERR_FILENO, text, text.utf8.count)
}

/// Ends the other processes, and then this process.
func end(_ status: Int32) -> Never {
    PythonPeers.stop()
    exit(status)
}

let options: Options
do { options = try Options(CommandLine.arguments.dropFirst()) } catch {
    printError("\(error)")
    end(2)
}
if options.wantsHelp {
    print(Options.usage(checks: checks.map(\.name)))
    end(0)
}
let isSmoke = options.scale.isSmoke
var results = Results.of(rounds: options.rounds)
if !isSmoke {
    print("\(results.machine); medians of \(options.rounds) rounds, ± the middle half; ratios are of speeds\n")
}

var groupCount = 0
var checkCount = 0
NativePeers.isOptimized = !isSmoke
do {
    // Run memory checks first, before suites leave memory behind. Large checks run only when requested.
    for check in checks where isSmoke && options.wants(check.name) || options.names.contains(check.name) {
        print("\(check.name): \(try check.run(options.scale, options.cases))")
        checkCount += 1
    }
    if options.names.contains(where: { $0.hasPrefix(FrameworkSuite.name) }) {
        let groups = try FrameworkSuite(rounds: options.rounds, isSmoke: isSmoke, wants: options.wants).run()
        results.groups += groups
        groupCount += groups.count
    }
    for suite in suites where options.wantsSome(ofSuite: suite.name) {
        for whole in try suite.makeGroups(options.scale) where options.wants("\(suite.name)/\(whole.name)") {
            let group = whole.selecting(options.cases)
            guard !group.cases.isEmpty else { continue }
            let measurements = try measure(group, rounds: options.rounds, isSmoke: isSmoke)
            groupCount += 1
            let result = GroupResult(group, suite: suite.name, measurements: measurements)
            results.groups.append(result)
            if !isSmoke {
                print(report(result))
                fflush(nil)
            }
        }
    }
    if let path = options.jsonPath { try results.write(to: path) }
    if let folder = options.plotFolder { try Plot.write(results, to: folder) }
} catch {
    printError("\(error)")
    end(1)
}
if groupCount + checkCount == 0 {
    printError("nothing is named \(options.names.joined(separator: " or "))")
    end(4)
}
if isSmoke { print("\(groupCount) groups run, all results equal; \(checkCount) checks passed") }
end(0)
