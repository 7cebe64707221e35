// Compares the time to decode the same values from CBOR and from JSON. Run this command in the checkout:
//
//     swift run -c release --package-path Examples/CBOR cbor [RECORDS]
//
// A build without `-c release` runs the tests.

import Foundation
import Measurements

@main
enum CBORCommand {
    static func main() throws {
        guard let count = Int(CommandLine.arguments.dropFirst().first ?? "10000"), count > 0 else {
            FileHandle.standardError.write(Data("cbor: error: expected a positive number of records\n".utf8))
            exit(2)
        }
        print("\(count) records")
        for line in try Comparison(recordCount: count).lines() { print(line) }
    }
}
