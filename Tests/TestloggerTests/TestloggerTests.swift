// The root of all tests of this target. They build packages, so one runs at a time.

import Foundation
import Testing

@Suite(.serialized)
struct TestloggerTests {}

/// Fixtures that several tests share, built once.
enum SharedPackages {
    /// The package of failing modules, with a description of each that testlogger finds by the module's name.
    static let diagnostics = Result {
        let package = try FixturePackage("Diagnostics")
        let result = try package.swift("package", "testlogger", "--list")
        guard result.status == 0 else { throw ProgramError(description: "Diagnostics does not build: \(result)") }
        return package
    }
}
