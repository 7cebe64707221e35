// All bytes of a file at once, for formats that cannot be read sequentially.

import StreamingSystem

/// The bytes of a file or another descriptor, in memory.
@usableFromInline
package struct WholeInput: ~Copyable {
    private var memory = ByteOutput()

    /// Reads to the end.
    ///
    /// Memory is allocated after the check of the first chunk, and pages are used only when bytes are read, because a file may
    /// claim any size.
    ///
    /// - Parameters:
    ///   - limit: The maximum number of bytes. One more byte is read, so that the check can detect longer input.
    ///   - check: A closure that receives all bytes so far after each chunk.
    /// - Throws: `cannotRead`, `limitExceeded` if there is not enough memory, and the errors of the check.
    package init(
        _ source: some ByteSource, limit: Int = .max, check: (RawSpan) throws(StreamError) -> Void = { _ in }
    ) throws(StreamError) {
        var input = try source.open()
        let claimed = min(input.byteCount ?? 0, limit)
        var memory = ByteOutput()
        var isFirst = true
        while try input.next({ (chunk) throws(StreamError) in
            let remaining = limit - memory.count
            try memory.append(chunk.extracting(0..<min(chunk.byteCount, remaining < .max ? remaining + 1 : remaining)))
            try memory.withBytes { (bytes) throws(StreamError) in try check(bytes) }
            guard isFirst else { return }
            isFirst = false
            guard claimed <= Self.largestByteCount else {
                throw StreamError(.limitExceeded, "not enough memory for a file of \(claimed) bytes")
            }
            try memory.reserve(max(0, claimed - memory.count))
        }) {}
        self.memory = memory
    }

    /// The memory of the machine. If the system overcommits memory and the process uses more, the system kills the process.
    private static var largestByteCount: Int {
        let (pageCount, pageByteCount) = (sysconf(Int32(_SC_PHYS_PAGES)), sysconf(Int32(_SC_PAGESIZE)))
        return pageCount > 0 && pageByteCount > 0 ? pageCount * pageByteCount : .max
    }

    /// Calls a closure with the bytes.
    @usableFromInline
    package func withBytes<Value>(_ body: (RawSpan) throws(StreamError) -> Value) throws(StreamError) -> Value {
        try memory.withBytes(body)
    }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

enum WholeInputTests {}

extension WholeInputTests: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testReadsAllBytes": testReadsAllBytes, "testStopsReadingAfterLimit": testStopsReadingAfterLimit,
            "testRefusesFilesLargerThanMemory": testRefusesFilesLargerThanMemory,
        ]
    }

    /// Calls a closure with a sparse file that begins with some bytes, followed by zeros.
    private static func withFile(
        _ text: String, byteCount: Int, _ body: (FileSource) throws -> Void
    ) throws {
        let path = try temporaryDirectory() + "/whole"
        let descriptor = unsafe open(path, O_CREAT | O_RDWR | O_TRUNC | O_CLOEXEC, 0o600)
        defer { close(descriptor) }
        expectEqual(unsafe write(descriptor, text, text.utf8.count), text.utf8.count, "written")
        try requireEqual(ftruncate(descriptor, off_t(byteCount)), 0, "ftruncate")
        try body(FileSource(path: path))
    }

    private static func testReadsAllBytes() throws {
        for byteCount in [0, 1, 4_096, 4_097, 300_000, 1_000_000] {
            try withFile("abc", byteCount: byteCount) { file in
                let whole = try WholeInput(file)
                let bytes = Array("abc".utf8.prefix(byteCount)) + [UInt8](repeating: 0, count: max(0, byteCount - 3))
                try whole.withBytes { expectTrue(Array(copying: $0) == bytes, "\(byteCount) bytes") }
            }
        }
    }

    private static func testStopsReadingAfterLimit() throws {
        for limit in [0, 1, 99, 100, 101, .max] {
            try withFile("abc", byteCount: 100) { file in
                try WholeInput(file, limit: limit).withBytes {
                    expectEqual($0.byteCount, limit < 100 ? limit + 1 : 100, "bytes with \(limit)")
                }
            }
        }
    }

    private static func testRefusesFilesLargerThanMemory() throws {
        // A file with an invalid beginning is refused for this reason, for any size.
        try withFile("x", byteCount: 6 << 40) { file in
            let error = expectThrows(StreamError.self, "wrong bytes") {
                _ = try WholeInput(file) { (_) throws(StreamError) in throw StreamError(.invalidSyntax, "no") }
            }
            expectEqual(error?.kind, .invalidSyntax, "kind")
            let whole = expectThrows(StreamError.self, "6 TiB") { _ = try WholeInput(file) }
            expectEqual(whole?.kind, .limitExceeded, "kind")
        }
    }
}
#endif
