// Structures while a query fills them: in pieces that are never moved while they grow, and then once into an array.

import PlistBuilding
import PlistStreaming

/// Memory for structures of one size, of which the number is not known.
@usableFromInline @safe
final class FilledRows {
    /// The piece that is filled now.
    @unsafe
    private struct Place {
        var next: UnsafeMutableRawPointer
        /// The structures that still fit.
        var remaining: Int
    }

    @unsafe
    private struct Piece {
        let start: UnsafeMutableRawPointer
        let capacity: Int
    }

    private let stride: Int
    // PERF: SQLite/reading; by address, since each access of a variable of a class is checked while the program runs.
    private let place: UnsafeMutablePointer<Place>
    /// All pieces; each but the last is full.
    private var pieces: [Piece] = unsafe []

    private static let firstCapacity = 64
    /// The most bytes of a piece, many times the size of a large page.
    private static let largestPiece = 16 << 20
    private static let largePage = 2 << 20

    init(stride: Int) {
        self.stride = stride
        unsafe place = .allocate(capacity: 1)
        // SAFETY: nothing is stored at the address, where no structure fits; `next` makes the first piece.
        unsafe place.initialize(to: Place(next: UnsafeMutableRawPointer(place), remaining: 0))
    }

    /// All structures were taken before, or their memory is given back with what they own.
    deinit {
        unsafe pieces.forEach { unsafe $0.start.deallocate() }
        unsafe place.deallocate()
    }

    /// The memory for the next structure.
    @inline(__always)  // PERF: SQLite/reading; once a row.
    func next() -> UnsafeMutableRawPointer {
        if unsafe place.pointee.remaining == 0 { addPiece() }
        return unsafe place.pointee.next
    }

    /// Counts the next structure, which is initialized now.
    @inline(__always)  // PERF: SQLite/reading; once a row.
    func addNext() {
        // SAFETY: the piece has room for the structure that was just added.
        unsafe place.pointee.next += stride
        unsafe place.pointee.remaining &-= 1
    }

    @inline(never)
    private func addPiece() {
        let most = max(Self.firstCapacity, Self.largestPiece / max(stride, 1))
        let capacity = unsafe min(pieces.last.map { unsafe $0.capacity * 2 } ?? Self.firstCapacity, most)
        let byteCount = max(capacity * stride, 1)
        // SAFETY: the piece belongs to this object until the structures are taken.
        let start = UnsafeMutableRawPointer.allocate(
            byteCount: byteCount, alignment: byteCount >= Self.largePage ? Self.largePage : 64)
        unsafe MemberColumns.useLargePages(start, byteCount)
        unsafe pieces.append(Piece(start: start, capacity: capacity))
        unsafe place.pointee = unsafe Place(next: start, remaining: capacity)
    }

    /// The number of structures.
    @usableFromInline var count: Int { unsafe pieces.reduce(0) { unsafe $0 + $1.capacity } - place.pointee.remaining }

    /// Takes the first piece: its structures are moved by the closure, then its memory is given back.
    @usableFromInline
    func takePiece(_ body: (UnsafeMutableRawPointer, Int) -> Void) {
        guard let piece = unsafe pieces.first else { return }
        unsafe pieces.removeFirst()
        let isLast = unsafe pieces.isEmpty
        let count = unsafe isLast ? piece.capacity - place.pointee.remaining : piece.capacity
        // SAFETY: so many structures are initialized; no other has the memory.
        unsafe body(piece.start, count)
        unsafe piece.start.deallocate()
        if isLast { unsafe place.pointee = unsafe Place(next: UnsafeMutableRawPointer(place), remaining: 0) }
    }

    /// Takes all structures, of which the closure ends the lives.
    func takeAll(_ body: (UnsafeMutableRawPointer) -> Void) {
        while unsafe !pieces.isEmpty {
            unsafe takePiece { start, count in for index in 0..<count { unsafe body(start + index * stride) } }
        }
    }

    // PERF: SQLite/reading; inlinable, so that structures are moved without a look at their metadata.
    /// Returns all structures as an array.
    @inlinable
    func takeAll<Row>(as type: Row.Type) -> [Row] {
        let count = self.count
        guard count > 0 else { return [] }
        // SAFETY: all structures are of the type, and the array has room for them.
        return unsafe [Row](unsafeUninitializedCapacity: count) { buffer, initializedCount in
            guard let base = buffer.baseAddress else { return }
            unsafe useLargePages(base, count * MemoryLayout<Row>.stride)
            while initializedCount < count {
                unsafe takePiece { start, pieceCount in
                    unsafe (base + initializedCount).moveInitialize(
                        from: start.assumingMemoryBound(to: Row.self), count: pieceCount)
                    initializedCount += pieceCount
                }
            }
        }
    }

    @usableFromInline
    func useLargePages(_ start: UnsafeMutableRawPointer, _ byteCount: Int) {
        unsafe MemberColumns.useLargePages(start, byteCount)
    }
}
