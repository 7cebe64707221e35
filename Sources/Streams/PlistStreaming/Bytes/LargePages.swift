// Large pages for memory that is about to be filled, if the system supports them.

import StreamingSystem

/// Memory in large pages.
package enum LargePages {
    /// The size of large pages on machines where they are known to improve performance.
    package static let byteCount = 2 << 20

    // PERF: JSONRecords/structures, JSONRecords/writing; a page of 4 KiB costs 2 µs on its first touch, 16 of 50 ms for 32 MB.
    /// Returns a capacity of at least a number of bytes. For this capacity `malloc` allocates whole large pages, which the
    /// system aligns.
    package static func capacity(for count: Int) -> Int {
        // 64 bytes are left for `malloc` itself.
        (count + 64 + byteCount - 1) / byteCount * byteCount - 64
    }

    /// Asks the system for large pages in memory that will be filled. This is a hint and doesn't change the contents.
    package static func use(_ start: UnsafeMutableRawPointer?, _ count: Int) {
        #if os(Linux)
        guard let start = unsafe start, count >= byteCount else { return }
        // From the page of the first byte to the page of the last byte. `malloc` stores a few bytes of its own before the first
        // byte, in a mapping that it created. If a page were left out, the mapping would be split, and `realloc` would copy it.
        // It moves only the pages of complete mappings.
        let first = Int(bitPattern: start) & ~4095
        let end = (Int(bitPattern: start) + count + 4095) & ~4095
        guard let address = unsafe UnsafeMutableRawPointer(bitPattern: first) else { return }
        // SAFETY: the pages contain memory of the caller. The call doesn't change any contents, including those of neighbors.
        _ = unsafe madvise(address, end - first, 14 /* MADV_HUGEPAGE */)
        #endif
    }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

extension LargePages: SelfTesting {
    package static var testSelectors: TestSelectors {
        [
            "testKeepsAllBytes": testKeepsAllBytes,
            "testDoesNotSplitMappings": testDoesNotSplitMappings,
            "testRoundsCapacityToWholePages": testRoundsCapacityToWholePages,
        ]
    }

    private static func testRoundsCapacityToWholePages() {
        for count in [0, 1, byteCount - 64, byteCount - 63, byteCount, 5_000_000, 8 * byteCount - 64] {
            let capacity = capacity(for: count)
            expectGreaterThanOrEqual(capacity, count, "capacity for \(count)")
            expectLessThan(capacity, count + byteCount, "no more than a page for \(count)")
            expectEqual((capacity + 64) % byteCount, 0, "rest for \(count)")
        }
    }

    /// Returns the memory mappings of the process in a range of addresses, if the system lists them.
    private static func areas(_ addresses: Range<UInt>) throws -> [Substring] {
        var text: [UInt8] = []
        try InputFile(path: "/proc/self/maps").readChunks { (chunk) throws(StreamError) in
            // SAFETY: the bytes are copied within the closure.
            unsafe chunk.withUnsafeBytes { unsafe text.append(contentsOf: $0) }
        }
        return String(decoding: text, as: UTF8.self).split(separator: "\n").filter { line in
            let bounds = line.prefix { $0 != " " }.split(separator: "-").compactMap { UInt($0, radix: 16) }
            return bounds.count == 2 && bounds[0] < addresses.upperBound && addresses.lowerBound < bounds[1]
        }
    }

    // Memory in two mappings is copied when it grows, and the new pages are not large.
    private static func testDoesNotSplitMappings() throws {
        #if os(Linux)
        // Mapped as by `malloc`, with a few bytes of its own before the first one. No other code uses this memory.
        let areaByteCount = 3 * byteCount
        for count in [capacity(for: areaByteCount - 64), areaByteCount - 4_095, areaByteCount - 16] {
            let access = PROT_READ | PROT_WRITE
            // SAFETY: no other code has the address of this memory.
            let area = try unsafe requireNotNil(mmap(nil, areaByteCount, access, MAP_PRIVATE | MAP_ANON, -1, 0))
            try requireFalse(UInt(bitPattern: area) == .max, "memory for an area")
            defer { unsafe munmap(area, areaByteCount) }
            unsafe use(area + 16, count)
            let start = UInt(bitPattern: area)
            let found = try areas(start..<start + UInt(areaByteCount))
            expectEqual(found.count, 1, "areas of \(count) bytes: \(found)")
        }
        #else
        try skip("the areas of a process are told on Linux only")
        #endif
    }

    private static func testKeepsAllBytes() {
        // A length that doesn't divide the size of a page, so that all pages differ.
        let piece = (0..<4_099).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ $0 >> 11) }
        var bytes: [UInt8] = []
        while bytes.count < 3 * byteCount { bytes += piece }
        let expected = bytes
        // All of it, a part that begins and ends within pages, and too little.
        // SAFETY: the ranges lie within the array.
        unsafe bytes.withUnsafeMutableBytes { buffer in
            unsafe use(buffer.baseAddress, buffer.count)
            unsafe use(buffer.baseAddress.map { unsafe $0 + 4_097 }, byteCount + 5)
            unsafe use(buffer.baseAddress.map { unsafe $0 + 1 }, 5)
            unsafe use(nil, byteCount)
        }
        expectTrue(bytes == expected, "the bytes are the same")
    }
}
#endif
