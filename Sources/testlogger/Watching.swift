// `--watch`: builds and runs again whenever a source of a tested module is saved.

#if canImport(Darwin)
@preconcurrency import Darwin
#elseif canImport(Musl)
@preconcurrency import Musl
#else
@preconcurrency import Glibc
#endif
import TestSupervision

struct Watching {
    let modules: [ModuleDescription]

    /// Runs now and after each save that builds, until a signal comes.
    ///
    /// Only the targets of the tested modules are built, so the build's own step of running tests is not waited for.
    func loop(_ run: () -> Void) {
        var seen = times
        run()
        fflush(nil)
        while Interruption.signal == nil {
            usleep(50_000)
            let now = times
            if now == seen { continue }
            // An editor may write in several steps; what comes during the build is built next.
            seen = now
            if build() { run() }
            fflush(nil)
        }
    }

    private var times: [String: Int] {
        var times: [String: Int] = [:]
        for source in modules.flatMap(\.sources) { times[source] = FileAccess.modificationTime(of: source) }
        return times
    }

    /// Builds the modules' targets; prints what the compiler says when it fails.
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
