// A module over C, C++, SQLite and another package.
// swift-format-ignore-file

import CLanguage
import CPlusPlus
import CSQLite
import Neighbour

public enum Mixed {
    public static func checksum(_ bytes: [UInt8]) -> UInt { UInt(clanguage_checksum(bytes, bytes.count)) }
    public static func cubeRoot(_ number: Double) -> Double { clanguage_cube_root(number) }
    public static func caught(_ text: String) -> Int { Int(cplusplus_catch(text)) }
    public static func sum(_ expression: String) -> Int? {
        var connection: OpaquePointer?
        guard sqlite3_open(":memory:", &connection) == SQLITE_OK else { return nil }
        defer { sqlite3_close(connection) }
        var statement: OpaquePointer?
        guard sqlite3_prepare_v2(connection, "SELECT \(expression)", -1, &statement, nil) == SQLITE_OK else { return nil }
        defer { sqlite3_finalize(statement) }
        return sqlite3_step(statement) == SQLITE_ROW ? Int(sqlite3_column_int64(statement, 0)) : nil
    }
    public static func doubled(_ number: Int) -> Int { Coin(value: number).doubled }
}

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

extension Mixed: SelfTesting {
    public static var testSelectors: TestSelectors { [
        "testC": testC,
        "testCPlusPlusExceptions": testCPlusPlusExceptions,
        "testSQLite": testSQLite,
        "testOtherPackage": testOtherPackage,
    ] }
    private static func testC() {
        expectEqual(checksum(Array("123456789".utf8)), 0xCBF4_3926, "check value of CRC-32")
        expectEqual(cubeRoot(27), 3, within: 1e-12)
    }
    private static func testCPlusPlusExceptions() { expectEqual(caught("thrown"), 7) }
    private static func testSQLite() {
        expectEqual(sum("40 + 2"), 42)
        expectNil(sum("40 +"))
    }
    private static func testOtherPackage() { expectEqual(doubled(21), 42) }
}
#endif
