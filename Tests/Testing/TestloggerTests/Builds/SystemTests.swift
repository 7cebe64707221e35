// Checks that shipped code differs between Linux and macOS only in the places that the article on macOS names.

import Foundation
import Testing

@Suite
struct SystemTests {
    private static let modules = [
        "Sources/Testing/InClassTesting", "Sources/Testing/TestEvents", "Sources/Testing/TestSupervision",
        "Sources/Testing/TestReporting", "Sources/Testing/testlogger", "Plugins",
    ]

    /// Returns the text of a file without its tests and without the imports of the C library.
    private func shippedText(_ path: String) throws -> String {
        let text = try String(contentsOf: Fixtures.checkout.appending(path: path), encoding: .utf8)
        let code = text.components(separatedBy: "// MARK: - In-class tests")[0]
        let attribute = "(?:@preconcurrency )?"
        let imports = try Regex(
            "#if canImport\\(Darwin\\)\\n\(attribute)import Darwin\\n#elseif canImport\\(Musl\\)\\n\(attribute)import Musl\\n"
                + "#else\\n\(attribute)import Glibc\\n#endif\\n")
        return code.replacing(imports, with: "")
    }

    @Test func keepsPlatformDifferencesInSystemFolders() throws {
        var places: Set<String> = []
        for module in Self.modules {
            let folder = Fixtures.checkout.appending(path: module)
            for name in try FileManager.default.subpathsOfDirectory(atPath: folder.path) where name.hasSuffix(".swift")
            {
                let path = "\(module)/\(name)"
                if path.hasSuffix("+Tests.swift") { continue }
                let text = try shippedText(path)
                if text.contains(/#(else)?if .*(os\(|canImport\((Darwin|Glibc|Musl))/) { places.insert(path) }
            }
        }
        let outside = places.filter { !$0.contains("/System/") && !$0.hasSuffix("/TestedModule.swift") }
        #expect(outside.isEmpty)
        #expect(places.count >= 6, "something is different: \(places)")
    }

    @Test func platformFilesNameTheirSources() throws {
        let files = try ["InClassTesting", "TestSupervision"].map { "Sources/Testing/\($0)/System" }.flatMap { folder in
            try FileManager.default.contentsOfDirectory(atPath: Fixtures.checkout.appending(path: folder).path)
                .map { "\(folder)/\($0)" }
        }
        #expect(files.count > 6)
        for path in files + ["Plugins/InClassTests/TestedModule.swift"] {
            let text = try String(contentsOf: Fixtures.checkout.appending(path: path), encoding: .utf8)
            let opening = text.prefix(while: { $0 != "#" && $0 != "{" })
            #expect(opening.hasPrefix("//") && opening.contains("Source"), "\(path)")
        }
    }
}
