// Decodes posts, the catalogue and the outlines into nested structures that have some of the text's members. The peers
// are simdjson on-demand, Foundation's JSONDecoder and msgspec, with the same members.

import Foundation
import JSONStreaming
import PlistBuilding
import PlistStreaming

let jsonTypedSuite = Suite(name: "JSONTyped") { scale in
    [
        try group(
            .posts(scale.amount(full: 100, smoke: 2)), as: Posts.self,
            options: BuilderOptions(keyMapping: .snakeCase), "simdjson_posts"),
        try group(.catalogue(scale.amount(full: 243, smoke: 2)), as: Catalogue.self, "simdjson_catalogue"),
        try group(.coordinates(scale.amount(full: 56_000, smoke: 2)), as: Outlines.self, "simdjson_coordinates"),
        try group(.people(scale.amount(full: 20_000, smoke: 20)), as: [Person].self, "simdjson_people"),
        try documentsGroup(.documents(scale.amount(full: 10_000, smoke: 20))),
    ]
}

/// A value to decode, with a sum that depends on all its members.
private protocol Summed: StreamValue, Decodable {
    var sum: UInt64 { get }
}

private func group<Value: Summed>(
    _ sample: JSONSample, as type: Value.Type, options: BuilderOptions = BuilderOptions(), _ simdJSON: String
) throws -> Group {
    let data = Data(sample.padded.prefix(sample.byteCount))
    let eventCount = try sample.eventCount()
    return try Group(
        name: sample.name,
        work: Work(count: eventCount, unit: "event", byteCount: sample.byteCount, eventCount: eventCount),
        cases: [
            .making(
                "ObjectBuilder", peer: "simdjson on-demand",
                also: [Goal(peer: "JSONDecoder", ratio: 35), Goal(peer: "msgspec"), Goal(peer: "orjson")],
                {
                    var builder = try ObjectBuilder<Value>(options: options)
                    try sample.withBytes { try builder.readJSON($0) }
                    return try builder.takeResult()
                }, sum: \.sum),
            .making(
                "JSONStreamDecoder", peer: "JSONDecoder", goal: 8,
                { try JSONStreamDecoder().decode(Value.self, from: data) }, sum: \.sum),
            .making("JSONDecoder", { try JSONDecoder().decode(Value.self, from: data) }, sum: \.sum),
        ] + NativePeers.cases("simdjson", "simdjson on-demand", simdJSON, sample, check: "\(simdJSON)_checksum")
            + PythonPeers.cases("msgspec", "msgspec", job: sample.name, sample)
            + PythonPeers.cases("orjson", "orjson", job: sample.name, sample))
}

/// Reads documents one by one, as a server does. This shows the cost of starting each document.
private func documentsGroup(_ sample: JSONSample) throws -> Group {
    let documents = sample.lines.map(Array.init)
    let data = documents.map { Data($0) }
    let (builder, decoder, foundation) = (DocumentBuilder(), JSONStreamDecoder(), JSONDecoder())
    return Group(
        name: sample.name, work: Work(count: documents.count, unit: "document", byteCount: sample.byteCount),
        cases: [
            reading(
                documents, "ObjectBuilder, kept", peer: "JSONDecoder", goal: 10,
                also: [Goal(peer: "simdjson on-demand")]
            ) { try builder.read($0) },
            reading(documents, "ObjectBuilder, made anew", peer: "JSONDecoder") { try DocumentBuilder().read($0) },
            reading(data, "JSONStreamDecoder", peer: "JSONDecoder", goal: 10) {
                try decoder.decode(TaskDocument.self, from: $0)
            },
            reading(data, "JSONDecoder") { try foundation.decode(TaskDocument.self, from: $0) },
        ]
            + NativePeers.cases(
                "simdjson", "simdjson on-demand", "simdjson_documents", sample, check: "simdjson_documents_checksum"))
}

/// Returns a case that reads documents one by one and releases each before reading the next.
private func reading<Bytes>(
    _ documents: [Bytes], _ name: String, peer: String? = nil, goal: Double? = nil, also: [Goal] = [],
    _ read: @escaping (Bytes) throws -> TaskDocument
) -> Case {
    Case(
        name: name, peer: peer, goal: goal, also: also,
        check: { try documents.reduce(0) { try $0 &+ read($1).sum } }
    ) {
        for one in documents { withExtendedLifetime(try read(one)) {} }
        return 1
    }
}

/// A builder that is reused for all documents.
private final class DocumentBuilder {
    private var builder: ObjectBuilder<TaskDocument>?

    func read(_ bytes: [UInt8]) throws -> TaskDocument {
        if builder == nil { builder = try ObjectBuilder() }
        guard var taken = builder.take() else { return TaskDocument() }
        try taken.readJSON(bytes)
        let document = try taken.takeResult()
        builder = consume taken
        return document
    }
}

private func bytes(_ texts: String...) -> UInt64 { texts.reduce(0) { $0 + UInt64($1.utf8.count) } }

private func numbers(_ integers: Int...) -> UInt64 { integers.reduce(0) { $0 &+ UInt64(bitPattern: Int64($1)) } }

// MARK: Posts

private struct Posts: StreamObject, Summed {
    var statuses: [Status] = []

    var sum: UInt64 { statuses.reduce(0) { $0 &+ $1.sum } }
}

private struct Status: StreamObject, Decodable {
    var createdAt = ""
    var id = 0
    var text = ""
    var inReplyToStatusId: Int?
    var user = User()
    var retweetCount = 0
    var favoriteCount = 0
    var entities = Entities()
    var lang = ""

    enum CodingKeys: String, CodingKey {
        case createdAt = "created_at"
        case id, text
        case inReplyToStatusId = "in_reply_to_status_id"
        case user
        case retweetCount = "retweet_count"
        case favoriteCount = "favorite_count"
        case entities, lang
    }

    var sum: UInt64 {
        entities.userMentions.reduce(
            bytes(createdAt, text, user.name, user.screenName, user.description, lang)
                &+ numbers(id, inReplyToStatusId ?? 0, user.id, user.followersCount, user.verified ? 1 : 0)
                &+ numbers(retweetCount, favoriteCount)
        ) { $0 &+ bytes($1.screenName) &+ numbers($1.id) }
    }
}

private struct User: StreamObject, Decodable {
    var id = 0
    var name = ""
    var screenName = ""
    var description = ""
    var followersCount = 0
    var verified = false

    enum CodingKeys: String, CodingKey {
        case id, name
        case screenName = "screen_name"
        case description
        case followersCount = "followers_count"
        case verified
    }
}

private struct Entities: StreamObject, Decodable {
    var userMentions: [Mention] = []

    enum CodingKeys: String, CodingKey { case userMentions = "user_mentions" }
}

private struct Mention: StreamObject, Decodable {
    var screenName = ""
    var id = 0

    enum CodingKeys: String, CodingKey {
        case screenName = "screen_name"
        case id
    }
}

// MARK: Catalogue

private struct Catalogue: StreamObject, Summed {
    var events: [String: Event] = [:]
    var performances: [Performance] = []

    var sum: UInt64 {
        let sum = events.reduce(UInt64(0)) { sum, event in
            event.value.topicIds.reduce(sum &+ bytes(event.key, event.value.name) &+ numbers(event.value.id)) {
                $0 &+ numbers($1)
            }
        }
        return performances.reduce(sum) { $0 &+ $1.sum }
    }
}

private struct Event: StreamObject, Decodable {
    var id = 0
    var name = ""
    var topicIds: [Int] = []
}

private struct Performance: StreamObject, Decodable {
    var eventId = 0
    var id = 0
    var prices: [Price] = []
    var seatCategories: [SeatCategory] = []
    var start = 0
    var venueCode = ""

    var sum: UInt64 {
        var sum = numbers(eventId, id, start) &+ bytes(venueCode)
        for price in prices { sum &+= numbers(price.amount, price.audienceSubCategoryId, price.seatCategoryId) }
        for category in seatCategories {
            sum &+= numbers(category.seatCategoryId)
            for area in category.areas { sum &+= area.blockIds.reduce(numbers(area.areaId)) { $0 &+ numbers($1) } }
        }
        return sum
    }
}

private struct Price: StreamObject, Decodable {
    var amount = 0
    var audienceSubCategoryId = 0
    var seatCategoryId = 0
}

private struct SeatCategory: StreamObject, Decodable {
    var areas: [Area] = []
    var seatCategoryId = 0
}

private struct Area: StreamObject, Decodable {
    var areaId = 0
    var blockIds: [Int] = []
}

// MARK: Outlines

private struct Outlines: StreamObject, Summed {
    var features: [Feature] = []

    var sum: UInt64 {
        var sum = UInt64(0)
        for feature in features {
            for ring in feature.geometry.coordinates {
                for point in ring { for number in point { sum &+= number.bitPattern } }
            }
        }
        return sum
    }
}

private struct Feature: StreamObject, Decodable {
    var geometry = Geometry()
}

private struct Geometry: StreamObject, Decodable {
    var coordinates: [[[Double]]] = []
}

// MARK: People and documents

private struct Person: StreamObject, Summed {
    var id = 0
    var name = ""
    var email = ""
    var age = 0
    var active = false
    var score = 0.0
    var city = ""
    var created = 0
    var note: String?
    var visits = 0
    var sponsor: Int?
    var balance: Double?

    var sum: UInt64 {
        bytes(name, email, city, note ?? "") &+ numbers(id, age, active ? 1 : 0, created, visits, sponsor ?? 0)
            &+ score.bitPattern &+ (balance ?? 0).bitPattern
    }
}

extension [Person]: Summed {
    fileprivate var sum: UInt64 { reduce(0) { $0 &+ $1.sum } }
}

private struct TaskDocument: StreamObject, Summed {
    var id = 0
    var title = ""
    var done = false
    var due: Int?
    var priority = 0
    var tags: [String]?

    var sum: UInt64 {
        (tags ?? []).reduce(bytes(title) &+ numbers(id, done ? 1 : 0, due ?? 0, priority)) { $0 &+ bytes($1) }
    }
}
