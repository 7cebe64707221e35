// Finds bytes in bytes at the speed of the C library, also in a debug build, where a loop of ours would be a hundred
// times slower.

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

enum ByteSearch {
    private typealias Search = @convention(c) (UnsafeRawPointer, Int, UnsafeRawPointer, Int) -> UnsafeRawPointer?

    // SAFETY: memmem's signature. Every supported C library has it; Glibc's Swift overlay does not show it.
    private static let memmem = dlsym(nil, "memmem").map { unsafeBitCast($0, to: Search.self) }

    /// Finds the first place of a pattern at or behind an offset.
    static func offset(
        of pattern: UnsafeRawBufferPointer, in bytes: UnsafeRawBufferPointer, from start: Int = 0
    ) -> Int? {
        guard let base = bytes.baseAddress, let needle = pattern.baseAddress, start >= 0, start <= bytes.count
        else { return nil }
        guard let memmem else {
            var offset = start
            while offset + pattern.count <= bytes.count {
                if memcmp(base + offset, needle, pattern.count) == 0 { return offset }
                offset += 1
            }
            return nil
        }
        return memmem(base + start, bytes.count - start, needle, pattern.count).map { $0 - base }
    }

    /// Finds the first place of a text.
    static func offset(of text: StaticString, in bytes: UnsafeRawBufferPointer) -> Int? {
        offset(of: UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount), in: bytes)
    }
}
