// What the writers of both text forms are on: an output, the order of messages, the indentation of lines.

import PlistStreaming

/// An output of text with lines, which knows the open containers.
struct PlistTextOutput: ~Copyable {
    var bytes: ByteOutput
    private(set) var grammar = MessageGrammar()
    private let depthLimit: Int

    init(_ bytes: consuming ByteOutput, depthLimit: Int) {
        self.bytes = bytes
        self.depthLimit = depthLimit
    }

    /// Begins a value without children, refusing one that may not come here.
    mutating func beginValue() throws(StreamError) {
        try checkRoot()
        try grammar.value()
    }

    mutating func begin(isDictionary: Bool) throws(StreamError) {
        try checkRoot()
        guard grammar.depth < depthLimit else {
            throw StreamError(.limitExceeded, "more than \(depthLimit) levels of nesting")
        }
        if isDictionary { try grammar.beginDictionary() } else { try grammar.beginArray() }
    }

    mutating func end(isDictionary: Bool) throws(StreamError) {
        if isDictionary { try grammar.endDictionary() } else { try grammar.endArray() }
    }

    mutating func key() throws(StreamError) { try grammar.key() }

    private func checkRoot() throws(StreamError) {
        guard grammar.depth > 0 || grammar.rootCount == 0 else { throw StreamError(.misuse, "got a second root value") }
    }

    /// Checks that the value is complete.
    func checkEnd() throws(StreamError) {
        guard grammar.isComplete else { throw StreamError(.misuse, "finished with \(grammar.depth) open containers") }
        guard grammar.rootCount > 0 else { throw StreamError(.misuse, "finished without a value") }
    }

    /// Forgets what was written.
    mutating func reset() {
        bytes.removeAll()
        grammar = MessageGrammar()
    }

    mutating func append(_ text: StaticString) throws(StreamError) {
        // SAFETY: the bytes of a literal live as long as the program.
        try bytes.append(unsafe UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount).bytes)
    }

    mutating func append(_ text: String) throws(StreamError) {
        var text = text
        text.makeContiguousUTF8()
        for byte in text.utf8 { try bytes.append(byte) }
    }

    mutating func append(_ byte: UInt8) throws(StreamError) { try bytes.append(byte) }

    /// Begins a line with some bytes of whitespace.
    mutating func append(_ byte: UInt8, count: Int) throws(StreamError) {
        for _ in 0..<max(0, count) { try bytes.append(byte) }
    }
}

/// Checks that text is UTF-8 before any of it is written.
func checkUTF8(_ utf8: RawSpan) throws(StreamError) {
    // SAFETY: the buffer is read only within the closure.
    guard unsafe utf8.withUnsafeBytes({ unsafe UTF8Check.isValid($0) }) else {
        throw StreamError(.invalidText, "expected text in UTF-8, found other bytes")
    }
}
