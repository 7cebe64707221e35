// A catalogue of performances with the shape and variety of citm_catalog.json, and the outlines of a country as in
// canada.json. As in these files, names and pictures differ, prices and places come from a few dozen values, and the
// lengths of lists vary.

import Foundation
import JSONStreaming

extension JSONSample {
    /// Makes a deeply indented catalogue with many integers, and with numbers as member names. A count of 243 gives 1.7
    /// MB.
    static func catalogue(_ count: Int) throws -> JSONSample {
        var random = SeededGenerator(seed: 2)
        return try JSONSample("catalogue", options: JSONWriterOptions(layout: .pretty(indent: 4))) { writer in
            try writer.dictionary { writer in
                try writer.names("areaNames", 205_705_993, "Arrière-scène ", 17)
                try writer.names("audienceSubCategoryNames", 337_100_890, "Abonné ", 1)
                try writer.dictionary("blockNames") { _ in }
                try writer.dictionary("events") { writer in
                    for number in 0..<max(1, count * 3 / 4) {
                        try writer.dictionary("\(138_586_341 + 4 * number)") { writer in
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

    /// Makes outlines of a country: pairs of doubles with 15 decimals. A count of 56,000 gives 2.2 MB.
    static func coordinates(_ count: Int) throws -> JSONSample {
        var random = SeededGenerator(seed: 3)
        func degree(_ low: Double, _ high: Double) -> String {
            // Values have six significant decimals but are mostly written with the fifteen decimals of a conversion.
            let value = low + (high - low) * Double(random.next() >> 11) / Double(1 << 53 as UInt64)
            let decimals = random.isOne(in: 8) ? 4 + random.below(11) : 15
            return String(format: "%.\(decimals)f", (value * 1e6).rounded() / 1e6)
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
                                // Mix islands of a few points with coasts of thousands.
                                let size = random.isOne(in: 10) ? 1 + random.below(1_600) : 4 + random.below(60)
                                try writer.array(min(count, size)) { writer, _ in
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
        try member("id", 138_586_341 + 4 * number + random.below(4))
        try logo(&random)
        try member("name", SampleText.text(8 + random.below(50), .latin, &random))
        try member("subTopicIds", (0..<1 + random.below(4)).map { _ in 337_184_262 + random.below(35) })
        try null("subjectCode")
        if random.isOne(in: 4) {
            try member("subtitle", SampleText.text(10 + random.below(30), .latin, &random))
        } else {
            try null("subtitle")
        }
        let topics = [324_846_099, 107_888_604, 324_846_100, 107_888_605]
        try member("topicIds", random.isOne(in: 20) ? [] : Array(topics.prefix(1 + random.below(4))))
    }

    private mutating func logo(_ random: inout SeededGenerator) throws {
        if random.isOne(in: 2) {
            try null("logo")
        } else {
            try member("logo", "/images/\(SampleText.identifier(24, &random))")
        }
    }

    fileprivate mutating func performance(_ number: Int, _ random: inout SeededGenerator) throws {
        try member("eventId", 138_586_341 + random.below(200_000_000))
        try member("id", 339_430_296 + random.below(4_000_000))
        try logo(&random)
        try null("name")
        let priceCount = [1, 2, 4, 4, 4, 5, 5, 5][random.below(8)]
        let firstCategory = 338_937_235 + random.below(59)
        try array("prices", priceCount) { writer, index in
            try writer.dictionary { writer in
                try writer.member("amount", 250 * (20 + random.below(26) * 40))
                try writer.member("audienceSubCategoryId", 337_100_890)
                try writer.member("seatCategoryId", firstCategory + index)
            }
        }
        try array("seatCategories", priceCount) { writer, index in
            try writer.dictionary { writer in
                try writer.array("areas", [1, 5, 6, 6, 7, 10, 11, 13, 16][random.below(9)]) { writer, _ in
                    try writer.dictionary { writer in
                        try writer.member("areaId", 205_705_993 + random.below(17))
                        let blockCount = random.isOne(in: 16) ? 1 + random.below(3) : 0
                        try writer.member("blockIds", (0..<blockCount).map { _ in 1_000 + random.below(9_000) })
                    }
                }
                try writer.member("seatCategoryId", firstCategory + index)
            }
        }
        try null("seatMapImage")
        try member("start", 1_372_701_600_000 + 900_000 * random.below(40_000))
        let venue = SampleText.identifier(6 + random.below(9), &random)
        try member("venueCode", random.isOne(in: 2) ? "PLEYEL_PLEYEL" : venue)
    }
}
