// Passes the issues of a child process to its parent in shared memory. Issues can't be lost because of a full pipe, a closed
// descriptor or the end of the child.

#if DEBUG || IN_CLASS_TESTS

internal import InClassTestingSystem

/// Shared memory for issues. The child process adds issues and the parent process reads them.
struct ChildIssues {
    private static let size = 1 << 20

    // SAFETY: mapped until `free`. The first word is the number of bytes after the header, the second the number of issues
    // that found no space. Then come the issues: the number of fields, and for each field its length and its bytes.
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
        var bytes: [UInt8] = []
        func append(_ number: Int) { withUnsafeBytes(of: number) { bytes.append(contentsOf: $0) } }
        append(fields.count)
        for field in fields {
            append(field.utf8.count)
            bytes.append(contentsOf: field.utf8)
        }
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
        var rest = UnsafeRawBufferPointer(
            start: memory + Self.header, count: min(max(counts[0], 0), Self.size - Self.header))[...]
        func number() -> Int? {
            guard rest.count >= MemoryLayout<Int>.size else { return nil }
            defer { rest = rest.dropFirst(MemoryLayout<Int>.size) }
            return UnsafeRawBufferPointer(rebasing: rest).loadUnaligned(as: Int.self)
        }
        var issues: [[String]] = []
        // The list ends at an issue that is incomplete because of a crash or another process.
        while let fieldCount = number() {
            var fields: [String] = []
            while fields.count < fieldCount, let count = number(), count >= 0, count <= rest.count {
                fields.append(String(decoding: rest.prefix(count), as: UTF8.self))
                rest = rest.dropFirst(count)
            }
            guard fields.count == 1 || RecordedIssue(fields: fields) != nil else { break }
            issues.append(fields)
        }
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
