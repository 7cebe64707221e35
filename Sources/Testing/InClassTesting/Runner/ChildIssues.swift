// Passes the issues of a child process to its parent in shared memory. Issues can't be lost because of a full pipe, a closed
// descriptor or the end of the child.

#if DEBUG || IN_CLASS_TESTS

internal import InClassTestingSystem

/// Shared memory for issues. The child process adds issues and the parent process reads them.
struct ChildIssues {
    private static let size = 1 << 20

    // SAFETY: mapped until `free`. The first word is the number of bytes after the header, the second the number of issues
    // that found no space. Then come the issues. The bytes 0xFF and 0xFE, which UTF-8 doesn't contain, separate fields and
    // end issues.
    private let memory: UnsafeMutableRawPointer
    private static let header = 2 * MemoryLayout<Int>.size

    /// Maps the memory, or returns nil if the system has no memory.
    init?() {
        guard let memory = mmap(nil, Self.size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0),
            memory != MAP_FAILED
        else { return nil }
        self.memory = memory
    }

    func free() { munmap(memory, Self.size) }

    private var counts: UnsafeMutablePointer<Int> { memory.assumingMemoryBound(to: Int.self) }

    /// Adds the fields of an issue, or only the reason of a skip. Call it in the child.
    func add(_ fields: [String]) {
        let bytes = fields.map { Array($0.utf8) }.joined(separator: [0xFF]) + [0xFE]
        let used = counts[0]
        guard used >= 0, bytes.count <= Self.size - Self.header - used else {
            counts[1] += 1
            return
        }
        memcpy(memory + Self.header + used, bytes, bytes.count)
        counts[0] = used + bytes.count
    }

    /// The issues that the child has added. Use it in the parent.
    var all: [[String]] {
        let used = UnsafeRawBufferPointer(
            start: memory + Self.header, count: min(max(counts[0], 0), Self.size - Self.header))
        // Processes that write at the same time may destroy an issue.
        var issues = used.split(separator: 0xFE).map { issue in
            issue.split(separator: 0xFF, omittingEmptySubsequences: false).map { String(decoding: $0, as: UTF8.self) }
        }.filter { $0.count == 1 || RecordedIssue(fields: $0) != nil }
        if counts[1] > 0 {
            issues.append(
                RecordedIssue(
                    place: .test, got: "", expected: "", message: "\(counts[1]) more issues of the child process"
                ).fields)
        }
        return issues
    }
}

#endif
