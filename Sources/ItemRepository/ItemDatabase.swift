// A database in which each item is a row.

import JSONStreaming
import PlistBuilding
import PlistStreaming
import SQLiteStreaming

/// A database that holds items as rows of a table, each as JSON.
final class ItemDatabase: ItemStorage {
    private let path: String
    /// The rows that are items, by the texts of their keys.
    private var numbers: [String: Int64] = [:]

    init(path: String) { self.path = path }

    // MARK: Reading

    func load<Item: StreamObject & Identifiable>(
        _ type: Item.Type
    ) throws(StreamError) -> (ItemContents<Item>, [ItemProblem]) {
        if case .missing = try OutputPlace(path) {
            numbers = [:]
            return (ItemContents(), [])
        }
        do throws(SQLiteError) {
            return try loadRows(type)
        } catch {
            guard error.code == .notADatabase || error.code == .corrupt else { throw error.streamError(.cannotRead) }
            let moved = try CorruptFile.move(path, with: ["-wal", "-journal", "-shm"])
            numbers = [:]
            return (ItemContents(), [.corruptFile(error.streamError(.invalidSyntax), movedTo: moved)])
        }
    }

    private func loadRows<Item: StreamObject & Identifiable>(
        _ type: Item.Type
    ) throws(SQLiteError) -> (ItemContents<Item>, [ItemProblem]) {
        let connection = try SQLiteConnection(path: path, options: SQLiteOptions(access: .readWrite))
        var contents = ItemContents<Item>()
        var problems: [ItemProblem] = []
        var numbers: [String: Int64] = [:]
        var index = 0
        // What is damaged is found before anything is taken for whole.
        let report = try connection.value("PRAGMA quick_check(1)")
        guard report == .text("ok") else {
            throw SQLiteError(.corrupt, "the database is damaged: \(report.map { "\($0)" } ?? "")")
        }
        guard try Self.hasTable(connection) else {
            self.numbers = [:]
            return (contents, [])
        }
        let rows = try connection.prepare("SELECT number, item FROM items ORDER BY number")
        while try rows.step() {
            do throws(StreamError) {
                let item = try Self.item(rows, type)
                try contents.addNew(item)
                numbers["\(item.id)"] = rows.integer(at: 0)
            } catch {
                problems.append(.invalidItem(index: index, error))
            }
            index += 1
        }
        self.numbers = numbers
        return (contents, problems)
    }

    private static func item<Item: StreamObject>(
        _ rows: borrowing SQLiteStatement, _ type: Item.Type
    ) throws(StreamError) -> Item {
        let text: String?
        do throws(SQLiteError) { text = try rows.text(at: 1) } catch { throw error.streamError(.invalidText) }
        guard let text else { throw StreamError(.typeMismatch, "expected an item, found null") }
        return try JSON.decode(type, from: text)
    }

    private static func hasTable(_ connection: SQLiteConnection) throws(SQLiteError) -> Bool {
        guard try connection.value("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'items'") != nil else {
            return false
        }
        let columns = try connection.value("SELECT group_concat(name) FROM pragma_table_info('items')")
        guard columns == .text("number,id,item") else {
            throw SQLiteError(.schema, "expected a table items with the columns number, id and item, found another one")
        }
        return true
    }

    // MARK: Writing

    func save<Item: StreamObject & Identifiable>(_ contents: ItemContents<Item>) throws(StreamError) {
        var refusal: StreamError?
        do throws(SQLiteError) {
            let options = SQLiteOptions(access: .create, synchronization: .extra)
            let connection = try SQLiteConnection(path: path, options: options)
            var saved: [String: Int64] = [:]
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
            numbers = saved
        } catch {
            throw refusal ?? error.streamError(.cannotWrite)
        }
    }

    /// Writes what is not as it is in the table, and returns the rows of the items.
    private func write<Item: StreamObject & Identifiable>(
        _ contents: ItemContents<Item>, _ connection: SQLiteConnection
    ) throws(StreamError) -> [String: Int64] {
        var rows: [String: Int64] = [:]
        rows.reserveCapacity(contents.count)
        var last = Int64.min
        do throws(SQLiteError) {
            let change = try connection.prepare(
                """
                INSERT INTO items VALUES (?1, ?2, ?3) ON CONFLICT (number) DO UPDATE SET id = ?2, item = ?3
                WHERE id IS NOT ?2 OR item IS NOT ?3
                """)
            for (index, item) in contents.items.enumerated() {
                let key = "\(item.id)"
                let text: String
                do throws(StreamError) { text = try JSON.text(of: item) } catch {
                    throw SQLiteError(error.within(.index(index)))
                }
                // A row that would be before the last one becomes a new one, so that the order stays.
                let number = numbers[key].flatMap { $0 > last ? $0 : nil }
                try change.run([number, key, text])
                last = number ?? connection.lastInsertRowID
                guard rows.updateValue(last, forKey: key) == nil else {
                    throw SQLiteError(
                        StreamError(.duplicateKey, "there are two items whose keys read \(key.debugDescription)"))
                }
            }
            let removal = try connection.prepare("DELETE FROM items WHERE number = ?")
            for (key, number) in numbers where rows[key] != number { try removal.run([number]) }
        } catch {
            throw error.streamError(.cannotWrite)
        }
        return rows
    }
}
