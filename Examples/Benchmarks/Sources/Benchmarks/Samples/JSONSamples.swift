// JSON texts generated from a seed by the package's own writer.
// This file makes flat records. The extensions make posts, a catalogue and coordinates, with the shapes of
// twitter.json, citm_catalog.json and canada.json, which JSON benchmarks commonly use.

import JSONStreaming
import PlistStreaming

/// Generated JSON texts.
struct JSONSample {
    let name: String
    /// The text, followed by 64 zero bytes for peers that read beyond the end.
    let padded: [UInt8]
    let byteCount: Int

    init(
        _ name: String, options: JSONWriterOptions = JSONWriterOptions(), _ write: (inout SampleWriter) throws -> Void
    ) throws {
        var writer = SampleWriter(options: options)
        try write(&writer)
        try writer.json.finish()
        self.init(name, writer.json.bytes)
    }

    private init(_ name: String, _ bytes: [UInt8]) {
        self.name = name
        byteCount = bytes.count
        padded = bytes + [UInt8](repeating: 0, count: 64)
    }

    /// Calls a closure with the text without its padding.
    func withBytes<Value>(_ body: (RawSpan) throws -> Value) rethrows -> Value {
        try padded.withUnsafeBytes { try body($0.bytes.extracting(first: byteCount)) }
    }

    /// Makes members of a society with twelve fields each, two of them optional. A count of 100,000 gives 26 MB.
    static func people(_ count: Int) throws -> JSONSample {
        var random = SeededGenerator(seed: 4)
        return try JSONSample("people") { writer in
            try writer.array(count) { writer, number in
                try writer.dictionary { writer in try writer.person(number, &random) }
            }
        }
    }

    /// Makes tasks as a server receives them: each is a document of 50 to 200 bytes on its own line.
    static func documents(_ count: Int) throws -> JSONSample {
        var random = SeededGenerator(seed: 5)
        var text: [UInt8] = []
        for number in 0..<count {
            var writer = SampleWriter(options: JSONWriterOptions())
            try writer.dictionary { writer in try writer.task(number, &random) }
            try writer.json.finish()
            text += writer.json.bytes + [UInt8(ascii: "\n")]
        }
        return JSONSample("documents", text)
    }

    /// The lines of the text, without their ends.
    var lines: [ArraySlice<UInt8>] { padded.prefix(byteCount).split(separator: UInt8(ascii: "\n")) }

    /// Makes the file used in the articles: `{"hi":0,"there":0,"comment":"comment"}`, a million times.
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

/// A JSON writer with functions for the samples' content.
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

extension SampleWriter {
    fileprivate mutating func person(_ number: Int, _ random: inout SeededGenerator) throws {
        try member("id", 40_000_000 + 17 * number + random.below(17))
        try member("name", SampleText.text(8 + random.below(24), SampleText.script(&random), &random))
        try member("email", "\(SampleText.identifier(4 + random.below(16), &random))@example.com")
        try member("age", 16 + random.below(80))
        try member("active", random.isOne(in: 2))
        try real("score", random.below(100_000), 100)
        try member("city", SampleText.text(4 + random.below(16), .latin, &random))
        try member("created", 1_500_000_000_000 + random.below(260_000_000_000))
        if random.isOne(in: 3) {
            try member("note", SampleText.text(10 + random.below(120), SampleText.script(&random), &random))
        }
        try member("visits", random.below(1 << (1 + random.below(20))))
        let sponsor = 40_000_000 + random.below(17 * (number + 1))
        if random.isOne(in: 4) { try null("sponsor") } else { try member("sponsor", sponsor) }
        if !random.isOne(in: 8) { try real("balance", random.below(4_000_000) - 1_000_000, 100) }
    }

    fileprivate mutating func task(_ number: Int, _ random: inout SeededGenerator) throws {
        try member("id", random.below(1 << (8 + random.below(23))))
        try member("title", SampleText.text(4 + random.below(70), SampleText.script(&random), &random))
        try member("done", random.isOne(in: 3))
        if random.isOne(in: 2) { try member("due", 1_700_000_000 + random.below(100_000_000)) }
        try member("priority", random.below(6))
        let tagCount = random.below(4)
        if tagCount > 0 {
            try key("tags")
            try array(tagCount) { writer, _ in
                try SampleText.identifier(2 + random.below(9), &random).withUTF8Span { try writer.json.writeString($0) }
            }
        }
    }

    private mutating func real(_ name: String, _ value: Int, _ divisor: Int) throws {
        try key(name)
        try json.writeReal(Double(value) / Double(divisor))
    }
}
