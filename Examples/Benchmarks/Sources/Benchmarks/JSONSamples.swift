// JSON texts of the shapes that JSON benchmarks use, generated from a seed by our own writer:
// flat records, posts with nested users and texts of the world, an indented catalogue, coordinates.

import JSONStreaming
import PlistStreaming

/// Generated JSON texts.
struct JSONSample {
    let name: String
    /// The text, with 64 zeros behind it for the peers that read beyond the end.
    let padded: [UInt8]
    let byteCount: Int

    private init(
        _ name: String, options: JSONWriterOptions = JSONWriterOptions(), _ write: (inout Writer) throws -> Void
    ) throws {
        self.name = name
        var writer = Writer(options: options)
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

    /// `{"hi":1,"there":1,"comment":"comment"}`, a million times: the file of the articles.
    static func records(_ count: Int) throws -> JSONSample {
        try JSONSample("records") { writer in
            try writer.array(count) { writer, number in
                try writer.dictionary { writer in
                    try writer.member("hi", number + 1)
                    try writer.member("there", number + 1)
                    try writer.member("comment", "comment")
                }
            }
        }
    }

    /// Posts of a social network: nested users, long names of members, escapes, scripts of the world.
    static func posts(_ count: Int) throws -> JSONSample {
        var random = SeededGenerator(seed: 1)
        let texts = [
            "@user 今日は良い天気ですね。散歩に行きましょう\n",
            "RT @someone: the quick brown fox jumps over the lazy dog http://example.com/a",
            "Überraschung: \"Gänsefüßchen\" und ein Backslash \\ dazu", "короткое сообщение о погоде",
            "ok 🙂🙂 see you tomorrow",
        ]
        return try JSONSample("posts", options: .pretty) { writer in
            try writer.dictionary { writer in
                try writer.key("statuses")
                try writer.array(count) { writer, number in
                    try writer.dictionary { writer in
                        try writer.key("metadata")
                        try writer.dictionary { writer in
                            try writer.member("result_type", "recent")
                            try writer.member("iso_language_code", "ja")
                        }
                        try writer.member("created_at", "Sun Aug 31 00:29:15 +0000 2014")
                        try writer.member("id", 505_874_924_095_815_681 + number)
                        try writer.member("text", texts[Int(random.next() % 5)] + texts[Int(random.next() % 5)])
                        try writer.member("truncated", false)
                        try writer.null("in_reply_to_status_id")
                        try writer.key("user")
                        try writer.dictionary { writer in
                            try writer.member("id", Int(random.next() >> 33))
                            try writer.member("screen_name", "user\(random.next() % 100_000)")
                            try writer.member("description", texts[Int(random.next() % 5)])
                            try writer.null("url")
                            try writer.member("followers_count", Int(random.next() % 10_000))
                            try writer.member("favourites_count", Int(random.next() % 100))
                            try writer.member("geo_enabled", random.next() % 2 == 0)
                            try writer.member("profile_background_color", "C0DEED")
                            try writer.member(
                                "profile_image_url_https",
                                "https://pbs.example.com/profile_images/4876826/\(number)_normal.jpeg")
                        }
                        try writer.null("geo")
                        try writer.member("retweet_count", Int(random.next() % 50))
                        try writer.key("entities")
                        try writer.dictionary { writer in
                            try writer.key("hashtags")
                            try writer.array(0) { _, _ in }
                            try writer.key("indices")
                            try writer.array(2) { writer, index in try writer.integer(index * 17) }
                        }
                        try writer.member("favorited", false)
                        try writer.member("lang", "ja")
                    }
                }
            }
        }
    }

    /// A catalogue of performances: deeply indented, many integers, numbers as names of members.
    static func catalogue(_ count: Int) throws -> JSONSample {
        var random = SeededGenerator(seed: 2)
        return try JSONSample("catalogue", options: JSONWriterOptions(layout: .pretty(indent: 4))) { writer in
            try writer.dictionary { writer in
                try writer.key("topicNames")
                try writer.dictionary { writer in
                    for number in 0..<50 { try writer.member("\(324_846_000 + number)", "Activité \(number)") }
                }
                try writer.key("performances")
                try writer.array(count) { writer, number in
                    try writer.dictionary { writer in
                        try writer.member("eventId", 138_586_341 + number)
                        try writer.member("id", 339_887_544 + number)
                        try writer.null("logo")
                        try writer.null("name")
                        try writer.key("prices")
                        try writer.array(3) { writer, _ in
                            try writer.dictionary { writer in
                                try writer.member("amount", Int(random.next() % 100_000))
                                try writer.member("audienceSubCategoryId", 337_100_890)
                                try writer.member("seatCategoryId", 338_937_295)
                            }
                        }
                        try writer.key("seatCategories")
                        try writer.array(2) { writer, _ in
                            try writer.dictionary { writer in
                                try writer.key("areas")
                                try writer.array(6) { writer, _ in
                                    try writer.dictionary { writer in
                                        try writer.member("areaId", Int(205_705_900 + random.next() % 1000))
                                        try writer.key("blockIds")
                                        try writer.array(0) { _, _ in }
                                    }
                                }
                                try writer.member("seatCategoryId", 338_937_295)
                            }
                        }
                        try writer.member("start", 1_372_701_600_000)
                        try writer.member("venueCode", "PLEYEL_PLEYEL")
                    }
                }
            }
        }
    }

    /// Outlines of a country: pairs of doubles with many digits.
    static func coordinates(_ count: Int) throws -> JSONSample {
        var random = SeededGenerator(seed: 3)
        func degree(_ random: inout SeededGenerator, _ low: Double, _ high: Double) -> Double {
            // Six or fifteen decimals, as measured and as computed.
            let value = low + (high - low) * Double(random.next() >> 11) / Double(1 << 53 as UInt64)
            return random.next() % 2 == 0 ? (value * 1e6).rounded() / 1e6 : value
        }
        return try JSONSample("coordinates") { writer in
            try writer.array(max(1, count / 100)) { writer, _ in
                try writer.array(100) { writer, _ in
                    try writer.array(2) { writer, index in
                        try writer.real(index == 0 ? degree(&random, -141, -52) : degree(&random, 41, 83))
                    }
                }
            }
        }
    }
}

/// The writer with the words that the samples are made of.
private struct Writer: ~Copyable {
    var json: JSONWriter

    init(options: JSONWriterOptions) { json = JSONWriter(options: options) }

    mutating func key(_ name: String) throws { try name.withUTF8Span { try json.writeKey($0) } }
    mutating func integer(_ value: Int) throws { try json.writeInteger(Int64(value)) }
    mutating func real(_ value: Double) throws { try json.writeReal(value) }

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

    mutating func null(_ name: String) throws {
        try key(name)
        try json.writeNull()
    }

    mutating func array(_ count: Int, _ element: (inout Writer, Int) throws -> Void) throws {
        try json.beginArray()
        for index in 0..<count { try element(&self, index) }
        try json.endArray()
    }

    mutating func dictionary(_ members: (inout Writer) throws -> Void) throws {
        try json.beginDictionary()
        try members(&self)
        try json.endDictionary()
    }
}
