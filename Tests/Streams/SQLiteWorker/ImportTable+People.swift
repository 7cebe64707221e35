// The tables that the worker imports into, and that the tests check and import into themselves.

import SQLiteImporting

extension ImportTable {
    /// People with phones and the companies that they work for.
    package static let people = ImportTable(
        "person", uniqueKey: ["id"], columns: [.integer("id"), .text("name").required(), .real("height")],
        relationships: [
            .toMany(
                "phones",
                ImportTable("phone", uniqueKey: ["number"], columns: [.text("number").required(), .text("kind")]),
                foreignKey: ["person_id"], policy: .replace),
            .toOne(
                "company", ImportTable("company", uniqueKey: ["code"], columns: [.text("code"), .text("title")]),
                foreignKey: ["company_id"], references: ["id"]),
        ])
}
