// A database that stores each item as a row.

import JSONStreaming
import PlistBuilding
import PlistStreaming
import SQLiteStreaming

/// A database that holds items as rows of a table, each as JSON.
final class ItemDatabase<Item: StreamObject & Identifiable>: ItemStorage {
    private let path: String
    /// The rows that are items, by their keys.
    private var numbers: [Item.ID: Int64] = [:]
    /// The current numbers of rows that are not items, by their numbers when they were read.
    private var moved: [Int64: Int64] = [:]
    /// The unreadable file that was renamed, or nil.
    private var corrupt: CorruptFile?

    init(path: String) {
        // SQLite gives some names a special meaning, such as `:memory:`, but never a path.
        self.path = path.hasPrefix("/") ? path : "./" + path
    }

    // MARK: Reading

    func load() throws(StreamError) -> (ItemContents<Item>, [LoadIssue]) {
        let place = try OutputPlace(path)
        if case .missing = place {
            reset()
            return (ItemContents(), [])
        }
        var isShared = false
        do throws(SQLiteError) {
            let connection = try SQLiteConnection(path: path, options: SQLiteOptions(access: .readWrite))
            isShared = (try? connection.value(Self.otherTables)) == .integer(1)
            return try load(connection)
        } catch {
            // A database with other tables must not be renamed.
            let isDamaged = error.code == .corrupt || error.code == .notADatabase
            guard isDamaged, !isShared, try !ItemFile<Item>.isOfAnotherFormat(path) else {
                throw error.streamError(.cannotRead)
            }
            guard let moved = try CorruptFile.move(path, asRead: place, with: ["-wal", "-journal", "-shm"]) else {
                return try load()
            }
            corrupt = moved
            reset()
            return (ItemContents(), [.corruptFile(error.streamError(.invalidSyntax), movedTo: moved.path)])
        }
    }

    private func reset() { (numbers, moved) = ([:], [:]) }

    private static var otherTables: String {
        """
        SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE type = 'table' AND lower(name) <> 'items'
        AND name NOT LIKE 'sqlite^_%' ESCAPE '^')
        """
    }

    private func load(_ connection: SQLiteConnection) throws(SQLiteError) -> (ItemContents<Item>, [LoadIssue]) {
        var contents = ItemContents<Item>()
        var problems: [LoadIssue] = []
        var numbers: [Item.ID: Int64] = [:]
        guard try Self.hasTable(connection) else {
            reset()
            return (contents, [])
        }
        // Damage is found before any row is read.
        let damage = try connection.prepare("PRAGMA quick_check('items')")
        while try damage.step() {
            let text = try damage.text(at: 0) ?? ""
            // A row that violates a constraint of the table is not damaged, and is not an item.
            guard text == "ok" || text.contains(" failed in ") || text.contains(" value in ") else {
                throw SQLiteError(.corrupt, "the database is damaged: \(text)")
            }
        }
        let rows = try connection.prepare("SELECT number, item FROM items ORDER BY number")
        var index = 0
        while try rows.step() {
            let number = rows.integer(at: 0)
            var id: Item.ID?
            let error = contents.take(.row(number)) { () throws(StreamError) in
                let item = try Self.item(rows)
                id = item.id
                return item
            }
            if let error {
                problems.append(.invalidItem(index: index, error))
            } else if let id {
                numbers[id] = number
            }
            index += 1
        }
        (self.numbers, moved) = (numbers, [:])
        return (contents, problems)
    }

    private static func item(_ rows: borrowing SQLiteStatement) throws(StreamError) -> Item {
        let text: String?
        do throws(SQLiteError) { text = try rows.text(at: 1) } catch { throw error.streamError(.invalidText) }
        guard let text else { throw StreamError(.typeMismatch, "expected an item, found null") }
        do throws(StreamError) {
            return try JSON(reader: ItemRules.jsonReader).decode(Item.self, from: text, options: ItemRules.building)
        } catch {
            // As in a file that is not an array of items: if members have the same name, only the last one is used.
            guard let item = try? itemOfTree(text) else { throw error }
            return item
        }
    }

    private static func itemOfTree(_ text: String) throws(StreamError) -> Item {
        var tree = PropertyListBuilder()
        try tree.readJSON(text, options: ItemRules.jsonReader)
        var builder = try ObjectBuilder<Item>(options: ItemRules.building)
        try tree.takeResult().send(to: &builder)
        return try builder.takeResult()
    }

    private static func hasTable(_ connection: SQLiteConnection) throws(SQLiteError) -> Bool {
        let columns = try connection.value("SELECT group_concat(lower(name)) FROM pragma_table_info('items')")
        guard let columns, columns != .null else { return false }
        guard columns == .text("number,id,item") else {
            throw SQLiteError(.schema, "expected the columns number, id and item in the table 'items', found others")
        }
        guard try connection.value(Self.hasNumbersOfRows) == .integer(1) else {
            throw SQLiteError(
                .schema, "expected the column 'number' of the table 'items' to be INTEGER PRIMARY KEY")
        }
        return true
    }

    /// The SQL that tests whether the column is SQLite's rowid: a primary key with an index is a separate column.
    private static var hasNumbersOfRows: String {
        """
        SELECT EXISTS (SELECT 1 FROM pragma_table_info('items')
        WHERE lower(name) = 'number' AND upper(type) = 'INTEGER' AND pk = 1)
        AND NOT EXISTS (SELECT 1 FROM pragma_index_list('items') WHERE origin = 'pk')
        """
    }

    // MARK: Writing

    func save(_ contents: ItemContents<Item>) throws(StreamError) {
        var refusal: StreamError?
        if let corrupt, case .missing = try OutputPlace(path) {
            // An empty file is an empty database. It gets the permissions of the corrupt file.
            var options = OutputFile.Options()
            options.model = corrupt.state
            try OutputFile(path: path, options: options).commit()
        }
        do throws(SQLiteError) {
            let options = SQLiteOptions(access: .create, synchronization: .extra)
            let connection = try SQLiteConnection(path: path, options: options)
            var saved: (numbers: [Item.ID: Int64], moved: [Int64: Int64]) = ([:], [:])
            try connection.atomically { () throws(SQLiteError) in
                if try !Self.hasTable(connection) {
                    try connection.execute(
                        "CREATE TABLE items (number INTEGER PRIMARY KEY, id TEXT NOT NULL, item TEXT NOT NULL)")
                }
                do throws(StreamError) {
                    saved = try self.write(contents, connection)
                } catch {
                    refusal = error
                    throw SQLiteError(error)
                }
            }
            (numbers, moved) = saved
        } catch {
            throw refusal ?? error.streamError(.cannotWrite)
        }
    }

    private static func row(_ item: Item, _ id: Item.ID) throws(StreamError) -> (key: String, text: String) {
        let key = "\(id)"
        guard !key.utf8.contains(0) else {
            throw StreamError(.unrepresentable, "found a NUL character in a key; the database can't contain it")
        }
        return (key, try JSON(writer: ItemRules.jsonWriter).encodeToString(item, options: ItemRules.writing))
    }

    /// Writes changed items, removes rows that are not in the contents, and returns the numbers of the rows.
    private func write(
        _ contents: ItemContents<Item>, _ connection: SQLiteConnection
    ) throws(StreamError) -> (numbers: [Item.ID: Int64], moved: [Int64: Int64]) {
        var rows: [Item.ID: Int64] = [:]
        rows.reserveCapacity(contents.count)
        var foreign: [(asRead: Int64, now: Int64)] = []
        for case .row(let number) in contents.foreign { foreign.append((number, moved[number] ?? number)) }
        var kept: Set<Int64> = []
        var last = Int64.min
        // New rows come after all existing rows, including those that are not items.
        var greatest = max(foreign.map(\.now).max() ?? 0, numbers.values.max() ?? 0)
        do throws(SQLiteError) {
            let change = try connection.prepare(
                """
                INSERT INTO items VALUES (?1, ?2, ?3) ON CONFLICT (number) DO UPDATE SET id = ?2, item = ?3
                WHERE id COLLATE BINARY IS NOT ?2 OR item COLLATE BINARY IS NOT ?3
                """)
            for (index, item) in contents.items.enumerated() {
                let id = item.id
                let (key, text): (String, String)
                do throws(StreamError) { (key, text) = try Self.row(item, id) } catch {
                    throw SQLiteError(error.within(.index(index)))
                }
                // An item whose row is before the previous item's row gets a new row, to preserve the order.
                if let number = numbers[id], number > last {
                    last = number
                } else {
                    last = try Self.next(&greatest)
                }
                try change.run([last, key, text])
                rows[id] = last
                kept.insert(last)
            }
            // As in files, rows that are not items come after the items, so that an item precedes a row with the same key.
            if foreign.contains(where: { $0.now < last }) {
                let move = try connection.prepare("UPDATE items SET number = ?2 WHERE number = ?1")
                for index in foreign.indices {
                    let number = try Self.next(&greatest)
                    try move.run([foreign[index].now, number])
                    foreign[index].now = number
                }
            }
            try Self.removeRows(butFor: kept.union(foreign.map(\.now)), connection)
        } catch {
            throw error.streamError(.cannotWrite)
        }
        return (rows, Dictionary(uniqueKeysWithValues: foreign.map { ($0.asRead, $0.now) }))
    }

    /// Increments the greatest number and returns it.
    private static func next(_ greatest: inout Int64) throws(SQLiteError) -> Int64 {
        guard greatest < Int64.max else {
            throw SQLiteError(
                StreamError(.unrepresentable, "a row has the largest possible number, so no row can be added"))
        }
        greatest += 1
        return greatest
    }

    private static func removeRows(butFor kept: Set<Int64>, _ connection: SQLiteConnection) throws(SQLiteError) {
        let all = try connection.prepare("SELECT number FROM items")
        var gone: [Int64] = []
        while try all.step() {
            if !kept.contains(all.integer(at: 0)) { gone.append(all.integer(at: 0)) }
        }
        let removal = try connection.prepare("DELETE FROM items WHERE number = ?")
        for number in gone { try removal.run([number]) }
    }
}
