// A catalogue of performances, the shape of citm_catalog.json, and the outlines of a country, the shape of canada.json.

import Foundation
import JSONStreaming

extension JSONSample {
    /// A catalogue, deeply indented, with many integers and with numbers as names of members; 243 are 1.7 MB.
    static func catalogue(_ count: Int) throws -> JSONSample {
        var random = SeededGenerator(seed: 2)
        return try JSONSample("catalogue", options: JSONWriterOptions(layout: .pretty(indent: 4))) { writer in
            try writer.dictionary { writer in
                try writer.names("areaNames", 205_705_993, "Arrière-scène ", 17)
                try writer.names("audienceSubCategoryNames", 337_100_890, "Abonné ", 1)
                try writer.dictionary("blockNames") { _ in }
                try writer.dictionary("events") { writer in
                    for number in 0..<max(1, count * 3 / 4) {
                        try writer.dictionary("\(138_586_341 + number)") { writer in
                            try writer.event(number, &random)
                        }
                    }
                }
                try writer.array("performances", count) { writer, number in
                    try writer.dictionary { writer in try writer.performance(number, &random) }
                }
                try writer.names("seatCategoryNames", 338_937_235, "Catégorie ", 64)
                try writer.names("subTopicNames", 337_184_262, "Musique ", 19)
                try writer.dictionary("subjectNames") { _ in }
                try writer.names("topicNames", 107_888_604, "Activité ", 4)
                try writer.dictionary("topicSubTopics") { writer in
                    for number in 0..<4 {
                        try writer.member("\(107_888_604 + number)", (0..<8).map { 337_184_262 + $0 })
                    }
                }
                try writer.dictionary("venueNames") { writer in
                    try writer.member("PLEYEL_PLEYEL", "Salle Pleyel")
                }
            }
        }
    }

    /// Outlines of a country: pairs of doubles with 15 decimals; 56,000 are 2.2 MB.
    static func coordinates(_ count: Int) throws -> JSONSample {
        var random = SeededGenerator(seed: 3)
        func degree(_ low: Double, _ high: Double) -> String {
            // Measured with six decimals, and then written with the fifteen of a conversion.
            let value = low + (high - low) * Double(random.next() >> 11) / Double(1 << 53 as UInt64)
            return String(format: "%.15f", (value * 1e6).rounded() / 1e6)
        }
        return try JSONSample("coordinates") { writer in
            try writer.dictionary { writer in
                try writer.member("type", "FeatureCollection")
                try writer.array("features", 1) { writer, _ in
                    try writer.dictionary { writer in
                        try writer.member("type", "Feature")
                        try writer.dictionary("properties") { writer in try writer.member("name", "Canada") }
                        try writer.dictionary("geometry") { writer in
                            try writer.member("type", "Polygon")
                            try writer.array("coordinates", max(1, count / 117)) { writer, _ in
                                try writer.array(min(count, 117)) { writer, _ in
                                    try writer.array(2) { writer, index in
                                        try writer.number(index == 0 ? degree(-141, -52) : degree(41, 83))
                                    }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

extension SampleWriter {
    fileprivate mutating func names(_ name: String, _ first: Int, _ text: String, _ count: Int) throws {
        try dictionary(name) { writer in
            for number in 0..<count { try writer.member("\(first + number)", "\(text)\(number)") }
        }
    }

    fileprivate mutating func event(_ number: Int, _ random: inout SeededGenerator) throws {
        try null("description")
        try member("id", 138_586_341 + number)
        if number % 3 == 0 { try null("logo") } else { try member("logo", "/images/UE0AAAAACEKo6QAAAAZDSVRN") }
        try member("name", "30th Anniversary Tour \(number)")
        try member("subTopicIds", [337_184_269, 337_184_283])
        try null("subjectCode")
        try null("subtitle")
        try member("topicIds", [324_846_099, 107_888_604 + Int(random.next() % 4)])
    }

    fileprivate mutating func performance(_ number: Int, _ random: inout SeededGenerator) throws {
        try member("eventId", 138_586_341 + number)
        try member("id", 339_887_544 + number)
        try null("logo")
        try null("name")
        let priceCount = 2 + Int(random.next() % 4)
        try array("prices", priceCount) { writer, index in
            try writer.dictionary { writer in
                try writer.member("amount", 10_000 + 500 * index)
                try writer.member("audienceSubCategoryId", 337_100_890)
                try writer.member("seatCategoryId", 338_937_295 + index)
            }
        }
        try array("seatCategories", priceCount) { writer, index in
            try writer.dictionary { writer in
                try writer.array("areas", 2 + index * 3) { writer, index in
                    try writer.dictionary { writer in
                        try writer.member("areaId", 205_705_993 + index)
                        try writer.array("blockIds", 0) { _, _ in }
                    }
                }
                try writer.member("seatCategoryId", 338_937_295 + index)
            }
        }
        try null("seatMapImage")
        try member("start", 1_372_701_600_000 + 86_400_000 * number)
        try member("venueCode", "PLEYEL_PLEYEL")
    }
}
