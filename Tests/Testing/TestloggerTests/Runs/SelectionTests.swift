// Tests the options that select, repeat and order tests. The tests write a log, which is compared with the options.

import Foundation
import Testing

extension TestloggerTests {
    @Suite(.serialized)
    struct SelectionTests {
        let package: FixturePackage
        private static let apples = ["Grows", "Ripens", "Falls", "Rots"].map { "Apple.test\($0)" }
        private static let pears = ["Grows", "Ripens", "Falls", "Rots"].map { "Pear.test\($0)" }

        init() throws {
            package = try SharedPackages.diagnostics.get()
            try package.forgetLastRun()
        }

        /// Runs tests and returns their names in the order of execution, and testlogger's result.
        private func run(_ words: String..., rotten: String = "") throws -> (tests: [String], result: ProgramResult) {
            let log = package.file("orchard.log")
            try FileManager.default.removeItemIfThere(log)
            let result = try package.testlogger(
                ["--stable-output", "-v", "--jobs", "1"] + words,
                environment: ["ORCHARD_LOG": log.path, "ORCHARD_ROTTEN": rotten])
            let text = (try? String(contentsOf: log, encoding: .utf8)) ?? ""
            return (text.split(separator: "\n").map(String.init), result)
        }

        private func line(of text: String, in path: String) throws -> Int {
            let lines = try package.text(of: path).components(separatedBy: "\n")
            return try #require(lines.firstIndex { $0.contains(text) }) + 1
        }

        @Test func filtersAndSkipsTests() throws {
            #expect(try run("Orchard").tests == Self.apples + Self.pears)
            #expect(try run("Orchard", "--filter", "Apple").tests == Self.apples)
            #expect(try run("Orchard", "--filter", "^Pear.*(Rip|Rot)").tests == ["Pear.testRipens", "Pear.testRots"])
            #expect(
                try run("Orchard", "--filter", "Apple", "--filter", "Rots").tests == Self.apples + ["Pear.testRots"])
            #expect(
                try run("Orchard", "--skip", "Apple", "--skip", "Rots").tests
                    == Self.pears.filter { !$0.hasSuffix("Rots") })
            #expect(try run("Orchard", "--filter", "Grows", "--skip", "Pear").tests == ["Apple.testGrows"])
            #expect(try run("Orchard", "--test-type", "harvest").tests == ["Apple.testIsPicked", "Pear.testIsPicked"])
            let nothing = try run("Orchard", "--filter", "Apple", "--skip", "Apple")
            #expect(nothing.tests == [] && nothing.result.status == 4)
        }

        @Test func runsTestsAtLines() throws {
            let apples = "Sources/Orchard/Apples.swift"
            // Use the only line of a short test, and each line of a longer one.
            let one = try line(of: "func testRipens", in: apples)
            let many = try line(of: "func testFalls", in: apples)
            #expect(try run("\(apples):\(one)").tests == ["Apple.testRipens"])
            for line in many...many + 3 {
                #expect(try run("\(apples):\(line)").tests == ["Apple.testFalls"], "\(line)")
            }
            #expect(try run("\(package.file(apples).path):\(one):9").tests == ["Apple.testRipens"])
            #expect(try run("Apples.swift:\(one)", "Pears.swift:\(one - 8)").tests.contains("Apple.testRipens"))
            #expect(try run("Orchard", "\(apples):\(one)").tests == ["Apple.testRipens"])
            // A file that belongs to no module is an error.
            let wrong = try run("Nowhere.swift:3")
            #expect(wrong.tests == [] && wrong.result.status == 2)
            #expect(wrong.result.errors.contains("no module that was built here contains Nowhere.swift"))
        }

        @Test func runsFailedTestsFirst() throws {
            #expect(try run("Orchard", rotten: "Apple.testFalls Pear.testRots").result.status == 1)
            // Failed tests run first. Failed tests that weren't selected stay in the record.
            #expect(try run("Orchard", "--filter", "Falls|Grows").tests.first == "Apple.testFalls")
            let failed = try run("Orchard", "--failed", rotten: "Pear.testRots")
            #expect(failed.tests == ["Pear.testRots"], "testFalls has passed in between")
            #expect(failed.result.status == 1)
            let all = try run("Orchard", rotten: "Pear.testRots")
            #expect(all.tests == ["Pear.testRots"] + Self.apples + Self.pears.dropLast())
            // The results are still reported in the order of the lists.
            let told = all.result.lines.filter { $0.hasPrefix("passed ") || $0.hasPrefix("failed ") }
            #expect(told.map { String($0.dropFirst(7)) } == Self.apples + Self.pears)
            #expect(try run("Orchard", "--failed").tests == ["Pear.testRots"])
            let none = try run("Orchard", "--failed")
            #expect(none.tests == [] && none.result.status == 0, "nothing has failed: \(none.result)")
        }

        @Test func runsChangedTestsFirst() throws {
            let pears = package.file("Sources/Orchard/Pears.swift")
            let before = try FileManager.default.attributesOfItem(atPath: pears.path)[.modificationDate] as? Date
            defer {
                try? FileManager.default.setAttributes([.modificationDate: before as Any], ofItemAtPath: pears.path)
            }
            #expect(try run("Orchard", "--changed").tests == Self.apples + Self.pears, "there is no last run")
            let none = try run("Orchard", "--changed")
            #expect(none.tests == [] && none.result.status == 0, "\(none.result)")
            func touch() throws {
                try FileManager.default.setAttributes(
                    [.modificationDate: Date().addingTimeInterval(1)], ofItemAtPath: pears.path)
            }
            try touch()
            #expect(try run("Orchard", rotten: "Apple.testRots").tests == Self.pears + Self.apples)
            try FileManager.default.setAttributes(
                [.modificationDate: Date().addingTimeInterval(60)], ofItemAtPath: pears.path)
            #expect(
                try run("Orchard", rotten: "Apple.testRots").tests == ["Apple.testRots"] + Self.pears
                    + Self.apples.dropLast())
            #expect(try run("Orchard", "--changed").tests == Self.pears)
        }

        @Test func repeatsTests() throws {
            #expect(
                try run("Orchard", "--filter", "Apple", "--repeat", "3").tests == Self.apples + Self.apples
                    + Self.apples)
            let third = try run("Orchard", "--until-failure", rotten: "third")
            #expect(third.tests.count == 24 && third.result.status == 1, "\(third.result)")
            #expect(third.result.output.contains("failed in repetition 3"), "\(third.result)")
            try package.forgetLastRun()
            let limited = try run("Orchard", "--until-failure", "--repeat", "2", rotten: "third")
            #expect(limited.tests.count == 16 && limited.result.status == 0)
            #expect(limited.result.output.hasSuffix("16 tests, 16 passed\n"), "\(limited.result)")
        }

        @Test func shufflesTestsBySeed() throws {
            let first = try run("Orchard", "--shuffle", "7", rotten: "Pear.testGrows")
            #expect(first.tests.sorted() == (Self.apples + Self.pears).sorted())
            #expect(first.tests != Self.apples + Self.pears)
            #expect(first.result.output.contains("note: the order was shuffled with seed 7"), "\(first.result)")
            #expect(try run("Orchard", "--shuffle", "7").tests == first.tests)
            #expect(try run("Orchard", "--shuffle=7", "--jobs", "2").tests.sorted() == first.tests.sorted())
            #expect(try run("Orchard", "--shuffle", "8").tests != first.tests)
            // Without a seed, testlogger chooses one. A failed run names this seed, so that its order can be repeated.
            let random = try run("--shuffle", "Orchard", rotten: "Pear.testGrows")
            let seed = try #require(random.result.output.firstMatch(of: /shuffled with seed (\d+)/)).1
            #expect(try run("Orchard", "--shuffle", String(seed)).tests == random.tests)
        }

        @Test func stopsAtTheFirstFailure() throws {
            let fast = try run("Orchard", "--fail-fast", rotten: "Apple.testRipens Pear.testGrows")
            #expect(fast.result.status == 1)
            #expect(fast.tests == ["Apple.testGrows", "Apple.testRipens"])
            #expect(fast.result.output.hasSuffix("8 tests, 1 passed, 1 failed, 6 not run\n"), "\(fast.result)")
        }

        @Test func suggestsKnownNames() throws {
            for (words, message) in [
                (["Orchrad"], "there is no module 'Orchrad'; did you mean 'Orchard'?"),
                (
                    ["Orchard", "--filter", "Apple.testGrow5"],
                    "no test matches 'Apple.testGrow5'; did you mean 'Apple.testGrows'?"
                ),
                (["Orchard", "--test-type", "harvset"], "there is no test type 'harvset'; did you mean 'harvest'?"),
                (["Orchard", "--fliter", "x"], "unknown option '--fliter'; did you mean '--filter'?"),
                (
                    ["Orchard", "--debug", "Apple.testGrow"],
                    "there is no test 'Apple.testGrow'; did you mean 'Apple.testGrows'?"
                ),
            ] {
                let result = try package.testlogger(words)
                #expect(result.status != 0 && result.errors.contains(message), "\(result)")
            }
        }
    }
}
