// Creates the package for the tests of whole commands: a module whose compiler and test executable are shell scripts.

#if SELF_TESTS && (DEBUG || IN_CLASS_TESTS)
internal import InClassSystem
import InClassTesting
import TestSupervision

extension SubjectRunner {
    /// A module of a package in a separate folder, and the file that describes the module.
    struct Scene {
        typealias ModuleChange = (inout ModuleDescription) -> Void

        var module = ModuleDescription()
        let description: String
        /// The folder of the package.
        let folder: String

        init(_ tests: [TestRun.Script], opening: String = "") throws {
            let script = try TestRun.executable(tests, opening: opening).executable
            folder = "\(FileAccess.realPath(FileAccess.directory(of: script)) ?? "")/\(UInt32.random(in: 0 ... .max))"
            mkdir(folder, 0o755)
            description = "\(folder)/M.inclass"
            module.module = "M"
            module.target = "M"
            module.root = folder
            module.sources = ["\(folder)/a.swift"]
            module.objects = ["\(folder)/a.o"]
            module.executable = "\(folder)/M.img"
            module.bundleFolder = folder
            module.clang = "\(folder)/clang"
            try write("import InClassTesting\nfunc f() {\n    expectEqual(f, 2)\n}\n", to: "a.swift")
            try FileAccess.write([0x42, 0x43, 0xC0, 0xDE] + Array("inclass_main".utf8), to: module.objects[0])
            try write("#!/bin/sh\ncp '\(script)' \"$3\"\n", to: "clang")
            chmod(module.clang, 0o755)
            // The source must be older than its object.
            let moment = timeval(tv_sec: 1_000, tv_usec: 0)
            utimes(module.sources[0], [moment, moment])
            try describe()
        }

        func write(_ text: String, to name: String) throws {
            try FileAccess.write(Array(text.utf8), to: "\(folder)/\(name)")
        }

        var marker: String { "\(folder)/marker" }

        func outcome(
            _ words: String..., changed change: ModuleChange? = nil, variables: [String: String] = [:]
        ) throws -> [String] {
            try outcome(words, changed: change, variables: variables)
        }

        /// Runs the command as a build step.
        func build(changed change: ModuleChange? = nil, variables: [String: String] = [:]) throws -> [String] {
            try outcome(["--marker", marker], changed: change, variables: variables)
        }

        /// Runs the command with a changed description, which is restored afterwards.
        func outcome(
            _ words: [String], changed change: ModuleChange? = nil, variables: [String: String] = [:]
        ) throws -> [String] {
            guard let change else { return try run(words, variables) }
            var other = self
            change(&other.module)
            try other.describe()
            defer { try? describe() }
            return try run(words, variables)
        }

        /// Returns what the tests wrote to `$0.log` since the last call, without newlines.
        func log() throws -> String {
            let text = try FileAccess.exists("\(module.executable).log") ? text("M.img.log") : ""
            unlink("\(module.executable).log")
            return text.replacing("\n", with: "")
        }

        func text(_ name: String) throws -> String {
            String(decoding: try FileAccess.contents(of: "\(folder)/\(name)"), as: UTF8.self)
        }

        /// Writes the description as the build plugin does.
        func describe() throws {
            let lines =
                [
                    ("module", module.module), ("target", module.target), ("root", module.root),
                    ("test-executable", module.executable), ("bundles", module.bundleFolder), ("clang", module.clang),
                    ("obstacle", module.obstacle), ("unsupported", module.unsupported), ("advice", module.advice),
                    ("indirect", module.isIndirect ? "yes" : ""),
                ] + module.sources.map { ("source", $0) } + module.objects.map { ("object", $0) }
            try write(lines.filter { !$0.1.isEmpty }.map { "\($0.0)\t\($0.1)\n" }.joined(), to: "M.inclass")
        }

        /// Runs the command on this module. Returns its status and the printed lines, without times and this folder.
        private func run(_ words: [String], _ variables: [String: String]) throws -> [String] {
            let output = "\(folder)/output"
            fflush(nil)
            let (standardOutput, standardError) = (dup(1), dup(2))
            let file = open(output, O_WRONLY | O_CREAT | O_TRUNC, 0o644)
            for descriptor in [1, 2] as [Int32] { dup2(file, descriptor) }
            defer { for descriptor in [file, standardOutput, standardError] { close(descriptor) } }
            var known =
                ["GITHUB_ACTIONS": nil, "GITHUB_STEP_SUMMARY": nil, "NO_COLOR": "1", "IN_CLASS_TESTS_REQUIRED": nil]
                as [String: String?]
            known.merge(variables) { $1 }
            let before = known.map { ($0.key, Environment.value(of: $0.key)) }
            for (name, value) in known { set(name, value) }
            let status = try? TestLogger.status([description] + words)
            for (name, value) in before { set(name, value) }
            fflush(nil)
            dup2(standardOutput, 1)
            dup2(standardError, 2)
            let text = try text("output").replacing("\(folder)/", with: "")
            let lines = text.split(separator: "\n").map { line in
                String(line.hasSuffix("s)") ? line.prefix { $0 != "(" }.dropLast() : line)
            }
            return [status.map { "\($0)" } ?? "none"] + lines
        }

        private func set(_ name: String, _ value: String?) {
            if let value { setenv(name, value, 1) } else { unsetenv(name) }
        }
    }
}
#endif
