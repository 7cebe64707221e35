// Defines the options of a run, and the errors that prevent it or end it.

package struct RunOptions: Sendable {
    package var choice = TestChoice()
    /// The time limit of a test without its own limit.
    package var timeoutMilliseconds = 10_000
    /// The maximum time limit of a test, and of the start and the end of a worker.
    package var timeoutMillisecondsMax = Int.max
    /// The time limit after which a warning reports a slow test, or 0 for no warnings.
    package var slowMilliseconds = 0
    /// The number of workers that may run at the same time.
    package var workerCountMax = 1
    /// A Boolean value that indicates whether each test runs in its own worker.
    package var isolatesTests = false
    /// The time that an isolated worker waits after its only test for failures of the test's tasks.
    package var lateMilliseconds = 100
    /// The seed of a random order.
    package var shuffleSeed: UInt64?
    /// A Boolean value that indicates whether no test begins after the first failure.
    package var stopsAtFirstFailure = false
    /// The number of times that a failed test runs again, each time in its own worker, until it passes.
    package var retryCount = 0
    /// A Boolean value that indicates whether the temporary directories of failed tests are kept.
    package var keepsDirectories = true
    /// A Boolean value that indicates whether this run repeats an earlier run, whose kept directories are kept, too.
    package var isRepetition = false
    /// A Boolean value that indicates whether notes contain only details that are equal in all runs.
    package var isStable = false
    /// A Boolean value that indicates whether tests write to this process's output.
    package var leavesOutput = false
    /// The maximum number of bytes that are kept from the end of a failed test's output.
    package var outputByteCountMax = 16 << 10
    /// The maximum size of a worker's output. If the output is larger, the running test is ended.
    package var outputFileByteCountMax = 512 << 20
    /// A Boolean value that indicates whether each worker writes a profile for `CoverageReport`.
    package var leavesProfiles = false
    /// A Boolean value that indicates whether only failures and other news are reported. Tests that simply passed are
    /// left out.
    package var reportsOnlyNews = false
    /// A Boolean value that indicates whether this is a build step. All sources have just been compiled. The end of the
    /// run fails no test, because a build ends its steps when another step fails.
    package var isBuildStep = false
    /// A Boolean value that indicates whether actual values may replace expected values.
    package var isAccepting = false
    /// A Boolean value that indicates whether the run ends after it has reported the plan.
    package var isListing = false

    package init() {}

    /// Returns whether a test of this duration is slow.
    package func isSlow(nanoseconds: Int) -> Bool {
        slowMilliseconds > 0 && Duration.nanoseconds(nanoseconds) > .milliseconds(slowMilliseconds)
    }
}

/// An error that ends a run without results.
package enum RunError: Error, Equatable, CustomStringConvertible {
    /// A system call failed.
    case system(SystemError)
    /// The test executable uses another version of the worker protocol.
    case protocolMismatch(String)

    package var description: String {
        switch self {
        case .system(let error): error.description
        case .protocolMismatch(let text): text
        }
    }
}
