// Distinguishes private types with the same name. A worker numbers them, `Helper` and `Helper#2`, because its test executable
// doesn't contain the file of a type. The lists in the sources identify the file.

import TestEvents

extension SourceScan {
    /// Returns the plan of a worker with file names instead of numbers for private types, such as `B.swift:Helper`.
    ///
    /// The names of the tests identify the type. If types have the same tests, the linker's order of the files decides.
    static func tellingTypesApart(_ plan: [PlannedTest], sources: TestedSources) -> [PlannedTest] {
        var names: [String] = []
        var index = 0
        // PERF: `while` instead of `for`, because most plans have no such types.
        while index < plan.count {
            if names.last != plan[index].typeName { names.append(plan[index].typeName) }
            index += 1
        }
        let shared = Set(names.filter { $0.contains("#") }.map(plainName))
        if shared.isEmpty { return plan }
        let tests = Dictionary(grouping: plan, by: \.typeName).mapValues { Set($0.map(\.listedName)) }
        let types = sources.scan.types.filter { $0.key.contains(":") && !$0.value.lists.isEmpty }
        var keys = types.keys.sorted()
        var newNames: [String: String] = [:]
        for name in names where newNames[name] == nil && shared.contains(plainName(name)) {
            let index = keys.firstIndex { key in
                let type = types[key] ?? ScannedType()
                return unqualified(key) == plainName(name)
                    && (!type.lists.allSatisfy(\.isLiteral) || Set(type.entries.map(\.name)) == tests[name])
            }
            if let index { newNames[name] = keys.remove(at: index) }
        }
        return plan.map { test in
            var test = test
            test.typeName = newNames[test.typeName] ?? test.typeName
            return test
        }
    }

    /// Returns the name of a type without its file.
    static func unqualified(_ name: String) -> String {
        name.lastIndex(of: ":").map { String(name[name.index(after: $0)...]) } ?? name
    }
}

// MARK: - In-class tests

#if SELF_TESTS && (DEBUG || IN_CLASS_TESTS)
import InClassTesting

enum PrivateTypeTests {}

extension PrivateTypeTests: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testDistinguishesPrivateTypesByFile": testDistinguishesPrivateTypesByFile
        ]
            + .each("testNamesTestsOfPrivateTypesByFile", privateTypeFiles) { row in
                let sources = try sources([("b.swift", source(row.second)), ("a.swift", source(row.first))])
                let named = SourceScan.tellingTypesApart(plan(row.types), sources: sources)
                expectEqual(named.map(\.name), row.names)
                for test in named where test.typeName.contains(":") {
                    let place = try requireNotNil(sources.scan.place(of: test), test.name)
                    expectEqual(FileAccess.name(of: place.path), String(test.typeName.prefix(7)))
                    expectEqual(place.line, 3)
                }
            }
    }

    private static func source(_ tests: [String], _ declaration: String = "private struct S {}") -> String {
        let list = tests.map { "\"\($0)\": \($0)" }.joined(separator: ", ")
        let functions = tests.map { "static func \($0)() {}" }.joined(separator: "\n")
        return """
            extension S: SelfTesting {
                static var testSelectors: TestSelectors { [\(list)] }
                \(functions)
            }
            \(declaration)
            """
    }

    private static func sources(_ files: [(name: String, text: String)]) throws -> TestedSources {
        let folder = try temporaryDirectory()
        for file in files { try FileAccess.write(Array(file.text.utf8), to: "\(folder)/\(file.name)") }
        let scan = SourceScan(sources: files.map { "\(folder)/\($0.name)" }, module: "M")
        return TestedSources(holding: scan)
    }

    private static func plan(_ types: [(name: String, tests: [String])]) -> [PlannedTest] {
        types.flatMap { type in
            type.tests.map { PlannedTest(typeName: type.name, testName: $0, testType: "unit", module: "M") }
        }
    }

    private static var privateTypeFiles:
        [(first: [String], second: [String], types: [(String, [String])], names: [String])]
    {
        [
            (["testA"], ["testB"], [("S", ["testA"]), ("S#2", ["testB"])], ["a.swift:S.testA", "b.swift:S.testB"]),
            (["testA"], ["testB"], [("S", ["testB"]), ("S#2", ["testA"])], ["b.swift:S.testB", "a.swift:S.testA"]),
            (["testA"], ["testA"], [("S", ["testA"]), ("S#2", ["testA"])], ["a.swift:S.testA", "b.swift:S.testA"]),
            (["testA"], ["testB"], [("S", ["testA"])], ["S.testA"]),
            (["testA"], ["testB"], [("S", ["testC"]), ("S#2", ["testB"])], ["S.testC", "b.swift:S.testB"]),
        ]
    }

    private static func testDistinguishesPrivateTypesByFile() throws {
        let declarations = [
            ("private struct S {}", "fileprivate final class S {}", true),
            ("private enum S {}", "private(set) var a = 1\nprivate typealias X = Int\nstruct S {}", false),
            ("struct Outer {}\nprivate extension Outer { struct S {} }", "private actor S {}", false),
        ]
        for (one, other, areApart) in declarations {
            let scan = try sources([("a.swift", source(["testA"], one)), ("b.swift", source(["testB"], other))]).scan
            expectEqual(scan.types["a.swift:S"] != nil, areApart, one)
            expectEqual(scan.types["S"] != nil, !areApart, one)
        }
        let nested =
            "private struct S { struct T {} }\nextension S.T { static var testSelectors: TestSelectors { [:] } }"
        let scan = try sources([("a.swift", nested), ("b.swift", nested), ("c.swift", source(["testC"]))]).scan
        expectEqual(
            scan.types.filter { $0.key.contains(":") && !$0.value.lists.isEmpty }.keys.sorted(),
            ["a.swift:S.T", "b.swift:S.T", "c.swift:S"])
        expectEqual(scan["S"]?.entries.map(\.name), ["testC"], "the one that has tests")
        let check = ListCheck(scan, plan: plan([("S", ["testC"])]))
        expectEqual(check.warnings.map(\.text), [])
        expectEqual(check.lost, [])
    }
}
#endif
