// Every way of inserting beside plain SQL, with random tables, neighbours and rows: more of what the in-class test of
// `InsertAgreement` has a few of.

import Foundation
import SQLiteStreaming
import Testing

#if DEBUG || IN_CLASS_TESTS
@Suite(.serialized) struct InsertAgreementTests {
    /// Parts of 20 tables; `SQLITE_PARTS` asks for more, as the second tier of `.ci/run` does.
    static let parts = UInt64(ProcessInfo.processInfo.environment["SQLITE_PARTS"] ?? "") ?? 2

    @Test(arguments: Array(0..<parts)) func insertsAsPlainSQL(part: UInt64) throws {
        for seed in (100 + part * 20)..<(120 + part * 20) {
            #expect(try InsertAgreement.difference(seed: seed) == nil)
        }
    }
}
#endif
