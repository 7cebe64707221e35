// The command line of `convert`: the table of its options, and the parser with its errors.

import CSVStreaming
import PlistStreaming

/// An error in the command line.
struct UsageError: Error, Equatable {
    var message: String
}

/// The treatment of a database that already exists.
enum ExistingOutput {
    /// The database stays, and nothing is converted.
    case keep
    /// The complete new database replaces the old file.
    case replace
    /// Rows are added to the existing tables, and missing tables are added.
    case append
}

/// The parsed command line.
struct Arguments {
    var input: String = ""
    var output: String = ""
    var from: Format = .json
    var to: Format = .json
    private var chosenFrom: Format?
    private var chosenTo: Format?
    var isPretty: Bool = false
    var sortsKeys: Bool = false
    var table: String?
    var query: String?
    var columns: [String]?
    /// The path to the records in IN.
    var records: String?
    /// The options for delimited text in IN. The dialect and the columns are set when it is read.
    var csv = CSVReaderOptions(fieldType: .inferred)
    var delimiter: UInt8?
    var comment: UInt8?
    /// The delimiter of OUT, or nil for that of IN.
    var writtenDelimiter: UInt8?
    var hasNoHeader: Bool = false
    var existing: ExistingOutput = .keep
    var wantsHelp: Bool = false

    /// The selected columns, if the writer of OUT selects them instead of the reader of IN.
    var writtenColumns: [String]? {
        let isChosen = from.isDelimited || from == .sqlite && query == nil
        return to.isDelimited && !isChosen ? columns : nil
    }

    // MARK: Options

    /// A condition on the formats, with its description for an error.
    private struct Need: Sendable {
        let words: String
        let isMet: @Sendable (Arguments) -> Bool

        static let delimitedInput = Need(words: "csv or tsv input") { $0.from.isDelimited }
        static let delimited = Need(words: "csv or tsv input or output") { $0.from.isDelimited || $0.to.isDelimited }
        static let csv = Need(words: "csv input or output") { $0.from == .csv || $0.to == .csv }
        static let csvOutput = Need(words: "csv output") { $0.to == .csv }
        static let databaseInput = Need(words: "sqlite input") { $0.from == .sqlite }
        static let database = Need(words: "sqlite input or output") { $0.from == .sqlite || $0.to == .sqlite }
        static let databaseOutput = Need(words: "sqlite output") { $0.to == .sqlite }
        static let columns = Need(words: "csv or tsv, or sqlite input with a text format as output") {
            $0.from.isDelimited || $0.to.isDelimited || $0.from == .sqlite && $0.to != .sqlite
        }
        static let document = Need(words: "json, xml or property list input") {
            $0.from != .sqlite && !$0.from.isDelimited
        }
    }

    /// An option of the command line.
    private struct Option {
        let name: String
        /// The name of the value in the help and its description for errors, or nil for an option without a value.
        let value: (name: String, meaning: String)?
        let need: Need?
        let help: String
        let set: (inout Arguments, String) throws(UsageError) -> Void

        init(
            _ name: String, _ value: (String, String)? = nil, needs need: Need? = nil, help: String,
            set: @escaping (inout Arguments, String) throws(UsageError) -> Void
        ) { (self.name, self.value, self.need, self.help, self.set) = (name, value, need, help, set) }

        static func flag(
            _ name: String, _ path: WritableKeyPath<Arguments, Bool>, needs need: Need? = nil, _ help: String
        ) -> Option { Option(name, needs: need, help: help) { (arguments, _) in arguments[keyPath: path] = true } }

        static func text(
            _ name: String, _ value: (String, String), _ path: WritableKeyPath<Arguments, String?>, needs need: Need,
            _ help: String
        ) -> Option { Option(name, value, needs: need, help: help) { $0[keyPath: path] = $1 } }

        static func byte(
            _ name: String, _ path: WritableKeyPath<Arguments, UInt8?>, needs need: Need, _ help: String
        ) -> Option {
            Option(name, ("C", "a character"), needs: need, help: help) { (arguments, text) throws(UsageError) in
                arguments[keyPath: path] = try Arguments.byte(text, name)
            }
        }

        /// Creates an option whose value is a name in a list. The help shows one of the names.
        static func choice<Value>(
            _ name: String, _ what: String, _ path: WritableKeyPath<Arguments, Value>, shown: String,
            _ values: [String: Value], needs need: Need? = nil, _ help: String
        ) -> Option {
            Option(name, (shown, "\(what == "encoding" ? "an" : "a") \(what)"), needs: need, help: help) {
                (arguments, text) throws(UsageError) in
                arguments[keyPath: path] = try Arguments.choice(text, what, values)
            }
        }
    }

    private static var options: [Option] {
        let formats = Format.names.mapValues(Optional.some)
        return [
            .choice("--from", "format", \.chosenFrom, shown: "FORMAT", formats, "the format of IN"),
            .choice("--to", "format", \.chosenTo, shown: "FORMAT", formats, "the format of OUT"),
            .text(
                "--table", ("NAME", "a name"), \.table, needs: .database,
                "read only this table of a sqlite database; for other inputs, the name of the new table"),
            .text(
                "--query", ("SQL", "a statement"), \.query, needs: .databaseInput,
                "convert the rows of one SELECT statement instead of tables"),
            Option(
                "--columns", ("NAMES", "names"), needs: .columns,
                help: """
                    the columns to convert, in this order, separated by commas; selects columns of csv, tsv and
                    of one table of a database, otherwise the columns that are written to csv and tsv
                    """
            ) { (arguments, value) throws(UsageError) in try arguments.setColumns(value) },
            .text(
                "--records", ("PATH", "a path"), \.records, needs: .document,
                """
                convert only the array at this path of keys, such as channel/item in an xml feed; the path
                doesn't include the root element
                """),
            Option("--replace", help: "replace an existing database") { (arguments, _) throws(UsageError) in
                try arguments.setExisting(.replace)
            },
            Option(
                "--append", needs: .databaseOutput,
                help: "add rows and missing tables to an existing database, in one transaction"
            ) { (arguments, _) throws(UsageError) in try arguments.setExisting(.append) },
            .flag(
                "--pretty", \.isPretty,
                "write each element and member on a line of its own, indented (json, xml, openstep)"),
            .flag(
                "--sort-keys", \.sortsKeys,
                "sort members by name; keeps one outermost dictionary in memory (json)"),
        ] + delimitedOptions + [.flag("--help", \.wantsHelp, "print this help; also -h")]
    }

    /// The options for csv and tsv.
    private static var delimitedOptions: [Option] {
        [
            Option(
                "--types", ("TYPES", "types"), needs: .delimitedInput,
                help: """
                    the types of csv and tsv fields: none makes all fields strings; NAME=TYPE,… sets the types
                    of columns: text, number, integer, real, bool, date or auto [auto]
                    """
            ) { (arguments, value) throws(UsageError) in
                for item in value.split(separator: ",", omittingEmptySubsequences: false) {
                    try arguments.setType(item)
                }
            },
            .byte("--delimiter", \.delimiter, needs: .csv, "the character between csv fields [,]"),
            .byte(
                "--to-delimiter", \.writtenDelimiter, needs: .csvOutput,
                "the character between csv fields in OUT [that of IN]"),
            .flag(
                "--no-header", \.hasNoHeader, needs: .delimited,
                "the first csv or tsv record is not a header; records become arrays"),
            .byte(
                "--comment", \.comment, needs: .delimitedInput, "the character that begins comment lines of csv and tsv"
            ),
            .choice(
                "--encoding", "encoding", \.csv.encoding, shown: "NAME",
                ["utf-8": .utf8, "latin1": .latin1, "windows-1252": .windows1252], needs: .delimitedInput,
                "the encoding of csv and tsv input: utf-8, latin1 or windows-1252 [utf-8]"),
            .choice(
                "--short-records", "policy", \.csv.shortRecords, shown: "omit", ["reject": .reject, "omit": .omit],
                needs: .delimitedInput,
                "accept csv and tsv records with too few fields; reject reports an error [reject]"),
            .choice(
                "--long-records", "policy", \.csv.longRecords, shown: "ignore",
                ["reject": .reject, "ignore": .ignore, "keep": .keep(under: "more")], needs: .delimitedInput,
                "drop fields beyond the header; keep puts them into an array named more [reject]"),
            .choice(
                "--stray-quotes", "policy", \.csv.bareQuotes, shown: "keep", ["reject": .reject, "keep": .keep],
                needs: .delimitedInput, "treat quotes inside unquoted fields as text [reject]"),
            .choice(
                "--duplicate-names", "policy", \.csv.duplicateNames, shown: "keep",
                ["reject": .reject, "keep": .keep], needs: .delimitedInput,
                "allow duplicate column names if the format of OUT allows them [reject]"),
        ]
    }

    static var help: String {
        let lines = options.map { option in
            let usage = "  \(option.name) \(option.value?.name ?? "")"
            let margin = String(repeating: " ", count: 20)
            let gap = usage.count < 19 ? String(margin.dropFirst(usage.count)) : "\n" + margin
            return usage + gap + option.help.replacing("\n", with: "\n" + margin)
        }
        return """
            usage: convert IN OUT [options]

            Converts a file to another format, in constant memory. IN and OUT are paths, or '-' for standard
            input and output. The formats follow from the file extensions; '-' is json.

            options
            \(lines.joined(separator: "\n"))

            formats
              json      one value (RFC 8259)
              jsonl     one value per line (also: ndjson)
              csv, tsv  records of fields with a header (RFC 4180; also: tab)
              plist     a property list in any form; written as XML
              bplist    a binary property list, which is kept in memory
              openstep  a property list in the old text form, with GNUstep's typed values (also: strings)
              xml       any document; written as XPath's json-to-xml does
              sqlite    a database file, never '-' (also: sqlite3, db)

            values
              The elements of an array become the lines of jsonl, and the lines become elements. Numbers keep
              all digits in json, jsonl, xml, csv and tsv; in other formats they become doubles or 64-bit integers.
              Between csv and tsv, all fields keep their text. For other formats, an unquoted field becomes true,
              false, null (if it is empty), or a number if the number is written as the same text: 42 and 2.5 become
              numbers; 1.10, 12345e6, 007, -0 and integers beyond 64 bits stay strings. --types changes this.

            databases
              A database with one table becomes an array of rows; with several tables, a dictionary of arrays by
              table name. The reverse creates the tables; the table for an array is named rows, or as --table says.
              Keys become columns, with a type that keeps all values: a column with other fields than numbers or
              than Booleans is TEXT. With --append, the declared type of a column decides. A BOOLEAN column that
              contains only 0, 1 and null is read as false and true. A database is copied to a database page by
              page, and a single table with its constraints and indexes.

            xml
              Elements become dictionaries of their attributes, whose names get an @, and of their children.
              Repeated children become arrays; values without a type become text. For csv, tsv, jsonl and sqlite,
              the children of the root are the records, even a single one. The document type, comments, processing
              instructions, namespace declarations and the order of mixed content are left out, with a warning.
              Documents that json-to-xml wrote are read as the values that they represent.

            errors
              Values that OUT can't represent are errors or warnings with their place: arrays and dictionaries in a
              table, missing members, Booleans beside other values, blobs, dates and views in json, null in
              property lists, digits beyond a double, duplicate keys.
              OUT appears when it is complete. After an error, an earlier file is unchanged. After an interrupted
              --append, SQLite's journal stays, and the next program that opens the database for writing undoes the
              change; until then convert may refuse to read it. Symbolic links stay links; devices and pipes
              are written to.

            examples
              convert people.csv people.json --pretty --columns name,age
              convert feed.jsonl feed.db --table posts
              convert feed.db top.csv --query "SELECT author, count(*) AS posts FROM posts GROUP BY author"
              convert Info.plist - --pretty

            exit status: 0 converted, 1 the input is invalid or can't be read, or the output can't be written,
            2 the command line is wrong, or OUT exists and neither --replace nor --append is given
            """
    }

    // MARK: Reading

    /// Parses the arguments after the command's name.
    init(_ arguments: [String]) throws(UsageError) {
        var paths: [String] = []
        var arguments = arguments[...]
        var needs: [(option: String, need: Need)] = []
        let options = Self.options
        while let argument = arguments.popFirst() {
            if argument == "--" {
                paths += arguments
                break
            }
            guard argument.hasPrefix("-"), argument != "-" else {
                paths.append(argument)
                continue
            }
            let parts = argument.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            let name = parts[0] == "-h" ? "--help" : parts[0]
            guard let option = options.first(where: { $0.name == name }) else {
                throw Self.unknown("option", argument, among: options.map(\.name))
            }
            var value = parts.count > 1 ? parts[1] : nil
            if let wanted = option.value?.meaning {
                value = value ?? arguments.popFirst()
                if value?.isEmpty ?? true { throw UsageError(message: "the option \(name) needs \(wanted)") }
            } else if let value {
                throw UsageError(message: "the option \(name) takes no value, got '\(value)'")
            }
            try option.set(&self, value ?? "")
            if let need = option.need { needs.append((name, need)) }
        }
        if !wantsHelp { try complete(paths, needs) }
    }

    private mutating func setExisting(_ wanted: ExistingOutput) throws(UsageError) {
        guard existing == .keep || existing == wanted else {
            throw UsageError(message: "expected --replace or --append, got both")
        }
        existing = wanted
    }

    private mutating func setColumns(_ value: String) throws(UsageError) {
        let names = value.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
        // Column names are compared by their bytes.
        guard Set(names.map { Array($0.utf8) }).count == names.count else {
            throw UsageError(message: "the option --columns names a column twice: \(value)")
        }
        columns = names
    }

    /// Sets the type of the fields in a column. With `none`, sets the type of all columns without their own type to
    /// text.
    private mutating func setType(_ item: Substring) throws(UsageError) {
        guard let sign = item.lastIndex(of: "=") else {
            guard item == "none" else {
                throw UsageError(message: "expected none or NAME=TYPE in the option --types, got '\(item)'")
            }
            return csv.fieldType = .text
        }
        let column = String(item[..<sign])
        let types: [String: CSVFieldType] = [
            "auto": .inferred, "text": .text, "number": .number, "integer": .integer, "real": .real, "bool": .bool,
            "date": .date,
        ]
        let type = try Self.choice(String(item[item.index(after: sign)...]), "type", types)
        guard csv.fieldTypes.updateValue(type, forKey: column) == nil else {
            throw UsageError(message: "the option --types names a column twice: \(column)")
        }
    }

    private static func byte(_ value: String, _ option: String) throws(UsageError) -> UInt8 {
        let byte = value == "\\t" ? 0x09 : value.utf8.first ?? 0
        guard value.utf8.count == 1 || value == "\\t", byte < 0x80, ![0x0A, 0x0D, 0x22].contains(byte) else {
            throw UsageError(message: "the option \(option) needs one character of ASCII, got '\(value)'")
        }
        return byte
    }

    private static func choice<Value>(
        _ name: String, _ what: String, _ values: [String: Value]
    ) throws(UsageError) -> Value {
        guard let value = values[name.lowercased()] else { throw unknown(what, name, among: values.keys.sorted()) }
        return value
    }

    private static func unknown(_ what: String, _ name: String, among known: [String]) -> UsageError {
        let nearest = NearestName.find(name, among: known).map { "; did you mean '\($0)'?" } ?? ""
        return UsageError(message: "there is no \(what) '\(name)'\(nearest)")
    }

    // MARK: Checking

    /// Sets files and formats, and checks that they match the options.
    private mutating func complete(
        _ paths: [String], _ needs: [(option: String, need: Need)]
    ) throws(UsageError) {
        guard paths.count == 2 else {
            throw UsageError(message: "expected IN and OUT, got \(paths.count) file name\(paths.count == 1 ? "" : "s")")
        }
        (input, output) = (paths[0], paths[1])
        from = try Self.format(chosenFrom, ofFile: input, option: "--from")
        to = try Self.format(chosenTo, ofFile: output, option: "--to")
        if let (option, need) = needs.first(where: { !$0.need.isMet(self) }) {
            throw UsageError(message: "the option \(option) needs \(need.words)")
        }
        if let mistake = mistakes.first(where: \.isMade) { throw UsageError(message: mistake.message) }
    }

    private static func format(_ chosen: Format?, ofFile path: String, option: String) throws(UsageError) -> Format {
        guard let format = chosen ?? Format(path: path) else {
            throw UsageError(message: "the ending of '\(path)' isn't a known format; name the format with \(option)")
        }
        return format
    }

    private var mistakes: [(isMade: Bool, message: String)] {
        [
            (from == .sqlite && input == "-", "a database is read from a file, not from -"),
            (to == .sqlite && output == "-", "a database is written to a file, not to -"),
            (
                query != nil && columns != nil && !to.isDelimited,
                "--columns doesn't work with --query; select the columns in the statement"
            ),
            (query != nil && table != nil && to != .sqlite, "expected --table or --query, got both"),
            (
                comment != nil && comment == dialect(delimiter: delimiter, of: from).delimiter,
                "the options --comment and --delimiter need different characters"
            ),
        ]
    }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

extension Arguments: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testReadsOptionsAnywhere": testReadsOptionsAnywhere,
            "testExplainsMistakes": testExplainsMistakes,
        ]
    }

    private static func testReadsOptionsAnywhere() throws {
        let arguments = try Arguments(["--pretty", "a.jsonl", "--to=json", "-", "--sort-keys"])
        expectEqual(arguments.input, "a.jsonl", "IN")
        expectEqual(arguments.output, "-", "OUT")
        expectEqual(arguments.from, .jsonLines, "from")
        expectEqual(arguments.to, .json, "to")
        expectTrue(arguments.isPretty, "pretty")
        expectTrue(arguments.sortsKeys, "sorted")
        expectEqual(try Arguments(["--from", "json", "--", "--odd", "-"]).input, "--odd", "a file name after --")
        expectTrue(try Arguments(["-h"]).wantsHelp, "help")
    }

    private static func testExplainsMistakes() {
        let rows: [([String], String)] = [
            ([], "expected IN and OUT, got 0 file names"),
            (["a.json"], "expected IN and OUT, got 1 file name"),
            (["a.json", "b.json", "c.json"], "expected IN and OUT, got 3 file names"),
            (["a.txt", "b.json"], "the ending of 'a.txt' isn't a known format; name the format with --from"),
            (["a.json", "b"], "the ending of 'b' isn't a known format; name the format with --to"),
            (["a.json", "b.json", "--prety"], "there is no option '--prety'; did you mean '--pretty'?"),
            (["a.json", "b.json", "--zzzzzzzzz"], "there is no option '--zzzzzzzzz'"),
            (["a.json", "b.json", "--from", "jsno"], "there is no format 'jsno'; did you mean 'json'?"),
            (["a.json", "b.json", "--from"], "the option --from needs a format"),
            (["a.json", "b.json", "--table", "t"], "the option --table needs sqlite input or output"),
            (["a.json", "b.db", "--table"], "the option --table needs a name"),
            (["-", "b.json", "--from", "sqlite"], "a database is read from a file, not from -"),
            (["a.json", "-", "--to", "db"], "a database is written to a file, not to -"),
            (["a.json", "b.db", "--append", "--replace"], "expected --replace or --append, got both"),
            (["a.db", "b.json", "--append"], "the option --append needs sqlite output"),
            (["a.csv", "b.json", "--query", "SELECT 1"], "the option --query needs sqlite input"),
            (["a.db", "b.json", "--query", "SELECT 1", "--table", "t"], "expected --table or --query, got both"),
            (
                ["a.db", "b.json", "--query", "SELECT 1", "--columns=a"],
                "--columns doesn't work with --query; select the columns in the statement"
            ),
            (
                ["a.json", "b.json", "--columns", "a"],
                "the option --columns needs csv or tsv, or sqlite input with a text format as output"
            ),
            (["a.csv", "b.json", "--columns", "a,b,a"], "the option --columns names a column twice: a,b,a"),
            (["a.json", "b.json", "--no-header"], "the option --no-header needs csv or tsv input or output"),
            (["a.tsv", "b.json", "--delimiter", ";"], "the option --delimiter needs csv input or output"),
            (["a.csv", "b.json", "--delimiter", "é"], "the option --delimiter needs one character of ASCII, got 'é'"),
            (["a.json", "b.csv", "--types", "none"], "the option --types needs csv or tsv input"),
            (["a.csv", "b.json", "--types", "a=txt"], "there is no type 'txt'; did you mean 'text'?"),
            (["a.csv", "b.json", "--types", "a=text,a=text"], "the option --types names a column twice: a"),
            (
                ["a.csv", "b.json", "--types", "text"], "expected none or NAME=TYPE in the option --types, got 'text'"
            ),
            (["a.csv", "b.json", "--encoding", "latin"], "there is no encoding 'latin'; did you mean 'latin1'?"),
            (["a.json", "b.csv", "--stray-quotes", "keep"], "the option --stray-quotes needs csv or tsv input"),
            (["a.csv", "b.json", "--comment", ","], "the options --comment and --delimiter need different characters"),
            (["a.json", "b.json", "--pretty=yes"], "the option --pretty takes no value, got 'yes'"),
        ]
        for (arguments, message) in rows {
            let error = expectThrows(UsageError.self, "\(arguments)") { _ = try Arguments(arguments) }
            expectEqual(error?.message, message, "\(arguments)")
        }
    }
}
#endif
