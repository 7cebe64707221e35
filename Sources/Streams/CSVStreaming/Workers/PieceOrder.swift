// Shared state of the workers that read pieces at the same time: the starts of pieces, and the first failed piece.

import PlistStreaming

/// The order of pieces in the text, as far as it is known.
final class PieceOrder: Sendable {
    private let lock = Lock()
    // SAFETY: accessed only within the lock.
    nonisolated(unsafe) private var firstFailure = Int.max
    /// The starts of the pieces whose earlier pieces were all counted.
    nonisolated(unsafe) private var starts = [CSVPiece.Start()]
    /// The extents of the other counted pieces.
    nonisolated(unsafe) private var extents: [Int: CSVPiece.Extent] = [:]
    nonisolated(unsafe) private var waiting: [Int: CheckedContinuation<CSVPiece.Start?, Never>] = [:]

    /// Notes that a piece has an error. Later pieces are then ignored.
    func noteFailure(of index: Int) {
        let stopped = lock.withLock {
            unsafe firstFailure = unsafe min(firstFailure, index)
            let stopped = unsafe waiting.filter { $0.key > index }
            for index in stopped.keys { unsafe waiting[index] = nil }
            return stopped
        }
        for continuation in stopped.values { continuation.resume(returning: nil) }
    }

    /// Returns whether an earlier piece has an error.
    func hasFailed(before index: Int) -> Bool { lock.withLock { unsafe firstFailure < index } }

    /// Notes the extent of a piece.
    func note(_ extent: CSVPiece.Extent, of index: Int) {
        let ready = lock.withLock {
            unsafe extents[index] = extent
            var ready: [(CheckedContinuation<CSVPiece.Start?, Never>, CSVPiece.Start)] = []
            while let extent = unsafe extents.removeValue(forKey: starts.count - 1) {
                let start = unsafe starts[starts.count - 1].behind(extent)
                if let continuation = unsafe waiting.removeValue(forKey: starts.count) {
                    ready.append((continuation, start))
                }
                unsafe starts.append(start)
            }
            return ready
        }
        for (continuation, start) in ready { continuation.resume(returning: start) }
    }

    /// Returns the start of a piece, once all earlier pieces are counted, or nil if one of them has an error.
    ///
    /// The wait always ends, because each earlier piece is read by a task that notes its extent or its error before it
    /// waits itself.
    func start(of index: Int) async -> CSVPiece.Start? {
        await withCheckedContinuation { continuation in
            let found = lock.withLock { () -> CSVPiece.Start?? in
                if unsafe index < starts.count { return .some(unsafe starts[index]) }
                if unsafe firstFailure < index { return .some(nil) }
                unsafe waiting[index] = continuation
                return nil
            }
            if let found { continuation.resume(returning: found) }
        }
    }
}
