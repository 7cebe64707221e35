// Compares property lists with those that Foundation and Python's plistlib read and write, for random values from
// seeds.
// PLIST_VALUES=2000 in the environment checks that many. The default takes some seconds.

import Foundation
import PlistStreaming
import PropertyListFiles
import TestCorpora
import Testing

@Suite(.serialized) struct AgreementTests {
    static let count = Int(ProcessInfo.processInfo.environment["PLIST_VALUES"] ?? "") ?? 150

    private func values(_ choices: PlistValue.Choices) -> [PlistValue] {
        (0..<Self.count).map { seed in
            var random = SeededRandom(seed: UInt64(seed))
            return PlistValue.random(&random, choices)
        }
    }

    private func expectEqual(_ found: PlistValue?, _ expected: PlistValue, _ what: String) throws {
        if let difference = expected.difference(from: found) { try #require(Bool(false), "\(what): \(difference)") }
    }

    private func binary(_ value: PlistValue, sharedValueLimit: Int = 1 << 20) throws -> Data {
        var writer = BinaryPlistWriter(options: BinaryPlistWriterOptions(sharedValueLimit: sharedValueLimit))
        try value.send(to: &writer)
        try writer.finish()
        return Data(writer.bytes)
    }

    private func readBinary(_ data: Data) throws -> PlistValue? {
        var builder = PlistValueBuilder()
        try builder.readBinaryPlist(data)
        return builder.value
    }

    @Test func foundationReadsOurBinary() throws {
        for (seed, value) in values(PlistValue.Choices()).enumerated() {
            for limit in [0, 1 << 20] {
                let data = try binary(value, sharedValueLimit: limit)
                let list = try PropertyListSerialization.propertyList(from: data, options: [], format: nil)
                try expectEqual(PlistValue(foundation: list), value, "seed \(seed)")
                try expectEqual(try readBinary(data), value, "ours, seed \(seed)")
            }
        }
    }

    /// The number of objects needs references of three bytes.
    @Test func foundationReadsManyObjects() throws {
        let value = PlistValue.array((0..<70_000).map { .string("number \($0)") })
        let list = try PropertyListSerialization.propertyList(from: binary(value), options: [], format: nil)
        try expectEqual(PlistValue(foundation: list), value, "strings")
    }

    @Test func readsBinaryOfFoundation() throws {
        for (seed, value) in values(PlistValue.Choices()).enumerated() {
            let data = try PropertyListSerialization.data(
                fromPropertyList: value.foundation, format: .binary, options: 0)
            try expectEqual(try readBinary(data), value, "seed \(seed)")
        }
    }

    @Test func foundationReadsOurOpenStepText() throws {
        for (seed, value) in values(PlistValue.Choices()).enumerated() {
            let value = value.inOldText
            for layout in [OpenStepPlistWriterOptions.Layout.compact, .pretty(indent: 2)] {
                var writer = OpenStepPlistWriter(options: OpenStepPlistWriterOptions(layout: layout, scalars: .reject))
                try value.send(to: &writer)
                try writer.finish()
                let list = try PropertyListSerialization.propertyList(
                    from: Data(writer.bytes), options: [], format: nil)
                try expectEqual(PlistValue(foundation: list), value, "seed \(seed)")
                var builder = PlistValueBuilder()
                try builder.readOpenStepPlist(writer.bytes)
                try expectEqual(builder.value, value, "ours, seed \(seed)")
            }
        }
    }

    /// Reads texts with omitted, doubled or exchanged bytes. If both readers accept a text, their values must be equal.
    @Test func readsOpenStepTextLikeFoundation() throws {
        var random = SeededRandom(seed: 7)
        let samples = [
            "{ a = b; \"c d\" = (e, \"f\\\"g\", <0fbd 77>); /* h */ i = { j = 'k'; }; } // l\n",
            "m = n; \"o\" = (); p;",
            "(\"\\101\\n\\U00e9\\\\\", a/b, -1.5, { x = <>; }, \"\\245\\12\")",
        ]
        var readCount = 0
        for round in 0..<6_000 {
            var bytes = Array(samples[round % samples.count].utf8)
            for _ in 0..<Int.random(in: 0...2, using: &random) {
                let place = Int.random(in: 0..<bytes.count, using: &random)
                switch Int.random(in: 0..<3, using: &random) {
                case 0: bytes.remove(at: place)
                case 1: bytes.insert(bytes.randomElement(using: &random) ?? 0, at: place)
                default: bytes.swapAt(place, Int.random(in: 0..<bytes.count, using: &random))
                }
            }
            var builder = PlistValueBuilder()
            guard (try? builder.readOpenStepPlist(bytes)) != nil, let ours = builder.value else { continue }
            var format = PropertyListSerialization.PropertyListFormat.openStep
            guard
                let list = try? PropertyListSerialization.propertyList(
                    from: Data(bytes), options: [], format: &format)
            else {
                Issue.record("Foundation refuses what we read: \(String(decoding: bytes, as: UTF8.self))")
                continue
            }
            readCount += 1
            try expectEqual(PlistValue(foundation: list), ours, String(decoding: bytes, as: UTF8.self))
        }
        #expect(readCount > 2_000)
    }

    private func xml(_ value: PlistValue) throws -> Data {
        var writer = XMLPlistWriter()
        try value.send(to: &writer)
        try writer.finish()
        return Data(writer.bytes)
    }

    private func readXML(_ data: Data) throws -> PlistValue? {
        var builder = PlistValueBuilder()
        try builder.readXMLPlist(data)
        return builder.value
    }

    /// Foundation's writer omits the sign of a zero. It doesn't escape carriage returns, so they are read as line
    /// feeds.
    private static let xmlChoices = PlistValue.Choices(dateStep: 1, hasControls: false, hasSpecialReals: false)

    @Test func foundationReadsOurXML() throws {
        for (seed, value) in values(Self.xmlChoices).enumerated() {
            let data = try xml(value)
            let list = try PropertyListSerialization.propertyList(from: data, options: [], format: nil)
            try expectEqual(PlistValue(foundation: list), value, "seed \(seed)")
            try expectEqual(try readXML(data), value, "ours, seed \(seed)")
        }
    }

    @Test func readsXMLOfFoundation() throws {
        for (seed, value) in values(Self.xmlChoices).enumerated() {
            let data = try PropertyListSerialization.data(fromPropertyList: value.foundation, format: .xml, options: 0)
            try expectEqual(try readXML(data), value, "seed \(seed)")
        }
    }

    private static let python: String? = ProcessInfo.processInfo.environment["PATH"]?.split(separator: ":")
        .map { "\($0)/python3" }.first { FileManager.default.isExecutableFile(atPath: $0) }

    /// A script that reads each file of a folder and writes its value next to it in both forms.
    private static let script = """
        import os, plistlib, sys
        for name in sorted(os.listdir(sys.argv[1])):
            path = os.path.join(sys.argv[1], name)
            with open(path, "rb") as file: value = plistlib.load(file)
            for form, ending in ((plistlib.FMT_BINARY, ".binary"), (plistlib.FMT_XML, ".xml")):
                if ending == ".xml" and "controls" in name: continue
                with open(path + ending, "wb") as file: plistlib.dump(value, file, fmt=form, sort_keys=False)
        """

    /// Writes files to a new folder, lets plistlib write them again, and calls a closure with the folder.
    private func withPython(_ files: [String: Data], _ body: (_ folder: URL) throws -> Void) throws {
        guard let python = Self.python else {
            print("skipped: there is no python3 in PATH, whose plistlib is to be compared")
            return
        }
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("plists-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        for (name, data) in files { try data.write(to: folder.appendingPathComponent(name)) }
        let process = Process()
        process.executableURL = URL(fileURLWithPath: python)
        process.arguments = ["-c", Self.script, folder.path]
        try process.run()
        process.waitUntilExit()
        #expect(process.terminationStatus == 0, "plistlib reads what we write")
        try body(folder)
    }

    /// Python's datetimes have microseconds.
    private static let pythonChoices = PlistValue.Choices(dateStep: 1 / 64)

    @Test func agreesWithPythonOnBinary() throws {
        let values = values(Self.pythonChoices)
        var files: [String: Data] = [:]
        for (seed, value) in values.enumerated() { files["controls-\(seed)"] = try binary(value) }
        files["many-controls"] = try binary(.array((0..<70_000).map { .integer($0) }))
        try withPython(files) { folder in
            for (seed, value) in values.enumerated() {
                let data = try Data(contentsOf: folder.appendingPathComponent("controls-\(seed).binary"))
                try expectEqual(try readBinary(data), value, "seed \(seed)")
            }
        }
    }

    @Test func agreesWithPythonOnXML() throws {
        let choices = PlistValue.Choices(dateStep: 1, hasControls: false)
        let values = values(choices)
        var files: [String: Data] = [:]
        for (seed, value) in values.enumerated() { files["\(seed)"] = try xml(value) }
        try withPython(files) { folder in
            for (seed, value) in values.enumerated() {
                for (form, read) in [("binary", readBinary), ("xml", readXML)] {
                    let data = try Data(contentsOf: folder.appendingPathComponent("\(seed).\(form)"))
                    try expectEqual(try read(data), value, "\(form), seed \(seed)")
                }
            }
        }
    }
}
