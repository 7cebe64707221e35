// What the fuzzer's bytes mean for builders: a document, the places where it is cut, and choices. Half of the inputs are
// documents as they are; the other half choose among names, values and brackets, which gets behind the reader more often.

import CFuzzer
import JSONStreaming
import PlistStreaming

#if canImport(Darwin)
import Darwin
#else
import Glibc
#endif

/// An input of the fuzzer, taken apart.
public struct FuzzInput {
    /// JSON text, or something like it.
    public let document: [UInt8]
    /// The sizes of the pieces in which it is read, again and again from the first.
    public let pieceSizes: [Int]
    /// Bits to choose options by.
    public let choices: UInt8

    /// Takes the bytes apart; nil when there are too few.
    /// - Parameter names: Names of members that someone looks for.
    public init?(_ bytes: [UInt8], names: [String]) {
        guard bytes.count > 5 else { return nil }
        choices = bytes[0] >> 1
        pieceSizes = bytes[1..<5].map { Int($0 & 63) + 1 }
        let rest = Array(bytes[5...])
        document = bytes[0] & 1 == 0 ? rest : Self.text(rest, names: names)
    }

    /// Runs the fuzzer's command line with a function that is called for each input.
    public static func run(_ body: @escaping @convention(c) (UnsafePointer<UInt8>?, Int) -> CInt) -> Never {
        var count = CommandLine.argc
        var arguments: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>? = CommandLine.unsafeArgv
        exit(LLVMFuzzerRunDriver(&count, &arguments, body))
    }

    /// A text of one token for each byte; it ends where the bytes end, and is closed half of the time.
    private static func text(_ bytes: [UInt8], names: [String]) -> [UInt8] {
        var text = ""
        var open: [Bool] = []
        var needsComma = false
        for byte in bytes {
            let argument = Int(byte >> 4)
            if byte & 15 >= 13, let isDictionary = open.popLast() {
                text += isDictionary ? "}" : "]"
                needsComma = true
                continue
            }
            if needsComma { text += byte == 0xFC ? " " : "," }
            if open.last == true { text += "\"\(names[Int(byte) % names.count])\":" }
            needsComma = true
            switch byte & 15 {
            case 0, 1, 2:
                text += "{"
                open.append(true)
                needsComma = false
            case 3, 4, 5:
                text += "["
                open.append(false)
                needsComma = false
            case 6: text += "null"
            case 7: text += argument & 1 == 0 ? "true" : "false"
            case 8, 9: text += "\(argument - 5)"
            case 10: text += numbers[argument]
            default: text += strings[argument]
            }
        }
        if bytes.count % 2 == 0 {
            for isDictionary in open.reversed() { text += isDictionary ? "}" : "]" }
        }
        return Array(text.utf8)
    }

    private static let numbers = [
        "0.5", "1.0", "-0", "-0.0", "1e2", "255", "256", "-129", "9223372036854775807", "9223372036854775808",
        "18446744073709551615", "18446744073709551616", "1e400", "1e-400", "3.5e38", "123456789012345678901234567890",
    ]

    private static let strings = [
        "\"\"", "\"a\"", "\"one\"", "\"two\"", "\"fifteen bytes!!\"", "\"sixteen bytes!!!\"", "\"é\"", "\"\\u00e9\"",
        "\"\\ud83d\\ude00\"", "\"\\n\\\"\\\\\"", "\"a text that is too long for a small string\"", "\"\\u0000\"",
        "\"🙂\"",
        "\"AAEC\"", "\"\\ud83d\"", "\"1\"",
    ]
}

extension PlistSink where Self: ~Copyable {
    /// Receives a document in pieces.
    public mutating func read(
        _ document: [UInt8], pieces: [Int], options: JSONReaderOptions = JSONReaderOptions()
    ) throws(StreamError) {
        var scanner = JSONScanner(options: options)
        var start = 0
        var index = 0
        while start < document.count {
            let end = min(document.count, start + max(1, pieces[index % pieces.count]))
            try document.withUnsafeBufferPointer { buffer throws(StreamError) in
                try scanner.scan(UnsafeRawBufferPointer(buffer).bytes.extracting(start..<end), into: &self)
            }
            start = end
            index += 1
        }
        try scanner.finish(into: &self)
    }
}

/// A sink that looks for names that come twice in one dictionary, for which builders and trees may differ.
public struct DuplicateFinder: PlistSink {
    /// Whether there was one.
    public var hasDuplicates = false
    private var open: [Set<[UInt8]>] = []

    /// Makes a sink.
    public init() {}

    /// Whether a valid document has names that come twice.
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
