// Python's sqlite3 as a peer. If python3 is installed, scripts run the cases and measure their own times, without
// startup, checksums and exit.

import Foundation

private let hasPython = (try? python("pass")) != nil

/// Runs a script and returns its output.
private func python(_ script: String, _ arguments: [String] = []) throws -> String {
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
    import sqlite3, sys, time
    path, count, relaxed, ascii = sys.argv[1], int(sys.argv[2]), sys.argv[3] == "1", sys.argv[4] == "1"
    if ascii: rows = ((i, f"Task number {i}", i % 2 == 0) for i in range(count))
    else: rows = ((i, f"Größere Aufgabe Nr. {i} für den März", i % 2 == 0) for i in range(count))
    rows = list(rows)
    start = time.perf_counter_ns()
    db = sqlite3.connect(path)
    if relaxed: db.executescript("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF")
    db.execute("CREATE TABLE tasks (id INTEGER PRIMARY KEY, title TEXT NOT NULL, done BOOLEAN NOT NULL)")
    db.executemany("INSERT INTO tasks VALUES (?, ?, ?)", rows)
    db.commit()
    db.close()
    print(time.perf_counter_ns() - start, 0)
    """

private let readScript = """
    import sqlite3, sys, time
    start = time.perf_counter_ns()
    rows = sqlite3.connect(sys.argv[1]).execute(sys.argv[2]).fetchall()
    elapsed = time.perf_counter_ns() - start
    print(elapsed, sum(id + len(title.encode()) + done for id, title, done in rows))
    """

/// Runs a script that prints its time in nanoseconds and a sum.
private func timedPython(_ script: String, _ arguments: [String]) throws -> RemoteRun {
    let numbers = try python(script, arguments).split(whereSeparator: \.isWhitespace).compactMap { UInt64($0) }
    guard numbers.count == 2 else { throw DifferentResults(description: "python3 does not say two numbers") }
    return RemoteRun(checksum: numbers[1], elapsed: .nanoseconds(Int64(numbers[0])), peakGrowth: nil)
}

func pythonInsertCases(_ data: SQLiteRows, isRelaxed: Bool, isASCII: Bool) -> [Case] {
    guard hasPython else { return [] }
    let file = SQLiteFile()
    return [
        Case(name: "Python, executemany") { _ in
            file.remove()
            var run = try timedPython(
                insertScript, [file.path, "\(data.count)", isRelaxed ? "1" : "0", isASCII ? "1" : "0"])
            run.checksum = try file.verified()
            return run
        }
    ]
}

func pythonReadCases(_ file: SQLiteFile, _ sql: String) -> [Case] {
    guard hasPython else { return [] }
    return [
        Case(name: "Python, fetchall") { _ in try timedPython(readScript, [file.path, sql]) }
    ]
}
