// The in-class tests that the scanner reads no byte outside a chunk: each chunk is immediately before or after
// inaccessible memory, so that an out-of-bounds load crashes.

#if DEBUG || IN_CLASS_TESTS
import InClassTesting
import PlistBuilding
import PlistStreaming

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// Pages between two inaccessible pages.
@safe
private final class GuardedPages {
    private let start: UnsafeMutableRawPointer
    private let byteCount: Int
    private let guardByteCount: Int

    init?(byteCount: Int) {
        guardByteCount = Int(sysconf(Int32(_SC_PAGESIZE)))
        self.byteCount = (byteCount / guardByteCount + 1) * guardByteCount
        let whole = self.byteCount + 2 * guardByteCount
        // SAFETY: this mapping is new, so no other code has its address.
        guard let memory = unsafe mmap(nil, whole, PROT_NONE, MAP_PRIVATE | MAP_ANON, -1, 0),
            unsafe memory != UnsafeMutableRawPointer(bitPattern: -1)
        else { return nil }
        unsafe start = unsafe memory + guardByteCount
        guard unsafe mprotect(start, self.byteCount, PROT_READ | PROT_WRITE) == 0 else { return nil }
    }

    deinit {
        unsafe munmap(start - guardByteCount, byteCount + 2 * guardByteCount)
    }

    /// Calls a closure with a copy of the bytes, which must fit into the pages: immediately before the guard page at
    /// the end, or immediately after the one at the beginning.
    func withCopy<Failure: Error>(
        of bytes: ArraySlice<UInt8>, isAtEnd: Bool, _ body: (RawSpan) throws(Failure) -> Void
    ) throws(Failure) {
        let address = unsafe isAtEnd ? start + byteCount - bytes.count : start
        let memory = unsafe UnsafeMutableRawBufferPointer(start: address, count: bytes.count)
        unsafe memory.copyBytes(from: bytes)
        // SAFETY: the span does not leave the closure.
        try body(unsafe UnsafeRawBufferPointer(memory).bytes)
    }
}

enum GuardedChunkTests {
    struct Inner: StreamObject, Equatable {
        var x = 0
        var y: [Double] = []
    }

    struct Record: StreamObject, Equatable {
        var hi = 0
        var comment: String?
        var there: [String: Inner] = [:]
        var list: [Inner] = []
    }

    fileprivate static let record =
        #"{"hi":1,"there":{"inner":{"x":1,"y":[2.5,-1e3]}},"more":[{"a":"\u00e9 and [","b":{"c":[true,null]}}],"comment":"c"}"#
}

extension GuardedChunkTests: SelfTesting {
    static var testSelectors: TestSelectors {
        ["testNeverReadsOutsideAChunk": testNeverReadsOutsideAChunk]
    }

    /// Feeds the chunks to a sink, each in guarded memory.
    private static func feed<Sink: PlistSink & ~Copyable>(
        _ chunks: [ArraySlice<UInt8>], _ pages: GuardedPages, isAtEnd: Bool, to sink: inout Sink
    ) throws(StreamError) {
        var scanner = JSONScanner()
        scanner.hints.learningStart = 0
        for chunk in chunks {
            try pages.withCopy(of: chunk, isAtEnd: isAtEnd) { (bytes) throws(StreamError) in
                try scanner.scan(bytes, into: &sink)
            }
        }
        try scanner.finish(into: &sink)
    }

    // Takes some tenths of a second: each text is read at each split point, by two sinks in two places.
    private static func testNeverReadsOutsideAChunk() throws {
        let spaced = record.replacing(":", with: ": ").replacing(",", with: ",\n  ")
        let long = String(repeating: "long ", count: 14)
        let unknown = #"{"hi":2,"unknown":[\#(record),"ü\\\"","\#(long)"],"comment":"é"}"#
        // The third text repeats its members, so that the scanner learns hints for them.
        let few = Array(repeating: #"{"a":1,"a longer name":"x"}"#, count: 5).joined(separator: ",")
        let texts = ["[\(record)]", "[\(spaced)]\n", "[\(few)]", "[\(unknown)]", "[-1,0.5,\"ab\",[1]]"]
        let pages = try requireNotNil(GuardedPages(byteCount: 4_096), "guarded pages")
        for text in texts {
            let bytes = Array(text.utf8)
            var whole = EventTrace()
            try whole.readJSON(text)
            let records = text.hasPrefix(#"[{"hi"#) ? try JSON.decode([Record].self, from: text) : []
            var divisions = bytes.indices.map { [bytes[..<$0], bytes[$0...]] }
            for size in [1, 7, 48, 49, 50, 64, 65, 100, 127, 128] {
                divisions.append(
                    stride(from: 0, to: bytes.count, by: size).map { bytes[$0..<min($0 + size, bytes.count)] })
            }
            for (number, chunks) in divisions.enumerated() {
                for isAtEnd in [false, true] {
                    var trace = EventTrace()
                    try feed(chunks, pages, isAtEnd: isAtEnd, to: &trace)
                    if trace.text != whole.text { expectEqual(trace.text, whole.text, "messages, division \(number)") }
                    guard !records.isEmpty else { continue }
                    var builder = try ObjectBuilder<[Record]>()
                    try feed(chunks, pages, isAtEnd: isAtEnd, to: &builder)
                    let built = try builder.takeResult()
                    if built != records { expectEqual(built, records, "records, division \(number)") }
                }
            }
        }
    }
}
#endif
