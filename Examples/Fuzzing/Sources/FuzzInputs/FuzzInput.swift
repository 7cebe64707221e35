// The common part of all fuzzers: the command line, pieces, and a check with a message. For builders, it also divides the
// fuzzer's bytes into a document, the sizes of its pieces, and choices. A quarter of the inputs are used as documents; the
// others choose the content of a document with the builder's shape, see `ShapedText`.

import CFuzzer
import JSONStreaming
import PlistStreaming

#if canImport(Darwin)
import Darwin
#else
import Glibc
#endif

/// An input of the fuzzer, divided into its parts.
public struct FuzzInput {
    /// JSON text, or similar bytes.
    public let document: [UInt8]
    /// The repeating sizes of the pieces of the document.
    public let pieceSizes: [Int]
    /// Bits that choose options.
    public let choices: UInt8

    /// Divides the bytes into parts, or returns nil if there are too few bytes.
    /// - Parameter shape: The shape of the documents that the builder reads.
    public init?(_ bytes: [UInt8], shape: Shape) {
        guard bytes.count > 5 else { return nil }
        choices = bytes[0] >> 2
        pieceSizes = bytes[1..<5].map { Int($0 & 63) + 1 }
        let rest = Array(bytes[5...])
        var text = ShapedText(choices: rest)
        let padding = [UInt8](repeating: 0x20, count: bytes[0] & 0x80 == 0 ? 64 : 0)
        // With trailing spaces, the fast loop also reads the last values.
        document = (bytes[0] & 3 == 0 ? rest : text.document(shape)) + padding
    }

    /// Runs the fuzzer's command line with a function that is called for each input.
    public static func run(_ body: @escaping @convention(c) (UnsafePointer<UInt8>?, Int) -> CInt) -> Never {
        var count = CommandLine.argc
        var arguments: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>? = CommandLine.unsafeArgv
        exit(LLVMFuzzerRunDriver(&count, &arguments, body))
    }
}

/// Stops the program with a message if a condition doesn't hold. Optimized code prints no message for a failed precondition.
public func check(_ holds: Bool, _ message: @autoclosure () -> String) {
    if !holds { fatalError(message()) }
}

extension [UInt8] {
    /// Returns the ranges of its pieces with repeating sizes.
    public func pieces(_ sizes: [Int]) -> [Range<Int>] {
        var pieces: [Range<Int>] = []
        var start = 0
        while start < count {
            let end = Swift.min(count, start + Swift.max(1, sizes[pieces.count % sizes.count]))
            pieces.append(start..<end)
            start = end
        }
        return pieces
    }
}

extension PlistSink where Self: ~Copyable {
    /// Reads a document in pieces.
    public mutating func read(
        _ document: [UInt8], pieces: [Int], options: JSONReaderOptions = JSONReaderOptions()
    ) throws(StreamError) {
        var scanner = JSONScanner(options: options)
        for piece in document.pieces(pieces) {
            try document.withUnsafeBufferPointer { buffer throws(StreamError) in
                try scanner.scan(UnsafeRawBufferPointer(buffer).bytes.extracting(piece), into: &self)
            }
        }
        try scanner.finish(into: &self)
    }
}

/// A sink that detects repeated names in a dictionary. For such documents, builders and trees may differ.
public struct DuplicateFinder: PlistSink {
    /// A Boolean value that indicates whether a name is repeated.
    public var hasDuplicates = false
    private var open: [Set<[UInt8]>] = []

    /// Creates a sink.
    public init() {}

    /// Returns whether a valid document has repeated names in a dictionary.
    public static func hasDuplicates(_ document: [UInt8]) -> Bool {
        var finder = DuplicateFinder()
        do { try finder.readJSON(document) } catch { return finder.hasDuplicates }
        return finder.hasDuplicates
    }

    public mutating func beginArray() throws(StreamError) {}
    public mutating func endArray() throws(StreamError) {}
    public mutating func beginDictionary() throws(StreamError) { open.append([]) }
    public mutating func endDictionary() throws(StreamError) { open.removeLast() }
    public mutating func writeKey(_ utf8: RawSpan) throws(StreamError) {
        let name = utf8.withUnsafeBytes { Array($0) }
        if !open[open.count - 1].insert(name).inserted { hasDuplicates = true }
    }
    public mutating func writeNull() throws(StreamError) {}
    public mutating func writeBool(_ value: Bool) throws(StreamError) {}
    public mutating func writeInteger(_ value: Int64) throws(StreamError) {}
    public mutating func writeUnsigned(_ value: UInt64) throws(StreamError) {}
    public mutating func writeReal(_ value: Double) throws(StreamError) {}
    public mutating func writeNumber(text: RawSpan) throws(StreamError) {}
    public mutating func writeString(_ utf8: RawSpan) throws(StreamError) {}
    public mutating func writeData(_ bytes: RawSpan) throws(StreamError) {}
    public mutating func writeDate(secondsSince2001 seconds: Double) throws(StreamError) {}
}
