// One table of a running import: the meaning of each slot of its staged rows, checked against the schema.

import CSystemSQLite
import PlistBuilding
import PlistStreaming
import SQLiteStreaming
import StringTables

/// A table of an import, in one place of the records.
@safe
final class ImportNode {
    /// The target of a key's value.
    enum Member {
        case column(slot: Int)
        case relationship(Int)
    }

    /// A nested table.
    struct Relationship {
        let key: String
        let node: ImportNode
        /// The policy for orphans, or nil for to-one.
        let orphans: Orphans?
        /// The slots of the foreign key: of the child for to-many, of this node for to-one.
        let foreignKey: [Int]
        /// The slots that they are copied from: of this node for to-many, of the other node for to-one.
        let references: [Int]
        /// For to-one: the slot of this node with the index of the other node's row.
        let link: Int

        var isToOne: Bool { orphans == nil }
    }

    /// Policies for existing children that a record doesn't contain.
    enum Orphans {
        case keep, unlink, delete, reject
    }

    let table: ImportTable
    let rows: ImportRows
    let connection: SQLiteConnection
    /// The names of the imported columns, which have the first slots, then of the columns that are read back, then of the
    /// links.
    let slotNames: [String]
    let keySlots: [Int]
    /// The slots that are read back after writing, for foreign keys that refer to them.
    let readBackSlots: [Int]
    let keys: KeySet
    let members: [Member]
    /// The slots that a record must have a value for, one bit each.
    let requiredMask: UInt64
    /// The slot of a bare key, or nil if a single scalar isn't the whole key.
    let bareKeySlot: Int?
    fileprivate(set) var relationships: [Relationship] = []
    /// The foreign key to the parent table, if rows that move between parents must be detected.
    fileprivate(set) var movedSlots: [Int] = []

    private(set) var function: ImportFunction?
    /// The name of the virtual table that contains the staged rows.
    private(set) var stagedTable = ""
    private(set) var traits = ImportSchema.Traits()
    /// The statements, by the slots that have values.
    var statements: [UInt64: ImportStatements] = [:]
    /// The statements that read the children of relationships, by the indexes of the relationships.
    var childrenStatements: [Int: SQLiteStatement] = [:]
    /// The counts since the batch began, which are added to the report when it is committed.
    var counts = ImportReport.Counts()
    /// The number of rows in the last write that were held because they have a different parent in the table.
    var heldCount = 0
    /// The last row of each key in the last written range.
    var keyTable = ImportKeyTable(minimumCapacity: 0)
    /// A Boolean value that indicates whether that range had several rows with the same key.
    var hasRepeatedKeys = false

    /// The columns of a table that other tables of the tree need.
    struct Needs {
        /// Foreign keys to the parent table.
        var foreignKey: [String] = []
        /// Columns that foreign keys refer to and that aren't imported.
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
            throw Self.refusal("expected at least one column in the unique key of \(table.name)")
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

    /// Makes the nodes of a table and of its nested tables, in the order of their declaration.
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
            // A child whose foreign key is a part of its unique key never moves.
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

    /// Returns the columns of a foreign key's target to read back: those that aren't part of its unique key.
    private static func readBack(
        _ references: [String], of table: ImportTable, besides others: [String]
    ) throws(SQLiteError) -> [String] {
        var names: [String] = []
        for name in references where !table.uniqueKey.contains(name) && !others.contains(name) {
            guard !table.columns.contains(where: { $0.name == name }) else {
                throw refusal("a foreign key refers to \(table.name).\(name), which is imported but isn't a unique key")
            }
            names.append(name)
        }
        return names
    }

    /// Makes the staged rows visible to statements.
    func begin(_ traits: ImportSchema.Traits) throws(SQLiteError) {
        self.traits = traits
        function = try ImportFunction(rows, connection: connection)
        stagedTable = try connection.stagedTable(columnCount: rows.columnCount)
    }

    /// Finalizes all statements, and then the module that they read.
    func end() {
        statements = [:]
        childrenStatements = [:]
        function = nil
    }

    static func refusal(_ message: String) -> SQLiteError { SQLiteError(.misuse, message) }

    /// Returns the key of a slot's member, for messages.
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
