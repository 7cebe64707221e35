// `--debug Type.test`: the debugger on an image, stopped where the test begins.

internal import InClassSystem
import TestEvents
import TestSupervision

enum Debugging {
    /// Becomes the debugger; returns only when there is none.
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
            // Swift's own crash reporter would stand between the debugger and the crash.
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
