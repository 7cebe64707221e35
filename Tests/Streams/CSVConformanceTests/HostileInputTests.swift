// Checks that texts that are designed to cost memory or time are rejected at the right position and at a bounded cost.

import CSVStreaming
import Foundation
import PlistBuilding
import PlistStreaming
import Testing

@Suite(.serialized) struct HostileInputTests {
    /// The peak resident memory of the process, in bytes.
    private static var peak: Int {
        var usage = rusage()
        // 0 is RUSAGE_SELF, which has a different type on each system.
        getrusage(0, &usage)
        #if canImport(Darwin)
        return usage.ru_maxrss
        #else
        return Int(usage.ru_maxrss) * 1024
        #endif
    }

    // Both tests run in their own process because the peak covers all tests of a process.

    @Test func openQuoteStopsInBoundedMemory() async {
        await #expect(processExitsWith: .success) {
            let chunk = [UInt8](repeating: 0x78, count: 1 << 20)
            let options = CSVReaderOptions(limits: StreamLimits(stringByteCount: 8 << 20))
            var reader = CSVReader(sink: NullSink(), options: options)
            try reader.feed("a,b\n1,2\n3,\"")
            let before = Self.peak
            let error = #expect(throws: StreamError.self) {
                for _ in 0..<512 { try reader.feed(chunk) }
            }
            #expect(error?.kind == .limitExceeded)
            #expect(error?.position == StreamPosition(byteOffset: 10, line: 3, column: 3))
            #expect(Self.peak - before < 64 << 20)
        }
    }

    @Test func readsLargeInputInBoundedMemory() async {
        await #expect(processExitsWith: .success) {
            var chunk: [UInt8] = []
            for row in 0..<20_000 { chunk += Array("\(row),\"a \"\"name\"\", \(row)\",0.5\r\n".utf8) }
            var count = 0
            let before = Self.peak
            var reader = CSVRowReader()
            let body = { (row: borrowing CSVRow) throws(StreamError) -> Void in count += row.count }
            try Array("id,name,share\n".utf8).withUnsafeBytes { try reader.feed($0.bytes, body) }
            for _ in 0..<64 { try chunk.withUnsafeBytes { try reader.feed($0.bytes, body) } }
            try reader.finish(body)
            #expect(count == 3_840_000)
            // The reader has processed 42 MB.
            #expect(Self.peak - before < 16 << 20)
        }
    }

    @Test func refusesAMillionColumns() {
        let header = [UInt8](repeating: UInt8(ascii: ","), count: 1_000_000)
        let error = #expect(throws: StreamError.self) { try CSV.forEachRow(in: header) { _ in } }
        #expect(error?.kind == .limitExceeded)
        #expect(error?.position?.byteOffset == 65_536)
    }
}
