// What a run is asked to do, and why it may not take place at all.

package struct RunOptions: Sendable {
    package var choice = TestChoice()
    /// How long one test may take that says nothing else itself.
    package var timeoutMilliseconds = 10_000
    /// How long a test may take at the most, whatever it says itself, and making the lists, and ending.
    package var timeoutMillisecondsMax = Int.max
    /// Warn of tests that take longer; 0 for never.
    package var slowMilliseconds = 0
    /// How many workers may run at once.
    package var workerCountMax = 1
    /// Run each test in a worker of its own.
    package var isolatesTests = false
    /// The time in milliseconds for which a process waits, after its only test has ended, for failures of the test's tasks.
    package var lateMilliseconds = 100
    /// Run in a random order that this number decides.
    package var shuffleSeed: UInt64?
    /// Run nothing more after the first failure.
    package var stopsAtFirstFailure = false
    /// How often a test that failed is run again, each time in a worker of its own, until it passes.
    package var retryCount = 0
    /// A Boolean value that indicates whether the temporary directories of failed tests stay.
    package var keepsDirectories = true
    /// A Boolean value that indicates whether an earlier run of this command is repeated, what that has kept included.
    package var isRepetition = false
    /// Leave out of notes what no two runs have in common.
    package var isStable = false
    /// Leave to this process's output what tests write, instead of keeping it.
    package var leavesOutput = false
    /// How much of a failed test's output is kept, from its end.
    package var outputByteCountMax = 16 << 10
    /// How much a worker's tests may write before the one that is running is ended.
    package var outputFileByteCountMax = 512 << 20
    /// Have each worker leave a profile for `CoverageReport`.
    package var leavesProfiles = false
    /// Report no beginnings, and nothing of tests that passed with nothing to say of them.
    package var reportsOnlyNews = false
    /// A Boolean value that indicates whether this is a step of a build: everything has just been compiled, and a test that is
    /// running when the run is ended is not to blame, since a build ends its steps when another one fails.
    package var isBuildStep = false
    /// A Boolean value that indicates whether what was got may be accepted in place of what was expected.
    package var isAccepting = false
    /// Only announce the plan.
    package var isListing = false

    package init() {}

    /// Returns whether a test that took so long is one to warn of.
    package func isSlow(nanoseconds: Int) -> Bool {
        // A limit that no time reaches is one as well.
        let (limit, overflow) = slowMilliseconds.multipliedReportingOverflow(by: 1_000_000)
        return slowMilliseconds > 0 && !overflow && nanoseconds > limit
    }
}

/// Why a run did not take place at all.
package enum RunError: Error, Equatable, CustomStringConvertible {
    /// The system refused what the runner needs.
    case system(SystemError)
    /// The image speaks another version of the worker protocol.
    case protocolMismatch(String)

    package var description: String {
        switch self {
        case .system(let error): error.description
        case .protocolMismatch(let text): text
        }
    }
}
