// `--debug Type.test`: starts a debugger on an image, with a breakpoint where the test begins.

internal import InClassSystem
import TestEvents
import TestSupervision

enum Debugging {
    /// Replaces this process with the debugger. Returns only if no debugger could be started.
    static func start(_ module: ModuleDescription, workerName: String, place: SourcePlace?) -> ExitStatus {
        let debuggers = ["gdb", "lldb"]
        let chosen = Environment.value(of: "IN_CLASS_DEBUGGER").map { [$0] } ?? debuggers
        guard let program = chosen.compactMap(FileAccess.program).first else {
            TestLogger.complain("there is no \(chosen.joined(separator: " or ")) on the PATH")
            return .notRun
        }
        let stop = place.map { "\($0.path):\($0.line)" }
        let image = [module.image, "--in-class-debug", module.module, workerName]
        var words = [program]
        if FileAccess.name(of: program).hasPrefix("lldb") {
            if let place { words += ["-o", "breakpoint set --file \(place.path) --line \(place.line)"] }
            words += ["--"] + image
        } else {
            // Swift's own crash reporter would handle the crash before the debugger does.
            words += ["-q", "-ex", "set breakpoint pending on", "-ex", "set environment SWIFT_BACKTRACE enable=no"]
            if let stop { words += ["-ex", "break \(stop)"] }
            words += ["--args"] + image
        }
        fflush(nil)
        var arguments = words.map { strdup($0) } + [nil]
        execv(program, &arguments)
        TestLogger.complain(SystemError("start \(program)").description)
        return .notRun
    }
}
