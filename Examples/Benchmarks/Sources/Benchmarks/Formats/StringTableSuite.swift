// Compares StringTable with Dictionary<String, Int> for hits and misses, by bytes and by strings, with exact and
// case-insensitive names.
// A reader looks up names by bytes. The name is in a buffer, and a dictionary needs a String made from it.

import StringTables

let stringTableSuite = Suite(name: "StringTable") { scale in
    var groups: [Group] = []
    for keySet in keySets {
        let count = scale.amount(full: 1 << 16, smoke: 1 << 6)
        let misses = missing(from: keySet.keys)
        var generator = SeededGenerator(seed: 2_020)
        let inOrder = (0..<count).map { keySet.keys[$0 % keySet.keys.count] }
        let hits = (0..<count).map { _ in keySet.keys[Int.random(in: 0..<keySet.keys.count, using: &generator)] }
        let noHits = (0..<count).map { _ in misses[Int.random(in: 0..<misses.count, using: &generator)] }
        groups.append(group("hit-in-order/\(keySet.name)", keys: keySet.keys, lookUps: inOrder))
        groups.append(group("hit/\(keySet.name)", keys: keySet.keys, lookUps: hits))
        groups.append(group("miss/\(keySet.name)", keys: keySet.keys, lookUps: noHits))
        groups.append(caseInsensitiveGroup("case-insensitive/\(keySet.name)", keys: keySet.keys, lookUps: hits))
    }
    return groups
}

// MARK: Keys

private let keySets: [(name: String, keys: [String])] = [
    ("3-keys", ["hi", "there", "comment"]),
    ("12-keys", Array(memberNames.prefix(12))),
    ("50-keys", memberNames),
    ("10000-keys", (0..<10_000).map { "\(memberNames[$0 % memberNames.count])_\($0)" }),
]

/// Member names from public interfaces.
private let memberNames = [
    "id", "name", "title", "created_at", "updated_at", "description", "url", "email", "user", "status", "type", "tags",
    "full_name", "private", "owner", "html_url", "fork", "homepage", "size", "stargazers_count", "watchers_count",
    "language", "has_issues", "has_projects", "has_downloads", "has_wiki", "forks_count", "archived", "disabled",
    "open_issues_count", "license", "visibility", "default_branch", "screen_name", "location", "followers_count",
    "friends_count", "listed_count", "favourites_count", "utc_offset", "time_zone", "geo_enabled", "verified", "lang",
    "profile_background_image_url_https", "profile_image_url", "in_reply_to_status_id", "text", "entities", "retweeted",
]

/// Returns names that resemble the keys but differ from them: other letters, other endings, other names.
private func missing(from keys: [String]) -> [String] {
    let known = Set(keys)
    let near = keys.flatMap { key in [key + "s", String(key.dropLast()) + "?", "x" + key.dropFirst(), "_" + key] }
    let others = ["coordinates", "contributors", "truncated", "source", "place", "result_type", "metadata", "iso"]
    return (near + others).filter { !known.contains($0) }
}

// MARK: Groups

/// The names to look up, both as strings and concatenated in a buffer.
private struct LookUps {
    let strings: [String]
    let bytes: [UInt8]
    let ends: [Int]

    init(_ strings: [String]) {
        self.strings = strings
        bytes = strings.flatMap { Array($0.utf8) }
        ends = strings.reduce(into: []) { ends, string in ends.append((ends.last ?? 0) + string.utf8.count) }
    }

    /// Adds up the results of `find` for the bytes of each name.
    @inline(__always)
    func sumByBytes(_ find: (UnsafeRawBufferPointer) -> Int?) -> UInt64 {
        bytes.withUnsafeBytes { buffer in
            var (sum, start) = (UInt64(0), 0)
            for end in ends {
                sum &+= UInt64(truncatingIfNeeded: find(UnsafeRawBufferPointer(rebasing: buffer[start..<end])) ?? -1)
                start = end
            }
            return sum
        }
    }

    /// Adds up the results of `find` for each name.
    @inline(__always)
    func sumByStrings(_ find: (String) -> Int?) -> UInt64 {
        var sum = UInt64(0)
        for string in strings { sum &+= UInt64(truncatingIfNeeded: find(string) ?? -1) }
        return sum
    }
}

private func group(_ name: String, keys: [String], lookUps names: [String]) -> Group {
    let pairs = keys.enumerated().map { ($1, $0) }
    let table = StringTable(pairs)
    let dictionary = Dictionary(uniqueKeysWithValues: pairs)
    let lookUps = LookUps(names)
    return Group(
        name: name, work: Work(count: names.count, unit: "look-up"),
        cases: [
            Case(name: "table, bytes", peer: "Dictionary, bytes", goal: 5) {
                lookUps.sumByBytes { table[utf8: $0] }
            },
            Case(name: "Dictionary, bytes") {
                lookUps.sumByBytes { dictionary[String(decoding: $0, as: UTF8.self)] }
            },
            Case(name: "table, String", peer: "Dictionary, String") {
                lookUps.sumByStrings { table[$0] }
            },
            Case(name: "Dictionary, String") {
                lookUps.sumByStrings { dictionary[$0] }
            },
        ])
}

private func caseInsensitiveGroup(_ name: String, keys: [String], lookUps names: [String]) -> Group {
    let pairs = keys.enumerated().map { ($1, $0) }
    let table = StringTable(pairs, comparing: .asciiCaseInsensitive)
    let dictionary = Dictionary(pairs.map { ($0.0.lowercased(), $0.1) }, uniquingKeysWith: { $1 })
    let lookUps = LookUps(names.enumerated().map { $0 % 2 == 0 ? $1 : $1.uppercased() })
    return Group(
        name: name, work: Work(count: names.count, unit: "look-up"),
        cases: [
            Case(name: "table, bytes", peer: "Dictionary, bytes", goal: 5) {
                lookUps.sumByBytes { table[utf8: $0] }
            },
            Case(name: "Dictionary, bytes") {
                lookUps.sumByBytes { dictionary[String(decoding: $0, as: UTF8.self).lowercased()] }
            },
            Case(name: "table, String", peer: "Dictionary, String") {
                lookUps.sumByStrings { table[$0] }
            },
            Case(name: "Dictionary, String") {
                lookUps.sumByStrings { dictionary[$0.lowercased()] }
            },
        ])
}
