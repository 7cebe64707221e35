// Compares the repository with Foundation's archivers and coders. The items are those of the articles: identifier,
// date, hash, data, an optional text, a count and a rectangle.
// Flush writes all items to a file, replaces the old file as a whole, and waits until the new one is on the disk.
// Reload makes the items available by key. A separate case measures the cost of the file system.

import Foundation
import ItemRepository
import PlistBuilding

let archiveSuite = Suite(name: "Archive") { scale in
    let counts = scale.isSmoke ? [10] : [100, 1_000, 10_000]
    return try counts.flatMap { count in
        let items = ArchiveItem.samples(count)
        let files = try ArchiveFiles()
        return [try files.flushGroup(items), try files.reloadGroup(items)]
    }
}

struct Rectangle: Codable, StreamObject {
    var x = 0.0
    var y = 0.0
    var width = 0.0
    var height = 0.0
}

/// The item for all codecs except the archiver.
struct ArchiveItem: Codable, StreamObject, Identifiable {
    var identifier = ""
    var createdAt = Date(timeIntervalSinceReferenceDate: 0)
    var hash = ""
    var data = Data()
    var optionalString: String? = nil
    var views: UInt = 0
    var displayInRect = Rectangle()
    var id: String { identifier }

    enum CodingKeys: String, CodingKey {
        case identifier, createdAt, hash, data, optionalString, views, displayInRect
    }

    static var streamMembers: StreamMembers {
        [
            .required("identifier", \ArchiveItem.identifier), .required("createdAt", \ArchiveItem.createdAt),
            .required("hash", \ArchiveItem.hash), .required("data", \ArchiveItem.data),
            .member("optionalString", \ArchiveItem.optionalString), .member("views", \ArchiveItem.views),
            .member("displayInRect", \ArchiveItem.displayInRect),
        ]
    }

    static func samples(_ count: Int) -> [ArchiveItem] {
        var random = SeededGenerator(seed: 7)
        return (0..<count).map { number in
            var item = ArchiveItem()
            item.identifier = "item \(number) \(SampleText.identifier(6, &random))"
            item.createdAt = Date(timeIntervalSinceReferenceDate: Double(random.below(800_000_000)) + 0.25)
            item.hash = String(random.next(), radix: 16) + String(random.next(), radix: 16)
            item.data = Data((0..<40 + random.below(48)).map { _ in UInt8(truncatingIfNeeded: random.next()) })
            if number % 2 == 0 { item.optionalString = SampleText.text(10 + random.below(60), .latin, &random) }
            item.views = UInt(random.below(1_000_000))
            item.displayInRect = Rectangle(
                x: Double(random.below(4_000)), y: Double(random.below(4_000)) / 2, width: Double(random.below(640)),
                height: Double(random.below(480)))
            return item
        }
    }

    /// A number that depends on every member of the item.
    var sum: UInt64 {
        var sum = UInt64(views) &* 31 &+ createdAt.timeIntervalSinceReferenceDate.bitPattern
        for byte in identifier.utf8 { sum = sum &* 31 &+ UInt64(byte) }
        for byte in hash.utf8 { sum = sum &* 31 &+ UInt64(byte) }
        for byte in data { sum = sum &* 31 &+ UInt64(byte) }
        for byte in (optionalString ?? "\u{1}none").utf8 { sum = sum &* 31 &+ UInt64(byte) }
        for side in [displayInRect.x, displayInRect.y, displayInRect.width, displayInRect.height] {
            sum = sum &* 31 &+ side.bitPattern
        }
        return sum
    }

    /// The item as a dictionary, for property lists and object archives.
    var dictionary: [String: Any] {
        var dictionary: [String: Any] = [
            "identifier": identifier, "createdAt": createdAt, "hash": hash, "data": data, "views": views,
            "displayInRect": [
                "x": displayInRect.x, "y": displayInRect.y, "width": displayInRect.width,
                "height": displayInRect.height,
            ],
        ]
        if let optionalString { dictionary["optionalString"] = optionalString }
        return dictionary
    }

    init() {}

    init?(_ dictionary: [String: Any]) {
        guard let identifier = dictionary["identifier"] as? String, let createdAt = dictionary["createdAt"] as? Date,
            let hash = dictionary["hash"] as? String, let data = dictionary["data"] as? Data
        else { return nil }
        (self.identifier, self.createdAt, self.hash, self.data) = (identifier, createdAt, hash, data)
        optionalString = dictionary["optionalString"] as? String
        views = (dictionary["views"] as? NSNumber)?.uintValue ?? 0
        if let sides = dictionary["displayInRect"] as? [String: Any] {
            func side(_ name: String) -> Double { (sides[name] as? NSNumber)?.doubleValue ?? 0 }
            displayInRect = Rectangle(x: side("x"), y: side("y"), width: side("width"), height: side("height"))
        }
    }
}

/// The item for Foundation's archiver. On Linux the archiver needs a class that isn't private.
final class ArchivedItem: NSObject, NSSecureCoding {
    static let supportsSecureCoding = true
    let item: ArchiveItem

    init(_ item: ArchiveItem) { self.item = item }

    func encode(with coder: NSCoder) {
        coder.encode(item.identifier as NSString, forKey: "identifier")
        coder.encode(item.createdAt as NSDate, forKey: "createdAt")
        coder.encode(item.hash as NSString, forKey: "hash")
        coder.encode(item.data as NSData, forKey: "data")
        if let text = item.optionalString { coder.encode(text as NSString, forKey: "optionalString") }
        coder.encode(Int64(item.views), forKey: "views")
        for (name, side) in zip(
            ["x", "y", "width", "height"],
            [item.displayInRect.x, item.displayInRect.y, item.displayInRect.width, item.displayInRect.height])
        {
            coder.encode(side, forKey: name)
        }
    }

    init?(coder: NSCoder) {
        var item = ArchiveItem()
        guard let identifier = coder.decodeObject(of: NSString.self, forKey: "identifier"),
            let createdAt = coder.decodeObject(of: NSDate.self, forKey: "createdAt"),
            let hash = coder.decodeObject(of: NSString.self, forKey: "hash"),
            let data = coder.decodeObject(of: NSData.self, forKey: "data")
        else { return nil }
        item.identifier = "\(identifier)"
        item.createdAt = Date(timeIntervalSinceReferenceDate: createdAt.timeIntervalSinceReferenceDate)
        item.hash = "\(hash)"
        item.data = Data(referencing: data)
        // On Linux the unarchiver fails without this check.
        if coder.containsValue(forKey: "optionalString"),
            let text = coder.decodeObject(of: NSString.self, forKey: "optionalString")
        {
            item.optionalString = "\(text)"
        }
        item.views = UInt(coder.decodeInt64(forKey: "views"))
        item.displayInRect = Rectangle(
            x: coder.decodeDouble(forKey: "x"), y: coder.decodeDouble(forKey: "y"),
            width: coder.decodeDouble(forKey: "width"), height: coder.decodeDouble(forKey: "height"))
        self.item = item
    }
}

/// The files of all cases, in a separate directory.
private struct ArchiveFiles {
    private let directory: URL

    init() throws {
        directory = FileManager.default.temporaryDirectory.appending(path: "archive-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    }

    private func file(_ name: String) -> URL { directory.appending(path: name) }

    /// Returns the sum of the items in a file, independent of their order.
    private static func sum(_ items: some Sequence<ArchiveItem>) -> UInt64 { items.reduce(0) { $0 &+ $1.sum } }

    private static func keyed(_ items: [ArchiveItem]) -> [String: ArchiveItem] {
        Dictionary(uniqueKeysWithValues: items.map { ($0.identifier, $0) })
    }

    private static let formats: [(String, ItemFileFormat)] = [
        ("ItemRepository, binary property list", .binaryPropertyList), ("ItemRepository, JSON", .json),
        ("ItemRepository, SQLite", .sqlite),
    ]

    private struct Peer {
        let name: String
        let write: ([String: ArchiveItem]) throws -> Data
        let read: (Data) throws -> [String: ArchiveItem]
    }

    private static var peers: [Peer] {
        let binary = PropertyListEncoder()
        binary.outputFormat = .binary
        return [
            Peer(
                name: "NSKeyedArchiver",
                write: { items in
                    let objects = items.mapValues { ArchivedItem($0) } as NSDictionary
                    return try NSKeyedArchiver.archivedData(withRootObject: objects, requiringSecureCoding: true)
                },
                read: { data in
                    let classes = [NSDictionary.self, NSString.self, ArchivedItem.self]
                    let objects = try NSKeyedUnarchiver.unarchivedObject(ofClasses: classes, from: data)
                    return (objects as? [String: ArchivedItem] ?? [:]).mapValues(\.item)
                }),
            Peer(
                name: "PropertyListSerialization",
                write: { items in
                    try PropertyListSerialization.data(
                        fromPropertyList: items.mapValues(\.dictionary), format: .binary, options: 0)
                },
                read: { data in
                    let objects = try PropertyListSerialization.propertyList(from: data, format: nil)
                    return (objects as? [String: [String: Any]] ?? [:]).compactMapValues { ArchiveItem($0) }
                }),
            Peer(
                name: "PropertyListEncoder", write: { try binary.encode($0) },
                read: { try PropertyListDecoder().decode([String: ArchiveItem].self, from: $0) }),
            Peer(
                name: "JSONEncoder", write: { try JSONEncoder().encode($0) },
                read: { try JSONDecoder().decode([String: ArchiveItem].self, from: $0) }),
        ]
    }

    private func read(_ format: ItemFileFormat, _ name: String) throws -> UInt64 {
        let found = try ItemRepository<ArchiveItem>(path: file(name).path, format: format)
        guard found.problems.isEmpty else { throw DifferentResults(description: "\(found.problems)") }
        return Self.sum(found.items)
    }

    func flushGroup(_ items: [ArchiveItem]) throws -> Group {
        let keyed = Self.keyed(items)
        var cases = try Self.formats.map { name, format in
            let repository = try ItemRepository<ArchiveItem>(path: file(name).path, format: format)
            for item in items { repository.add(item) }
            return Case(
                name: name, peer: "NSKeyedArchiver", goal: format == .binaryPropertyList ? 100 : nil,
                also: [Goal(peer: "PropertyListEncoder", ratio: format == .binaryPropertyList ? 10 : nil)],
                check: {
                    try repository.flush()
                    return try read(format, name)
                },
                prepare: format == .sqlite ? { try? FileManager.default.removeItem(at: file(name)) } : nil
            ) {
                try repository.flush()
                return 1
            }
        }
        for peer in Self.peers {
            cases.append(
                Case(name: peer.name, check: { Self.sum(try peer.read(try peer.write(keyed)).values) }) {
                    try peer.write(keyed).write(to: file(peer.name), options: .atomic)
                    return 1
                })
        }
        let bytes = try Self.peers[3].write(keyed)
        cases.append(
            Case(name: "the file system alone", check: { Self.sum(items) }) {
                try bytes.write(to: file("bytes"), options: .atomic)
                return 1
            })
        return Group(name: "flush/\(items.count)", work: Work(count: items.count, unit: "item"), cases: cases)
    }

    func reloadGroup(_ items: [ArchiveItem]) throws -> Group {
        let keyed = Self.keyed(items)
        var cases = try Self.formats.map { name, format in
            let path = file("reload \(name)").path
            let repository = try ItemRepository<ArchiveItem>(path: path, format: format)
            for item in items { repository.add(item) }
            try repository.flush()
            return Case(
                name: name, peer: "NSKeyedArchiver", goal: format == .binaryPropertyList ? 40 : nil,
                also: [Goal(peer: "PropertyListEncoder", ratio: format == .binaryPropertyList ? 10 : nil)],
                check: { try read(format, "reload \(name)") }
            ) {
                try repository.reload()
                return UInt64(repository.count)
            }
        }
        for peer in Self.peers {
            try peer.write(keyed).write(to: file("reload \(peer.name)"))
            cases.append(
                Case(
                    name: peer.name,
                    check: { Self.sum(try peer.read(try Data(contentsOf: file("reload \(peer.name)"))).values) }
                ) {
                    UInt64(try peer.read(try Data(contentsOf: file("reload \(peer.name)"))).count)
                })
        }
        return Group(name: "reload/\(items.count)", work: Work(count: items.count, unit: "item"), cases: cases)
    }
}
