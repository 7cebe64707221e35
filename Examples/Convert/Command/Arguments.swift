// The command line of `convert`: what it means, and what to say when it means nothing.

import CSVStreaming
import PlistStreaming

/// A mistake on the command line.
struct UsageError: Error, Equatable {
    var message: String
}

/// What becomes of a database that is there already.
enum ExistingOutput {
    /// It stays, and nothing is converted.
    case keep
    /// It is replaced as a whole, when the new one is complete.
    case replace
    /// Rows are added to its tables, and tables that it does not have.
    case append
}

/// The command line, read.
struct Arguments: Equatable {
    var input: String = ""
    var output: String = ""
    var from: Format = .json
    var to: Format = .json
    var isPretty: Bool = false
    var sortsKeys: Bool = false
    var table: String?
    var query: String?
    var columns: [String]?
    /// The path to the records in IN.
    var records: String?
    /// What the fields of IN are, those of columns that are named and all others.
    var fieldTypes: [String: CSVFieldType] = [:]
    var fieldType: CSVFieldType = .inferred
    var delimiter: UInt8?
    /// What is between the fields of OUT, if it isn't the same as in IN.
    var writtenDelimiter: UInt8?
    var hasHeader: Bool = true
    var existing: ExistingOutput = .keep
    var wantsHelp: Bool = false

    /// The columns that are chosen where OUT is written, and not where IN is read.
    var writtenColumns: [String]? {
        let isChosen = from.isDelimited || from == .sqlite && query == nil
        return to.isDelimited && !isChosen ? columns : nil
    }

    static let help = """
        usage: convert IN OUT [--from FORMAT] [--to FORMAT] [--table NAME | --query SQL] [--columns NAMES]
                       [--records PATH] [--types TYPES] [--replace | --append] [--pretty] [--sort-keys]
                       [--delimiter CHARACTER] [--to-delimiter CHARACTER] [--no-header]

        Converts a file from one format to another, in constant memory. IN and OUT are files, or - for the standard
        streams. The formats are those of the endings, unless they are given; json for the standard streams.

          --from FORMAT   the format of IN
          --to FORMAT     the format of OUT
          --table NAME    the only table that is read of a sqlite database; the one that is made of other formats
          --query SQL     what is read of a sqlite database: the rows of one statement that only reads
          --columns NAMES the columns, separated by commas, in their order: those that are read of csv, tsv and of one
                          table of a database, or else those that are written to csv and tsv
          --records PATH  keys with slashes between them: what is there is the array of records that is converted, such
                          as channel/item of a feed in xml; the root of xml has no name in it
          --types TYPES   the types of the fields of csv and tsv, where OUT has types: none makes all of them strings;
                          NAME=TYPE,… sets those of columns, to text, number, integer, real, bool, date or auto
          --replace       replace a database that is there
          --append        add to a database that is there, in one transaction: rows to tables that it has, other tables
          --pretty        one line for each element and member, indented (json, xml, openstep)
          --sort-keys     members in the order of their names; holds one outermost dictionary in memory (json)
          --delimiter C   what is between the fields of csv
          --to-delimiter C  what is between the fields of csv in OUT, if IN has another delimiter
          --no-header     the first record of csv and tsv has no names; records are arrays
          -h, --help      print this

        formats: json     one value (RFC 8259)
                 jsonl    any number of values, one a line when written (also: ndjson)
                 csv, tsv records of fields, with a header (RFC 4180; also: tab)
                 plist    a property list of any form; in XML when written
                 bplist   a binary property list, which is held in memory
                 openstep a property list in the old text form (also: strings), with GNUstep's typed values
                 xml      any document that is read; what XPath's json-to-xml makes when written
                 sqlite   a database, which is a file and never - (also: sqlite3, db)

        The elements of an array become the lines of jsonl, and the lines the elements. Numbers with a fraction or an
        exponent are doubles, integers have any length. Csv and tsv keep the text of every field. In other formats,
        a field without quotes becomes true, false, null (if it is empty), or a number if the number is written as the
        same text: 42 and 2.5 do, 1.10, 12345e6, 007, -0 and integers beyond 64 bits stay strings. See --types.
        A database of one table is the array of its rows; one of several is a dictionary of such arrays by table, and the
        same becomes a database: the table of an array is called rows. With --table there is one only, called so. Keys
        become columns, of a type that changes no value; a column declared BOOLEAN that has only 0, 1 and null is one of
        false and true. A database becomes another one page by page, and a table of it with its constraints and indexes.
        Of xml that json-to-xml did not make, elements are dictionaries of their attributes, with an @ before their
        names, and their children; those that are repeated become arrays, and all that has no type is text. For csv,
        tsv, jsonl and sqlite the children of the root are the records, also when there is one only. The document type,
        comments, processing instructions, declarations of namespaces, and the place of repeated children and of text
        among other children are left out, which a warning says; so are the comments of property lists.
        What the other format does not have is refused with its place, or said by a warning: arrays, dictionaries, missing
        members and Booleans beside other values in a table, blobs, dates and views in json, null in property lists.
        OUT appears when it is complete; after an error there is none, and an earlier one stays as it was. An --append
        that is interrupted leaves SQLite's journal, by which the next program that may write undoes it; until then
        convert may refuse to read the database. Devices, pipes and descriptors such as /dev/stdout are written to, and
        links stay links.

        examples:
          convert people.csv people.json --pretty --columns name,age
          convert feed.jsonl feed.db --table posts
          convert feed.db top.csv --query "SELECT author, count(*) AS posts FROM posts GROUP BY author"
          convert Info.plist - --pretty

        exit status: 0 converted, 1 the input is bad or cannot be read, or the output cannot be written,
        2 the command line is wrong, or does not say what becomes of a database that is there
        """

    private static let options = [
        "--from", "--to", "--table", "--query", "--columns", "--records", "--types", "--delimiter", "--to-delimiter",
        "--no-header", "--replace", "--append",
        "--pretty", "--sort-keys", "--help",
    ]
    /// Those that have a value.
    private static let valued = [
        "--from": "a format", "--to": "a format", "--table": "a name", "--query": "a statement", "--columns": "names",
        "--records": "a path", "--types": "types", "--delimiter": "a character", "--to-delimiter": "a character",
    ]

    /// The types of fields by their names in `--types`.
    private static let fieldTypeNames: [String: CSVFieldType] = [
        "auto": .inferred, "text": .text, "number": .number, "integer": .integer, "real": .real, "bool": .bool,
        "date": .date,
    ]

    /// Reads the words after the command's name.
    init(_ words: [String]) throws(UsageError) {
        var paths: [String] = []
        var from: Format?
        var to: Format?
        var index = 0
        while index < words.count {
            let word = words[index]
            index += 1
            guard word.hasPrefix("-"), word != "-" else {
                paths.append(word)
                continue
            }
            if word == "--" {
                paths += words[index...]
                break
            }
            let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            var value: String? = parts.count > 1 ? parts[1] : nil
            if let wanted = Self.valued[parts[0]] {
                if value == nil, index < words.count {
                    value = words[index]
                    index += 1
                }
                guard let value, !value.isEmpty else {
                    throw UsageError(message: "the option \(parts[0]) needs \(wanted)")
                }
                switch parts[0] {
                case "--from": from = try Self.format(value)
                case "--to": to = try Self.format(value)
                default: try set(parts[0], value)
                }
                continue
            }
            if let value { throw UsageError(message: "the option \(parts[0]) takes no value, got '\(value)'") }
            switch word {
            case "--replace", "--append":
                let wanted = word == "--append" ? ExistingOutput.append : .replace
                guard existing == .keep || existing == wanted else {
                    throw UsageError(message: "expected --replace or --append, got both")
                }
                existing = wanted
            case "--pretty": isPretty = true
            case "--sort-keys": sortsKeys = true
            case "--no-header": hasHeader = false
            case "--help", "-h": wantsHelp = true
            default: throw Self.unknown("option", word, among: Self.options)
            }
        }
        if !wantsHelp { try complete(paths, from, to) }
    }

    private mutating func set(_ option: String, _ value: String) throws(UsageError) {
        switch option {
        case "--table": table = value
        case "--query": query = value
        case "--records": records = value
        case "--columns":
            let names = value.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
            // By bytes, as columns are told apart.
            guard Set(names.map { Array($0.utf8) }).count == names.count else {
                throw UsageError(message: "the option --columns names a column twice: \(value)")
            }
            columns = names
        case "--types":
            for item in value.split(separator: ",", omittingEmptySubsequences: false) { try setType(item) }
        default:
            let byte = value == "\\t" ? 0x09 : value.utf8.first ?? 0
            guard value.utf8.count == 1 || value == "\\t", byte < 0x80, ![0x0A, 0x0D, 0x22].contains(byte) else {
                throw UsageError(message: "the option \(option) needs one character of ASCII, got '\(value)'")
            }
            if option == "--delimiter" { delimiter = byte } else { writtenDelimiter = byte }
        }
    }

    /// Sets the type of the fields of a column, or of all that are not named.
    private mutating func setType(_ item: Substring) throws(UsageError) {
        guard let sign = item.lastIndex(of: "=") else {
            guard item == "none" else {
                throw UsageError(message: "expected none or NAME=TYPE in the option --types, got '\(item)'")
            }
            return fieldType = .text
        }
        let (column, name) = (String(item[..<sign]), String(item[item.index(after: sign)...]))
        guard let type = Self.fieldTypeNames[name] else {
            throw Self.unknown("type", name, among: Self.fieldTypeNames.keys.sorted())
        }
        guard fieldTypes.updateValue(type, forKey: column) == nil else {
            throw UsageError(message: "the option --types names a column twice: \(column)")
        }
    }

    /// Sets files and formats, and checks that they fit the options.
    private mutating func complete(_ paths: [String], _ from: Format?, _ to: Format?) throws(UsageError) {
        guard paths.count == 2 else {
            throw UsageError(message: "expected IN and OUT, got \(paths.count) file name\(paths.count == 1 ? "" : "s")")
        }
        (input, output) = (paths[0], paths[1])
        self.from = if let from { from } else { try Self.format(ofFile: input, option: "--from") }
        self.to = if let to { to } else { try Self.format(ofFile: output, option: "--to") }
        if self.from == .sqlite, input == "-" {
            throw UsageError(message: "a database is read from a file, not from -")
        }
        if self.to == .sqlite, output == "-" { throw UsageError(message: "a database is written to a file, not to -") }
        if existing == .append, self.to != .sqlite {
            throw UsageError(message: "the option --append needs sqlite as OUT")
        }
        if table != nil, self.from != .sqlite, self.to != .sqlite {
            throw UsageError(message: "the option --table needs sqlite on one side")
        }
        try checkColumns()
    }

    private func checkColumns() throws(UsageError) {
        let isDelimited = from.isDelimited || to.isDelimited
        if query != nil {
            guard from == .sqlite else { throw UsageError(message: "the option --query needs sqlite as IN") }
            guard columns == nil || to.isDelimited else {
                throw UsageError(message: "the columns of --query are those that it selects")
            }
            if table != nil, to != .sqlite { throw UsageError(message: "expected --table or --query, got both") }
        }
        if columns != nil, !isDelimited, from != .sqlite || to == .sqlite {
            throw UsageError(message: "the option --columns needs csv, tsv, or a table of sqlite that becomes text")
        }
        if !hasHeader, !isDelimited { throw UsageError(message: "the option --no-header needs csv or tsv on one side") }
        if fieldType != .inferred || !fieldTypes.isEmpty, !from.isDelimited {
            throw UsageError(message: "the option --types needs csv or tsv as IN")
        }
        if records != nil, from == .sqlite || from.isDelimited {
            throw UsageError(message: "the option --records needs json, xml or a property list as IN")
        }
        if writtenDelimiter != nil, to != .csv {
            throw UsageError(message: "the option --to-delimiter needs csv as OUT")
        }
        if delimiter != nil, from != .csv, to != .csv {
            throw UsageError(message: "the option --delimiter needs csv on one side")
        }
    }

    private static func format(_ name: String) throws(UsageError) -> Format {
        guard let format = Format.names[name.lowercased()] else {
            throw unknown("format", name, among: Format.names.keys.sorted())
        }
        return format
    }

    private static func format(ofFile path: String, option: String) throws(UsageError) -> Format {
        guard let format = Format(path: path) else {
            throw UsageError(message: "the ending of '\(path)' is no format; say which with \(option)")
        }
        return format
    }

    private static func unknown(_ what: String, _ name: String, among known: [String]) -> UsageError {
        let nearest = NearestName.find(name, among: known).map { "; did you mean '\($0)'?" } ?? ""
        return UsageError(message: "there is no \(what) '\(name)'\(nearest)")
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
            (["a.txt", "b.json"], "the ending of 'a.txt' is no format; say which with --from"),
            (["a.json", "b"], "the ending of 'b' is no format; say which with --to"),
            (["a.json", "b.json", "--prety"], "there is no option '--prety'; did you mean '--pretty'?"),
            (["a.json", "b.json", "--zzzzzzzzz"], "there is no option '--zzzzzzzzz'"),
            (["a.json", "b.json", "--from", "jsno"], "there is no format 'jsno'; did you mean 'json'?"),
            (["a.json", "b.json", "--from"], "the option --from needs a format"),
            (["a.json", "b.json", "--table", "t"], "the option --table needs sqlite on one side"),
            (["a.json", "b.db", "--table"], "the option --table needs a name"),
            (["-", "b.json", "--from", "sqlite"], "a database is read from a file, not from -"),
            (["a.json", "-", "--to", "db"], "a database is written to a file, not to -"),
            (["a.json", "b.db", "--append", "--replace"], "expected --replace or --append, got both"),
            (["a.db", "b.json", "--append"], "the option --append needs sqlite as OUT"),
            (["a.csv", "b.json", "--query", "SELECT 1"], "the option --query needs sqlite as IN"),
            (["a.db", "b.json", "--query", "SELECT 1", "--table", "t"], "expected --table or --query, got both"),
            (
                ["a.db", "b.json", "--query", "SELECT 1", "--columns=a"],
                "the columns of --query are those that it selects"
            ),
            (
                ["a.json", "b.json", "--columns", "a"],
                "the option --columns needs csv, tsv, or a table of sqlite that becomes text"
            ),
            (["a.csv", "b.json", "--columns", "a,b,a"], "the option --columns names a column twice: a,b,a"),
            (["a.json", "b.json", "--no-header"], "the option --no-header needs csv or tsv on one side"),
            (["a.tsv", "b.json", "--delimiter", ";"], "the option --delimiter needs csv on one side"),
            (["a.csv", "b.json", "--delimiter", "é"], "the option --delimiter needs one character of ASCII, got 'é'"),
            (["a.json", "b.csv", "--types", "none"], "the option --types needs csv or tsv as IN"),
            (["a.csv", "b.json", "--types", "a=txt"], "there is no type 'txt'; did you mean 'text'?"),
            (["a.csv", "b.json", "--types", "a=text,a=text"], "the option --types names a column twice: a"),
            (
                ["a.csv", "b.json", "--types", "text"], "expected none or NAME=TYPE in the option --types, got 'text'"
            ),
            (["a.json", "b.json", "--pretty=yes"], "the option --pretty takes no value, got 'yes'"),
        ]
        for (words, message) in rows {
            let error = expectThrows(UsageError.self, "\(words)") { _ = try Arguments(words) }
            expectEqual(error?.message, message, "\(words)")
        }
    }
}
#endif
