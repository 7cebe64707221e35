// How long the threads of a process have waited for a processor that others had.
//
// Source: proc(5) and sched-stats in the Linux kernel's documentation, `/proc/PID/task/TID/schedstat`. macOS tells
// nobody; there the clock counts.

internal import InClassSystem

enum ProcessorWaits {
    /// What the threads of a process have waited for a processor; nil where the system does not tell.
    static func of(_ process: pid_t) -> [Int32: Int]? {
        var waits: [Int32: Int] = [:]
        for name in FileAccess.names(in: "/proc/\(process)/task") {
            // A thread may end meanwhile.
            let text = FileAccess.systemText(at: "/proc/\(process)/task/\(name)/schedstat")
            guard let thread = Int32(name), let waited = text.flatMap(waited) else { continue }
            waits[thread] = waited
        }
        return waits.isEmpty ? nil : waits
    }

    /// The second number of a line of three: time on a processor, time waiting for one, turns.
    static func waited(in text: String) -> Int? {
        let numbers = text.split(whereSeparator: { $0 == " " || $0 == "\n" })
        return numbers.count == 3 ? Int(numbers[1]) : nil
    }
}
