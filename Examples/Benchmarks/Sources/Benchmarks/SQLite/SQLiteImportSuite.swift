// Compares imports into two related tables with a C loop that binds and steps INSERT … ON CONFLICT DO UPDATE. Cold
// imports start with empty tables, hot imports with existing rows.
// Goals: reach the speed of the loop, with hot imports not much slower than cold ones.

import CSQLiteUpsert
import Foundation
import JSONStreaming
import PlistStreaming
import SQLiteImporting
import SQLiteStreaming

let sqliteImportSuite = Suite(name: "SQLiteImport") { scale in
    let count = scale.amount(full: 100_000, smoke: 300)
    var groups: [Group] = []
    // Relaxed imports use no journal and don't wait for the disk. Durable imports use SQLite's default settings.
    for (name, isRelaxed, isShuffled) in [
        ("relaxed", true, false), ("durable", false, false), ("relaxed-shuffled", true, true),
    ] {
        let job = try ImportJob(count, isRelaxed: isRelaxed, isShuffled: isShuffled)
        groups += ["cold", "hot-unchanged", "hot-changed"].map { job.group($0, name) }
        groups += ["hot-unchanged", "hot-changed"].map { job.hotAndCold($0, name) }
    }
    return groups
}

/// The error thrown if an upsert in C fails.
private struct PeerError: Error, CustomStringConvertible {
    let description: String
}

/// People with one phone each, as C arrays and as JSON. The two versions have the same keys and differ in all other
/// values.
private final class ImportPayload {
    let json: [UInt8]
    private var strings: [[UnsafePointer<CChar>?]] = [[], [], []]
    private var ids: [Int64] = []
    private var heights: [Double] = []

    init(_ count: Int, version: Int, isShuffled: Bool) {
        // If shuffled, every second position gets a key from a random position.
        var order = Array(1...count)
        var random = SeededGenerator(seed: 7)
        if isShuffled {
            for index in stride(from: 0, to: count - 1, by: 2) {
                order.swapAt(index, Int(random.next() % UInt64(count)))
            }
        }
        var text = "["
        for (index, id) in order.enumerated() {
            let (first, last) = ("Zoë \(id % 977) \(version)", "family name \(id) \(version)")
            let number = "+49 \(id)-\(version)"
            let height = 1 + Double(id % 100) / 128 + Double(version)
            ids.append(Int64(id))
            heights.append(height)
            for (column, value) in [first, last, number].enumerated() {
                strings[column].append(UnsafePointer(strdup(value)))
            }
            if index > 0 { text += "," }
            text += "{\"id\":\(id),\"firstName\":\"\(first)\",\"lastName\":\"\(last)\",\"height\":\(height),"
            text += "\"phones\":[{\"id\":\(id),\"number\":\"\(number)\"}]}"
        }
        json = Array((text + "]").utf8)
    }

    func upsert(into path: String, batch: Int = 0, rowCount: Int = 1, isRelaxed: Bool) throws {
        let code = ids.withUnsafeBufferPointer { ids in
            heights.withUnsafeBufferPointer { heights in
                strings[0].withUnsafeBufferPointer { first in
                    strings[1].withUnsafeBufferPointer { last in
                        strings[2].withUnsafeBufferPointer { numbers in
                            var people = csqliteupsert_people(
                                count: Int64(ids.count), ids: ids.baseAddress, first_names: first.baseAddress,
                                last_names: last.baseAddress, heights: heights.baseAddress, numbers: numbers.baseAddress
                            )
                            return csqliteupsert_run(
                                path, &people, Int64(batch), Int32(rowCount), isRelaxed ? 1 : 0)
                        }
                    }
                }
            }
        }
        guard code == 0 else { throw PeerError(description: "SQLite in C failed with \(code)") }
    }
}

/// The variants to import. Each variant has its own database.
private final class ImportJob {
    private let payloads: [ImportPayload]
    private let directory: URL
    private let isRelaxed: Bool
    private let count: Int

    private static let people = ImportTable(
        "person", uniqueKey: ["id"],
        columns: [
            .integer("id"), .text("first_name", from: "firstName"), .text("last_name", from: "lastName"),
            .real("height"),
        ],
        relationships: [
            .toMany(
                "phones", ImportTable("phone", uniqueKey: ["id"], columns: [.integer("id"), .text("number")]),
                foreignKey: ["person_id"])
        ])

    init(_ count: Int, isRelaxed: Bool, isShuffled: Bool) throws {
        self.count = count
        self.isRelaxed = isRelaxed
        payloads = (0..<2).map { ImportPayload(count, version: $0, isShuffled: isShuffled) }
        directory = FileManager.default.temporaryDirectory.appending(path: "import-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(at: directory) }

    private func connection(_ path: String) throws -> SQLiteConnection {
        try SQLiteConnection(
            path: path,
            options: SQLiteOptions(
                access: .create, journalMode: isRelaxed ? .off : nil, synchronization: isRelaxed ? .off : nil))
    }

    private func makeEmpty(_ name: String) throws -> String {
        let path = directory.appending(path: name).path
        try? FileManager.default.removeItem(atPath: path)
        try connection(path).execute(
            """
            CREATE TABLE person (id INTEGER PRIMARY KEY, first_name TEXT NOT NULL, last_name TEXT NOT NULL, height REAL);
            CREATE TABLE phone (id INTEGER PRIMARY KEY, number TEXT NOT NULL, person_id INTEGER REFERENCES person (id));
            CREATE INDEX phone_person ON phone (person_id);
            """)
        return path
    }

    private func run(_ variant: Variant, _ payload: ImportPayload, _ path: String) throws {
        switch variant {
        case .importer:
            var importer = try Importer(Self.people, into: try connection(path))
            try importer.readJSON(payload.json)
            try importer.finish()
        case .c: try payload.upsert(into: path, isRelaxed: isRelaxed)
        case .cManyRows: try payload.upsert(into: path, rowCount: 100, isRelaxed: isRelaxed)
        case .cInBatches: try payload.upsert(into: path, batch: 256, isRelaxed: isRelaxed)
        }
    }

    private enum Variant: String, CaseIterable {
        case importer = "Importer, from JSON"
        case c = "C, one transaction"
        case cManyRows = "C, multi-row VALUES"
        case cInBatches = "C, batches of 256"
    }

    /// Returns the sum of everything that a database contains.
    private func checksum(_ path: String) throws -> UInt64 {
        let sum = try connection(path).value(
            """
            SELECT (SELECT sum(id * length(first_name || last_name) + cast(height * 128 as integer)) FROM person)
                + (SELECT sum(p.id * length(number) + person_id) FROM phone p JOIN person q ON q.id = person_id)
            """)
        guard case .integer(let value)? = sum else { return 0 }
        return UInt64(bitPattern: value)
    }

    /// Returns an import of the given kind in the given variant.
    private func work(_ kind: String, _ variant: Variant) -> ImportWork {
        let name = "\(kind)-\(variant.rawValue.filter(\.isLetter)).sqlite"
        var (path, round, content) = ("", 0, UInt64(0))
        return ImportWork(
            prepare: { [self] in
                if kind == "cold" {
                    path = try makeEmpty(name)
                } else if path.isEmpty {
                    path = try makeEmpty(name)
                    try run(.c, payloads[0], path)
                }
                round += 1
            },
            run: { [self] in try run(variant, payloads[kind == "hot-changed" ? round % 2 : 0], path) },
            verify: { [self] in
                // `measure` verifies a case after its second run and then after each timed run. The content may be that
                // of either version.
                let counts = "SELECT (SELECT count(*) FROM person) * 1000003 + (SELECT count(*) FROM phone)"
                guard case .integer(let count)? = try connection(path).value(counts), count > 0 else {
                    throw PeerError(description: "the tables of \(name) are empty")
                }
                if content == 0 { content = try checksum(path) }
                return content &+ UInt64(bitPattern: count)
            })
    }

    func group(_ kind: String, _ name: String) -> Group {
        Group(
            name: "\(kind)/\(name)", work: Work(count: count * 2, unit: "row"),
            cases: Variant.allCases.map { variant in
                let (isOurs, job) = (variant == .importer, work(kind, variant))
                return Case(
                    name: variant.rawValue, peer: isOurs ? Variant.c.rawValue : nil, goal: isOurs ? 0.95 : nil,
                    prepare: job.prepare, verify: job.verify
                ) {
                    try job.run()
                    return 0
                }
            })
    }

    /// Returns a group that compares a hot import with a cold one, both by the importer. The goal is 1 / 1.3 of the
    /// cold speed.
    func hotAndCold(_ kind: String, _ name: String) -> Group {
        // The two cases end with different content. The other groups check it.
        func one(_ name: String, peer: String? = nil, goal: Double? = nil) -> Case {
            let job = work(name, .importer)
            return Case(
                name: name, peer: peer, goal: goal, prepare: job.prepare, verify: { try job.verify() == 0 ? 0 : 1 }
            ) {
                try job.run()
                return 0
            }
        }
        return Group(
            name: "\(kind)-to-cold/\(name)", work: Work(count: count * 2, unit: "row"),
            cases: [one(kind, peer: "cold", goal: 1 / 1.3), one("cold")])
    }
}

/// The steps of an import: before, during and after the timed run.
private struct ImportWork {
    let prepare: () throws -> Void
    let run: () throws -> Void
    let verify: () throws -> UInt64
}
