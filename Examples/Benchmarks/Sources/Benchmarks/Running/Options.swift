// Parses the command line.

struct Options {
    /// The prefixes of the names of suites, groups and checks to run. If empty, all suites and no checks run.
    var names: [String] = []
    /// The prefixes of the names of cases to run. If empty, all cases run.
    var cases: [String] = []
    var rounds = 11
    var scale = Scale()
    /// The file for the results and the folder for the plots.
    var jsonPath: String?
    var plotFolder: String?
    var wantsHelp = false

    struct UsageError: Error, CustomStringConvertible {
        let description: String
    }

    /// - Throws: `UsageError` if an option is unknown, or its value is missing or invalid.
    init(_ arguments: some Sequence<String>) throws(UsageError) {
        var arguments = Array(arguments)[...]
        while let argument = arguments.popFirst() {
            func value(_ what: String) throws(UsageError) -> String {
                guard let value = arguments.popFirst(), !value.isEmpty else {
                    throw UsageError(description: "\(argument) needs \(what)")
                }
                return value
            }
            func number() throws(UsageError) -> Int {
                guard let number = Int(try value("a positive number")), number > 0 else {
                    throw UsageError(description: "\(argument) needs a positive number")
                }
                return number
            }
            switch argument {
            case "--cases": cases = try value("the beginnings of names").split(separator: ";").map(String.init)
            case "--rounds": rounds = try number()
            case "--rows": scale.rows = try number()
            case "--bytes": scale.bytes = try number()
            case "--smoke": scale.isSmoke = true
            case "--json": jsonPath = try value("a path")
            case "--plots": plotFolder = try value("a folder")
            case "--help": wantsHelp = true
            case _ where argument.hasPrefix("-"):
                throw UsageError(description: "unknown option \(argument); --help lists the known ones")
            default: names.append(argument)
            }
        }
        if scale.isSmoke { rounds = 1 }
    }

    /// Returns whether to run a group, named as `suite/group`.
    func wants(_ name: String) -> Bool { names.isEmpty || names.contains { name.hasPrefix($0) } }

    /// Returns whether to run at least one group of a suite.
    func wantsSome(ofSuite suite: String) -> Bool {
        names.isEmpty || names.contains { suite.hasPrefix($0.prefix(suite.count)) }
    }

    static func usage(checks: [String]) -> String {
        """
        usage: Benchmarks [NAME...] [--cases NAMES] [--rounds N] [--rows N] [--bytes N] [--json FILE] [--plots FOLDER] [--smoke]

        NAME           the beginning of the name of suites and groups, such as CSV or StringTable/hit; all suites, where there is
                       none, but for \(FrameworkSuite.name), which builds packages for many minutes; or what is to hold on large input:
                       \(checks.joined(separator: ", "))
        --cases NAMES  runs only the cases whose names begin with one of these, separated by semicolons, such as
                       "SQLiteTable, automatic;C, bind and step"; ratios are to the peers among them
        --rounds N     the number of timed runs of each case; 11 at first
        --rows N       the number of rows of SQLite/insert and SQLite/read; 2,000,000 at first
        --bytes N      the length of the text of ImportMemory; 10,000,000,000 at first
        --json FILE    writes what was measured
        --plots FOLDER draws a bar chart of each suite, SUITE.svg, and SUITE~dark.svg for dark pages
        --smoke        runs everything once on small input, which checks results and measures nothing
        """
    }
}
