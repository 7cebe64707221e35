// A failing test whose output looks like everybody's diagnostics.
// swift-format-ignore-file
import InClassTesting

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

enum Speaking {}

extension Speaking: SelfTesting {
    static var testSelectors: TestSelectors { [
        "testSpeaks": testSpeaks,
        "testShouts": testShouts,
        "testWritesBytes": testWritesBytes,
        "testClosesItsOutput": testClosesItsOutput,
    ] }

    private static func testSpeaks() {
        for line in lines { print(line) }
        fail("after speaking")
    }

    private static let lines = [
        "x.swift:3:1: error: printed",
        "/tmp/x.swift:3:1: warning: printed",
        "x.swift:3: note: printed",
        "x.swift:3: printed",
        "x.swift:3:printed",
        "x.swift(3): printed",
        "x.swift|3| printed",
        "12:30:45 a clock",
        "error: printed",
        "warning: printed",
        "testlogger: printed",
        "\"x.swift\" 3: printed",
        "\"x.swift\", line 3: printed",
        "say \"x\" 3: printed",
        "  File \"x.py\", line 3, in f",
        "x.sh: line 3: printed",
        "make[1]: Entering directory '/tmp'",
        "make[1]: *** [Makefile:3: all] Error 1",
        "    at x (x.js:3:5)",
        "In file included from x.h:3:",
        "::error file=x.swift::printed",
        "Build complete!",
        "100% of %s",
        "",
        "\u{1B}[31mred\u{1B}[0m and a tab\t",
    ]

    private static func testShouts() {
        let line = "to the error stream\n"
        write(2, line, line.utf8.count)
        for number in 0..<4000 { print("line \(number)") }
        fail("after much output")
    }

    private static func testWritesBytes() {
        let bytes: [UInt8] = [0x61, 0xFF, 0xFE, 0x00, 0x62]
        write(1, bytes, bytes.count)
        fail("after bytes that are no text and no newline")
    }

    private static func testClosesItsOutput() {
        close(1)
        close(2)
        fail("after closing")
    }
}
