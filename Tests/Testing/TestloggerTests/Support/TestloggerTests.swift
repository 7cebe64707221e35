// The two roots of this target's tests. In each one test runs at a time, and both are at work side by side.

import Foundation
import Testing

/// What packages do that SwiftPM builds: they share one place to build in.
@Suite(.serialized)
struct PackageTests {}

/// What testlogger does with modules that are there already, or that the compiler makes by itself.
@Suite(.serialized)
struct TestloggerTests {}

/// Fixtures that several tests share, built once.
enum SharedPackages {
    /// The package of failing modules, with a description of each that testlogger finds by the module's name.
    static let diagnostics = Result { try FixturePackage(compiling: "Diagnostics") }

    /// The package of tests that leave files, are flaky, and are many.
    static let runs = Result { try FixturePackage(compiling: "Runs") }
}
