// Finds the sources of a module that changed after the compilation, by the files that the compiler leaves in the
// module's folder, and reads the JSON file that contains the compiler's output paths for each source. The tests of
// ModuleDescription cover the latter.

internal import InClassSystem

/// The sources of a Swift module, and the folders to which the compiler writes its outputs.
struct CompilerOutputs {
    var sources: [String]
    var folders: [String]
    /// The folder of the package.
    var root: String

    var sourcesNewerThanBuild: [String] {
        var whole: Int?
        var own: [String: Int] = [:]
        var isIncremental = false
        let stems = Set(sources.map(Self.stem))
        for folder in folders {
            for name in FileAccess.names(in: folder) where Self.comesOfSuccess(name) {
                if name.hasSuffix(".swiftdeps") { isIncremental = true }
                guard let time = FileAccess.modificationTime(of: "\(folder)/\(name)") else { continue }
                whole = max(whole ?? 0, time)
                let stem = String(name.dropLast(2))
                if name.hasSuffix(".d"), stems.contains(stem) { own[stem] = max(own[stem] ?? 0, time) }
            }
        }
        guard let whole else { return [] }
        // A whole module has a single `.d` file, named after the module. A source may have the same name.
        let isWhole = own.isEmpty || own.count == 1 && !isIncremental
        return sources.filter { source in
            let compiled = isWhole ? whole : own[Self.stem(source)] ?? 0
            guard let time = FileAccess.modificationTime(of: source) else {
                // If the module was compiled on another machine, the folder of the package doesn't exist here.
                return !FileAccess.exists(source) && FileAccess.isDirectory(root)
            }
            return time > compiled
        }
    }

    var sourcesWithoutObject: [String] {
        let files = Set(folders.flatMap { FileAccess.names(in: $0) })
        // The compiler writes diagnostics (`.dia`) even if it fails. A whole-module build writes a single file, and the
        // compiler then refuses all sources together.
        let isObject = { (name: String) in
            name.hasSuffix(".bc") || name.hasSuffix(".o") && !name.hasSuffix(".swiftmodule.o")
        }
        if files.contains(where: { $0.hasSuffix(".dia") }), !files.contains(where: isObject) { return sources }
        return sources.filter { source in
            let (name, stem) = (FileAccess.name(of: source), Self.stem(source))
            return files.contains("\(stem).dia")
                && files.isDisjoint(with: ["\(name).o", "\(stem).o", "\(name).bc", "\(stem).bc"])
        }
    }

    private static func stem(_ source: String) -> String {
        String(FileAccess.name(of: source).dropLast(".swift".count))
    }

    /// Returns whether the compiler writes a file with this name only if the compilation succeeds.
    private static func comesOfSuccess(_ name: String) -> Bool {
        [".o", ".swiftdeps", ".d"].contains(where: name.hasSuffix) && !name.hasSuffix("emit-module.d")
    }
}

// MARK: - Output file maps

/// A reader for the parts of an output file map that are needed here.
enum OutputFileMap {
    /// Returns the strings that are values of a key, sorted.
    static func paths(of key: String, in map: [UInt8]) -> [String] {
        values(of: "\"\(key)\"", in: map).filter { map[$0.value] == UInt8(ascii: "\"") }
            .map { string(in: map, behind: $0.value) }.sorted()
    }

    /// Returns the keys that are paths of Swift sources.
    static func sources(in map: [UInt8]) -> [String] {
        values(of: ".swift\"", in: map).filter { map[$0.value] == UInt8(ascii: "{") }.map { end, _ in
            var quote = end
            while quote > 0, map[quote] != UInt8(ascii: "\"") || map[quote - 1] == UInt8(ascii: "\\") { quote -= 1 }
            return string(in: map, behind: quote)
        }
    }

    /// Finds the keys that end with a text. Returns the offset of the text, and of the first byte of the value.
    // PERF: In a debug build, a loop over all bytes takes longer than running a hundred tests.
    private static func values(of keyEnd: String, in map: [UInt8]) -> [(key: Int, value: Int)] {
        var found: [(key: Int, value: Int)] = []
        var end = 0
        while let key = map.offset(of: Array(keyEnd.utf8), from: end) {
            end = key + keyEnd.utf8.count
            guard let colon = map[end...].firstIndex(where: { $0 > 0x20 }), map[colon] == UInt8(ascii: ":"),
                let value = map[(colon + 1)...].firstIndex(where: { $0 > 0x20 })
            else { continue }
            found.append((key, value))
        }
        return found
    }

    /// Reads a string up to its closing quote.
    private static func string(in map: [UInt8], behind quote: Int) -> String {
        let end = map.offset(of: [UInt8(ascii: "\"")], from: quote + 1) ?? map.count
        let text = map[(quote + 1)..<end]
        guard text.contains(UInt8(ascii: "\\")) else {
            return String(decoding: text, as: UTF8.self)
        }
        // The only escapes in paths are `\/`, `\"` and `\\`.
        var unescaped: [UInt8] = []
        var rest = map[(quote + 1)...]
        while let byte = rest.popFirst(), byte != UInt8(ascii: "\"") {
            unescaped.append(byte == UInt8(ascii: "\\") ? rest.popFirst() ?? byte : byte)
        }
        return String(decoding: unescaped, as: UTF8.self)
    }
}

// MARK: - In-class tests

#if SELF_TESTS && (DEBUG || IN_CLASS_TESTS)
import InClassTesting

extension CompilerOutputs: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testFindsSourcesNewerThanBuild": testFindsSourcesNewerThanBuild,
            "testFindsSourcesNewerThanWholeModule": testFindsSourcesNewerThanWholeModule,
            "testFindsSourcesOfLinkedModules": testFindsSourcesOfLinkedModules,
            "testFindsDeletedSources": testFindsDeletedSources,
            "testFindsProgramsBuiltWithoutTests": testFindsProgramsBuiltWithoutTests,
        ]
    }

    private static func testFindsSourcesNewerThanBuild() throws {
        let root = try temporaryDirectory()
        func write(_ path: String, at time: Int) throws -> String {
            var folder = root
            for part in path.split(separator: "/").dropLast() {
                folder += "/\(part)"
                mkdir(folder, 0o755)
            }
            try FileAccess.write([], to: "\(root)/\(path)")
            let moment = timeval(tv_sec: .init(time), tv_usec: 0)
            utimes("\(root)/\(path)", [moment, moment])
            return "\(root)/\(path)"
        }
        let layouts = [
            ("debug", "debug/m_1.build"),
            (
                "out/Products/Debug-linux",
                "out/Intermediates.noindex/P.build/Debug-linux/m-1.build/Objects-normal/x86_64"
            ),
            (
                "out/Products/Release",
                "out/Intermediates.noindex/P.build/Release/m-1-1A-testable.build/Objects-normal/arm64"
            ),
        ]
        for (products, compiled) in layouts {
            var description = ModuleDescription()
            description.target = "m-1"
            description.bundleFolder = "\(root)/\(products)"
            if products == "debug" { description.fileMaps = ["\(root)/\(compiled)/output-file-map.json"] }
            description.sources = [try write("a.swift", at: 1500), try write("b.swift", at: 1999)]
            expectEqual(description.sourcesNewerThanBuild, [], "\(products), never built")
            // The compiler has run and made the same objects again.
            for source in ["a", "b"] {
                _ = try write("\(compiled)/\(source).o", at: 1000)
                _ = try write("\(compiled)/\(source).d", at: 2000)
            }
            _ = try write("\(compiled)/sources", at: 4000)
            _ = try write("\(products)/Other.o", at: 4000)
            expectEqual(description.sourcesNewerThanBuild, [], products)
            description.sources.append(try write("c.swift", at: 3000))
            expectEqual(description.sourcesNewerThanBuild, ["\(root)/c.swift"], products)
            // The compiler has run again and refused two sources, or the module.
            _ = try write("b.swift", at: 3000)
            for name in ["a.d", "b.dia", "c.dia", "M.emit-module.d", "M-primary-emit-module.d", "primary.priors"] {
                _ = try write("\(compiled)/\(name)", at: 4000)
            }
            expectEqual(description.sourcesNewerThanBuild, ["b", "c"].map { "\(root)/\($0).swift" }, products)
            expectEqual(description.sourcesWithoutObject, ["\(root)/c.swift"], "\(products), where b kept its object")
            unlink("\(root)/\(compiled)/b.o")
            expectEqual(description.sourcesWithoutObject, ["b", "c"].map { "\(root)/\($0).swift" }, products)
            for object in ["b.swift.o", "c.bc"] { _ = try write("\(compiled)/\(object)", at: 4000) }
            expectEqual(description.sourcesWithoutObject, [], "\(products), compiled again")
        }
    }

    private static func testFindsSourcesNewerThanWholeModule() throws {
        let root = try temporaryDirectory()
        var description = ModuleDescription()
        description.target = "M"
        description.bundleFolder = "\(root)/release"
        description.fileMaps = ["\(root)/release/M.build/output-file-map.json"]
        for folder in ["release", "release/M.build"] { mkdir("\(root)/\(folder)", 0o755) }
        let times = [("a.swift", 1000), ("M.swift", 1000), ("b.swift", 3000), ("release/M.build/M.d", 2000)]
        for (name, time) in times {
            try FileAccess.write([], to: "\(root)/\(name)")
            let moment = timeval(tv_sec: .init(time), tv_usec: 0)
            utimes("\(root)/\(name)", [moment, moment])
            if name.hasSuffix(".swift") { description.sources.append("\(root)/\(name)") }
        }
        expectEqual(description.sourcesNewerThanBuild, ["\(root)/b.swift"])
        for name in ["M.dia", "M.o"] { try FileAccess.write([], to: "\(root)/release/M.build/\(name)") }
        expectEqual(description.sourcesWithoutObject, [], "one object of all")
        for name in ["M.d", "M.o"] { unlink("\(root)/release/M.build/\(name)") }
        try FileAccess.write([], to: "\(root)/release/M.build/M.swiftmodule.o")
        expectEqual(description.sourcesWithoutObject, description.sources, "refused as a whole")
    }

    private static func write(_ path: String, at time: Int) throws {
        try FileAccess.write([], to: path)
        let moment = timeval(tv_sec: .init(time), tv_usec: 0)
        utimes(path, [moment, moment])
    }

    private static func testFindsSourcesOfLinkedModules() throws {
        let root = try temporaryDirectory()
        var description = ModuleDescription()
        description.target = "M"
        description.bundleFolder = "\(root)/debug"
        for folder in ["Sources", "debug", "debug/M.build", "debug/N.build"] { mkdir("\(root)/\(folder)", 0o755) }
        let sources = ["m", "a \"b\\", "c"].map { "\(root)/Sources/\($0).swift" }
        let keys = (sources.dropFirst() + ["\(root)/debug/N.build/made.swift"]).map { source in
            "\"\(source.replacing("\\", with: #"\\"#).replacing("\"", with: #"\""#))\": {}"
        }
        try FileAccess.write(
            Array("{\"\": {}, \(keys.joined(separator: ", "))}".utf8), to: "\(root)/debug/N.build/output-file-map.json")
        description.sources = [sources[0]]
        description.fileMaps = ["M", "N"].map { "\(root)/debug/\($0).build/output-file-map.json" }
        for (index, source) in sources.enumerated() {
            let stem = FileAccess.name(of: source).dropLast(6)
            let start = "\(root)/debug/\(index == 0 ? "M" : "N").build/\(stem)"
            try write(source, at: 1000)
            for ending in ["dia", "d", "swift.o"] { try write("\(start).\(ending)", at: 2000) }
        }
        try write("\(root)/debug/N.build/made.swift", at: 3000)
        expectEqual(description.linkedSources, Set(sources))
        expectEqual(description.sourcesNewerThanBuild, [])
        expectEqual(description.sourcesWithoutObject, [])
        for (index, source) in sources.enumerated() {
            try write(source, at: 3000)
            expectEqual(description.sourcesNewerThanBuild, [source], "saved")
            try write(source, at: 1000)
            let object = "\(root)/debug/\(index == 0 ? "M" : "N").build/\(FileAccess.name(of: source)).o"
            unlink(object)
            expectEqual(description.sourcesWithoutObject, [source], "refused")
            try write(object, at: 2000)
        }
    }

    private static func testFindsDeletedSources() throws {
        let root = try temporaryDirectory()
        var description = ModuleDescription()
        description.target = "M"
        description.root = "\(root)/Sources"
        description.bundleFolder = "\(root)/debug"
        description.fileMaps = ["\(root)/debug/M.build/output-file-map.json"]
        for folder in ["Sources", "Sources/M", "debug", "debug/M.build"] { mkdir("\(root)/\(folder)", 0o755) }
        description.sources = ["a", "b"].map { "\(root)/Sources/M/\($0).swift" }
        for source in description.sources { try write(source, at: 1000) }
        for name in ["a", "b"] { try write("\(root)/debug/M.build/\(name).d", at: 2000) }
        expectEqual(description.sourcesNewerThanBuild, [])
        unlink(description.sources[0])
        expectEqual(description.sourcesNewerThanBuild, [description.sources[0]])
        unlink(description.sources[1])
        rmdir("\(root)/Sources/M")
        expectEqual(description.sourcesNewerThanBuild, description.sources)
        rmdir("\(root)/Sources")
        expectEqual(description.sourcesNewerThanBuild, [], "compiled elsewhere")
    }

    private static func testFindsProgramsBuiltWithoutTests() throws {
        let root = try temporaryDirectory()
        let products = "\(root)/out/Products/Debug-linux"
        let compiled = "\(root)/out/Intermediates.noindex/P.build/Debug-linux"
        for folder in ["\(products)/ExecutableModules"]
            + ["app", "app-1A-testable"].map({ "\(compiled)/\($0).build/Objects-normal/arm64" })
        {
            try FileAccess.makeFolder(folder)
        }
        var description = ModuleDescription()
        description.target = "app"
        description.bundleFolder = products
        description.sources = ["\(root)/a.swift"]
        try write("\(root)/a.swift", at: 1000)
        expectFalse(description.isBuiltWithoutTests, "a library")
        description.executableModules = ["\(products)/ExecutableModules/app-"]
        try write("\(compiled)/app.build/Objects-normal/arm64/a.d", at: 2000)
        expectTrue(description.isBuiltWithoutTests, "never")
        try write("\(products)/ExecutableModules/app-1A-testable.o", at: 2000)
        try write("\(compiled)/app-1A-testable.build/Objects-normal/arm64/a.d", at: 2000)
        expectFalse(description.isBuiltWithoutTests)
        try write("\(root)/a.swift", at: 3000)
        try write("\(compiled)/app.build/Objects-normal/arm64/a.d", at: 4000)
        expectTrue(description.isBuiltWithoutTests, "an older source")
    }
}
#endif
