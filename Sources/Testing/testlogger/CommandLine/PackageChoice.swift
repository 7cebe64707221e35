// Checks the test types and exclusions of `.testlogger`. A mistake there would turn off tests in every run, and the builds
// would still pass.

import TestEvents
import TestSupervision

/// A test type or an exclusion in `.testlogger`.
struct PackageChoice: Equatable {
    /// The option's name.
    var name: String
    var value: String
    /// The place of the value.
    var place: SourcePlace
}

extension [PackageChoice] {
    /// Returns the place of the first choice that excludes all tests of a module, and a message.
    func obstacle(in plan: [PlannedTest], of module: String, chosen types: [String]) -> (SourcePlace, String)? {
        if isEmpty || plan.isEmpty { return nil }
        let what = plan.count == 1 ? "the only test" : "none of the \(plan.count) tests"
        let rest = "leaves \(what) of \(module) \(plan.count == 1 ? "out" : "to run")"
        var left = plan.filter { types.isEmpty ? $0.testType == "unit" : types.contains($0.testType) }
        if left.isEmpty {
            guard let choice = first(where: { $0.name == "--test-type" }) else { return nil }
            let near = suggestion(for: choice.value, among: Set(plan.map(\.testType)).sorted())
            return (choice.place, "test type '\(choice.value)' \(rest)\(near)")
        }
        for choice in self where choice.name == "--skip" {
            guard let pattern = try? TestPattern(choice.value) else { continue }
            left.removeAll(where: pattern.matches)
            if left.isEmpty { return (choice.place, "skipping '\(choice.value)' \(rest)") }
        }
        return nil
    }

    /// Returns warnings about unknown test types that are similar to a test type of the module. Other unknown test types may
    /// belong to other modules.
    func misspeltTypes(in plan: [PlannedTest], of module: String) -> [(SourcePlace, String)] {
        if isEmpty { return [] }
        let types = filter { $0.name == "--test-type" }
        let known = Set(plan.map(\.testType))
        let others = known.subtracting(types.map(\.value)).sorted()
        return types.compactMap { type in
            // Almost all short words are similar.
            guard type.value.utf8.count > 3, !known.contains(type.value) else { return nil }
            let near = suggestion(for: type.value, among: others)
            return near.isEmpty ? nil : (type.place, "\(module) has no test type '\(type.value)'\(near)")
        }
    }
}

// MARK: - In-class tests

#if SELF_TESTS && (DEBUG || IN_CLASS_TESTS)
import InClassTesting

extension PackageChoice: SelfTesting {
    static var testSelectors: TestSelectors {
        .each("testFindsOptionsThatExcludeAllTests", obstacles, named: { "\($0.lines) \($0.types) \($0.chosen)" }) {
            row in
            let found = try choices(row.lines).obstacle(in: plan(row.types), of: "M", chosen: row.chosen)
            expectEqual(found.map { "\($0.line): \($1)" }, row.text)
        }
            + .each("testFindsMisspelledTypes", spellings) { chosen, known, texts in
                let found = try choices(chosen.map { "--test-type \($0)" }).misspeltTypes(in: plan(known), of: "M")
                expectEqual(found.map(\.1), texts)
            }
    }

    private static func choices(_ lines: [String]) throws -> [PackageChoice] {
        var options = try CommandLineOptions([])
        try options.add(PackageOptions(text: lines.joined(separator: "\n"), path: "/p"))
        return options.packageChoices
    }

    private static func plan(_ types: [String]) -> [PlannedTest] {
        types.enumerated().map { PlannedTest(typeName: "T", testName: "\($0)", testType: $1, module: "M") }
    }

    private static let obstacles: [(lines: [String], types: [String], chosen: [String], text: String?)] = [
        ([], ["slow"], [], nil), (["--skip T"], [], [], nil), (["--skip T.1"], ["unit", "unit"], [], nil),
        (["--skip T.1", "--skip 0"], ["unit", "slow"], [], "2: skipping '0' leaves none of the 2 tests of M to run"),
        (["--skip T"], ["unit"], [], "1: skipping 'T' leaves the only test of M out"),
        // The command line chose the test type.
        (["--skip T"], ["unit"], ["slow"], nil),
        (
            ["--test-type slo"], ["slow"], ["slo"],
            "1: test type 'slo' leaves the only test of M out; did you mean 'slow'?"
        ),
        (["--test-type a", "--test-type slow", "--skip 0"], ["unit", "slow"], ["a", "slow"], nil),
    ]

    private static let spellings = [
        (["slwo"], ["unit", "slow"], ["M has no test type 'slwo'; did you mean 'slow'?"]),
        (["slow", "slwo"], ["unit", "slow"], []), (["uni"], ["unit"], []), (["network"], ["unit"], []),
        (["unit"], ["unit", "unix"], []),
    ]
}
#endif
