// The options of an import, and the report of its results.

import PlistStreaming

/// Options for an import.
public struct ImportOptions: Sendable {
    /// The progress of an import, kept in the database and written in the same transaction as each batch.
    public struct Progress: Sendable, Hashable {
        /// The name of the import.
        public var name: String
        /// A text that identifies the input, such as its size and date. If it changes, the import starts from the beginning.
        public var fingerprint: String

        /// Creates the progress of an import and its input.
        public init(name: String, fingerprint: String) {
            self.name = name
            self.fingerprint = fingerprint
        }
    }

    /// Policies for members without a column.
    public enum UnknownMembers: Sendable, Hashable {
        /// Its record fails.
        case reject
        /// It is skipped, regardless of its value.
        case ignore
    }

    /// The number of records in the first batch. Each batch is a transaction, or a savepoint in the caller's transaction.
    public var batchSize: Int
    /// A Boolean value that indicates whether batches grow while committing takes more than a tenth of the time, and shrink
    /// if writing the records of a batch takes more than half a second. This limits the time that others wait for the
    /// database.
    public var adaptsBatchSize: Bool
    /// The largest batch size that adapting chooses.
    public var batchSizeLimit: Int
    /// The number of bytes of staged records that triggers the writing of a batch, regardless of the number of records.
    public var batchByteLimit: Int
    /// The number of records that may fail. They are left out completely and reported. One more failure ends the import.
    public var failureLimit: Int
    /// The keys on the path from the root of the document to the records; empty if the root contains the records.
    public var rootPath: [String]
    /// The policy for members without a column.
    public var unknownMembers: UnknownMembers
    /// A Boolean value that indicates whether missing tables are created, with keys, foreign keys and their indexes.
    public var createsTables: Bool
    /// The progress to record, or nil to record none. Without it, you can run an interrupted import again: existing rows are
    /// compared and not written.
    public var progress: Progress?

    /// Creates options.
    public init(
        batchSize: Int = 256, adaptsBatchSize: Bool = true, batchSizeLimit: Int = 65_536,
        batchByteLimit: Int = 16 << 20, failureLimit: Int = 0, rootPath: [String] = [],
        unknownMembers: UnknownMembers = .ignore, createsTables: Bool = false, progress: Progress? = nil
    ) {
        precondition(
            batchSize > 0 && batchSizeLimit > 0 && batchByteLimit > 0, "the limits of a batch must be positive")
        precondition(failureLimit >= 0, "the failure limit must not be negative")
        self.batchSize = batchSize
        self.adaptsBatchSize = adaptsBatchSize
        self.batchSizeLimit = max(batchSize, batchSizeLimit)
        self.batchByteLimit = batchByteLimit
        self.failureLimit = failureLimit
        self.rootPath = rootPath
        self.unknownMembers = unknownMembers
        self.createsTables = createsTables
        self.progress = progress
    }
}

/// The results of an import.
public struct ImportReport: Sendable, Equatable {
    /// The results for the rows of one table. A row that occurs in several records is counted for each of them.
    public struct Counts: Sendable, Equatable {
        /// The number of new rows.
        public var inserted: Int = 0
        /// The number of rows with a changed column.
        public var updated: Int = 0
        /// The number of rows that already had all values and were not written.
        public var unchanged: Int = 0
        /// The number of orphans whose foreign key was set to null.
        public var unlinked: Int = 0
        /// The number of deleted orphans.
        public var deleted: Int = 0

        /// Creates counts.
        public init(inserted: Int = 0, updated: Int = 0, unchanged: Int = 0, unlinked: Int = 0, deleted: Int = 0) {
            self.inserted = inserted
            self.updated = updated
            self.unchanged = unchanged
            self.unlinked = unlinked
            self.deleted = deleted
        }

        static func += (left: inout Counts, right: Counts) {
            left.inserted += right.inserted
            left.updated += right.updated
            left.unchanged += right.unchanged
            left.unlinked += right.unlinked
            left.deleted += right.deleted
        }
    }

    /// A record that was left out.
    public struct Failure: Sendable, Equatable {
        /// The index of the record in the input, from 0.
        public let recordIndex: Int
        /// The error, with the path of the value.
        public let error: StreamError
    }

    /// The results by the names of tables.
    public internal(set) var tables: [String: Counts] = [:]
    /// The number of records in the input.
    public internal(set) var recordCount: Int = 0
    /// The number of records that were skipped because an earlier import of the same input has written them.
    public internal(set) var resumedCount: Int = 0
    /// The number of records that failed.
    public internal(set) var failedCount: Int = 0
    /// The first 100 detected failures. After the import has finished, they are in the order of the records.
    public internal(set) var failures: [Failure] = []
    /// The number of committed batches.
    public internal(set) var batchCount: Int = 0

    /// The number of rows inserted into all tables.
    public var insertedCount: Int { tables.values.reduce(0) { $0 + $1.inserted } }
    /// The number of rows updated in all tables.
    public var updatedCount: Int { tables.values.reduce(0) { $0 + $1.updated } }
    /// The number of unchanged rows in all tables.
    public var unchangedCount: Int { tables.values.reduce(0) { $0 + $1.unchanged } }
}
