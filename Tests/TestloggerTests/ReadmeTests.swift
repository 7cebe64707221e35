// The README shows files of the repository; they are the same, word for word.

import Foundation
import Testing

extension TestloggerTests {
    @Suite
    struct ReadmeTests {
        @Test func showsFilesAsTheyAre() throws {
            let readme = try String(contentsOf: Fixtures.checkout.appending(path: "README.md"), encoding: .utf8)
            var shown: [String] = []
            for part in readme.components(separatedBy: "<!-- ").dropFirst() {
                let path = try #require(part.components(separatedBy: " -->").first)
                let block = try #require(part.components(separatedBy: "```swift\n").dropFirst().first)
                let text = try #require(block.components(separatedBy: "```").first)
                #expect(
                    try String(contentsOf: Fixtures.checkout.appending(path: path), encoding: .utf8) == text, "\(path)")
                shown.append(path)
            }
            #expect(shown.count == 2, "every file is marked: \(shown)")
        }

        @Test func namesEveryOption() throws {
            let readme = try String(contentsOf: Fixtures.checkout.appending(path: "README.md"), encoding: .utf8)
            let help = try String(
                contentsOf: Fixtures.checkout.appending(path: "Tests/TestloggerTests/Goldens/help.txt"), encoding: .utf8
            )
            let options = help.matches(of: /--[a-z-]+/).map { String($0.output) }
            #expect(options.count > 20)
            for option in Set(options)
            where !["--help", "--marker", "--enable-code-coverage", "--verbose", "--test-type"].contains(option) {
                #expect(readme.contains(option), "\(option) is not in the README")
            }
        }
    }
}
