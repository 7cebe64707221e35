// The texts of records, plain and unusual, for which `RecordScan` must produce the same values as messages.

#if DEBUG || IN_CLASS_TESTS
import InClassTesting
import PlistBuilding
import PlistStreaming

extension RecordScan {
    struct Plain: StreamObject {
        var id = -1
        var name = "none"
        var score = 0.5
        var isNew = false
    }

    struct Partial: StreamObject {
        var id: Int?
        var name: String?
        var score: Double?
        var isNew: Bool?
        var aNameOfMoreThanSixteenBytes = "a default of more than fifteen bytes"
        var tags: [String] = []
        var small: UInt8 = 0
    }

    final class Record: StreamObject {
        nonisolated(unsafe) static var liveCount = 0
        var id = -1
        var name = "a default of more than fifteen bytes"
        var other: Int?
        init() { unsafe Self.liveCount += 1 }
        deinit { unsafe Self.liveCount -= 1 }
    }

    struct Sizes: StreamObject {
        var a: Int8 = 0
        var b: Int16 = 0
        var c: Int32 = 0
        var d: UInt8 = 0
        var e: UInt16 = 0
        var f: UInt32 = 0
        var g: UInt64 = 0
        var h: UInt = 0
        var i: Float = 0
        var j: Int64 = 0
        var last = 0
    }

    struct Nested: StreamObject {
        var rows: [Plain] = []
        var row = Plain()
    }

    /// Members in and out of order, missing, unknown and repeated, values of every kind, and invalid JSON.
    static let texts: [String] = {
        let members = [
            #""id":1,"name":"abc","score":2.5,"isNew":true"#, #""name":"a","id":1"#, #""isNew":true,"score":1,"id":7"#,
            #" "id" : 12 , "name" : "spaces" "#, "\n\t\"id\":\r\n3\n,\n\"name\":\n\"lines\"\n", "",
            #""id":1,"id":2,"name":"x","name":"a second one of more than fifteen bytes","name":"last""#,
            #""unknown":1,"id":2"#, #""id":2,"unknown":{"id":3,"name":"inner"},"name":"x""#, #""":1,"id":3"#,
            #""id":0,"name":"""#, #""id":-0,"name":"x""#, #""id":01"#, #""id":-17,"name":"1234567""#,
            #""id":1234567,"name":"12345678""#,
            #""id":12345678,"name":"123456789012345""#, #""id":9223372036854775807,"name":"1234567890123456""#,
            #""id":9223372036854775808"#, #""id":1.0,"score":1e2"#, #""id":1e2"#, #""id":1.5"#, #""id":1x"#,
            #""score":-1.25e-3,"isNew":false"#, #""score":18446744073709551616"#, #""score":1e999"#,
            #""score":0.1234567890123456789012"#, #""name":"größe","id":1"#, #""name":"a\nb","id":1"#,
            #""name":"日本語日本語日本語","id":1"#, #""n\u0061me":"x","id":4"#, #""name":"\ud800""#,
            "\"name\":\"a\u{1}b\"", #""name":"ends with a quote \"","id":1"#, #""name":null,"id":null"#, #""id":null"#,
            #""score":null,"isNew":null"#, #""id":"1""#, #""name":1"#, #""isNew":1"#, #""isNew":truex"#, #""id":true"#,
            #""isNew":nul"#, #""id":[1],"name":"x""#, #""name":{"a":1}"#, #""tags":["a","b"],"id":1"#,
            #""tags":[],"tags":["x"],"small":200"#, #""small":300"#, #""small":255,"aNameOfMoreThanSixteenBytes":"x""#,
            #""aNameOfMoreThanSixteenByteS":"x","id":1"#, #""aNameOfMoreThanSixteenBytes":"y","small":1,"id":2"#,
            #""id":1,"#, #""id":,"name":"x""#, #""id" 1"#, #"id:1"#, #""id":1 "name":"x""#, #""id":1,,"name":"x""#,
            #""id":1]"#, #""other":5,"id":6"#, #""id":7,"name":"x","other":null"#,
        ]
        var texts = [
            "[]", "[{}]", "[{}]]", "[{},]", "[{}{}]", "[,{}]", "[{\"id\":1},", "[{\"id\":1}", "{}", "[[]]", "[1]",
            "[null]",
        ]
        for member in members {
            texts.append("[{\(member)}]")
            texts.append(
                "[{\"id\":1,\"name\":\"abc\",\"score\":2.5,\"isNew\":true},{\(member)} , {\(member)},{\"id\":9}]")
        }
        texts.append(
            #"[{"id":11,"name":"some","score":2.75},{"name":"more than fifteen bytes","score":1,"id":12},{"id":9}]"#)
        texts.append(#"[{"id":1},{"id":2}{"id":3}]"#)
        texts.append(#"[{"id":1},"a":{"id":2}]"#)
        texts.append(
            "[{\"id\":1,\"name\":\"" + String(repeating: "long ", count: 40) + "\"},{\"id\":2,\"name\":\"b\"}]")
        return texts
    }()

    /// Sends a text to a sink, whole and in pieces, with and without the fast loop, and expects the same outcome.
    static func expectOneOutcome<Sink: PlistSink & ~Copyable>(
        _ text: String, _ type: String, allowsMultipleValues: Bool = false, limits: StreamLimits = .standard,
        atEverySplit: Bool = false, line: UInt = #line, make: () throws -> Sink,
        describe: (inout Sink) throws -> String
    ) {
        for padding in [0, 60] {
            let bytes = Array(text.utf8) + [UInt8](repeating: 0x20, count: padding)
            func outcome(_ isPlain: Bool, _ ends: [Int], endsWithLast: Bool = false) -> String {
                var options = JSONReaderOptions(limits: limits, allowsMultipleValues: allowsMultipleValues)
                options.usesPlainScan = isPlain
                do {
                    var scanner = JSONScanner(options: options)
                    var sink = try make()
                    do throws(StreamError) {
                        var start = 0
                        for end in ends + [bytes.count] {
                            try unsafe bytes[start..<end].withUnsafeBufferPointer { buffer throws(StreamError) in
                                // SAFETY: the span does not leave the closure.
                                let piece = unsafe UnsafeRawBufferPointer(buffer).bytes
                                if endsWithLast && end == bytes.count {
                                    try scanner.scanLast(piece, into: &sink)
                                } else {
                                    try scanner.scan(piece, into: &sink)
                                }
                            }
                            start = end
                        }
                        if !endsWithLast { try scanner.finish(into: &sink) }
                    } catch {
                        return try "\(describe(&sink)) ! \(error)"
                    }
                    return try describe(&sink)
                } catch {
                    return "\(error)"
                }
            }
            let expected = outcome(true, [])
            expectEqual(outcome(false, []), expected, "\(type) of \(text), whole", line: line)
            expectEqual(
                outcome(false, [], endsWithLast: true), expected, "\(type) of \(text), as the last", line: line)
            expectEqual(
                outcome(false, Array(bytes.indices.dropFirst())), expected, "\(type) of \(text), bytes", line: line)
            // A different split point in each text, and every split point in one of them.
            let step = atEverySplit || text.utf8.count == 100 ? 1 : 37
            for split in stride(from: text.utf8.count % step, to: bytes.count, by: step) {
                for endsWithLast in [false, true] {
                    let got = outcome(false, [split], endsWithLast: endsWithLast)
                    if got != expected {
                        expectEqual(got, expected, "\(type) of \(text), split at \(split)", line: line)
                    }
                }
            }
        }
    }

    /// Builds values from every text, and compares.
    private static func compare<Value: StreamValue>(
        _ type: Value.Type, _ options: BuilderOptions = BuilderOptions(),
        _ texts: [String] = texts.sampledInDebug(every: 3),
        _ describe: @escaping (Value) -> String
    ) {
        for text in texts {
            expectOneOutcome(text, "\(type)") {
                try ObjectBuilder<Value>(options: options)
            } describe: { builder in
                guard let value = try? builder.takeResult() else { return "nothing" }
                return describe(value) + " \(builder.unknownMembers.map(\.path))"
            }
        }
    }

    /// Every fifth of the texts, for types that differ little from others.
    private static let fewer = texts.enumerated().filter { $0.offset % 5 == 0 }.map(\.element)

    static func testBuildsSameValuesAsMessages() {
        compare([Plain].self) { "\($0)" }
        compare([Partial].self) { "\($0)" }
        compare([Record].self) { $0.map { "\($0.id) \($0.name) \($0.other ?? -1)" }.joined(separator: " ") }
        compare(
            [String: Plain].self, BuilderOptions(), fewer.map { "{\"x\":{}, \"y\" :" + $0.dropFirst().dropLast() + "}" }
        ) {
            $0.sorted { $0.key < $1.key }.map { "\($0)" }.joined()
        }
        let strict = BuilderOptions(unknownMembers: .collect, missingMembers: .reject, nulls: .treatAsMissing)
        compare([Plain].self, strict, fewer) { "\($0)" }
        compare([Record].self, strict, fewer) {
            $0.map { "\($0.id) \($0.name) \($0.other ?? -1)" }.joined(separator: " ")
        }
        let nested = [
            #"[{"rows":[{"id":1},{"id":2,"name":"b"}],"row":{"id":3}},{"row":{"id":4},"rows":[]},{}]"#,
            #"[{"rows":[{"id":1},{"id":2,"name":"b"}],"row":{"id":"x"}}]"#,
        ]
        compare([Nested].self, BuilderOptions(), nested) { "\($0)" }
        let numbers = [
            "0", "1", "-1", "127", "128", "-128", "-129", "255", "256", "32767", "32768", "-32768", "-32769", "65535",
            "65536",
            "2147483647", "2147483648", "-2147483648", "-2147483649", "4294967295", "4294967296", "9223372036854775807",
            "9223372036854775808", "18446744073709551615", "18446744073709551616", "1.0", "1.5", "0.1", "3.5e38",
            "-1e400",
            "null", "true", "\"1\"",
        ]
        let sizes = "abcdefghij".flatMap { name in numbers.map { "[{\"\(name)\":\($0),\"last\":1},{\"last\":2}]" } }
        compare([Sizes].self, BuilderOptions(), sizes) { "\($0)" }
        compare([[Plain]].self, BuilderOptions(), fewer.map { "[\($0),[],\($0)]" }) { "\($0)" }
    }

    static func testDeliversSameValuesAsMessages() {
        final class Received {
            var texts: [String] = []
        }
        func compare<Value: StreamValue>(
            _ type: Value.Type, depth: Int, _ describe: @escaping (borrowing Value) -> String
        ) {
            for text in texts.sampledInDebug(every: 3) where depth > 0 || text.utf8.count < 60 {
                let received = Received()
                expectOneOutcome(text, "stream of \(type)") {
                    received.texts = []
                    return try RecordStream<Value>(depth: depth) { value throws(StreamError) in
                        received.texts.append(describe(value))
                    }
                } describe: { stream in
                    "\(stream.count): \(received.texts)"
                }
            }
        }
        compare(Plain.self, depth: 1) { "\(copy $0)" }
        compare(Record.self, depth: 1) { "\($0.id) \($0.name) \($0.other ?? -1)" }
        compare([Plain].self, depth: 0) { "\(copy $0)" }
    }

    static func testFillsColumnsLikeMessages() {
        for text in texts {
            expectOneOutcome(text, "columns") {
                ColumnsBuilder(
                    [
                        "id": .integer, "name": .string, "score": .real, "isNew": .bool,
                        "aNameOfMoreThanSixteenBytes": .string,
                    ])
            } describe: { builder in
                let rows = builder.rowCount
                guard let columns = try? builder.takeResult() else { return "incomplete after \(rows)" }
                return columns.columns.map { column in
                    (0..<columns.rowCount).map { row -> String in
                        if let integer = column.integer(row) { return "\(integer)" }
                        if let real = column.real(row) { return "\(real)" }
                        if let bool = column.bool(row) { return "\(bool)" }
                        return column.string(row) ?? "-"
                    }.joined(separator: " ")
                }.joined(separator: "; ")
            }
        }
    }

    /// Whole rows, so that each row except the first is read directly after another.
    static func testFillsColumnsOfManyRows() throws {
        for (comma, colon) in [(",", ":"), (",\n  ", ": ")] {
            let rows = (0..<500).map { row in
                let members = [
                    "\"id\"\(colon)\(row)", "\"name\"\(colon)\"\(String(repeating: "n", count: row % 20))\"",
                    "\"score\"\(colon)\(row).5", "\"isNew\"\(colon)\(row % 3 == 0)",
                ]
                return "{\(members.joined(separator: comma))}"
            }
            var builder = ColumnsBuilder(["id": .integer, "name": .string, "score": .real, "isNew": .bool])
            try builder.readJSON("[\(rows.joined(separator: comma))]")
            let columns = try builder.takeResult()
            try requireEqual(columns.rowCount, 500, "rows")
            let (ids, names) = (columns["id"], columns["name"])
            let (scores, news) = (columns["score"], columns["isNew"])
            for row in 0..<500 {
                expectEqual(ids?.integer(row), Int64(row), "row \(row)")
                expectEqual(names?.string(row)?.utf8.count, row % 20, "row \(row)")
                expectEqual(scores?.real(row), Double(row) + 0.5, "row \(row)")
                expectEqual(news?.bool(row), row % 3 == 0, "row \(row)")
            }
        }
    }

    static func testSkipsEmptyNameAfterLastColumn() throws {
        // No column has the empty name, even if one more column would be expected.
        for text in ["[{\"id\":1,\"\":2},{\"id\":3}]", "[{\"id\":1 , \"\" : {\"id\":2}}, {\"\":0,\"id\":3}]"] {
            var builder = ColumnsBuilder(["id": .integer])
            try builder.readJSON(text + String(repeating: " ", count: 64))
            let columns = try builder.takeResult()
            expectEqual((0..<columns.rowCount).map { columns["id"]?.integer($0) }, [1, 3], text)
        }
    }

    /// Returns a text of many records whose members, lengths and gaps vary.
    private static func manyRecords(_ count: Int) -> String {
        let records = (0..<count).map { number in
            switch number % 7 {
            case 0: "{\"id\":\(number),\"name\":\"name \(number)\"}"
            case 1: "{\"name\":\"\(String(repeating: "x", count: number % 40))\",\"id\":\(number * 1001)}"
            case 2: "{ \"id\": -\(number) }"
            case 3: "{\"score\":\(number).5,\"isNew\":true,\"id\":\(number)}"
            case 4: "{\"id\":\(number),\"more\":[\(number)],\"name\":\"é\"}"
            default: "{\"id\":\(number),\"name\":\"a name\",\"score\":\(number),\"isNew\":false}"
            }
        }
        return "[\(records.joined(separator: ","))]"
    }

    static func testReadsManyRecords() throws {
        for count in [1, 255, 256, 257, 600, 3000] {
            let text = manyRecords(count)
            func rows(_ isPlain: Bool) throws -> String {
                var options = JSONReaderOptions()
                options.usesPlainScan = isPlain
                var plain = try ObjectBuilder<[Plain]>()
                try plain.readJSON(text, options: options)
                var records = try ObjectBuilder<[Record]>()
                try records.readJSON(text, options: options)
                var columns = ColumnsBuilder(["id": .integer, "name": .string, "isNew": .bool])
                try columns.readJSON(text, options: options)
                let table = try columns.takeResult()
                let cells = (0..<table.rowCount).map { row in
                    "\(table["id"]?.integer(row) ?? 0) \(table["name"]?.string(row) ?? "-") \(table["isNew"]?.bool(row) ?? false)"
                }
                return try "\(plain.takeResult()) \(records.takeResult().map { "\($0.id) \($0.name)" }) \(cells)"
            }
            let (fast, expected) = (try rows(false), try rows(true))
            expectTrue(fast == expected, "\(count) records as messages build them")
        }
    }

    static func testNeverChangesAKeptObject() throws {
        final class Kept {
            var records: [Record] = []
        }
        let kept = Kept()
        var stream = try RecordStream<Record> { record throws(StreamError) in
            if record.id % 7 == 3 { kept.records.append(copy record) }
        }
        let count = 1000
        let text = (0..<count).map { "{\"id\":\($0),\"name\":\"name \($0)\"}" }.joined(separator: ",")
        try stream.readJSON("[\(text)]")
        let expected = (0..<count).filter { $0 % 7 == 3 }
        expectEqual(kept.records.map(\.id), expected, "numbers")
        expectEqual(kept.records.map(\.name), expected.map { "name \($0)" }, "names")
        expectEqual(stream.count, count, "values")
    }

    /// Takes about 200 ms, for 600 texts that are each read five times.
    static func testAgreesOnMutatedTexts() throws {
        var state: UInt64 = 42
        func random(below bound: Int) -> Int {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int(truncatingIfNeeded: state >> 33) % bound
        }
        let odd = Array("{}[]\",:\\ 0123456789.eE+-tfnu\u{0}\u{1}\nxé".utf8) + [0x80, 0xFF]
        let records = "{\"id\":12,\"name\":\"abc\",\"score\":0.5,\"isNew\":true},"
        for _ in 0..<600 {
            var bytes = Array("[\(records)".utf8) + Array(texts[random(below: texts.count)].utf8.dropFirst())
            for _ in 0...random(below: 2) {
                let place = random(below: bytes.count)
                switch random(below: 3) {
                case 0: bytes[place] = odd[random(below: odd.count)]
                case 1: bytes.insert(odd[random(below: odd.count)], at: place)
                default: bytes.remove(at: place)
                }
            }
            bytes += [UInt8](repeating: 0x20, count: random(below: 2) * 60)
            let split = random(below: bytes.count)
            func outcomes(_ isPlain: Bool, _ split: Int) throws -> [String] {
                var options = JSONReaderOptions()
                options.usesPlainScan = isPlain
                func outcome<Sink: PlistSink & ~Copyable>(_ sink: consuming Sink, _ describe: (inout Sink) -> String)
                    -> String
                {
                    var scanner = JSONScanner(options: options)
                    do throws(StreamError) {
                        try unsafe bytes.withUnsafeBufferPointer { buffer throws(StreamError) in
                            // SAFETY: the spans do not leave the closure.
                            let span = unsafe UnsafeRawBufferPointer(buffer).bytes
                            try scanner.scan(span.extracting(..<split), into: &sink)
                            try scanner.scan(span.extracting(split...), into: &sink)
                        }
                        try scanner.finish(into: &sink)
                    } catch {
                        return "\(describe(&sink)) ! \(error)"
                    }
                    return describe(&sink)
                }
                var sum = 0
                return try [
                    outcome(ObjectBuilder<[Plain]>()) { "\((try? $0.takeResult()) ?? [])" },
                    outcome(ObjectBuilder<[Partial]>()) { "\((try? $0.takeResult()) ?? [])" },
                    outcome(
                        RecordStream<Record> { record throws(StreamError) in
                            sum = sum &* 31 &+ record.id &+ record.name.utf8.count
                        }
                    ) { "\($0.count) \(sum)" },
                ]
            }
            let expected = try outcomes(true, 0)
            for split in [0, split] {
                let got = try outcomes(false, split)
                if got != expected {
                    expectEqual(
                        got, expected, "outcomes of \(String(decoding: bytes, as: UTF8.self)) split at \(split)")
                }
            }
        }
    }

    static func testReportsLocationOfReceiverErrors() throws {
        let padding = String(repeating: " ", count: 100)
        for stop in 0..<4 {
            var stream = try RecordStream<Plain> { record throws(StreamError) in
                if record.id == stop { throw .stopRequest() }
            }
            let error = expectThrows(StreamError.self, "a stop") {
                try stream.readJSON("[{\"id\":0},\n{\"id\":1},{\"id\":2,\"name\":\"x\"},{\"id\":3}\n]" + padding)
            }
            expectEqual(error?.kind, .stopRequested, "kind")
            expectEqual(error?.position?.byteOffset, [8, 18, 38, 47][stop], "byte offset of record \(stop)")
            expectEqual(stream.count, stop + 1, "values")
        }
    }

    static func testReleasesBuiltValues() throws {
        // Binding keeps one object with the defaults.
        _ = try ObjectBuilder<Record>()
        let before = unsafe Record.liveCount
        let bad = manyRecords(300).dropLast() + ",{\"id\":1,\"name\":\"a name of more than fifteen bytes\",\"id\":x}]"
        do {
            var builder = try ObjectBuilder<[Record]>()
            try builder.readJSON(manyRecords(300))
            expectEqual(try builder.takeResult().count, 300, "records")
            expectThrows(StreamError.self, "an error") { try builder.readJSON(String(bad)) }
        }
        expectEqual(unsafe Record.liveCount, before, "objects after a result and an error")
        do {
            var stream = try RecordStream<Record> { _ throws(StreamError) in }
            expectThrows(StreamError.self, "an error") { try stream.readJSON(String(bad)) }
            stream.reset()
            expectEqual(unsafe Record.liveCount, before, "objects after a reset")
            try stream.readJSON(manyRecords(300))
            expectLessThanOrEqual(unsafe Record.liveCount, before + 1, "objects of a stream")
        }
        expectEqual(unsafe Record.liveCount, before, "objects after a stream")
    }
}
#endif
