// The declarations that the package uses of Apple's Foundation, without bodies. If `check` reports a missing declaration, add
// it here.

@_exported import Darwin

// MARK: - Values

public struct Data: Hashable, Sendable, RandomAccessCollection, MutableCollection, RangeReplaceableCollection, Codable {
    public struct ReadingOptions: OptionSet, Sendable {
        public let rawValue: Int
        public static let mappedIfSafe = ReadingOptions(rawValue: 1)
        public static let alwaysMapped = ReadingOptions(rawValue: 2)
        public init(rawValue: Int) { self.rawValue = rawValue }
    }

    public struct WritingOptions: OptionSet, Sendable {
        public let rawValue: Int
        public static let atomic = WritingOptions(rawValue: 1)
        public init(rawValue: Int) { self.rawValue = rawValue }
    }

    public enum Deallocator { case free, none }

    public init() {}
    public init(_ elements: some Sequence<UInt8>) {}
    public init(bytesNoCopy bytes: UnsafeMutableRawPointer, count: Int, deallocator: Deallocator) {}
    public init(repeating value: UInt8, count: Int) {}
    public init(count: Int) {}
    public init(capacity: Int) {}
    public init(bytes: UnsafeRawPointer, count: Int) {}
    public init(contentsOf url: URL, options: ReadingOptions = []) throws {}
    public init?(base64Encoded: String) {}
    public init?(base64Encoded: Data) {}

    public var startIndex: Int { 0 }
    public var endIndex: Int { 0 }
    public var bytes: RawSpan { @_lifetime(borrow self) borrowing get { fatalError() } }
    public var span: Span<UInt8> { @_lifetime(borrow self) borrowing get { fatalError() } }
    public subscript(index: Int) -> UInt8 {
        get { 0 }
        set {}
    }
    public subscript(range: Range<Int>) -> Data {
        get { self }
        set {}
    }

    public func base64EncodedString() -> String { "" }
    public func base64EncodedData() -> Data { self }
    public func range(of data: Data) -> Range<Int>? { nil }
    public func write(to url: URL, options: WritingOptions = []) throws {}
    public func withUnsafeBytes<R>(_ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R { fatalError() }
    public mutating func withUnsafeMutableBytes<R, E: Error>(
        _ body: (UnsafeMutableRawBufferPointer) throws(E) -> R
    ) throws(E) -> R { fatalError() }
    public mutating func append(_ bytes: UnsafePointer<UInt8>, count: Int) {}
    public mutating func append(_ data: Data) {}
    public mutating func replaceSubrange(_ range: Range<Int>, with elements: some Collection<UInt8>) {}
}

public protocol ContiguousBytes {
    func withUnsafeBytes<R>(_ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R
}

extension Data: ContiguousBytes {}
extension Array: ContiguousBytes where Element == UInt8 {}

public typealias TimeInterval = Double

public struct Date: Hashable, Sendable, Comparable, Codable {
    public static let distantPast = Date()
    public static let distantFuture = Date()
    public static let timeIntervalBetween1970AndReferenceDate: TimeInterval = 978_307_200
    public static var now: Date { Date() }

    public init() {}
    public init(timeIntervalSinceReferenceDate seconds: TimeInterval) {}
    public init(timeIntervalSince1970 seconds: TimeInterval) {}
    public init(timeIntervalSinceNow seconds: TimeInterval) {}

    public var timeIntervalSinceReferenceDate: TimeInterval { 0 }
    public var timeIntervalSince1970: TimeInterval { 0 }
    public var timeIntervalSinceNow: TimeInterval { 0 }
    public func timeIntervalSince(_ date: Date) -> TimeInterval { 0 }
    public func addingTimeInterval(_ seconds: TimeInterval) -> Date { self }
    public static func < (first: Date, second: Date) -> Bool { false }
    public static func + (date: Date, seconds: TimeInterval) -> Date { date }
    public static func - (date: Date, seconds: TimeInterval) -> Date { date }
}

public struct URL: Hashable, Sendable, Codable, CustomStringConvertible {
    public enum DirectoryHint: Sendable { case isDirectory, notDirectory, checkFileSystem, inferFromPath }

    public init?(string: String, relativeTo base: URL? = nil) {}
    public init(fileURLWithPath path: String) {}
    public init(filePath path: String, directoryHint: DirectoryHint = .inferFromPath, relativeTo base: URL? = nil) {}

    public var path: String { "" }
    public var absoluteString: String { "" }
    public var absoluteURL: URL { self }
    public var relativeString: String { "" }
    public var baseURL: URL? { nil }
    public var isFileURL: Bool { true }
    public var lastPathComponent: String { "" }
    public var pathComponents: [String] { [] }
    public var pathExtension: String { "" }
    public var standardizedFileURL: URL { self }
    public var description: String { "" }

    public func path(percentEncoded: Bool = true) -> String { "" }
    public func appending(path: some StringProtocol, directoryHint: DirectoryHint = .inferFromPath) -> URL { self }
    public func appending(component: some StringProtocol, directoryHint: DirectoryHint = .inferFromPath) -> URL { self }
    public func appendingPathComponent(_ path: String) -> URL { self }
    public func appendingPathExtension(_ pathExtension: String) -> URL { self }
    public func deletingLastPathComponent() -> URL { self }
    public func deletingPathExtension() -> URL { self }
    public func resolvingSymlinksInPath() -> URL { self }
    public func checkResourceIsReachable() throws -> Bool { true }
    public func resourceValues(forKeys keys: Set<URLResourceKey>) throws -> URLResourceValues { fatalError() }
    public func withUnsafeFileSystemRepresentation<R>(_ body: (UnsafePointer<CChar>?) throws -> R) rethrows -> R {
        try body(nil)
    }
}

public struct URLResourceKey: Hashable, Sendable {
    public static let isDirectoryKey = URLResourceKey()
}

public struct URLResourceValues {
    public var isDirectory: Bool?
}

public struct UUID: Hashable, Sendable, Codable, CustomStringConvertible {
    public typealias Bytes = (
        UInt8, UInt8, UInt8, UInt8, UInt8, UInt8, UInt8, UInt8, UInt8, UInt8, UInt8, UInt8, UInt8, UInt8, UInt8, UInt8
    )

    public init() {}
    public init?(uuidString: String) {}
    public init(uuid: Bytes) {}

    public var uuid: Bytes { fatalError() }
    public var uuidString: String { "" }
    public var description: String { "" }
}

public struct Decimal: Hashable, Sendable, Comparable, Codable, SignedNumeric, Strideable, CustomStringConvertible {
    public static var nan: Decimal { Decimal() }

    public init() {}
    public init(_ value: Int) {}
    public init(_ value: Int64) {}
    public init(_ value: UInt64) {}
    public init(_ value: Double) {}
    public init?(string: String) {}
    public init?(exactly value: some BinaryInteger) {}
    public init(integerLiteral value: Int) {}

    public var description: String { "" }
    public var magnitude: Decimal { self }
    public var isNaN: Bool { false }
    public var isFinite: Bool { true }
    public var isZero: Bool { true }
    public func distance(to other: Decimal) -> Decimal { other }
    public func advanced(by other: Decimal) -> Decimal { other }
    public static func < (first: Decimal, second: Decimal) -> Bool { false }
    public static func + (first: Decimal, second: Decimal) -> Decimal { first }
    public static func - (first: Decimal, second: Decimal) -> Decimal { first }
    public static func * (first: Decimal, second: Decimal) -> Decimal { first }
    public static func / (first: Decimal, second: Decimal) -> Decimal { first }
    public static func *= (first: inout Decimal, second: Decimal) {}
}

extension Date {
    public struct ISO8601FormatStyle: ParseStrategy, FormatStyle, Sendable {
        public init() {}
        public func year() -> Self { self }
        public func month() -> Self { self }
        public func day() -> Self { self }
        public func format(_ value: Date) -> String { "" }
        public func parse(_ value: String) throws -> Date { Date() }
    }

    public init<T: ParseStrategy>(_ value: T.ParseInput, strategy: T) throws where T.ParseOutput == Date {}
}

extension ParseStrategy where Self == Date.ISO8601FormatStyle {
    public static var iso8601: Date.ISO8601FormatStyle { Date.ISO8601FormatStyle() }
}

// MARK: - Text

extension String {
    public struct Encoding: Sendable {
        public static let utf8 = Encoding()
    }

    public init(contentsOf url: URL, encoding: Encoding) throws { self = "" }
    public init(contentsOfFile path: String, encoding: Encoding) throws { self = "" }
    public init?(data: Data, encoding: Encoding) { nil }
    public init(format: String, _ arguments: any CVarArg...) { self = "" }
}

extension StringProtocol {
    public func components(separatedBy separator: some StringProtocol) -> [String] { [] }
    public func replacingOccurrences(of text: some StringProtocol, with other: some StringProtocol) -> String { "" }
    public func trimmingCharacters(in set: CharacterSet) -> String { "" }
    public func range(of text: some StringProtocol) -> Range<Index>? { nil }
    public func data(using encoding: String.Encoding) -> Data? { nil }
    public func write(to url: URL, atomically: Bool, encoding: String.Encoding) throws {}
    public func write(toFile path: String, atomically: Bool, encoding: String.Encoding) throws {}
}

public struct CharacterSet: Sendable, ExpressibleByArrayLiteral {
    public init(arrayLiteral elements: Unicode.Scalar...) {}
    public static let newlines = CharacterSet()
    public static let whitespaces = CharacterSet()
    public static let whitespacesAndNewlines = CharacterSet()
}

public struct NSRange: Sendable {
    public var location: Int
    public var length: Int

    public init(_ range: some RangeExpression<String.Index>, in text: some StringProtocol) { fatalError() }
}

extension Range<String.Index> {
    public init?(_ range: NSRange, in text: some StringProtocol) { nil }
}

open class NSRegularExpression: NSObject, @unchecked Sendable {
    public class func escapedPattern(for string: String) -> String { string }
    public init(pattern: String) throws {}
    public func firstMatch(in text: String, range: NSRange) -> NSTextCheckingResult? { nil }
}

open class NSTextCheckingResult: NSObject {
    public var numberOfRanges: Int { 0 }
    public func range(at index: Int) -> NSRange { fatalError() }
}

// MARK: - Coding

open class JSONEncoder: @unchecked Sendable {
    public struct OutputFormatting: OptionSet, Sendable {
        public let rawValue: Int
        public static let prettyPrinted = OutputFormatting(rawValue: 1)
        public static let sortedKeys = OutputFormatting(rawValue: 2)
        public static let withoutEscapingSlashes = OutputFormatting(rawValue: 8)
        public init(rawValue: Int) { self.rawValue = rawValue }
    }

    public enum DateEncodingStrategy: Sendable {
        case deferredToDate, secondsSince1970, millisecondsSince1970, iso8601
        case custom(@Sendable (Date, any Encoder) throws -> Void)
    }

    public enum DataEncodingStrategy: Sendable { case deferredToData, base64 }

    public enum KeyEncodingStrategy: Sendable {
        case useDefaultKeys, convertToSnakeCase
        case custom(@Sendable ([any CodingKey]) -> any CodingKey)
    }

    public enum NonConformingFloatEncodingStrategy: Sendable {
        case `throw`
        case convertToString(positiveInfinity: String, negativeInfinity: String, nan: String)
    }

    open var outputFormatting: OutputFormatting = []
    open var dateEncodingStrategy = DateEncodingStrategy.deferredToDate
    open var dataEncodingStrategy = DataEncodingStrategy.base64
    open var keyEncodingStrategy = KeyEncodingStrategy.useDefaultKeys
    open var nonConformingFloatEncodingStrategy = NonConformingFloatEncodingStrategy.throw
    open var userInfo: [CodingUserInfoKey: any Sendable] = [:]
    public init() {}
    open func encode(_ value: some Encodable) throws -> Data { fatalError() }
}

open class JSONDecoder: @unchecked Sendable {
    public enum DateDecodingStrategy: Sendable {
        case deferredToDate, secondsSince1970, millisecondsSince1970, iso8601
        case custom(@Sendable (any Decoder) throws -> Date)
    }

    public enum DataDecodingStrategy: Sendable { case deferredToData, base64 }

    public enum KeyDecodingStrategy: Sendable {
        case useDefaultKeys, convertFromSnakeCase
        case custom(@Sendable ([any CodingKey]) -> any CodingKey)
    }

    public enum NonConformingFloatDecodingStrategy: Sendable {
        case `throw`
        case convertFromString(positiveInfinity: String, negativeInfinity: String, nan: String)
    }

    open var dateDecodingStrategy = DateDecodingStrategy.deferredToDate
    open var dataDecodingStrategy = DataDecodingStrategy.base64
    open var keyDecodingStrategy = KeyDecodingStrategy.useDefaultKeys
    open var nonConformingFloatDecodingStrategy = NonConformingFloatDecodingStrategy.throw
    open var userInfo: [CodingUserInfoKey: any Sendable] = [:]
    public init() {}
    open func decode<T: Decodable>(_ type: T.Type, from data: Data) throws -> T { fatalError() }
}

open class PropertyListEncoder: @unchecked Sendable {
    open var outputFormat = PropertyListSerialization.PropertyListFormat.binary
    public init() {}
    open func encode(_ value: some Encodable) throws -> Data { fatalError() }
}

open class PropertyListDecoder: @unchecked Sendable {
    public init() {}
    open func decode<T: Decodable>(_ type: T.Type, from data: Data) throws -> T { fatalError() }
}

open class JSONSerialization: NSObject {
    public struct ReadingOptions: OptionSet, Sendable {
        public let rawValue: Int
        public static let fragmentsAllowed = ReadingOptions(rawValue: 4)
        public init(rawValue: Int) { self.rawValue = rawValue }
    }

    public class func jsonObject(with data: Data, options: ReadingOptions = []) throws -> Any { fatalError() }
    public class func data(withJSONObject object: Any) throws -> Data { fatalError() }
}

open class PropertyListSerialization: NSObject {
    public enum PropertyListFormat: Sendable { case openStep, xml, binary }

    public struct ReadOptions: OptionSet, Sendable {
        public let rawValue: Int
        public init(rawValue: Int) { self.rawValue = rawValue }
    }

    public class func propertyList(
        from data: Data, options: ReadOptions, format: UnsafeMutablePointer<PropertyListFormat>?
    ) throws -> Any { fatalError() }
    public class func data(fromPropertyList list: Any, format: PropertyListFormat, options: Int) throws -> Data {
        fatalError()
    }
}

public protocol ParseStrategy: Codable, Hashable {
    associatedtype ParseInput
    associatedtype ParseOutput
    func parse(_ value: ParseInput) throws -> ParseOutput
}

public protocol FormatStyle: Codable, Hashable {
    associatedtype FormatInput
    associatedtype FormatOutput
    func format(_ value: FormatInput) -> FormatOutput
}

public protocol XMLParserDelegate: AnyObject {}

open class XMLParser: NSObject {
    open weak var delegate: (any XMLParserDelegate)?
    public init(data: Data) {}
    public init?(contentsOf url: URL) {}
    open var parserError: (any Error)? { nil }
    open var lineNumber: Int { 0 }
    @discardableResult open func parse() -> Bool { true }
}

// MARK: - Objects

open class NSObject: Equatable, Hashable, CustomStringConvertible {
    public init() {}
    open var description: String { "" }
    open func hash(into hasher: inout Hasher) {}
    public static func == (first: NSObject, second: NSObject) -> Bool { first === second }
}

open class NSNumber: NSObject, @unchecked Sendable {
    open var objCType: UnsafePointer<CChar> { fatalError() }
    open var boolValue: Bool { false }
    open var doubleValue: Double { 0 }
    open var intValue: Int { 0 }
    open var int64Value: Int64 { 0 }
    open var uint64Value: UInt64 { 0 }
}

public struct ObjCBool: Sendable, ExpressibleByBooleanLiteral {
    public var boolValue: Bool { false }
    public init(booleanLiteral value: Bool) {}
}

public struct CocoaError: Error {
    public struct Code: Sendable {
        public static let fileNoSuchFile = Code()
        public static let fileReadUnknown = Code()
        public static let fileWriteNoPermission = Code()
    }

    public init(_ code: Code) {}
}

// MARK: - Files and processes

public struct FileAttributeKey: Hashable, Sendable {
    public static let modificationDate = FileAttributeKey()
    public static let posixPermissions = FileAttributeKey()
    public static let size = FileAttributeKey()
    public static let type = FileAttributeKey()
}

open class FileManager: NSObject, @unchecked Sendable {
    public class var `default`: FileManager { FileManager() }
    open var currentDirectoryPath: String { "" }
    open var temporaryDirectory: URL { fatalError() }
    open func fileExists(atPath path: String) -> Bool { false }
    open func fileExists(atPath path: String, isDirectory: UnsafeMutablePointer<ObjCBool>?) -> Bool { false }
    open func isExecutableFile(atPath path: String) -> Bool { false }
    open func isReadableFile(atPath path: String) -> Bool { false }
    open func contents(atPath path: String) -> Data? { nil }
    @discardableResult open func createFile(atPath path: String, contents: Data?) -> Bool { false }
    open func contentsOfDirectory(atPath path: String) throws -> [String] { [] }
    open func subpathsOfDirectory(atPath path: String) throws -> [String] { [] }
    open func attributesOfItem(atPath path: String) throws -> [FileAttributeKey: Any] { [:] }
    open func setAttributes(_ attributes: [FileAttributeKey: Any], ofItemAtPath path: String) throws {}
    open func createDirectory(at url: URL, withIntermediateDirectories: Bool) throws {}
    open func createDirectory(atPath path: String, withIntermediateDirectories: Bool) throws {}
    open func createSymbolicLink(at url: URL, withDestinationURL destination: URL) throws {}
    open func createSymbolicLink(atPath path: String, withDestinationPath destination: String) throws {}
    open func destinationOfSymbolicLink(atPath path: String) throws -> String { "" }
    open func copyItem(at source: URL, to target: URL) throws {}
    open func copyItem(atPath source: String, toPath target: String) throws {}
    open func moveItem(at source: URL, to target: URL) throws {}
    open func removeItem(at url: URL) throws {}
    open func removeItem(atPath path: String) throws {}
}

public func NSTemporaryDirectory() -> String { "" }

open class FileHandle: NSObject, @unchecked Sendable {
    public class var nullDevice: FileHandle { fatalError() }
    public class var standardError: FileHandle { fatalError() }
    public init(forReadingFrom url: URL) throws {}
    public init(forWritingTo url: URL) throws {}
    public init(fileDescriptor: Int32, closeOnDealloc: Bool = false) {}
    open var fileDescriptor: Int32 { 0 }
    open var availableData: Data { Data() }
    open func readToEnd() throws -> Data? { nil }
    open func read(upToCount count: Int) throws -> Data? { nil }
    open func readDataToEndOfFile() -> Data { Data() }
    open func write(_ data: Data) {}
    open func write(contentsOf data: some Sequence<UInt8>) throws {}
    @discardableResult open func seekToEnd() throws -> UInt64 { 0 }
    open func close() throws {}
}

open class Pipe: NSObject, @unchecked Sendable {
    open var fileHandleForReading: FileHandle { fatalError() }
    open var fileHandleForWriting: FileHandle { fatalError() }
}

open class Process: NSObject, @unchecked Sendable {
    public enum TerminationReason: Sendable { case exit, uncaughtSignal }

    open var executableURL: URL?
    open var currentDirectoryURL: URL?
    open var arguments: [String]?
    open var environment: [String: String]?
    open var standardInput: Any?
    open var standardOutput: Any?
    open var standardError: Any?
    open var processIdentifier: Int32 { 0 }
    open var isRunning: Bool { false }
    open var terminationStatus: Int32 { 0 }
    open var terminationReason: TerminationReason { .exit }
    open func run() throws {}
    open func terminate() {}
    open func waitUntilExit() {}
}

open class ProcessInfo: NSObject, @unchecked Sendable {
    public class var processInfo: ProcessInfo { fatalError() }
    open var environment: [String: String] { [:] }
    open var arguments: [String] { [] }
    open var processIdentifier: Int32 { 0 }
    open var activeProcessorCount: Int { 1 }
    open var systemUptime: TimeInterval { 0 }
}

open class Bundle: NSObject, @unchecked Sendable {
    public class var main: Bundle { fatalError() }
    public class var allBundles: [Bundle] { [] }
    open var bundlePath: String { "" }
    open var bundleURL: URL { fatalError() }
    open var resourceURL: URL? { nil }
    open func url(forResource name: String?, withExtension ext: String?) -> URL? { nil }
}

open class Thread: NSObject, @unchecked Sendable {
    public convenience init(block: @escaping @Sendable () -> Void) { self.init() }
    open func start() {}
    public class func sleep(forTimeInterval seconds: TimeInterval) {}
    public class func detachNewThread(_ block: @escaping @Sendable () -> Void) {}
}
