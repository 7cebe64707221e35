// Writes batches, each completely or not at all. If a record of a batch is rejected, its records are written one by one.
// Recorded progress is written in the same transaction.

import CSystemSQLite
import PlistStreaming
import SQLiteStreaming

extension ImportStateMachine {
    /// Writes the staged records as one batch. Records that wait for others are written in the last batch.
    mutating func writeBatch(isLast: Bool = false) throws(StreamError) {
        do throws(SQLiteError) { try surrounding.check() } catch { throw broken(error) }
        surrounding.note(connection)
        let fresh = waitingCount..<stagedRecords.count
        var waiting = Array(0..<waitingCount)
        if !fresh.isEmpty {
            do throws(SQLiteError) {
                try writeWhole(fresh)
            } catch {
                guard error.isOfValues else { throw broken(error) }
                waiting += try writeOneByOne(Array(fresh), waiting, isLast: false)
            }
            endBatch()
        }
        let isTooMuch = waiting.count > options.batchSizeLimit || stagedByteCount > 2 * options.batchByteLimit
        if !waiting.isEmpty, isLast || isTooMuch {
            _ = try writeOneByOne(waiting, [], isLast: true)
            endBatch()
            waiting = []
        }
        keep(waiting)
    }

    private mutating func endBatch() {
        for node in nodes {
            report.tables[node.table.name, default: ImportReport.Counts()] += node.counts
        }
        resetCounts()
        report.batchCount += 1
        report.recordCount = recordIndex
    }

    private func resetCounts() {
        for node in nodes { node.counts = ImportReport.Counts() }
    }

    private mutating func writeWhole(_ records: Range<Int>) throws(SQLiteError) {
        let start = ContinuousClock.now
        var (begun, written) = (start, start)
        resetCounts()
        let isWithinTransaction = connection.isInTransaction
        try connection.atomically { () throws(SQLiteError) in
            begun = .now
            try deferForeignKeys(isWithinTransaction)
            if hasRepeatedTables {
                for number in records { try root.writeTree(number..<(number + 1)) }
            } else {
                try root.writeTree(records)
            }
            try writeProgress(waiting: Array(0..<waitingCount))
            written = .now
        }
        if options.adaptsBatchSize, !isWithinTransaction {
            let overhead = (begun - start) + (.now - written)
            batchSize.adapt(to: records.count, writing: written - begun, overhead: overhead)
        }
    }

    /// Defers checking foreign keys to the end of a record or batch.
    private func deferForeignKeys(_ isWithinTransaction: Bool) throws(SQLiteError) {
        // In a transaction of the caller, this would change when the caller's own statements are checked.
        if !isWithinTransaction { try connection.run("PRAGMA defer_foreign_keys = ON") }
    }

    // MARK: Record by record

    /// Writes each record in a savepoint of its own, to find the rejected ones.
    ///
    /// A record may refer to a later one. Records that are rejected for this reason are tried again after the others, and
    /// then together.
    /// - Returns: The records that are still rejected for this reason and wait for later batches; empty in the last batch.
    private mutating func writeOneByOne(
        _ records: [Int], _ waitingBefore: [Int], isLast: Bool
    ) throws(StreamError) -> [Int] {
        var (refused, waiting): ([(number: Int, error: SQLiteError)], [Int]) = ([], [])
        let isWithinTransaction = connection.isInTransaction
        do throws(SQLiteError) {
            try connection.atomically { () throws(SQLiteError) in
                resetCounts()
                try deferForeignKeys(isWithinTransaction)
                refused = try writeWhatIsAccepted(records)
                if !isLast {
                    waiting = refused.filter { $0.error.extendedCode == .constraintForeignKey }.map(\.number).sorted()
                    refused.removeAll { $0.error.extendedCode == .constraintForeignKey }
                }
                // If too many records have failed, the transaction must not be committed.
                if report.failedCount + refused.count > options.failureLimit, let first = refused.first {
                    throw first.error
                }
                try writeProgress(waiting: waitingBefore + waiting)
            }
        } catch {
            guard report.failedCount + refused.count > options.failureLimit, !refused.isEmpty else {
                throw broken(error)
            }
        }
        for (number, error) in refused.sorted(by: { $0.number < $1.number }) {
            let (record, error) = (stagedRecords[number], error.withoutStagedRows)
            try recordFailure(
                record, StreamError(.cannotWrite, error.description, path: path(ofRecord: record), cause: error))
        }
        return waiting
    }

    private mutating func writeWhatIsAccepted(
        _ records: [Int]
    ) throws(SQLiteError) -> [(number: Int, error: SQLiteError)] {
        var waiting: [(number: Int, error: SQLiteError?)] = records.map { ($0, nil) }
        while true {
            var refused: [(number: Int, error: SQLiteError?)] = []
            for (number, _) in waiting {
                if let error = try refusal(of: number..<(number + 1)) { refused.append((number, error)) }
            }
            // Other records can only satisfy a foreign key.
            let isHopeful = refused.contains { $0.error?.extendedCode == .constraintForeignKey }
            guard isHopeful, !refused.isEmpty else {
                return refused.compactMap { item in item.error.map { (item.number, $0) } }
            }
            if refused.count == waiting.count {
                return try acceptTogether(refused.compactMap { item in item.error.map { (item.number, $0) } })
            }
            waiting = refused
        }
    }

    /// Writes records together that refer to each other in a circle. If one of them is still rejected, none is written.
    private mutating func acceptTogether(
        _ refused: [(number: Int, error: SQLiteError)]
    ) throws(SQLiteError) -> [(number: Int, error: SQLiteError)] {
        let isCircle = refused.count > 1 && refused.allSatisfy { $0.error.extendedCode == .constraintForeignKey }
        guard isCircle else { return refused }
        return try undoing { () throws(SQLiteError) in
            try connection.run("PRAGMA defer_foreign_keys = ON")
            for (number, _) in refused { try root.writeTree(number..<(number + 1)) }
            guard !connection.hasForeignKeyViolations else { throw refused[0].error }
        } == nil ? [] : refused
    }

    /// Writes some records in a savepoint. If they are rejected, undoes their changes and returns the error.
    private func refusal(of records: Range<Int>) throws(SQLiteError) -> SQLiteError? {
        try undoing { () throws(SQLiteError) in
            try root.writeTree(records)
            if connection.hasForeignKeyViolations {
                throw SQLiteError(.constraintForeignKey, "FOREIGN KEY constraint failed")
            }
        }
    }

    /// Runs a closure in a savepoint. If a record is rejected, undoes its changes and counts, and returns the error.
    private func undoing(_ body: () throws(SQLiteError) -> Void) throws(SQLiteError) -> SQLiteError? {
        let before = nodes.map { $0.counts }
        do throws(SQLiteError) {
            try connection.undoably(body)
            return nil
        } catch {
            guard error.isOfValues else { throw error }
            for (node, counts) in zip(nodes, before) { node.counts = counts }
            return error
        }
    }

    // MARK: Progress

    private static let progressTable = "import_progress"

    /// Reads the progress of an earlier run.
    mutating func readProgress() throws(SQLiteError) {
        guard let progress = options.progress else { return }
        try connection.run(
            "CREATE TABLE IF NOT EXISTS \(Self.progressTable) "
                + "(name TEXT PRIMARY KEY, fingerprint TEXT NOT NULL, records INTEGER NOT NULL) WITHOUT ROWID")
        let found = try connection.value(
            "SELECT records FROM \(Self.progressTable) WHERE name = ? AND fingerprint = ?",
            [progress.name, progress.fingerprint])
        if case .integer(let count)? = found { resumedCount = Int(clamping: count) }
    }

    /// Writes the progress within the transaction of a batch: up to its end, or to the first record that waits for others.
    private func writeProgress(waiting: [Int]) throws(SQLiteError) {
        guard let progress = options.progress, let last = stagedRecords.last else { return }
        let count = waiting.first.map { stagedRecords[$0] } ?? last + 1
        try connection.run(
            "INSERT OR REPLACE INTO \(Self.progressTable) (name, fingerprint, records) VALUES (?, ?, ?)",
            [progress.name, progress.fingerprint, count])
    }

    /// Removes the progress of a complete import, so that the next one reads all records.
    mutating func removeProgress() throws(StreamError) {
        guard let progress = options.progress else { return }
        do throws(SQLiteError) {
            try connection.run("DELETE FROM \(Self.progressTable) WHERE name = ?", [progress.name])
        } catch {
            throw broken(error)
        }
    }
}

extension ImportStateMachine {
    /// Ends the import after an error of SQLite.
    private mutating func broken(_ error: SQLiteError) -> StreamError {
        broken(error.withoutStagedRows.streamError(.cannotWrite))
    }
}

extension SQLiteError {
    /// A Boolean value that indicates whether a statement was rejected because of a record's values, so that the other
    /// records can be written without it.
    fileprivate var isOfValues: Bool { [.constraint, .mismatch, .tooBig].contains(code) }
}

extension SQLiteConnection {
    /// A Boolean value that indicates whether deferred foreign keys currently refer to missing rows.
    var hasForeignKeyViolations: Bool {
        guard let handle = unsafe handle else { return false }
        var (current, highest): (Int32, Int32) = (0, 0)
        // SAFETY: SQLite writes two integers during the call.
        let code = unsafe sqlite3_db_status(handle, SQLITE_DBSTATUS_DEFERRED_FKS, &current, &highest, 0)
        return code == SQLITE_OK && current != 0
    }
}
