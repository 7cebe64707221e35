// Tests time limits on a busy machine: the time that a test waits for a processor doesn't count, and hanging tests are
// still ended.

#if os(Linux)
import Foundation
import Testing

extension TestloggerTests {
    @Suite(.serialized, .enabled(if: RunningPrograms.path(of: "taskset") != nil, "taskset is not installed"))
    struct BusyMachineTests {
        /// Runs tests with a tenth of a processor while an endless loop uses the rest.
        private func run(_ words: String...) throws -> ProgramResult {
            let package = try SharedPackages.runs.get()
            let pin = ["taskset", "-c", try #require(Self.processor)]
            let other = try RunningPrograms.start(pin + ["sh", "-c", "while :; do :; done"], in: package.folder)
            defer { other.send(SIGKILL) }
            return try RunningPrograms.run(
                ["nice", "-n", "10"] + pin + [Fixtures.testlogger.path, "Runs", "--stable-output", "--jobs", "1"]
                    + words,
                in: package.folder)
        }

        /// The number of a processor that this process may use.
        private static let processor: String? = {
            let status = try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)
            return status?.firstMatch(of: /Cpus_allowed_list:\s*(\d+)/).map { String($0.1) }
        }()

        @Test func ignoresTimeSpentWaitingForProcessors() throws {
            let result = try run("--timeout", "300", "--test-type", "busy")
            #expect(result.status == 0 && result.output == "1 test, 1 passed\n", "\(result)")
        }

        @Test func endsHangingTests() throws {
            let result = try run("--timeout", "100", "--test-type", "busy for ever")
            #expect(result.status == 1, "\(result)")
            #expect(result.output.contains("timed out after 100 ms"), "\(result)")
        }
    }
}
#endif
