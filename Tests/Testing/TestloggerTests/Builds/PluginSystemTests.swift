// Tests the plugins' code for macOS and Xcode, as far as possible without them. The plugins' source
// `TestedModule.swift` is part of this target.

import Foundation
import Testing

@Suite
struct PluginSystemTests {
    @Test(arguments: [
        ("/p/.build/x86_64-unknown-linux-gnu/debug", false, "debug"),
        ("/p/.build/arm64-apple-macosx/release", false, "release"),
        ("/p/.build/out/Products/Debug-linux", true, "Debug-linux"),
        ("/Users/me/DerivedData/P/Build/Products/Debug", true, "Debug"),
        ("${BUILD_DIR}/${CONFIGURATION}", true, "Xcode"),
        ("/${BUILD_DIR}/${CONFIGURATION}${EFFECTIVE_PLATFORM_NAME}", true, "Xcode"),
    ])
    func recognizesBuildSystemsByPath(products: String, isSwiftBuild: Bool, configuration: String) {
        #expect(PluginSystem.isSwiftBuild(products: products) == isSwiftBuild)
        #expect(PluginSystem.configuration(products: products) == configuration)
    }

    @Test(arguments: [
        ("", false), ("plugins: []", false), ("plugins: [.plugin(name: \"Lint\", package: \"lint\")]", false),
        ("plugins: [ // InClassTests\n]", false), ("plugins: [/* .plugin(name: \"InClassTests\") */]", false),
        ("plugins: [.plugin(name: \"a, b\")]", false), ("plugins: [.plugin(name: \"InClassTests\")]", true),
        ("plugins: plugins", true), ("plugins: [lint]", true), ("plugins: [.plugin(name: \"Lint\"), other]", true),
        ("plugins: [.plugin(name: name, package: \"lint\")]", true),
    ])
    func findsPluginsOfTargets(plugins: String, isPossible: Bool) throws {
        let folder = Fixtures.temporaryFolder.appending(path: UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let manifest = "let package = Package(name: \"P\", targets: [.target(name: \"A\", path: \"A\", \(plugins))])"
        try manifest.write(to: folder.appending(path: "Package.swift"), atomically: true, encoding: .utf8)
        #expect(ManifestText(folder: folder).mayHavePlugin("A") == isPossible)
    }

    @Test func choosesVariantsOfBinaryTargets() {
        let linux = ["aarch64-unknown-linux-gnu", "x86_64-unknown-linux-gnu"]
        let mac = ["arm64-apple-macosx", "x86_64-apple-macosx"]
        for isARM in [false, true] {
            for (triples, isMacOS) in [(linux, false), (mac, true)] {
                #expect(PluginSystem.supports(triples, isMacOS: isMacOS, isARM: isARM))
                #expect(!PluginSystem.supports(triples, isMacOS: !isMacOS, isARM: isARM))
                #expect(!PluginSystem.supports([triples[isARM ? 1 : 0]], isMacOS: isMacOS, isARM: isARM))
            }
        }
    }

    @Test func readsArgumentsOfProcesses() {
        func bytes(_ count: UInt8, _ text: String) -> [UInt8] { [count, 0, 0, 0] + Array(text.utf8) }
        let process = bytes(3, "/usr/bin/swift-build\0\0\0\0swift-build\0\0--triple\0PATH=/bin\0HOME=/\0\0")
        #expect(PluginSystem.words(ofProcess: process) == ["swift-build", "", "--triple"])
        #expect(PluginSystem.words(ofProcess: bytes(9, "/a\0\0a\0b")) == ["a", "b"])
        for wrong in [[], [1, 0, 0], bytes(2, ""), bytes(0, "/a\0a\0"), [255, 255, 255, 255, 0]] as [[UInt8]] {
            #expect(PluginSystem.words(ofProcess: wrong).allSatisfy { $0.isEmpty }, "\(wrong)")
        }
        // On Linux the parent of this process has arguments, too.
        #expect(PluginSystem.isMacOS || !PluginSystem.parentWords.isEmpty)
    }

    @Test(arguments: [("a", "a"), ("a|b", "'a|b'"), ("/t m/it's", #"'/t m/it'\''s'"#)])
    func quotesWordsForShells(word: String, quoted: String) {
        #expect(PluginSystem.quoted(word) == quoted)
    }
}
