// Every way of inserting beside plain SQL, with random tables, neighbours and rows: more of what the in-class test of
// `InsertAgreement` has a few of.

import SQLiteStreaming
import Testing

#if DEBUG || IN_CLASS_TESTS
@Suite struct InsertAgreementTests {
    @Test(arguments: (0..<20).map { UInt64($0) }) func insertsAsPlainSQL(part: UInt64) throws {
        for seed in (100 + part * 20)..<(120 + part * 20) {
            #expect(try InsertAgreement.difference(seed: seed) == nil)
        }
    }
}
#endif
