// Reads the environment variables of this process.

internal import InClassSystem

package enum Environment {
    /// Returns the value of a variable, or nil if the variable doesn't exist.
    package static func value(of name: String) -> String? { getenv(name).map { String(cString: $0) } }

    /// The folder for temporary files: the value of `TMPDIR`, or `/tmp` if that is empty.
    static var temporaryFolder: String {
        let folder = value(of: "TMPDIR") ?? ""
        return folder.isEmpty ? "/tmp" : folder
    }
}

// MARK: - In-class tests

#if SELF_TESTS && (DEBUG || IN_CLASS_TESTS)
import InClassTesting

extension Environment: SelfTesting {
    package static var testSelectors: TestSelectors {
        ["testEmptyTMPDIRMeansTheDefault": testEmptyTMPDIRMeansTheDefault]
    }

    private static func testEmptyTMPDIRMeansTheDefault() {
        let before = value(of: "TMPDIR")
        defer { if let before { setenv("TMPDIR", before, 1) } else { unsetenv("TMPDIR") } }
        for (given, folder) in [("/x y", "/x y"), ("", "/tmp")] {
            setenv("TMPDIR", given, 1)
            expectEqual(value(of: "TMPDIR"), given)
            expectEqual(temporaryFolder, folder)
        }
        unsetenv("TMPDIR")
        expectNil(value(of: "TMPDIR"))
        expectEqual(temporaryFolder, "/tmp", "without the variable")
    }
}
#endif
