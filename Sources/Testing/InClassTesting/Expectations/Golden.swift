// Expectations for texts that are too long for a literal, in golden files among the target's resources. They read the file
// in the sources, not its copy in the build, so a file that `--accept` has written is used immediately.

#if DEBUG || IN_CLASS_TESTS

internal import InClassTestingSystem

/// Expects a text to be equal to the contents of a golden file, byte for byte.
///
/// The golden file is a resource of the target. If the manifest copies its folder with `.copy`, the name includes the
/// folder: `"Goldens/menu.txt"`. If the manifest uses `.process`, the name is the file name: `"menu.txt"`. A missing
/// file is a failure, too. To write missing and different files, run the tests with the option `--accept`.
///
/// - Complexity: O(length of the text and of the file).
public func expectGolden(
    _ got: String, _ name: String, file: StaticString = #filePath, line: UInt = #line, column: UInt = #column
) {
    GoldenPlaces.ofTheModule.compare(got, name, at: CallPlace(file, line, column))
}

/// The locations of a module's golden files.
struct GoldenPlaces {
    /// Files, and folders that are copied as a whole. The name of such a folder is the first part of the names in it.
    var resources: [String] = []
    /// Folders that contain files by the requested names, or nil if the locations are unknown.
    var folders: [String]? = []

    /// The locations that the supervisor has set for this worker.
    static var ofTheModule: GoldenPlaces {
        if let resources = ResourceFolders.list("IN_CLASS_GOLDENS", "\n") { return GoldenPlaces(resources: resources) }
        return GoldenPlaces(folders: ResourceFolders.ofTheModule)
    }

    /// Returns the path for a name, even if the file doesn't exist yet.
    ///
    /// - Parameter source: the path of a source of the module.
    func path(of name: String, usedIn source: String) -> String? {
        var processed: Set<String> = []
        for resource in resources {
            let slash = resource.lastIndex(of: "/") ?? resource.startIndex
            let folder = String(resource[..<slash])
            let ownName = resource[slash...].dropFirst()
            // Only a folder contains this name.
            if access("\(resource)/.", F_OK) == 0 {
                if name.hasPrefix("\(ownName)/") { return "\(folder)/\(name)" }
            } else if name == ownName {
                return resource
            } else if !name.contains("/"), !source.hasPrefix("\(folder)/") {
                // A folder that is processed contains no sources. In any other folder this file was declared individually.
                processed.insert(folder)
            }
        }
        let candidates = (folders ?? []) + processed.sorted()
        if let folder = candidates.first(where: { access("\($0)/\(name)", F_OK) == 0 }) { return "\(folder)/\(name)" }
        let outermost = candidates.min { $0.utf8.count < $1.utf8.count }
        guard let outermost, candidates.allSatisfy({ $0 == outermost || $0.hasPrefix("\(outermost)/") }) else {
            return nil
        }
        return "\(outermost)/\(name)"
    }

    /// Returns whether a name stays inside its folder.
    private static func isInside(_ name: String) -> Bool {
        name.unicodeScalars.allSatisfy { $0.value >= 0x20 && $0.value != 0x7F }
            && name.split(separator: "/", omittingEmptySubsequences: false).allSatisfy {
                !["", ".", ".."].contains($0)
            }
    }

    /// Records an issue unless a text is equal to the contents of the named file.
    func compare(_ got: String, _ name: String, at place: CallPlace) {
        func record(_ problem: String, _ notes: [String] = [], _ texts: ComparedTexts? = nil) {
            Recorder.record(
                RecordedIssue(
                    place: place, message: "golden file \(quoted(name)) \(problem)", notes: notes, texts: texts))
        }
        guard Self.isInside(name) else { return record("isn't the name of a file in a folder of resources") }
        guard let path = path(of: name, usedIn: place.path) else {
            if folders == nil { return record("can't be found: the folder of the module's resources is unknown") }
            let hint =
                "add 'resources: [.copy(\"Goldens\")]' to the target in Package.swift, create that folder among its "
            return record(
                "needs a folder of resources", ["\(hint)sources, and write \"Goldens/\(name)\" here"])
        }
        guard let bytes = contents(path) else {
            if access(path, F_OK) == 0 { return record("can't be read") }
            let texts = ComparedTexts(golden: path, got: got, expected: "")
            return record("doesn't exist", [texts == nil ? Self.tooLong : "testlogger --accept records it"], texts)
        }
        let expected = String(decoding: bytes, as: UTF8.self)
        guard Self.areEqual(expected, bytes) else {
            let line = zip(expected.utf8, bytes).prefix { $0 == $1 }.count { $0.0 == 0x0A } + 1
            return record(
                "isn't UTF-8 in line \(line)", ["delete the file, and testlogger --accept records it"])
        }
        if Self.areEqual(got, bytes) {
            if notesWhatIsMet { Recorder.noteMet(path) }
            return
        }
        let difference = textDifference(got: got, expected: expected)
        let texts = ComparedTexts(golden: path, got: got, expected: expected)
        Recorder.record(
            RecordedIssue(
                place: place, got: difference.got, expected: difference.expected, message: name,
                notes: difference.notes + (texts == nil ? [Self.tooLong] : []), texts: texts))
    }

    private static let tooLong = "too long for testlogger --accept: more than \(ComparedTexts.byteCountMax) bytes"

    // PERF: a loop over the bytes is slow in a debug build.
    private static func areEqual(_ text: String, _ bytes: [UInt8]) -> Bool {
        var text = text
        return text.withUTF8 { own in
            own.count == bytes.count && own.baseAddress.map { memcmp($0, bytes, own.count) == 0 } ?? true
        }
    }
}

/// Describes the difference of two texts with different bytes: the first different lines, and notes.
func textDifference(got: String, expected: String) -> (got: String, expected: String, notes: [String]) {
    func lines(_ text: String) -> [String] {
        let lines = textLines(text)
        return lines.last == "" ? lines.dropLast() : lines
    }
    let (one, other) = (lines(got), lines(expected))
    let head = zip(one, other).prefix { $0.utf8.elementsEqual($1.utf8) }.count
    let ends = [got, expected].map { $0.utf8.last == 0x0A ? "a newline at the end" : "no newline at the end" }
    var notes = lineNotes(one, other)
    if notes.count == 1 { notes = [] }
    if head == one.count, head == other.count { return (ends[0], ends[1], notes) }
    if ends[0] != ends[1] { notes.append("got \(ends[0]) instead of \(ends[1])") }
    if head < one.count, head < other.count {
        let (line, otherLine) = lineTexts(one[head], other[head])
        return ("line \(head + 1) \(line)", otherLine, notes)
    }
    let texts = [one, other].map { lines in
        if head == lines.count { return "the end of the text" }
        let text = quoted(lines[head])
        let isLong = text.count > lineCharacterCountMax
        return "line \(head + 1) \(isLong ? "\(text.prefix(lineCharacterCountMax))…" : text)"
    }
    return (texts[0], texts[1], notes)
}

/// Returns two lines in a form that shows their difference: the different part of long lines, and escapes for characters
/// that look alike.
private func lineTexts(_ one: String, _ other: String) -> (String, String) {
    func visible(_ line: String) -> String {
        String(String.UnicodeScalarView(line.unicodeScalars.filter { !$0.properties.isDefaultIgnorableCodePoint }))
    }
    /// Escapes all characters that aren't ASCII.
    func plain(_ text: String) -> String {
        text.unicodeScalars.reduce(into: "") { text, scalar in
            text += scalar.isASCII ? "\(scalar)" : "\\u{\(String(scalar.value, radix: 16))}"
        }
    }
    var (got, expected) = (quoted(one), quoted(other))
    if visible(one) == visible(other) { (got, expected) = (plain(got), plain(expected)) }
    if max(got.count, expected.count) <= lineCharacterCountMax { return (got, expected) }
    let difference = firstDifference(got, expected)
    return ("from character \(difference.place) …\(difference.got)…", "…\(difference.expected)…")
}

// MARK: - In-class tests

#if SELF_TESTS
extension GoldenPlaces: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testFindsFilesByName": testFindsFilesByName,
            "testReportsUnknownFolders": {
                expectEqual(
                    GoldenPlaces().issues("x", "a").map(\.message), [#"golden file "a" needs a folder of resources"#])
                let unknown = #"golden file "a" can't be found: the folder of the module's resources is unknown"#
                expectEqual(GoldenPlaces(folders: nil).issues("x", "a").map(\.message), [unknown])
            },
            "testKeepsCompleteTextsUpToALimit": testKeepsCompleteTextsUpToALimit,
            "testLimitsDifferencesOfLongTexts": testLimitsDifferencesOfLongTexts,
        ]
            + .each("testPassesForEqualBytesOnly", ["", "a", "a\n", "a\r\nb", "é\u{0}", "\u{FEFF}x"]) { text in
                let places = GoldenPlaces(folders: [try folder(["g.txt": text])])
                expectEqual(places.issues(text, "g.txt"), [])
                expectEqual(places.issues(text + "\u{301}", "g.txt").count, 1)
            }
            + .each("testRejectsInvalidGoldens", invalidGoldens, testRejectsInvalidGoldens)
            + .each("testDescribesDifferencesOfTexts", differences, named: { "\($0.got)/\($0.expected)" }) {
                got, expected, line, notes in
                let difference = textDifference(got: got, expected: expected)
                expectEqual("\(difference.got)/\(difference.expected)", line)
                expectEqual(difference.notes, notes)
            }
    }

    /// Creates a folder with these files. A name that ends with a slash creates a folder.
    private static func folder(_ files: [String: String]) throws -> String {
        let folder = try temporaryDirectory()
        for name in files.keys.sorted() {
            if name.hasSuffix("/") {
                mkdir("\(folder)/\(name)", 0o700)
                continue
            }
            let descriptor = open("\(folder)/\(name)", O_CREAT | O_WRONLY | O_TRUNC, 0o600)
            let bytes = Array(files[name, default: ""].utf8)
            try requireEqual(write(descriptor, bytes, bytes.count), bytes.count)
            close(descriptor)
        }
        return folder
    }

    private func issues(_ got: String, _ name: String) -> [RecordedIssue] {
        Recorder.issues { compare(got, name, at: CallPlace(#filePath, #line, 1)) }
    }

    private static let ends = "got no newline at the end instead of a newline at the end"
    private static let differences: [(got: String, expected: String, line: String, notes: [String])] = [
        ("a\nb\n", "a\nc\n", #"line 2 "b"/"c""#, []), ("", "a", #"the end of the text/line 1 "a""#, []),
        ("a\nb\n", "a\n", #"line 2 "b"/the end of the text"#, []),
        (
            "a\n", "a\nb\nc\n", #"the end of the text/line 2 "b""#,
            [#"line 2: missing "b""#, #"line 3: missing "c""#]
        ),
        ("a", "a\n", "no newline at the end/a newline at the end", []),
        ("a\n", "a", "a newline at the end/no newline at the end", []),
        ("", "\n", #"the end of the text/line 1 """#, [ends]), ("b", "a\n", #"line 1 "b"/"a""#, [ends]),
        ("a\r\nb", "a\nb", #"line 1 "a\r"/"a""#, []), ("a\u{200B}", "a", #"line 1 "a\u{200b}"/"a""#, []),
        ("e\u{301}", "\u{E9}", #"line 1 "e\u{301}"/"\u{e9}""#, []),
        (
            "a\nx\nc\ny", "a\nb\nc\nd", #"line 2 "x"/"b""#,
            [#"line 2: got "x" instead of "b""#, #"line 4: got "y" instead of "d""#]
        ),
    ]

    private static func testFindsFilesByName() throws {
        let folders = ["Sources/", "Sources/Goldens/", "Sources/Texts/", "Sources/Texts/en/"]
        let files = ["Goldens/a.txt", "Texts/b.txt", "Texts/new.txt", "Texts/en/c.txt", "one.txt", "other.txt"]
        let names = folders + files.map { "Sources/\($0)" }
        let root = try folder(Dictionary(uniqueKeysWithValues: names.map { ($0, "") }))
        let source = "\(root)/Sources/s.swift"
        let all = ["Goldens", "Texts/b.txt", "Texts/en/c.txt", "one.txt"].map { "\(root)/Sources/\($0)" }
        let rows: [(resources: [String], name: String, path: String?)] = [
            (all, "Goldens/a.txt", "Goldens/a.txt"), (all, "Goldens/deep/d.txt", "Goldens/deep/d.txt"),
            (all, "b.txt", "Texts/b.txt"), (all, "c.txt", "Texts/en/c.txt"), (all, "new.txt", "Texts/new.txt"),
            (all, "newer.txt", "Texts/newer.txt"), (all, "one.txt", "one.txt"), (all, "deep/d.txt", nil),
            ([all[0], all[3]], "other.txt", nil), ([], "a.txt", nil),
            ([all[1], "\(root)/Sources/Other/o.txt"], "d.txt", nil),
        ]
        for row in rows {
            let path = GoldenPlaces(resources: row.resources).path(of: row.name, usedIn: source)
            expectEqual(path, row.path.map { "\(root)/Sources/\($0)" }, row.name)
        }
        let places = GoldenPlaces(folders: ["\(root)/Sources", "\(root)/Sources/Texts"])
        expectEqual(places.path(of: "b.txt", usedIn: ""), "\(root)/Sources/Texts/b.txt")
        expectEqual(places.path(of: "d.txt", usedIn: ""), "\(root)/Sources/d.txt")
    }

    private static var invalidGoldens: [(name: String, problem: String)] {
        let outside = "isn't the name of a file in a folder of resources"
        return [
            ("../a.txt", outside), ("/a.txt", outside), ("", outside), ("inner/../a.txt", outside),
            ("./a.txt", outside), ("inner/", outside), ("a.txt\u{0}b", outside),
            ("inner", "can't be read"), ("none.txt", "doesn't exist"), ("broken.txt", "isn't UTF-8 in line 2"),
        ]
    }

    private static func testRejectsInvalidGoldens(_ name: String, _ problem: String) throws {
        let root = try folder(["inner/": "", "a.txt": ""])
        let descriptor = open("\(root)/broken.txt", O_CREAT | O_WRONLY, 0o600)
        try requireEqual(write(descriptor, [0x61, 0x0A, 0x62, 0xE2, 0x82, 0x0A] as [UInt8], 6), 6)
        close(descriptor)
        let issues = GoldenPlaces(folders: [root]).issues("x", name)
        expectEqual(issues.map(\.message), ["golden file \(quoted(name)) \(problem)"])
        expectEqual(issues.compactMap(\.texts).map(\.golden), name == "none.txt" ? ["\(root)/none.txt"] : [])
    }

    private static func testKeepsCompleteTextsUpToALimit() throws {
        let long = String(repeating: "x", count: 1000)
        let root = try folder(["a.txt": long])
        let issue = try requireNotNil(GoldenPlaces(folders: [root]).issues("\(long)\n\(long)y", "a.txt").first)
        expectEqual(issue.texts?.golden, "\(root)/a.txt")
        expectEqual(issue.texts?.got, "\(long)\n\(long)y")
        expectEqual(issue.texts?.expected, long)
        expectLessThan(issue.got.count, 200)
        let tooLong = String(repeating: "y", count: ComparedTexts.byteCountMax + 1)
        for name in ["a.txt", "b.txt"] {
            let issue = try requireNotNil(GoldenPlaces(folders: [root]).issues(tooLong, name).first)
            expectNil(issue.texts)
            expectEqual(issue.notes.last, "too long for testlogger --accept: more than 1048576 bytes")
        }
    }

    private static func testLimitsDifferencesOfLongTexts() {
        let lines = (0..<2000).map { "line \($0)" }
        let difference = textDifference(
            got: lines.joined(separator: "\n"), expected: lines.map { "other \($0)" }.joined(separator: "\n"))
        expectEqual(difference.notes.count, 8)
        expectEqual(difference.notes.last, "and 1993 more differences")
    }
}
#endif

#endif
