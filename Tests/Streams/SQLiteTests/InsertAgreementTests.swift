// Compares each way of inserting with plain SQL, using random tables, neighbors and rows. The in-class test of
// `InsertAgreement` runs only a few of them.

import Foundation
import SQLiteStreaming
import Testing

#if DEBUG || IN_CLASS_TESTS
@Suite(.serialized) struct InsertAgreementTests {
    /// The number of parts with 20 tables each. `SQLITE_PARTS` sets a larger number, as in the second tier of
    /// `.ci/run`.
    static let parts = UInt64(ProcessInfo.processInfo.environment["SQLITE_PARTS"] ?? "") ?? 2

    @Test(arguments: Array(0..<parts)) func insertsLikePlainSQL(part: UInt64) throws {
        for seed in (100 + part * 20)..<(120 + part * 20) {
            #expect(try InsertAgreement.difference(seed: seed) == nil)
        }
    }
}
#endif
