// Which lines of a source are there for tests only: neither their coverage nor changes of them say anything of the code.

/// The parts of a source that are there for tests only.
enum TestRegions {
    /// The lines from each `#if` about tests to the `#endif` or `#else` that ends it, both included.
    static func lineRanges(_ source: String) -> [ClosedRange<Int>] {
        var ranges: [ClosedRange<Int>] = []
        /// For each open `#if`: where it began, if it is about tests.
        var open: [Int?] = []
        let lines = source.split(omittingEmptySubsequences: false) { $0 == "\n" || $0 == "\r\n" }
        for (index, line) in lines.enumerated() {
            let text = line.drop { $0 == " " || $0 == "\t" }
            if text.hasPrefix("#if") {
                let isAboutTests = !text.contains("!") && (text.contains("DEBUG") || text.contains("_TESTS"))
                open.append(isAboutTests ? index + 1 : nil)
            } else if text.hasPrefix("#endif") || text.hasPrefix("#else"), let start = open.popLast() {
                if let start { ranges.append(start...index + 1) }
                if text.hasPrefix("#else") { open.append(nil) }
            }
        }
        return ranges
    }
}

// MARK: - In-class tests

#if SELF_TESTS && (DEBUG || IN_CLASS_TESTS)
import InClassTesting

extension TestRegions: SelfTesting {
    static var testSelectors: TestSelectors { ["testFindsWhatIsForTests": testFindsWhatIsForTests] }

    private static func testFindsWhatIsForTests() {
        let source =
            "a\n#if DEBUG || IN_CLASS_TESTS\nb\n#if os(Linux)\nc\n#endif\n#endif\nd\n#if !DEBUG\ne\n#endif\n#if DEBUG\nf\n#else\ng\n#endif"
        expectEqual(lineRanges(source), [2...7, 12...14])
        expectEqual(lineRanges(source.replacing("\n", with: "\r\n")), [2...7, 12...14])
        for condition in [
            "SELF_TESTS && (DEBUG || IN_CLASS_TESTS)", "(DEBUG || IN_CLASS_TESTS) && canImport(InClassTesting)",
        ] {
            expectEqual(lineRanges("#if \(condition)\na\n#endif\n"), [1...3], condition)
        }
    }
}
#endif
