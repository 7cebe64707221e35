// JSON texts generated from a seed by our own writer:
// flat records here; posts, a catalogue and coordinates, of the shapes of twitter.json, citm_catalog.json and canada.json
// that JSON benchmarks use, in the extensions.

import JSONStreaming
import PlistStreaming

/// Generated JSON texts.
struct JSONSample {
    let name: String
    /// The text, with 64 zeros behind it for the peers that read beyond the end.
    let padded: [UInt8]
    let byteCount: Int

    init(
        _ name: String, options: JSONWriterOptions = JSONWriterOptions(), _ write: (inout SampleWriter) throws -> Void
    ) throws {
        self.name = name
        var writer = SampleWriter(options: options)
        try write(&writer)
        try writer.json.finish()
        let bytes = writer.json.bytes
        byteCount = bytes.count
        padded = bytes + [UInt8](repeating: 0, count: 64)
    }

    /// Calls a closure with the text without its padding.
    func withBytes<Value>(_ body: (RawSpan) throws -> Value) rethrows -> Value {
        try padded.withUnsafeBytes { try body($0.bytes.extracting(first: byteCount)) }
    }

    /// `{"hi":0,"there":0,"comment":"comment"}`, a million times: the file of the articles.
    static func records(_ count: Int) throws -> JSONSample {
        try JSONSample("records") { writer in
            try writer.array(count) { writer, number in
                try writer.dictionary { writer in
                    try writer.member("hi", number)
                    try writer.member("there", number)
                    try writer.member("comment", "comment")
                }
            }
        }
    }
}

/// The writer with the words that the samples are made of.
struct SampleWriter: ~Copyable {
    var json: JSONWriter

    init(options: JSONWriterOptions) { json = JSONWriter(options: options) }

    mutating func key(_ name: String) throws { try name.withUTF8Span { try json.writeKey($0) } }
    mutating func integer(_ value: Int) throws { try json.writeInteger(Int64(value)) }

    mutating func member(_ name: String, _ value: Int) throws {
        try key(name)
        try integer(value)
    }

    mutating func member(_ name: String, _ value: Bool) throws {
        try key(name)
        try json.writeBool(value)
    }

    mutating func member(_ name: String, _ value: String) throws {
        try key(name)
        try value.withUTF8Span { try json.writeString($0) }
    }

    mutating func member(_ name: String, _ values: [Int]) throws {
        try key(name)
        try array(values.count) { writer, index in try writer.integer(values[index]) }
    }

    mutating func number(_ text: String) throws { try text.withUTF8Span { try json.writeNumber(text: $0) } }

    mutating func null(_ name: String) throws {
        try key(name)
        try json.writeNull()
    }

    mutating func array(_ count: Int, _ element: (inout SampleWriter, Int) throws -> Void) throws {
        try json.beginArray()
        for index in 0..<count { try element(&self, index) }
        try json.endArray()
    }

    mutating func array(_ name: String, _ count: Int, _ element: (inout SampleWriter, Int) throws -> Void) throws {
        try key(name)
        try array(count, element)
    }

    mutating func dictionary(_ name: String, _ members: (inout SampleWriter) throws -> Void) throws {
        try key(name)
        try dictionary(members)
    }

    mutating func dictionary(_ members: (inout SampleWriter) throws -> Void) throws {
        try json.beginDictionary()
        try members(&self)
        try json.endDictionary()
    }
}
