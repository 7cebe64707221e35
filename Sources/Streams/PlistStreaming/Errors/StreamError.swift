// The error type of all streams, with a message, a position in the bytes and a path in the document.
// It is a single reference, so that a call of a throwing function needs only a register test.

/// An error of a reader, a sink or a writer, with its position.
public struct StreamError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The kinds of errors that a caller may handle differently.
    public enum Kind: String, Sendable, Hashable {
        /// The input is not in the format.
        case invalidSyntax
        /// A string of the input is not valid Unicode.
        case invalidText
        /// The input ends inside a value.
        case unexpectedEnd
        /// The input exceeds a limit: one of ``StreamLimits``, of a builder or writer, or of the memory or the stack.
        case limitExceeded
        /// A dictionary has a repeated key, or two columns have the same name, and the options don't allow this.
        case duplicateKey
        /// A value doesn't have the type that the sink expects.
        case typeMismatch
        /// A value has the right type, but the target cannot represent it.
        case unrepresentable
        /// A required member is missing.
        case missingMember
        /// A member is unknown to the sink, and the options don't allow this.
        case unknownMember
        /// Messages violate the grammar of ``PlistSink``.
        case misuse
        /// The operating system refused to open or read the input.
        case cannotRead
        /// The operating system refused to create or write the output.
        case cannotWrite
        /// A closure, conversion or sink that receives values or bytes threw an error of another type or about another text.
        /// The property `cause` contains it.
        case receiverFailed
        /// The sink stopped the stream. The input is not at fault.
        case stopRequested
    }

    private struct Parts {
        let kind: Kind
        let message: String
        var position: StreamPosition?
        var path: StreamPath?
        let cause: (any Error)?
        var pathState = PathState.whole
    }

    private final class Storage: Sendable {
        let parts: Parts
        init(_ parts: Parts) { self.parts = parts }
    }

    /// The state of the path while it is built step by step, from the innermost step outwards; see `within`.
    private enum PathState {
        /// The path begins at the root, or is nil.
        case whole
        /// Steps may be added before the path.
        case part
        /// The path became too long and was discarded.
        case lost
    }

    // PERF: one reference instead of nine words keeps the error out of the hot path's registers.
    private let storage: Storage

    /// Creates an error.
    ///
    /// - Parameters:
    ///   - kind: The kind of error.
    ///   - message: A lower-case fragment without a full stop, with the expected and the found input.
    ///   - position: The position in the input. Readers add it to errors of sinks.
    ///   - path: The path in the document.
    ///   - cause: The underlying error of another library, such as a database.
    @inline(never)
    public init(
        _ kind: Kind, _ message: String, position: StreamPosition? = nil, path: StreamPath? = nil,
        cause: (any Error)? = nil
    ) {
        self.init(Parts(kind: kind, message: message, position: position, path: path, cause: cause))
    }

    private init(_ parts: Parts) { storage = Storage(parts) }

    private func with(_ change: (inout Parts) -> Void) -> StreamError {
        var parts = storage.parts
        change(&parts)
        return StreamError(parts)
    }

    /// Wraps an error that a receiver of values threw.
    ///
    /// A `StreamError` without position and path is about the value, and is used unchanged, and so is a request to stop. All
    /// other errors become the cause of an error of the kind `receiverFailed`. This includes errors with a position or a path:
    /// they are about another text or another value, which the receiver reads or writes, so their position would be wrong in
    /// this text. A stop request that ended another stream therefore does not end this stream silently.
    @inline(never)
    public init(ofReceiver error: any Error) {
        if let error = error as? StreamError, error.position == nil, error.path == nil {
            self = error
        } else {
            self = StreamError(.receiverFailed, "the receiver failed: \(error)", cause: error)
        }
    }

    /// This error if it has no position yet. Otherwise the error is about another text that a sink or a conversion reads, and
    /// becomes the cause of an error of the kind `receiverFailed`.
    package var ofThisText: StreamError { position == nil ? self : StreamError(ofReceiver: self) }

    /// Returns the error that a reader throws if its sink throws this one while the reader is at a position.
    ///
    /// The error gets the position of the reader. If it has one, it is about another text that the sink reads: then it's the
    /// cause of an error of the kind ``Kind/receiverFailed``. An error of the kind ``Kind/cannotWrite`` without a path, such as
    /// that of a full disk, isn't about the input and gets no position.
    public func ofSink(at position: StreamPosition) -> StreamError {
        kind == .cannotWrite && self.position == nil && path == nil ? self : ofThisText.located(at: position)
    }

    /// Creates the error that a sink throws to end a stream early.
    public static func stopRequest() -> StreamError { StreamError(.stopRequested, "the sink stopped the stream") }

    /// The kind of error.
    public var kind: Kind { storage.parts.kind }
    /// The expected and the found input, without the position.
    public var message: String { storage.parts.message }
    /// The position in the input, or nil if no reader has added it.
    public var position: StreamPosition? { storage.parts.position }
    /// The path in the document, or nil if it is unknown.
    public var path: StreamPath? { storage.parts.path }
    /// The underlying error of another library, or nil.
    public var cause: (any Error)? { storage.parts.cause }

    /// A Boolean value that indicates whether the input ended inside a value.
    public var isUnexpectedEnd: Bool { kind == .unexpectedEnd }
    /// A Boolean value that indicates whether the sink asked to stop.
    public var isStopRequest: Bool { kind == .stopRequested }

    /// Returns this error with a position, unless it has one.
    public func located(at position: StreamPosition) -> StreamError {
        self.position == nil ? with { $0.position = position } : self
    }

    /// Returns this error with a path, unless it has one.
    public func located(at path: StreamPath) -> StreamError {
        self.path == nil ? with { ($0.path, $0.pathState) = (path, .whole) } : self
    }

    /// Returns this error with additional steps before its path, which lead to the value that caused it.
    package func under(_ steps: [StreamPath.Step]) -> StreamError {
        with { ($0.path, $0.pathState) = (StreamPath(steps + (path?.steps ?? [])), .whole) }
    }

    /// The longest path that is built step by step, so that values with infinite nesting don't cause long paths.
    private static var longestPath: Int { 256 }

    /// Returns this error with a step before its path, unless a sink has set the path. For senders of nested values that keep
    /// no path.
    @usableFromInline @inline(never)
    package func within(_ step: StreamPath.Step) -> StreamError {
        let steps = path?.steps ?? []
        let state = storage.parts.pathState
        guard state == .part || state == .whole && path == nil, kind != .stopRequested else { return self }
        let isTooLong = steps.count == Self.longestPath
        return with {
            ($0.path, $0.pathState) = isTooLong ? (nil, .lost) : (StreamPath([step] + steps), .part)
        }
    }

    /// A description, such as `$[3].title: expected a string, found null at line 3, column 7 (byte 52)`.
    public var description: String {
        let prefix = path.map { "\($0): " } ?? ""
        let suffix = position.map { " at \($0)" } ?? ""
        return prefix + message + suffix
    }

    /// Returns the error in the format of compilers, so that editors can show its line: `path:line:column: error: …`.
    ///
    /// In binary formats, which have no lines, the offset is after the message.
    public func compilerDescription(file: String) -> String {
        guard let line = position?.line, let column = position?.column else { return "\(file): error: \(self)" }
        let prefix = path.map { "\($0): " } ?? ""
        return "\(file):\(line):\(column): error: \(prefix)\(message)"
    }

    /// Compares kind, message, position and path, but not causes, which may not be comparable.
    public static func == (left: StreamError, right: StreamError) -> Bool {
        left.kind == right.kind && left.message == right.message && left.position == right.position
            && left.path == right.path
    }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

extension StreamError: SelfTesting {
    /// The tests of this type.
    public static var testSelectors: TestSelectors {
        [
            "testDescribesPathMessageAndPosition": testDescribesPathMessageAndPosition,
            "testKeepsFirstPositionAndPath": testKeepsFirstPositionAndPath,
            "testDescribesErrorsLikeACompiler": testDescribesErrorsLikeACompiler,
            "testDistinguishesStopRequests": testDistinguishesStopRequests,
            "testWrapsErrorsOfClosures": testWrapsErrorsOfClosures,
            "testAddsPathStepsFromInsideOut": testAddsPathStepsFromInsideOut,
        ]
    }

    private static let place = StreamPosition(byteOffset: 52, line: 3, column: 7)
    private static let path = StreamPath([.index(3), .key("title")])

    private static func testDescribesPathMessageAndPosition() {
        let error = StreamError(.typeMismatch, "expected a string, found null")
        expectEqual(error.description, "expected a string, found null", "without places")
        expectEqual(
            error.located(at: path).located(at: place).description,
            "$[3].title: expected a string, found null at line 3, column 7 (byte 52)", "with places")
    }

    private static func testKeepsFirstPositionAndPath() {
        let error = StreamError(.typeMismatch, "m", position: place, path: path)
        expectEqual(error.located(at: .start), error, "another position")
        expectEqual(error.located(at: StreamPath()), error, "another path")
        let inner = StreamError(.misuse, "m").under([.key("title")]).under([.index(1), .key("a")])
        expectEqual(inner.path?.description, "$[1].a.title", "steps before steps")
        let caused = StreamError(.cannotWrite, "m", cause: error).located(at: place).located(at: path)
        expectEqual(caused.cause as? StreamError, error, "the cause of an error with places")
    }

    private static func testAddsPathStepsFromInsideOut() {
        let error = StreamError(.limitExceeded, "m")
        expectEqual(error.within(.key("a")).within(.index(7)).path?.description, "$[7].a", "path")
        let whole = StreamError(.limitExceeded, "m", path: path)
        expectEqual(whole.within(.key("a")), whole, "an error whose sink has a path")
        expectNil(StreamError.stopRequest().within(.key("a")).path, "path of a request")
        func deep(_ count: Int) -> StreamError { (0..<count).reduce(error) { error, _ in error.within(.index(0)) } }
        expectEqual(deep(256).path?.steps.count, 256, "steps")
        for count in [257, 258, 600] { expectNil(deep(count).path, "path of \(count) steps") }
    }

    private static func testWrapsErrorsOfClosures() {
        let own = StreamError(.typeMismatch, "m")
        expectEqual(StreamError(ofReceiver: own), own, "an error of a stream")
        expectEqual(own.ofThisText, own, "an error of a sink")
        let placed = StreamError(.typeMismatch, "m", path: path)
        expectEqual(placed.ofThisText, placed, "an error of a sink that keeps a path")
        let other = StreamError(ofReceiver: placed)
        expectEqual(other, StreamError(.receiverFailed, "the receiver failed: \(placed)"), "about another value")
        expectEqual(other.cause as? StreamError, placed, "its cause")
        expectEqual(StreamError(ofReceiver: other), other, "an error that stands for one already")
        let error = StreamError(ofReceiver: CancellationError())
        expectEqual(error.kind, .receiverFailed, "kind")
        expectTrue(error.cause is CancellationError, "the cause \(error.cause as Any)")
        let foreign = StreamError(.invalidSyntax, "m", position: place, path: path)
        let outer = StreamError(ofReceiver: foreign)
        expectEqual(outer.kind, .receiverFailed, "kind of an error about another text")
        expectEqual(outer.message, "the receiver failed: \(foreign)", "message")
        expectEqual(outer.cause as? StreamError, foreign, "cause")
        expectTrue(outer.position == nil && outer.path == nil, "no place of another text")
        expectEqual(own.ofSink(at: place), own.located(at: place), "an error of a sink at a place")
        let full = StreamError(.cannotWrite, "m")
        expectEqual(full.ofSink(at: place), full, "a full disk, which no place of the input explains")
        let refused = full.located(at: path)
        expectEqual(refused.ofSink(at: place), refused.located(at: place), "a value that is not written")
        expectEqual(foreign.ofSink(at: .start), outer.located(at: .start), "one about another text at a place")
        expectEqual(foreign.ofThisText, outer, "an error of a sink about another text")
        expectEqual(foreign.ofThisText.cause as? StreamError, foreign, "cause of an error of a sink")
        expectEqual(StreamError(ofReceiver: StreamError.stopRequest()), .stopRequest(), "a request to stop")
        let ended = StreamError.stopRequest().located(at: place)
        let stop = StreamError(ofReceiver: ended)
        expectEqual(stop.kind, .receiverFailed, "kind of a request to stop another stream")
        expectEqual(stop.cause as? StreamError, ended, "cause of a request to stop another stream")
    }

    private static func testDescribesErrorsLikeACompiler() {
        let error = StreamError(.invalidSyntax, "expected a value, found ']'", position: place)
        expectEqual(
            error.compilerDescription(file: "a.json"), "a.json:3:7: error: expected a value, found ']'",
            "with position")
        expectEqual(
            StreamError(.misuse, "m", position: StreamPosition(byteOffset: 7)).compilerDescription(file: "a.plist"),
            "a.plist: error: m at byte 7", "in a binary format")
        expectEqual(
            StreamError(.cannotRead, "m").compilerDescription(file: "a.json"), "a.json: error: m",
            "without position")
    }

    private static func testDistinguishesStopRequests() {
        expectTrue(StreamError.stopRequest().isStopRequest, "a stop request")
        expectFalse(StreamError(.misuse, "m").isStopRequest, "another error")
        expectTrue(StreamError(.unexpectedEnd, "m").isUnexpectedEnd, "an unexpected end")
    }
}
#endif
