// One table of an import as it is run: what each slot of its staged rows means, checked against the schema.

import CSystemSQLite
import PlistBuilding
import PlistStreaming
import SQLiteStreaming
import StringTables

/// A table of an import, in one place of the records.
@safe
final class ImportNode {
    /// What the value of a key is.
    enum Member {
        case column(slot: Int)
        case relationship(Int)
    }

    /// A nested table.
    struct Relationship {
        let key: String
        let node: ImportNode
        /// nil for to-one.
        let orphans: Orphans?
        /// The slots of the foreign key: of the child for to-many, of this node for to-one.
        let foreignKey: [Int]
        /// The slots that they are copied from: of this node for to-many, of the other for to-one.
        let references: [Int]
        /// For to-one: the slot of this node that has the number of the other's row.
        let link: Int

        var isToOne: Bool { orphans == nil }
    }

    /// What to do with children that are not given.
    enum Orphans {
        case keep, unlink, delete, reject
    }

    let table: ImportTable
    let rows: ImportRows
    let connection: SQLiteConnection
    /// The names of the columns of the first slots; then those that are read back, then links.
    let slotNames: [String]
    let keySlots: [Int]
    /// The columns that are read back after writing, for foreign keys that refer to them.
    let readBackSlots: [Int]
    let keys: KeySet
    let members: [Member]
    /// The slots that a record must have a value for, one bit each.
    let requiredMask: UInt64
    /// The slot of a bare key; nil where one scalar is not the whole key.
    let bareKeySlot: Int?
    fileprivate(set) var relationships: [Relationship] = []
    /// The foreign key to the table above, when rows that move from one parent to another are to be told apart.
    fileprivate(set) var movedSlots: [Int] = []

    private(set) var module: ImportRowsModule?
    private(set) var traits = ImportSchema.Traits()
    /// The statements by the slots that rows have values in.
    var statements: [UInt64: ImportStatements] = [:]
    /// The statements that read the children of relationships, by the indexes of these.
    var childrenStatements: [Int: SQLiteStatement] = [:]
    /// What was written since the batch began, which counts when it is committed.
    var counts = ImportReport.Counts()
    /// The rows written last that were held, since they have another parent in the table.
    var heldCount = 0
    /// The last row of each key in the range that was written last.
    var keyTable = ImportKeyTable(minimumCapacity: 0)
    /// A Boolean value that indicates whether that range had several rows with one key.
    var hasRepeatedKeys = false

    /// Columns that others of the tree need of a table.
    struct Needs {
        /// Foreign keys to the table above.
        var foreignKey: [String] = []
        /// Columns that foreign keys refer to and that are not imported.
        var readBack: [String] = []
    }

    init(
        _ table: ImportTable, needs: Needs, arena: ImportArena, connection: SQLiteConnection
    ) throws(SQLiteError) {
        self.table = table
        self.connection = connection
        do throws(StreamError) { try table.keyMapping.requireNames() } catch { throw Self.refusal(error.message) }
        var names = table.columns.map(\.name) + needs.foreignKey
        for relationship in table.relationships where relationship.isToOne { names += relationship.foreignKey }
        var known: Set<SQLiteName.Folded> = []
        for name in names where !known.insert(SQLiteName.folded(name)).inserted {
            throw Self.refusal("the column \(name) of the table \(table.name) is imported twice")
        }
        var keySlots: [Int] = []
        for name in table.uniqueKey {
            guard let slot = names.firstIndex(where: { SQLiteName.folded($0) == SQLiteName.folded(name) }) else {
                throw Self.refusal("the column \(name) of the unique key of \(table.name) is not imported")
            }
            keySlots.append(slot)
        }
        guard !keySlots.isEmpty, Set(keySlots).count == keySlots.count else {
            throw Self.refusal("expected one or several columns in the unique key of \(table.name)")
        }
        let storedCount = names.count
        names += needs.readBack
        let linkCount = table.relationships.count { $0.isToOne }
        guard names.count + linkCount <= 64, table.relationships.count < 31 else {
            throw Self.refusal(
                "expected at most 64 columns and 30 relationships of \(table.name), found \(names.count + linkCount) and "
                    + "\(table.relationships.count)")
        }
        slotNames = names
        self.keySlots = keySlots
        readBackSlots = Array(storedCount..<names.count)
        rows = ImportRows(slotCount: names.count + linkCount, columnCount: names.count, arena: arena)

        var keys = KeySet()
        var members: [Member] = []
        for (slot, column) in table.columns.enumerated() {
            guard keys.insert(table.key(of: column)).inserted else {
                throw Self.refusal("the key \(table.key(of: column)) of \(table.name) has two columns")
            }
            members.append(.column(slot: slot))
        }
        for (index, relationship) in table.relationships.enumerated() {
            guard keys.insert(relationship.key).inserted else {
                throw Self.refusal("the key \(relationship.key) of \(table.name) is used twice")
            }
            members.append(.relationship(index))
        }
        self.keys = keys
        self.members = members
        var required: UInt64 = 0
        for (slot, column) in table.columns.enumerated() where column.isRequired || keySlots.contains(slot) {
            required |= 1 << UInt64(slot)
        }
        requiredMask = required
        let given = keySlots.filter { $0 < table.columns.count }
        bareKeySlot = given.count == 1 ? given[0] : nil
    }

    /// Makes the nodes of a table and of those nested in it, in the order of the declaration.
    static func makeTree(
        _ table: ImportTable, needs: Needs, arena: ImportArena, connection: SQLiteConnection,
        into nodes: inout [ImportNode]
    ) throws(SQLiteError) -> ImportNode {
        var needs = needs
        for relationship in table.relationships {
            guard !relationship.isToOne else { continue }
            needs.readBack += try readBack(relationship.references, of: table, besides: needs.readBack)
        }
        let node = try ImportNode(table, needs: needs, arena: arena, connection: connection)
        nodes.append(node)
        let linkBase = node.slotNames.count
        for relationship in table.relationships {
            let other = relationship.isToOne ? relationship.table : table
            let references = relationship.references.isEmpty ? other.uniqueKey : relationship.references
            guard references.count == relationship.foreignKey.count else {
                throw refusal(
                    "the foreign key (\(relationship.foreignKey.joined(separator: ", "))) does not fit the columns "
                        + "(\(references.joined(separator: ", "))) of \(other.name)")
            }
            var childNeeds = Needs()
            if relationship.isToOne {
                childNeeds.readBack = try readBack(relationship.references, of: other, besides: [])
            } else {
                childNeeds.foreignKey = relationship.foreignKey
            }
            let child = try makeTree(
                relationship.table, needs: childNeeds, arena: arena, connection: connection, into: &nodes)
            let (holder, target) = relationship.isToOne ? (node, child) : (child, node)
            let orphans = try relationship.orphans(in: child)
            let linkCount = node.relationships.count { $0.isToOne }
            let foreignKey = relationship.foreignKey.compactMap { holder.slotNames.firstIndex(of: $0) }
            // A child whose foreign key is within its unique key never moves.
            if let orphans, orphans != .keep, !foreignKey.allSatisfy(child.keySlots.contains) {
                child.movedSlots = foreignKey
            }
            node.relationships.append(
                Relationship(
                    key: relationship.key, node: child, orphans: orphans, foreignKey: foreignKey,
                    references: references.compactMap { target.slotNames.firstIndex(of: $0) },
                    link: linkBase + linkCount))
        }
        return node
    }

    /// The columns of a foreign key's target that are to be read back: those that are not in its unique key.
    private static func readBack(
        _ references: [String], of table: ImportTable, besides others: [String]
    ) throws(SQLiteError) -> [String] {
        var names: [String] = []
        for name in references where !table.uniqueKey.contains(name) && !others.contains(name) {
            guard !table.columns.contains(where: { $0.name == name }) else {
                throw refusal("a foreign key refers to \(table.name).\(name), which is imported, but no unique key")
            }
            names.append(name)
        }
        return names
    }

    /// Makes the staged rows visible to statements.
    func begin(_ traits: ImportSchema.Traits) throws(SQLiteError) {
        self.traits = traits
        module = try ImportRowsModule(rows, connection: connection)
    }

    /// Ends all statements, and then what they read.
    func end() {
        statements = [:]
        childrenStatements = [:]
        module = nil
    }

    static func refusal(_ message: String) -> SQLiteError { SQLiteError(.misuse, message) }

    /// The key of a slot's member, for messages.
    func key(ofSlot slot: Int) -> String {
        slot < table.columns.count ? table.key(of: table.columns[slot]) : slotNames[slot]
    }
}

extension ImportRelationship {
    var isToOne: Bool {
        if case .toOne = kind { return true }
        return false
    }

    fileprivate func orphans(in child: ImportNode) throws(SQLiteError) -> ImportNode.Orphans? {
        switch kind {
        case .toOne: return nil
        case .toMany(.merge, _): return .keep
        case .toMany(.replace, _), .toMany(.assign, .delete): return .delete
        case .toMany(.assign, .reject): return .reject
        case .toMany(.assign, .unlink):
            if let name = foreignKey.first(where: { table.uniqueKey.contains($0) }) {
                throw ImportNode.refusal(
                    "the orphans of \(table.name) cannot be unlinked, since \(name) is in its unique key")
            }
            return .unlink
        }
    }
}
