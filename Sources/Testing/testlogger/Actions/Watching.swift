// `--watch`: builds and runs the tests again after each save of a source in a tested module.

internal import InClassSystem
import TestSupervision

struct Watching {
    let modules: [ModuleDescription]

    /// Runs the tests now and after each successful build, until a signal arrives. Each save starts a build.
    ///
    /// Only the targets of the tested modules are built, without the build step that runs the tests.
    func loop(_ run: () -> Void) {
        var sources = linkedSources
        var seen = times(of: sources)
        run()
        fflush(nil)
        var count = 1
        while Interruption.signal == nil {
            usleep(50_000)
            let now = times(of: sources)
            if now == seen { continue }
            // An editor may write in several steps. A change during the build starts the next build.
            seen = now
            if build() {
                count += 1
                print("---- run \(count) ----")
                run()
            }
            let built = linkedSources
            if built != sources {
                sources = built
                seen = times(of: built).merging(now) { _, earlier in earlier }.filter { built.contains($0.key) }
            }
            fflush(nil)
        }
    }

    /// The sources of the modules and of their linked modules.
    private var linkedSources: Set<String> { Set(modules.flatMap(\.linkedSources)) }

    private func times(of sources: Set<String>) -> [String: Int] {
        let times = sources.compactMap { source in FileAccess.modificationTime(of: source).map { (source, $0) } }
        return Dictionary(times, uniquingKeysWith: { $1 })
    }

    /// Builds the modules' targets. Prints the compiler's output after a failure.
    private func build() -> Bool {
        for module in modules {
            let place = BuildPlace(products: module.bundleFolder)?.options ?? []
            let words = ["swift", "build", "--package-path", module.root] + place + ["--target", module.target]
            do throws(SystemError) {
                let result = try ChildProcess.run(words)
                if result.end == .exited(0) { continue }
                print(String(decoding: result.output, as: UTF8.self), terminator: "")
            } catch { TestLogger.complain(error.description) }
            return false
        }
        return true
    }
}

// MARK: - In-class tests

#if SELF_TESTS && (DEBUG || IN_CLASS_TESTS)
import InClassTesting

extension Watching: SelfTesting {
    static var testSelectors: TestSelectors {
        .each(
            "testRunsAfterEachSaveThatBuilds", [false, true], named: { $0 ? "linked" : "compiled" },
            testRunsAfterEachSaveThatBuilds)
    }

    /// Runs in a child process, because signals and variables affect the whole process. A shell script replaces
    /// `swift`: the first build fails and saves the source a second time.
    private static func testRunsAfterEachSaveThatBuilds(isLinked: Bool) throws {
        let folder = try temporaryDirectory()
        let source = "\(folder)/a.swift"
        let script = """
            #!/bin/sh
            echo "$@" >> \(folder)/words
            [ -e \(folder)/built ] && exit 0
            : > \(folder)/built
            echo broken
            echo >> \(source)
            exit 1
            """
        try FileAccess.write([], to: source)
        try FileAccess.write(Array(script.utf8), to: "\(folder)/swift")
        chmod("\(folder)/swift", 0o755)
        // With this old time, the first save changes the time for every resolution of file times.
        let moment = timeval(tv_sec: 1_000, tv_usec: 0)
        utimes(source, [moment, moment])
        var module = ModuleDescription()
        module.root = "/p"
        module.target = "M"
        module.bundleFolder = "/p/.build/linux/debug"
        if isLinked {
            module.fileMaps = ["\(folder)/output-file-map.json"]
            try FileAccess.write(Array("{\"\(source)\": {}}".utf8), to: module.fileMaps[0])
        } else {
            module.sources = [source]
        }
        expectExit(.exit(7)) {
            Interruption.watchSignals()
            setenv("PATH", "\(folder):\(Environment.value(of: "PATH") ?? "")", 1)
            let output = open("\(folder)/output", O_WRONLY | O_CREAT, 0o644)
            dup2(output, 1)
            var runs = 0
            Watching(modules: [module]).loop {
                runs += 1
                if runs == 1 { utimes(source, nil) } else { kill(getpid(), SIGTERM) }
            }
            exit(runs == 2 ? 7 : 1)
        }
        let line = "build --package-path /p --scratch-path /p/.build --build-system native -c debug --target M\n"
        for (name, text) in [("words", line + line), ("output", "broken\n---- run 2 ----\n")] {
            expectEqual(String(decoding: try FileAccess.contents(of: "\(folder)/\(name)"), as: UTF8.self), text)
        }
    }
}
#endif
