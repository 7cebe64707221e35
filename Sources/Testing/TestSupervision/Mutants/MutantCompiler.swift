// Compiles one source of a module as the build compiled it, but with other contents or options, to a separate object.
// Nothing is copied: the compiler reads the changed text under the source's own path, and all other files where the
// build reads them. It writes only the object.

struct MutantCompiler {
    /// The shell commands that compile one source each, by the source's path. The path of the object is missing.
    private let jobs: [String: Substring]
    /// A Boolean value that indicates whether tests run under a sanitizer, which reserves more memory than the machine
    /// has.
    let isSanitized: Bool

    /// Asks the compiler how it compiles the sources of a module.
    ///
    /// SwiftPM writes its commands into a manifest for the native build system, `.build/debug.yaml`. The command with
    /// the module's output file map is the right one.
    init(_ module: ModuleDescription) throws {
        let products = module.bundleFolder
        let scratch = FileAccess.directory(of: FileAccess.directory(of: products))
        let manifest = "\(scratch)/\(FileAccess.name(of: products)).yaml"
        guard let bytes = try? FileAccess.contents(of: manifest) else {
            throw MutantError(
                description: "there is no \(manifest); mutants need a build with '--build-system native'")
        }
        let map = (module.fileMaps.first ?? "").inDoubleQuotes
        let commands = String(decoding: bytes, as: UTF8.self).split(separator: "\n")
        guard let line = commands.first(where: { $0.contains("\"-output-file-map\",\(map)") }) else {
            throw MutantError(
                description: "\(manifest) doesn't contain the compiler's arguments for module '\(module.module)'")
        }
        // The command is a list as in JSON. Only these two characters are escaped.
        let command = line.drop { $0 != "\"" }.dropFirst().dropLast(2).split(separator: "\",\"")
            .map { String($0.replacing("\\\"", with: "\"").replacing("\\\\", with: "\\")) }
        isSanitized = command.contains { $0.hasPrefix("-sanitize=") }
        let words = zip([""] + command, command).filter { previous, word in
            !Self.isOfOutput(word)
                && !(Self.isOfOutput(previous) && ["-path", "-map"].contains(where: previous.hasSuffix))
        }.map(\.1)
        let result = try ChildProcess.run(
            words + ["-disable-batch-mode", "-driver-filelist-threshold", "1000000", "-driver-print-jobs"])
        let output = String(decoding: result.output, as: UTF8.self)
        guard result.end == .exited(0) else {
            throw MutantError(description: "the compiler's plan contains no job for a source: \(output)")
        }
        let lines = output.split(separator: "\n")
        var jobs: [String: Substring] = [:]
        for source in module.sources {
            // The driver quotes paths with characters that have a meaning in a shell.
            let quoted = "'\(source.replacing("'", with: #"'\''"#))'"
            let job = lines.first { line in [source, quoted].contains { line.contains("-primary-file \($0) ") } }
            guard let job, let end = job.ranges(of: " -o ").last else {
                throw MutantError(
                    description:
                        "module '\(module.module)' is compiled with whole-module optimization; mutants need a debug build"
                )
            }
            jobs[source] = job[..<end.lowerBound]
        }
        self.jobs = jobs
    }

    /// Returns whether a build option concerns additional outputs, or compiling several sources at once.
    private static func isOfOutput(_ word: String) -> Bool {
        let others: Set<String> = [
            "-output-file-map", "-index-store-path", "-incremental", "-enable-batch-mode", "-serialize-diagnostics",
            "-parseable-output",
        ]
        return word.hasPrefix("-emit-") || others.contains(word)
    }

    /// Starts compiling a source.
    ///
    /// - Parameters:
    ///   - contents: the text to compile instead of the source, or nil for the source itself.
    ///   - object: the path of the object. The contents are written next to it.
    func start(_ path: String, contents: [UInt8]?, object: String, options: [String] = []) throws -> Int32 {
        var words =
            ["/bin/sh", "-c", "exec \(jobs[path] ?? "") \"$@\" 2> \"$0\"", "\(object).err"] + options + ["-o", object]
        if let contents {
            try FileAccess.write(contents, to: "\(object).swift")
            let overlay = """
                {"version": 0, "case-sensitive": "true", "use-external-names": false, "roots": [
                {"type": "file", "name": \(path.inDoubleQuotes), "external-contents": \("\(object).swift".inDoubleQuotes)}]}
                """
            try FileAccess.write(Array(overlay.utf8), to: "\(object).yaml")
            words += ["-vfsoverlay", "\(object).yaml"]
        }
        return try ChildProcess.startInSilence(words)
    }

    /// Returns whether the compiler reported an error in a source. Call this function if the object is missing.
    static func hasRefused(_ object: String) -> Bool {
        let output = String(decoding: (try? FileAccess.contents(of: "\(object).err")) ?? [], as: UTF8.self)
        return [": error: ", "Stack dump:"].contains(where: output.contains) && !output.contains("No space left")
    }
}

// MARK: - In-class tests

#if SELF_TESTS && (DEBUG || IN_CLASS_TESTS)
internal import InClassSystem
import InClassTesting

extension MutantCompiler: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testReportsWhyACommandIsMissing": testReportsWhyACommandIsMissing,
            "testReadsTheCommandOfEachSource": testReadsTheCommandOfEachSource,
            "testDistinguishesErrorsFromCompilerFailures": testDistinguishesErrorsFromCompilerFailures,
        ]
    }

    /// Creates a module whose compiler is a script that prints its arguments, and one command for each source.
    private static func module(_ manifest: String?, jobs: String = "") throws -> ModuleDescription {
        let folder = try temporaryDirectory()
        var module = ModuleDescription()
        (module.module, module.target, module.bundleFolder) = ("my_M", "my-M", "\(folder)/linux/debug")
        module.fileMaps = ["\(module.bundleFolder)/my_M.build/output-file-map.json"]
        module.sources = ["/p/a b's.swift", "/p/c.swift"]
        try FileAccess.write(Array("#!/bin/sh\necho \"$@\" > \(folder)/words\n\(jobs)\n".utf8), to: "\(folder)/swiftc")
        chmod("\(folder)/swiftc", 0o755)
        if let manifest {
            let text = manifest.replacing("FOLDER", with: folder)
            try FileAccess.write(Array(text.utf8), to: "\(folder)/debug.yaml")
        }
        return module
    }

    private static let manifest = """
        "C.my-M":
            outputs: ["FOLDER/linux/debug/my_M.build/output-file-map.json"]
            args: ["FOLDER/none","-output-file-map","FOLDER/linux/debug/N.build/output-file-map.json"]
            args: ["FOLDER/swiftc","-emit-module","-output-file-map","FOLDER/linux/debug/my_M.build/output-file-map.json","-g","-DA=\\"b\\\\\\""]
        """

    private static func testReportsWhyACommandIsMissing() throws {
        let rows = [
            (nil, "", "mutants need a build with '--build-system native'"),
            ("tools: {}", "", "doesn't contain the compiler's arguments for module 'my_M'"),
            (manifest, "echo no; exit 1", "contains no job for a source: no"),
            (manifest, "echo frontend /p/c.swift -o c.o", "mutants need a debug build"),
        ]
        for (manifest, jobs, text) in rows {
            let module = try module(manifest, jobs: jobs)
            let error = expectThrows(MutantError.self, text) { _ = try MutantCompiler(module) }
            expectTrue(error?.description.contains(text) ?? false, error?.description ?? text)
        }
    }

    private static func testReadsTheCommandOfEachSource() throws {
        let module = try module(
            manifest,
            jobs: """
                echo "frontend -primary-file '/p/a b'\\\\''s.swift' /p/c.swift -g -o a.o"
                echo "frontend /p/a.swift -primary-file /p/c.swift -o c.o"
                """)
        let compiler = try MutantCompiler(module)
        expectEqual(compiler.jobs["/p/a b's.swift"], #"frontend -primary-file '/p/a b'\''s.swift' /p/c.swift -g"#)
        expectEqual(compiler.jobs["/p/c.swift"], "frontend /p/a.swift -primary-file /p/c.swift")
        expectFalse(compiler.isSanitized)
        let folder = FileAccess.directory(of: FileAccess.directory(of: module.bundleFolder))
        let words = String(decoding: try FileAccess.contents(of: "\(folder)/words"), as: UTF8.self)
        expectTrue(words.hasPrefix("-g -DA=\"b\\\" -disable-batch-mode"), words)
    }

    private static func testDistinguishesErrorsFromCompilerFailures() throws {
        let object = "\(try temporaryDirectory())/1.o"
        expectFalse(hasRefused(object), "nothing could be written")
        let rows = [
            ("", false), ("/s.swift:1:2: error: no\n", true), ("Stack dump:\n", true),
            ("LLVM ERROR: No space left on device\nStack dump:\n", false),
            ("<unknown>:0: error: error opening '/1.o' for output: No space left on device\n", false),
        ]
        for (output, isRefusal) in rows {
            try FileAccess.write(Array(output.utf8), to: "\(object).err")
            expectEqual(hasRefused(object), isRefusal, output)
        }
    }
}
#endif
