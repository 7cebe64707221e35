// Compiles one source of a module as the build has compiled it, with other contents or other options, to an object of its
// own. Nothing is copied: the compiler reads the changed text under the source's own path, everything else from where the
// build has it, and writes nothing but the object.

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

struct MutantCompiler {
    /// The words that compile each source by itself, without those for its object, by path.
    private let jobs: [String: [String]]
    /// Whether tests run under a sanitizer, which takes more memory than there is.
    let isSanitized: Bool

    /// Asks the compiler how it compiles a module.
    ///
    /// SwiftPM writes its commands into a manifest for the native build system, `.build/debug.yaml`; the map of the
    /// module's outputs tells which of them is meant.
    init(_ module: ModuleDescription) throws(MutantError) {
        let products = module.bundleFolder
        let scratch = FileAccess.directory(of: FileAccess.directory(of: products))
        let manifest = "\(scratch)/\(FileAccess.name(of: products)).yaml"
        let bytes: [UInt8]
        do throws(SystemError) { bytes = try FileAccess.contents(of: manifest) } catch {
            throw MutantError(
                "\(error.description); mutants are compiled as '--build-system native' has compiled the module")
        }
        let map = "\(products)/\(module.target).build/output-file-map.json"
        let command = String(decoding: bytes, as: UTF8.self).split(separator: "\n").lazy
            .filter { $0.contains("args: [") && $0.contains("-output-file-map") }
            .map { Self.words($0[($0.firstIndex(of: "[") ?? $0.startIndex)...], separators: "[], ") }
            .first { $0.contains(map) }
        guard let command else {
            throw MutantError("\(manifest) does not say how module '\(module.module)' is compiled")
        }
        isSanitized = command.contains { $0.hasPrefix("-sanitize=") }
        jobs = try Self.jobs(command)
        guard module.sources.allSatisfy({ jobs[$0] != nil }) else {
            throw MutantError("module '\(module.module)' is compiled as a whole; mutants need a debug build")
        }
    }

    /// Has the driver print what it would run.
    private static func jobs(_ command: [String]) throws(MutantError) -> [String: [String]] {
        var words: [String] = []
        var rest = command[...]
        while let word = rest.popFirst() {
            if outputs.contains(word) { _ = rest.popFirst() } else if !extras.contains(word) { words.append(word) }
        }
        words += ["-disable-batch-mode", "-driver-filelist-threshold", "1000000", "-driver-print-jobs"]
        let result: (end: ProcessEnd, output: [UInt8])
        do throws(SystemError) { result = try ChildProcess.run(words) } catch { throw MutantError(error.description) }
        let output = String(decoding: result.output, as: UTF8.self)
        guard result.end == .exited(0) else {
            throw MutantError("the compiler does not say how it compiles a source: \(output)")
        }
        var jobs: [String: [String]] = [:]
        for line in output.split(separator: "\n") {
            var job = self.words(line, separators: " ")
            guard let primary = job.firstIndex(of: "-primary-file"), let object = job.lastIndex(of: "-o"),
                object + 1 < job.count
            else { continue }
            job.removeSubrange(object...object + 1)
            jobs[job[primary + 1]] = job
        }
        return jobs
    }

    /// What else a build writes.
    private static let outputs: Set<String> = [
        "-output-file-map", "-index-store-path", "-emit-module-path", "-emit-objc-header-path",
        "-emit-const-values-path",
    ]
    private static let extras: Set<String> = [
        "-emit-module", "-emit-dependencies", "-incremental", "-enable-batch-mode", "-serialize-diagnostics",
        "-parseable-output", "-emit-objc-header", "-emit-const-values",
    ]

    /// Starts to compile a source.
    ///
    /// - Parameters:
    ///   - contents: what to read in place of the source; nil for the source itself.
    ///   - object: where the object goes, and beside it the contents.
    func start(_ path: String, contents: [UInt8]?, object: String, options: [String] = []) throws(SystemError) -> pid_t
    {
        var words = (jobs[path] ?? []) + options + ["-o", object]
        unlink(object)
        if let contents {
            try FileAccess.write(contents, to: "\(object).swift")
            let quoted = [path, "\(object).swift"].map { text in
                "\"\(text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\""))\""
            }
            let overlay = """
                {"version": 0, "case-sensitive": "true", "use-external-names": false, "roots": [
                {"type": "file", "name": \(quoted[0]), "external-contents": \(quoted[1])}]}
                """
            try FileAccess.write(Array(overlay.utf8), to: "\(object).yaml")
            words += ["-vfsoverlay", "\(object).yaml"]
        }
        let null = open("/dev/null", O_RDWR | O_CLOEXEC)
        guard null >= 0 else { throw SystemError("open /dev/null") }
        defer { close(null) }
        return try ChildProcess.start(words, descriptors: [(null, 0), (null, 1), (null, 2)])
    }

    /// Waits for a compiler; whether it has succeeded is whether the object is there.
    static func wait(for process: pid_t, object: String) -> Bool {
        // One that takes so long is lost in a type.
        if ChildProcess.wait(for: process, until: .now + .seconds(120)) == nil {
            kill(process, SIGKILL)
            _ = ChildProcess.wait(for: process)
        }
        return FileAccess.exists(object)
    }

    /// Splits a text into words, in which quotes and backslashes are as in a shell or in JSON.
    private static func words(_ text: Substring, separators: String) -> [String] {
        let separators = Set(separators.utf8)
        var words: [[UInt8]] = []
        var quote: UInt8?
        var isInWord = false
        var isEscaped = false
        for byte in text.utf8 {
            if quote == nil, !isEscaped, separators.contains(byte) {
                isInWord = false
                continue
            }
            if !isInWord { words.append([]) }
            isInWord = true
            if !isEscaped, byte == UInt8(ascii: "\\"), quote != UInt8(ascii: "'") {
                isEscaped = true
            } else if !isEscaped, quote == nil, byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "'") {
                quote = byte
            } else if !isEscaped, byte == quote {
                quote = nil
            } else {
                words[words.count - 1].append(byte)
                isEscaped = false
            }
        }
        return words.map { String(decoding: $0, as: UTF8.self) }
    }
}

// MARK: - In-class tests

#if SELF_TESTS && (DEBUG || IN_CLASS_TESTS)
import InClassTesting

extension MutantCompiler: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testSplitsWords": testSplitsWords,
            "testSaysWhyItKnowsNoCommand": testSaysWhyItKnowsNoCommand,
            "testAsksForTheCommandOfEachSource": testAsksForTheCommandOfEachSource,
        ]
    }

    private static func testSplitsWords() {
        let rows: [(text: Substring, words: [String])] = [
            ("", []), ("a  b", ["a", "b"]), (#"'a b' c\ d 'e'\''f' """#, ["a b", "c d", "e'f", ""]),
            (#""a\"b" '\' \\"#, [#"a"b"#, #"\"#, #"\"#]), ("'a", ["a"]), ("a\\", ["a"]),
        ]
        for (text, expected) in rows { expectEqual(words(text, separators: " "), expected, String(text)) }
        expectEqual(words(#"["a, b","c]", "\\"]"#, separators: "[], "), ["a, b", "c]", #"\"#])
    }

    /// A module whose compiler is a script that prints what it is given, and one command for each source.
    private static func module(_ manifest: String?, jobs: String = "") throws -> ModuleDescription {
        let folder = try temporaryDirectory()
        var module = ModuleDescription()
        (module.module, module.target, module.bundleFolder) = ("M", "M", "\(folder)/linux/debug")
        module.sources = ["/p/a b.swift", "/p/c.swift"]
        try FileAccess.write(Array("#!/bin/sh\necho \"$@\" > \(folder)/words\n\(jobs)\n".utf8), to: "\(folder)/swiftc")
        chmod("\(folder)/swiftc", 0o755)
        if let manifest {
            let text = manifest.replacing("FOLDER", with: folder)
            try FileAccess.write(Array(text.utf8), to: "\(folder)/debug.yaml")
        }
        return module
    }

    private static let manifest = """
        "C.M":
            outputs: ["FOLDER/linux/debug/M.build/output-file-map.json"]
            args: ["FOLDER/swiftc","-output-file-map","FOLDER/linux/debug/N.build/output-file-map.json"]
            args: ["FOLDER/swiftc","-emit-module","-output-file-map","FOLDER/linux/debug/M.build/output-file-map.json","-g"]
        """

    private static func testSaysWhyItKnowsNoCommand() throws {
        let rows = [
            (nil, "", "compiled as '--build-system native'"),
            ("tools: {}", "", "does not say how module 'M' is compiled"),
            (manifest, "echo no; exit 1", "does not say how it compiles a source: no"),
            (manifest, "echo frontend /p/c.swift -o c.o", "mutants need a debug build"),
        ]
        for (manifest, jobs, text) in rows {
            let module = try module(manifest, jobs: jobs)
            let error = expectThrows(MutantError.self, text) { _ = try MutantCompiler(module) }
            expectTrue(error?.description.contains(text) ?? false, error?.description ?? text)
        }
    }

    private static func testAsksForTheCommandOfEachSource() throws {
        let module = try module(
            manifest,
            jobs: """
                echo "frontend -primary-file '/p/a b.swift' /p/c.swift -g -o a.o"
                echo "frontend '/p/a b.swift' -primary-file /p/c.swift -o c.o"
                """)
        let compiler = try MutantCompiler(module)
        expectEqual(compiler.jobs["/p/a b.swift"], ["frontend", "-primary-file", "/p/a b.swift", "/p/c.swift", "-g"])
        expectEqual(compiler.jobs.count, 2)
        expectFalse(compiler.isSanitized)
        let folder = FileAccess.directory(of: FileAccess.directory(of: module.bundleFolder))
        let words = String(decoding: try FileAccess.contents(of: "\(folder)/words"), as: UTF8.self)
        expectTrue(words.hasPrefix("-g -disable-batch-mode"), words)
    }
}
#endif
