// Adapts the number of records in the batches of an import. Batches grow while the overhead of transactions is high, and
// shrink if others would have to wait long for the database.

/// The number of records in a batch, which depends on the durations of earlier batches.
struct ImportBatchSize {
    /// The number of records of the next batch.
    private(set) var count: Int
    private let smallest: Int
    private let largest: Int

    /// Creates a size with an initial and a largest number of records.
    init(startingWith count: Int, largest: Int) {
        self.count = count
        self.largest = largest
        smallest = min(count, 256)
    }

    /// Adapts the size to the durations of a batch.
    ///
    /// - Parameters:
    ///   - recordCount: The number of its records.
    ///   - writing: The duration of writing the records.
    ///   - overhead: The duration of beginning and committing the transaction. On a slow disk, larger batches reduce this
    ///     overhead, but smaller ones don't.
    mutating func adapt(to recordCount: Int, writing: Duration, overhead: Duration) {
        if writing > .milliseconds(500) {
            count = max(smallest, count / 2)
        } else if overhead * 9 > writing, recordCount >= count, writing < .milliseconds(200) {
            count = min(largest, count * 2)
        }
    }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

extension ImportBatchSize: SelfTesting {
    static var testSelectors: TestSelectors { ["testAdaptsToMeasuredTimes": testAdaptsToMeasuredTimes] }

    private static func testAdaptsToMeasuredTimes() {
        let rows: [(writing: Int64, overhead: Int64, recordCount: Int, expected: Int)] = [
            (10, 1, 1_000, 1_000), (10, 2, 1_000, 2_000), (10, 2, 999, 1_000), (199, 300, 1_000, 2_000),
            (200, 300, 1_000, 1_000), (500, 900, 1_000, 1_000), (501, 900, 1_000, 500),
        ]
        for row in rows {
            var size = ImportBatchSize(startingWith: 1_000, largest: 65_536)
            size.adapt(
                to: row.recordCount, writing: .milliseconds(row.writing), overhead: .milliseconds(row.overhead))
            expectEqual(size.count, row.expected, "\(row)")
        }
        var size = ImportBatchSize(startingWith: 2, largest: 100)
        for expected in [4, 8, 16, 32, 64, 100, 100] {
            size.adapt(to: size.count, writing: .milliseconds(1), overhead: .seconds(2))
            expectEqual(size.count, expected, "a disk that takes seconds")
        }
        for expected in [50, 25, 12, 6, 3, 2, 2] {
            size.adapt(to: size.count, writing: .seconds(1), overhead: .zero)
            expectEqual(size.count, expected, "records that take a second")
        }
    }
}
#endif
