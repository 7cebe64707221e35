// Posts of a social network with the shape and variety of twitter.json: nested users and entities with many members,
// long names, escapes, and many scripts. Most members are unknown to the decoded types, and values rarely repeat.
// Settings that most users keep, such as colors, are the same for nine of ten users. Some members are optional. One in
// sixteen posts comes from another server version with another member order.

import JSONStreaming

extension JSONSample {
    /// Makes posts. A count of 100 gives 0.6 MB.
    static func posts(_ count: Int) throws -> JSONSample {
        var random = SeededGenerator(seed: 1)
        return try JSONSample("posts", options: .pretty) { writer in
            try writer.dictionary { writer in
                try writer.array("statuses", count) { writer, _ in
                    try writer.dictionary { writer in try writer.status(&random, isRetweeted: false) }
                }
                try writer.dictionary("search_metadata") { writer in
                    try writer.member("completed_in", 87)
                    try writer.member("max_id", 505_874_924_095_815_681)
                    try writer.member("query", "%E4%B8%80")
                    try writer.member("count", count)
                }
            }
        }
    }
}

private let languages = ["ja", "ja", "ja", "ja", "ja", "ja", "en", "zh", "ru", "pt-br", "it"]
private let zones: [(String, Int)] = [
    ("Tokyo", 32_400), ("Irkutsk", 32_400), ("Hawaii", -36_000), ("Osaka", 32_400), ("Arizona", -25_200),
    ("Eastern Time (US & Canada)", -14_400), ("Seoul", 32_400), ("London", 3_600),
]

extension SampleWriter {
    fileprivate mutating func status(_ random: inout SeededGenerator, isRetweeted: Bool) throws {
        let isOtherVersion = random.isOne(in: 16)
        let language = languages[random.below(languages.count)]
        try dictionary("metadata") { writer in
            try writer.member("result_type", "recent")
            try writer.member("iso_language_code", language)
        }
        if isOtherVersion { try counts(&random) }
        try member("created_at", SampleText.date(&random))
        let id = 505_000_000_000_000_000 + random.below(1_000_000_000_000_000)
        try member("id", id)
        try member("id_str", "\(id)")
        if isOtherVersion { try dictionary("user") { writer in try writer.user(&random) } }
        try member("text", SampleText.text(150 + random.below(260), SampleText.script(&random), &random))
        let app = SampleText.identifier(6 + random.below(10), &random)
        let source = random.below(3) > 0 ? "http://twitter.example.com/\(app)" : "https://\(app).example.com/"
        try member("source", "<a href=\"\(source)\" rel=\"nofollow\">\(app) for phones</a>")
        try member("truncated", false)
        try answer(&random)
        if !isOtherVersion { try dictionary("user") { writer in try writer.user(&random) } }
        try null("geo")
        try null("coordinates")
        try null("place")
        try null("contributors")
        if !isRetweeted && random.below(5) < 3 {
            try dictionary("retweeted_status") { writer in try writer.status(&random, isRetweeted: true) }
        }
        if !isOtherVersion { try counts(&random) }
        let linkCount = random.isOne(in: 6) ? 1 + random.below(2) : 0
        try dictionary("entities") { writer in try writer.entities(linkCount, &random) }
        try member("favorited", random.isOne(in: 50))
        try member("retweeted", false)
        if linkCount > 0 { try member("possibly_sensitive", random.isOne(in: 20)) }
        try member("lang", language)
    }

    private mutating func counts(_ random: inout SeededGenerator) throws {
        try member("retweet_count", random.isOne(in: 3) ? 0 : random.below(1 << (1 + random.below(12))))
        try member("favorite_count", random.below(1 << random.below(10)))
    }

    private mutating func answer(_ random: inout SeededGenerator) throws {
        guard random.isOne(in: 12) else {
            for name in ["status_id", "status_id_str", "user_id", "user_id_str", "screen_name"] {
                try null("in_reply_to_\(name)")
            }
            return
        }
        let status = 505_000_000_000_000_000 + random.below(1_000_000_000_000_000)
        let user = random.below(3_000_000_000)
        try member("in_reply_to_status_id", status)
        try member("in_reply_to_status_id_str", "\(status)")
        try member("in_reply_to_user_id", user)
        try member("in_reply_to_user_id_str", "\(user)")
        try member("in_reply_to_screen_name", SampleText.identifier(4 + random.below(11), &random))
    }

    private mutating func entities(_ linkCount: Int, _ random: inout SeededGenerator) throws {
        try array("hashtags", random.isOne(in: 8) ? 1 : 0) { writer, _ in
            try writer.dictionary { writer in
                try writer.member("text", SampleText.text(8 + random.below(20), SampleText.script(&random), &random))
                try writer.member("indices", [random.below(70), 71 + random.below(60)])
            }
        }
        try array("symbols", 0) { _, _ in }
        try array("urls", linkCount) { writer, _ in
            try writer.dictionary { writer in try writer.link(&random) }
        }
        try array("user_mentions", random.below(3)) { writer, _ in
            try writer.dictionary { writer in
                let id = random.below(3_000_000_000)
                try writer.member("screen_name", SampleText.identifier(4 + random.below(11), &random))
                try writer.member("name", SampleText.text(6 + random.below(20), SampleText.script(&random), &random))
                try writer.member("id", id)
                try writer.member("id_str", "\(id)")
                try writer.member("indices", [random.below(70), 71 + random.below(60)])
            }
        }
    }

    private mutating func link(_ random: inout SeededGenerator) throws {
        let path = SampleText.identifier(8 + random.below(30), &random)
        try member("url", "http://t.example.com/\(SampleText.identifier(10, &random))")
        try member("expanded_url", "http://www.example.com/\(path).html")
        try member("display_url", "example.com/\(path.prefix(18))…")
        try member("indices", [random.below(70), 71 + random.below(60)])
    }

    private mutating func user(_ random: inout SeededGenerator) throws {
        let id = random.below(1 << (20 + random.below(13)))
        try member("id", id)
        try member("id_str", "\(id)")
        try member("name", SampleText.text(9 + random.below(20), SampleText.script(&random), &random))
        try member("screen_name", SampleText.identifier(4 + random.below(11), &random))
        let isHome = random.isOne(in: 5)
        try member("location", isHome ? SampleText.text(6 + random.below(40), .japanese, &random) : "")
        let length = random.below(8) * 15 + random.below(220)
        try member("description", SampleText.text(length, SampleText.script(&random), &random))
        let hasPage = random.isOne(in: 10)
        if hasPage {
            try member("url", "http://t.example.com/\(SampleText.identifier(10, &random))")
        } else {
            try null("url")
        }
        try dictionary("entities") { writer in
            if hasPage {
                try writer.dictionary("url") { writer in
                    try writer.array("urls", 1) { writer, _ in
                        try writer.dictionary { writer in try writer.link(&random) }
                    }
                }
            }
            try writer.dictionary("description") { writer in try writer.array("urls", 0) { _, _ in } }
        }
        try member("protected", false)
        try member("followers_count", random.below(1 << (4 + random.below(14))))
        try member("friends_count", random.below(1 << (4 + random.below(10))))
        try member("listed_count", random.below(1 << random.below(8)))
        try member("created_at", SampleText.date(&random))
        try member("favourites_count", random.isOne(in: 3) ? random.below(8_000) : 0)
        if random.isOne(in: 5) {
            let (zone, offset) = zones[random.below(zones.count)]
            try member("utc_offset", offset)
            try member("time_zone", zone)
        } else {
            try null("utc_offset")
            try null("time_zone")
        }
        try member("geo_enabled", random.isOne(in: 12))
        try member("verified", random.isOne(in: 12))
        try member("statuses_count", random.below(1 << (3 + random.below(15))))
        try member("lang", languages[random.below(languages.count)])
        try member("contributors_enabled", false)
        try member("is_translator", random.isOne(in: 60))
        try member("is_translation_enabled", false)
        try looks(id, &random)
        try member("following", false)
        try member("follow_request_sent", false)
        try member("notifications", false)
    }

    /// Writes the look of a profile. About nine of ten users keep the default.
    private mutating func looks(_ id: Int, _ random: inout SeededGenerator) throws {
        let isDefault = !random.isOne(in: 9)
        func color(_ usual: String) -> String { isDefault ? usual : SampleText.color(&random) }
        let background = isDefault ? "theme1" : SampleText.identifier(22, &random)
        let picture = "profile_images/\(random.below(600_000_000))/\(SampleText.identifier(8, &random))_normal.jpeg"
        try member("profile_background_color", color("C0DEED"))
        try member("profile_background_image_url", "http://abs.example.com/images/themes/\(background)/bg.png")
        try member("profile_background_image_url_https", "https://abs.example.com/images/themes/\(background)/bg.png")
        try member("profile_background_tile", !isDefault && random.isOne(in: 2))
        try member("profile_image_url", "http://pbs.example.com/\(picture)")
        try member("profile_image_url_https", "https://pbs.example.com/\(picture)")
        if !random.isOne(in: 10) {
            let moment = 1_300_000_000 + random.below(100_000_000)
            try member("profile_banner_url", "https://pbs.example.com/profile_banners/\(id)/\(moment)")
        }
        try member("profile_link_color", color("0084B4"))
        try member("profile_sidebar_border_color", color("C0DEED"))
        try member("profile_sidebar_fill_color", color("DDEEF6"))
        try member("profile_text_color", color("333333"))
        try member("profile_use_background_image", !random.isOne(in: 80))
        try member("default_profile", isDefault)
        try member("default_profile_image", random.isOne(in: 80))
    }
}
