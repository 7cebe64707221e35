// Python's sqlite3 as a peer: scripts of our own, run where there is a python3. Its start is part of the time.

import Foundation

private let hasPython = (try? python("pass")) != nil

/// Runs a script and returns what it prints.
private func python(_ script: String, _ arguments: String...) throws -> String {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = ["python3", "-c", script] + arguments
    let pipe = Pipe()
    process.standardOutput = pipe
    process.standardError = FileHandle.nullDevice
    try process.run()
    let output = pipe.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    guard process.terminationStatus == 0 else { throw DifferentResults(description: "python3 failed") }
    return String(decoding: output, as: UTF8.self)
}

private let insertScript = """
    import sqlite3, sys
    path, count, relaxed, ascii = sys.argv[1], int(sys.argv[2]), sys.argv[3] == "1", sys.argv[4] == "1"
    db = sqlite3.connect(path)
    if relaxed: db.executescript("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF")
    db.execute("CREATE TABLE tasks (id INTEGER PRIMARY KEY, title TEXT NOT NULL, done BOOLEAN NOT NULL)")
    if ascii: rows = ((i, f"Task number {i}", i % 2 == 0) for i in range(count))
    else: rows = ((i, f"Größere Aufgabe Nr. {i} für den März", i % 2 == 0) for i in range(count))
    db.executemany("INSERT INTO tasks VALUES (?, ?, ?)", rows)
    db.commit()
    """

private let readScript = """
    import sqlite3, sys
    total = 0
    for id, title, done in sqlite3.connect(sys.argv[1]).execute(sys.argv[2]):
        total += id + len(title.encode()) + done
    print(total)
    """

func pythonInsertCases(_ data: SQLiteRows, isRelaxed: Bool, isASCII: Bool) -> [Case] {
    guard hasPython else { return [] }
    let file = SQLiteFile()
    return [
        Case(name: "Python, executemany", prepare: { file.remove() }, verify: { try file.verified() }) {
            _ = try python(
                insertScript, file.path, "\(data.count)", isRelaxed ? "1" : "0", isASCII ? "1" : "0")
            return 0
        }
    ]
}

func pythonReadCases(_ file: SQLiteFile, _ sql: String) -> [Case] {
    guard hasPython else { return [] }
    return [
        Case(name: "Python, cursor") {
            UInt64(try python(readScript, file.path, sql).trimmingCharacters(in: .whitespacesAndNewlines)) ?? 0
        }
    ]
}
