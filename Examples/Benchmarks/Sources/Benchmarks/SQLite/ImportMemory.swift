// Checks that the converter needs less than 100 MiB of memory to import gigabytes of CSV from a pipe into a database.
// The text is never stored on disk. The database needs about half the size of the text and is removed at the end.
//
//     swift build -c release --product convert
//     swift run -c release --package-path Examples/Benchmarks Benchmarks ImportMemory [--bytes N]

import Foundation
import SQLiteStreaming

/// Imports 10 GB with `convert`, or the amount given with `--bytes`. A smoke run imports 2 MB.
let importMemory = Check(name: "ImportMemory") { scale, _ in
    let builds = scale.isSmoke ? ["release", "debug"] : ["release"]
    let root = URL(filePath: #filePath).appending(path: "../../../../../../").standardizedFileURL
    let paths = builds.map { root.appending(path: ".build/\($0)/convert").path }
    guard let convert = paths.first(where: FileManager.default.isExecutableFile(atPath:)) else {
        let message = "there is no \(paths[0]) (swift build -c release --product convert)"
        if !scale.isSmoke { throw DifferentResults(description: "ImportMemory: \(message)") }
        return "skipped: \(message)"
    }
    return try importText(byteCount: scale.amount(full: scale.bytes ?? 10_000_000_000, smoke: 2_000_000), by: convert)
}

/// Returns a block of rows for repeated use, with numbers, empty fields, and quoted texts that contain commas, quotes
/// and line ends.
private func block() -> (text: [UInt8], rowCount: Int, sum: Int64) {
    var random = SeededGenerator(seed: 10)
    var text: [UInt8] = []
    var sum: Int64 = 0
    let rowCount = 40_000
    for _ in 0..<rowCount {
        let (amount, count) = (Int64(random.below(100_000_000)), random.below(1_000))
        let code = SampleText.identifier(8, &random)
        let note =
            random.isOne(in: 3) ? "\"a \"\"note\"\", \(code)\n\(random.below(99))\"" : random.isOne(in: 2) ? "" : code
        text += Array(
            """
            \(random.below(1_000_000_000)),\(amount),\(count),\(random.below(2)),\(random.below(90)).\(random.below(1_000_000)),\
            -\(random.below(180)).\(random.below(1_000_000)),\(1_000_000_000 + random.below(999_999_999)),\(note)

            """.utf8)
        sum += amount
    }
    return (text, rowCount, sum)
}

private func importText(byteCount: Int, by convert: String) throws -> String {
    let folder = FileManager.default.temporaryDirectory.appending(path: "benchmark-import-\(getpid())")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let database = folder.appending(path: "rows.sqlite").path
    let block = block()
    let blockCount = max(1, byteCount / block.text.count)
    let start = ContinuousClock.now
    let (status, peak) = try run(convert, ["--from", "csv", "-", database]) { pipe in
        try pipe.write(contentsOf: Data("number,amount,count,flag,latitude,longitude,moment,note\n".utf8))
        let data = Data(block.text)
        for _ in 0..<blockCount { try pipe.write(contentsOf: data) }
    }
    let elapsed = (ContinuousClock.now - start) / .seconds(1)
    guard status == 0 else { throw DifferentResults(description: "ImportMemory: convert ends with \(status)") }
    let connection = try SQLiteConnection(path: database, options: SQLiteOptions(access: .readOnly))
    let table = try connection.tableNames().first ?? ""
    let (count, sum) = (
        try connection.value("SELECT count(*) FROM \"\(table)\"")?.integer,
        try connection.value("SELECT sum(amount) FROM \"\(table)\"")?.integer
    )
    guard count == Int64(block.rowCount * blockCount), sum == block.sum * Int64(blockCount) else {
        throw DifferentResults(
            description:
                "ImportMemory: \(String(describing: count)) rows with the sum \(String(describing: sum)), not "
                + "\(block.rowCount * blockCount) with \(block.sum * Int64(blockCount))")
    }
    let size =
        try connection.value("SELECT page_count * page_size FROM pragma_page_count, pragma_page_size")?.integer ?? 0
    let read =
        "\(block.text.count * blockCount / 1_000_000) MB, \(block.rowCount * blockCount) rows into \(size / 1_000_000) MB, "
        + "\(fixed(elapsed, 1)) s"
    return try withPeak(peak, read, of: importMemory.name, limit: 100)
}

/// Runs a program and writes its standard input.
///
/// - Returns: The exit status and the peak memory in bytes, or nil if the system doesn't report it.
private func run(
    _ program: String, _ arguments: [String], _ write: (FileHandle) throws -> Void
) throws -> (status: Int32, peak: Int?) {
    let (process, pipe) = (Process(), Pipe())
    process.executableURL = URL(filePath: program)
    process.arguments = arguments
    process.standardInput = pipe
    // Let a write to a terminated program fail with an error instead of a signal.
    signal(SIGPIPE, SIG_IGN)
    try process.run()
    let path = "/proc/\(process.processIdentifier)/status"
    var written: (any Error)?
    do { try write(pipe.fileHandleForWriting) } catch { written = error }
    try pipe.fileHandleForWriting.close()
    var peak: Int?
    // The high-water mark only rises. The last value is read at most 10 ms before the program ends.
    while process.isRunning {
        if let now = memory("VmHWM:", of: path) { peak = now }
        usleep(10_000)
    }
    process.waitUntilExit()
    if process.terminationStatus == 0, let written { throw written }
    return (process.terminationStatus, peak)
}
