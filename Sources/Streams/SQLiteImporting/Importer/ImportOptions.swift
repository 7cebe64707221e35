// How an import runs, and what it did.

import PlistStreaming

/// How an import runs.
public struct ImportOptions: Sendable {
    /// A record of how far an import came, kept in the database and written in the same transaction as each batch.
    public struct Progress: Sendable, Hashable {
        /// The name of the import.
        public var name: String
        /// What identifies the input, such as its size and date; with another one an import begins anew.
        public var fingerprint: String

        /// Names an import and its input.
        public init(name: String, fingerprint: String) {
            self.name = name
            self.fingerprint = fingerprint
        }
    }

    /// What becomes of a member without a column.
    public enum UnknownMembers: Sendable, Hashable {
        /// Its record fails.
        case reject
        /// It is passed over, whatever it contains.
        case ignore
    }

    /// The number of records of the first batch; each batch is one transaction, or one savepoint within the caller's.
    public var batchSize: Int
    /// A Boolean value that indicates whether batches grow while committing them takes more than a tenth of the time, and
    /// shrink when writing the records of one takes more than half a second, so that others wait for the database no longer.
    public var adaptsBatchSize: Bool
    /// The largest batch that adapting makes.
    public var batchSizeLimit: Int
    /// The bytes of staged records beyond which a batch is written, however few they are.
    public var batchByteLimit: Int
    /// The number of records that may fail: they are left out whole, and reported. One more ends the import.
    public var failureLimit: Int
    /// The keys that lead from the root of the document to the records; empty when they are the root.
    public var rootPath: [String]
    /// What becomes of members without a column.
    public var unknownMembers: UnknownMembers
    /// A Boolean value that indicates whether tables that do not exist are created, with keys, foreign keys and indexes for
    /// them.
    public var createsTables: Bool
    /// The record of how far the import came; nil keeps none. Without it, an import that was killed is run again: what is
    /// there already is compared and not written.
    public var progress: Progress?

    /// Makes options.
    public init(
        batchSize: Int = 256, adaptsBatchSize: Bool = true, batchSizeLimit: Int = 65_536,
        batchByteLimit: Int = 16 << 20, failureLimit: Int = 0, rootPath: [String] = [],
        unknownMembers: UnknownMembers = .ignore, createsTables: Bool = false, progress: Progress? = nil
    ) {
        precondition(batchSize > 0 && batchSizeLimit > 0 && batchByteLimit > 0, "a batch is not empty")
        precondition(failureLimit >= 0, "a number of failures is not negative")
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

/// What an import did.
public struct ImportReport: Sendable, Equatable {
    /// What happened to the rows of one table. A row that several records name counts once for each.
    public struct Counts: Sendable, Equatable {
        /// Rows that were not there.
        public var inserted: Int = 0
        /// Rows of which a column changed.
        public var updated: Int = 0
        /// Rows that had all values already, and were not written.
        public var unchanged: Int = 0
        /// Orphans whose foreign key became null.
        public var unlinked: Int = 0
        /// Orphans that were deleted.
        public var deleted: Int = 0

        /// Makes counts.
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
        /// The number of the record in the input, from 0.
        public let recordIndex: Int
        /// What is wrong, with the path of the value.
        public let error: StreamError
    }

    /// What happened, by the names of tables.
    public internal(set) var tables: [String: Counts] = [:]
    /// The number of records in the input.
    public internal(set) var recordCount: Int = 0
    /// The number of records that were left out because an earlier import of the same input has them.
    public internal(set) var resumedCount: Int = 0
    /// The number of records that failed.
    public internal(set) var failedCount: Int = 0
    /// The first 100 failures that were found; when the import is finished, in the order of the records.
    public internal(set) var failures: [Failure] = []
    /// The number of batches, each committed.
    public internal(set) var batchCount: Int = 0

    /// The rows inserted into all tables.
    public var insertedCount: Int { tables.values.reduce(0) { $0 + $1.inserted } }
    /// The rows updated in all tables.
    public var updatedCount: Int { tables.values.reduce(0) { $0 + $1.updated } }
    /// The rows left as they were in all tables.
    public var unchangedCount: Int { tables.values.reduce(0) { $0 + $1.unchanged } }
}
