// Declares the two root suites of this target. Each suite runs one test at a time, and the two suites run in parallel.

import Foundation
import Testing

/// Tests of packages that SwiftPM builds. They share a build place.
@Suite(.serialized)
struct PackageTests {}

/// Tests that run testlogger on existing modules, or on modules that are compiled without SwiftPM.
@Suite(.serialized)
struct TestloggerTests {}

/// The fixtures that several tests share, built once.
enum SharedPackages {
    /// The package of failing modules. testlogger finds the description of each module by the module's name.
    static let diagnostics = Result { try FixturePackage(compiling: "Diagnostics") }

    /// The package of tests that leave files, flaky tests and a large number of tests.
    static let runs = Result { try FixturePackage(compiling: "Runs") }
}
