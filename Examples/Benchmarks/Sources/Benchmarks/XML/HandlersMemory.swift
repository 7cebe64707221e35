// Checks that handlers declared by paths read gigabytes of XML in less than 100 MiB of memory.
//
//     swift run -c release --package-path Examples/Benchmarks Benchmarks HandlersMemory

import PlistBuilding
import PlistStreaming
import XMLStreaming

/// Reads 4 GiB with `XMLHandlers`, or 8 MiB in a smoke run.
let handlersMemory = Check(name: "HandlersMemory") { scale, _ in
    try readHandlers(byteCount: scale.amount(full: 4 << 30, smoke: 8 << 20))
}

private final class Sums: Equatable {
    var identifiers = 0
    var titleBytes = 0
    var places = 0

    static func == (one: Sums, other: Sums) -> Bool {
        (one.identifiers, one.titleBytes, one.places) == (other.identifiers, other.titleBytes, other.places)
    }

    /// Returns the sums for the given number of repetitions.
    func times(_ count: Int) -> Sums {
        let sums = Sums()
        (sums.identifiers, sums.titleBytes, sums.places) = (identifiers * count, titleBytes * count, places * count)
        return sums
    }

    var description: String { "identifiers \(identifiers), \(titleBytes) bytes of titles, places \(places)" }
}

private struct Place: StreamObject {
    var north = 0
    var east = 0
}

/// Returns entries for repeated use, and their sums. The entries contain attributes, texts with references, objects,
/// and elements without a handler.
private func block() -> (text: [UInt8], sums: Sums) {
    var random = SeededGenerator(seed: 4)
    var text: [UInt8] = []
    let sums = Sums()
    for _ in 0..<6_000 {
        let (identifier, title) = (random.below(1_000_000), SampleText.text(30, SampleText.script(&random), &random))
        let (north, east) = (random.below(90), random.below(180))
        let comments = (0..<random.below(4)).map { _ in
            "<by when='\(SampleText.date(&random))'><x>\(SampleText.identifier(40, &random))</x><!-- y --></by>"
        }
        text += Array(
            """
            <entry id="\(identifier)" xml:lang="de"><title>\(XMLSample.escaped(title)) &#x2014; &amp;</title>
              <place north="\(north)"><east>\(east)</east></place><comments>\(comments.joined())</comments>
              <body><![CDATA[\(SampleText.identifier(60, &random)) <&>]]></body></entry>

            """.utf8)
        sums.identifiers += identifier
        sums.titleBytes += title.utf8.count + " — &".utf8.count
        sums.places += north * 1_000 + east
    }
    return (text, sums)
}

private func handlers(_ sums: Sums) throws(StreamError) -> XMLHandlers {
    var handlers = XMLHandlers()
    try handlers.onAttribute("feed/entry/@id") { sums.identifiers += Int($0) ?? 0 }
    try handlers.onText("feed/entry/title") { sums.titleBytes += $0.utf8.count }
    try handlers.onObject("feed/entry/place", Place.self) { place in
        sums.places += place.north * 1_000 + place.east
    }
    return handlers
}

private func readHandlers(byteCount: Int) throws -> String {
    let block = block()
    let blockCount = (byteCount + block.text.count - 1) / block.text.count
    let sums = Sums()
    var reader = XMLReader(sink: try handlers(sums))
    let canMeasure = resetPeakMemory()
    let clock = ContinuousClock()
    let start = clock.now
    try reader.feed("<feed>")
    for _ in 0..<blockCount {
        try block.text.withUnsafeBytes { bytes in
            // Chunks can end inside names, references and characters.
            var position = 0
            while position < bytes.count {
                let end = min(bytes.count, position + 65_521)
                try reader.feed(bytes.bytes.extracting(position..<end))
                position = end
            }
        }
    }
    try reader.feed("</feed>")
    try reader.finish()
    let elapsed = (clock.now - start) / .seconds(1)
    let expected = block.sums.times(blockCount)
    guard sums == expected else {
        throw DifferentResults(
            description: "HandlersMemory: \(sums.description), not \(expected.description)")
    }
    let read = "\((blockCount * block.text.count) >> 20) MiB, \(blockCount * 6_000) entries, \(fixed(elapsed, 1)) s"
    return try withPeak(canMeasure ? memory("VmHWM:") : nil, read, of: handlersMemory.name, limit: 100)
}
