// Parses the message that the Swift runtime prints before it traps.

import TestEvents

/// A message that the Swift runtime printed before it trapped: `Module/File.swift:12: Fatal error: Index out of range`.
struct FatalMessage: Equatable {
    /// The message, without `Fatal error: `, in which editors would see the start of another diagnostic.
    var text: String
    var fileName: String?
    var line: Int?

    /// Finds the last such message in a test's output.
    init?(output: String) {
        let markers = ["Fatal error", "Precondition failed", "Assertion failed", "Could not cast value"]
        let lines = output.split(separator: "\n").filter { line in markers.contains { line.contains($0) } }
        // A message of several lines may contain a marker, too, but without a place.
        let placed = lines.last { line in markers.contains { line.contains(": \($0)") } && line.contains(".swift:") }
        guard let line = placed ?? lines.last else { return nil }
        text = String(line)
        guard let marker = markers.compactMap({ line.firstRange(of: $0) }).min(by: { $0.lowerBound < $1.lowerBound })
        else { return }
        let start = line[marker.lowerBound...].hasPrefix("Fatal error: ") ? "Fatal error: ".count : 0
        text = String(line[marker.lowerBound...].dropFirst(start))
        let parts = line[..<marker.lowerBound].split(separator: ":")
        guard parts.count >= 2, let number = Int(parts[1]) else { return }
        fileName = FileAccess.name(of: String(parts[0]))
        self.line = number
    }

    /// Removes the stack trace that some messages of the runtime contain. Its addresses in libraries don't help the
    /// reader.
    static func withoutStackTrace(_ output: [UInt8]) -> [UInt8] {
        guard output.contains("Current stack trace:") else { return output }
        var isTrace = false
        let lines = output.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).filter { line in
            let text = String(decoding: line, as: UTF8.self)
            // A line of the trace consists of a number, a library, an address and a function.
            isTrace = text == "Current stack trace:" || isTrace && text.first.map(\.isNumber) == true && text.count > 40
            return !isTrace
        }
        return Array(lines.joined(separator: [UInt8(ascii: "\n")]))
    }

    /// Finds the place in the sources of a module, where a file's name is unique.
    func place(among sources: [String]) -> SourcePlace? {
        guard let fileName, let line, let path = sources.first(where: { FileAccess.name(of: $0) == fileName })
        else { return nil }
        return SourcePlace(path: path, line: line, column: 1)
    }
}

// MARK: - In-class tests

#if SELF_TESTS && (DEBUG || IN_CLASS_TESTS)
import InClassTesting

extension FatalMessage: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testReadsFatalMessages": testReadsFatalMessages,
            "testOmitsStackTraces": testOmitsStackTraces,
        ]
    }

    private static func testReadsFatalMessages() {
        let message = FatalMessage(output: "x\nM/A.swift:12: Fatal error: a: b\ny")
        expectEqual(message?.text, "a: b")
        expectEqual(
            message?.place(among: ["/s/B.swift", "/s/A.swift"]),
            SourcePlace(path: "/s/A.swift", line: 12, column: 1))
        expectNil(message?.place(among: ["/s/B.swift"]))
        expectEqual(FatalMessage(output: "Fatal error")?.text, "Fatal error")
        expectEqual(
            FatalMessage(output: "M/A.swift:1: Fatal error: a\nFatal error: b")?.text, "a", "a message of two lines")
        expectNil(FatalMessage(output: "all is well"))
    }

    private static func testOmitsStackTraces() {
        let frame = "0    libswiftCore.so                    0x00007ff50715f130 swift_reportError + 33"
        let output = "a\nCurrent stack trace:\n\(frame)\n\(frame)\n1 b\n"
        expectEqual(String(decoding: FatalMessage.withoutStackTrace(Array(output.utf8)), as: UTF8.self), "a\n1 b\n")
        expectEqual(FatalMessage.withoutStackTrace(Array(frame.utf8)), Array(frame.utf8))
    }
}
#endif
