// Posts of a social network, the shape of twitter.json: many members in nested users and entities, long names, escapes,
// scripts of the world, most values not asked for by anyone.

import JSONStreaming

extension JSONSample {
    /// Posts; 100 of them are 0.6 MB.
    static func posts(_ count: Int) throws -> JSONSample {
        var random = SeededGenerator(seed: 1)
        return try JSONSample("posts", options: .pretty) { writer in
            try writer.dictionary { writer in
                try writer.array("statuses", count) { writer, number in
                    try writer.dictionary { writer in
                        try writer.status(number, &random, isRetweet: false)
                    }
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

private let texts = [
    "@user 今日は良い天気ですね。散歩に行きましょう\n", "RT @someone: the quick brown fox jumps over the lazy dog http://example.com/a",
    "Überraschung: \"Gänsefüßchen\" und ein Backslash \\ dazu", "короткое сообщение о погоде",
    "ok 🙂🙂 see you tomorrow", "一、常に身一つ簡素にして、美食を好んではならない",
]

extension SampleWriter {
    fileprivate mutating func status(_ number: Int, _ random: inout SeededGenerator, isRetweet: Bool) throws {
        let id = 505_874_924_095_815_681 + number
        try dictionary("metadata") { writer in
            try writer.member("result_type", "recent")
            try writer.member("iso_language_code", "ja")
        }
        try member("created_at", "Sun Aug 31 00:29:15 +0000 2014")
        try member("id", id)
        try member("id_str", "\(id)")
        try member("text", texts[Int(random.next() % 6)] + texts[Int(random.next() % 6)])
        try member("source", "<a href=\"http://twitter.example.com/download\" rel=\"nofollow\">Twitter for iPhone</a>")
        try member("truncated", false)
        if random.next() % 3 == 0 {
            try member("in_reply_to_status_id", 505_874_000_000_000_000 + Int(random.next() % 1_000_000))
        } else {
            try null("in_reply_to_status_id")
        }
        try null("in_reply_to_user_id")
        try null("in_reply_to_screen_name")
        try dictionary("user") { writer in try writer.user(number, &random) }
        try null("geo")
        try null("coordinates")
        try null("place")
        try null("contributors")
        if !isRetweet && number % 3 == 0 {
            try dictionary("retweeted_status") { writer in
                try writer.status(number + 1_000_000, &random, isRetweet: true)
            }
        }
        try member("retweet_count", Int(random.next() % 50))
        try member("favorite_count", Int(random.next() % 50))
        let mentionCount = Int(random.next() % 3)
        try dictionary("entities") { writer in
            try writer.array("hashtags", 0) { _, _ in }
            try writer.array("symbols", 0) { _, _ in }
            try writer.array("urls", number % 4 == 0 ? 1 : 0) { writer, _ in
                try writer.dictionary { writer in
                    try writer.member("url", "http://t.example.com/QMLJeFmfMT")
                    try writer.member("expanded_url", "http://www.example.com/blog/2014/08/\(number).html")
                    try writer.member("indices", [58, 80])
                }
            }
            try writer.array("user_mentions", mentionCount) { writer, index in
                try writer.dictionary { writer in
                    try writer.member("screen_name", "aym0566x\(number + index)")
                    try writer.member("name", "前田あゆみ")
                    try writer.member("id", 866_260_188 + index)
                    try writer.member("id_str", "\(866_260_188 + index)")
                    try writer.member("indices", [0, 9])
                }
            }
        }
        try member("favorited", false)
        try member("retweeted", false)
        try member("lang", "ja")
    }

    private mutating func user(_ number: Int, _ random: inout SeededGenerator) throws {
        let id = Int(random.next() >> 33)
        try member("id", id)
        try member("id_str", "\(id)")
        try member("name", "ひかり\(number)")
        try member("screen_name", "user\(random.next() % 100_000)")
        try member("location", "関西")
        try member("description", texts[Int(random.next() % 6)] + " / " + texts[Int(random.next() % 6)])
        try null("url")
        try dictionary("entities") { writer in
            try writer.dictionary("description") { writer in try writer.array("urls", 0) { _, _ in } }
        }
        try member("protected", false)
        try member("followers_count", Int(random.next() % 10_000))
        try member("friends_count", Int(random.next() % 1_000))
        try member("listed_count", Int(random.next() % 10))
        try member("created_at", "Tue Mar 01 12:03:11 +0000 2011")
        try member("favourites_count", Int(random.next() % 100))
        try member("utc_offset", 32_400)
        try member("time_zone", "Hawaii")
        try member("geo_enabled", random.next() % 2 == 0)
        try member("verified", random.next() % 8 == 0)
        try member("statuses_count", Int(random.next() % 50_000))
        try member("lang", "ja")
        try member("contributors_enabled", false)
        try member("is_translator", false)
        try member("is_translation_enabled", false)
        try member("profile_background_color", "C0DEED")
        try member("profile_background_image_url", "http://abs.example.com/images/themes/theme1/bg.png")
        try member("profile_background_image_url_https", "https://abs.example.com/images/themes/theme1/bg.png")
        try member("profile_background_tile", false)
        try member("profile_image_url", "http://pbs.example.com/profile_images/497760886/\(number)_normal.jpeg")
        try member("profile_image_url_https", "https://pbs.example.com/profile_images/497760886/\(number)_normal.jpeg")
        try member("profile_banner_url", "https://pbs.example.com/profile_banners/\(id)/1407754012")
        try member("profile_link_color", "0084B4")
        try member("profile_sidebar_border_color", "C0DEED")
        try member("profile_sidebar_fill_color", "DDEEF6")
        try member("profile_text_color", "333333")
        try member("profile_use_background_image", true)
        try member("default_profile", true)
        try member("default_profile_image", false)
        try member("following", false)
        try member("follow_request_sent", false)
        try member("notifications", false)
    }
}
