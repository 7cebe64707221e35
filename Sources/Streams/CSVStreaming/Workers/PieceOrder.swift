// What the workers that read pieces at the same time tell each other: where pieces begin, and that one has failed.

import PlistStreaming

/// The pieces in the order of the text, as far as it is known.
final class PieceOrder: Sendable {
    private let lock = Lock()
    // SAFETY: read and written within the lock only.
    nonisolated(unsafe) private var firstFailure = Int.max
    /// Where pieces begin, of which all before were counted.
    nonisolated(unsafe) private var starts = [CSVPiece.Start()]
    /// What was counted of the others.
    nonisolated(unsafe) private var extents: [Int: CSVPiece.Extent] = [:]
    nonisolated(unsafe) private var waiting: [Int: CheckedContinuation<CSVPiece.Start?, Never>] = [:]

    /// Notes that a piece has an error, behind which nothing counts.
    func noteFailure(of index: Int) {
        let stopped = lock.withLock {
            unsafe firstFailure = unsafe min(firstFailure, index)
            let stopped = unsafe waiting.filter { $0.key > index }
            for index in stopped.keys { unsafe waiting[index] = nil }
            return stopped
        }
        for continuation in stopped.values { continuation.resume(returning: nil) }
    }

    /// Returns whether a piece before has an error.
    func hasFailed(before index: Int) -> Bool { lock.withLock { unsafe firstFailure < index } }

    /// Notes how much is in a piece.
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

    /// Where a piece begins, once all before it are counted; nil when one of them has an error.
    ///
    /// It comes to an end because each of them is read by a task that notes one or the other before it waits itself.
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
