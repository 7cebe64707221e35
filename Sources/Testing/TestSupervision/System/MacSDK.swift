// Finds the headers and libraries of macOS, which aren't part of a toolchain.
//
// Source: xcrun(1). SwiftPM calls it, too, if `SDKROOT` is empty (swift-package-manager's SwiftSDK.swift).

internal import InClassSystem

enum MacSDK {
    /// Returns the folder of the SDK: the one in `SDKROOT` if it is for macOS, or else the one that xcrun prints.
    static func path() throws(LinkError) -> String {
        if let given = Environment.value(of: "SDKROOT"), isForMacOS(given) { return given }
        let words = ["xcrun", "--sdk", "macosx", "--show-sdk-path"]
        let result: (end: ProcessEnd, output: [UInt8])
        do throws(SystemError) { result = try ChildProcess.run(words) } catch {
            throw .obstacle("there is no SDK for macOS: \(error.description)")
        }
        // Other output of xcrun is in the same text, before the path.
        guard result.end == .exited(0),
            let line = String(decoding: result.output, as: UTF8.self).split(separator: "\n").last, line.hasPrefix("/")
        else { throw .obstacle("there is no SDK for macOS: '\(words.joined(separator: " "))' names none") }
        return String(line)
    }

    /// Returns whether a path is an SDK for macOS. Xcode sets `SDKROOT` to the SDK of the product, such as that of iOS.
    private static func isForMacOS(_ path: String) -> Bool { FileAccess.name(of: path).hasPrefix("MacOSX") }
}

extension Environment {
    /// A Boolean value that indicates whether Xcode reads the output.
    ///
    /// Swift Build sets the variable on Linux, too, where no program reads fix-its.
    package static var isXcode: Bool {
        #if canImport(Darwin)
        value(of: "XCODE_VERSION_ACTUAL") != nil
        #else
        false
        #endif
    }
}

// MARK: - In-class tests

#if SELF_TESTS && (DEBUG || IN_CLASS_TESTS)
import InClassTesting

extension MacSDK: SelfTesting {
    static var testSelectors: TestSelectors { ["testAsksXcrunForTheSDK": testAsksXcrunForTheSDK] }

    private static func testAsksXcrunForTheSDK() throws {
        let folder = try temporaryDirectory()
        let before = ["PATH", "SDKROOT"].map { (name: String) in
            (name: name, value: Environment.value(of: name))
        }
        defer {
            for variable in before {
                if let value = variable.value { setenv(variable.name, value, 1) } else { unsetenv(variable.name) }
            }
        }
        setenv("PATH", "\(folder):/bin:/usr/bin", 1)
        let rows: [(given: String, script: String, expected: String)] = [
            ("/X/MacOSX15.2.sdk", "exit 1", "/X/MacOSX15.2.sdk"),
            (
                "", "[ \"$*\" = '--sdk macosx --show-sdk-path' ] && echo note: slow >&2; echo /X/MacOSX.sdk",
                "/X/MacOSX.sdk"
            ),
            ("/X/iPhoneOS18.sdk", "echo /X/MacOSX.sdk", "/X/MacOSX.sdk"),
            ("", "echo /X/MacOSX.sdk; exit 1", ""), ("", "echo error", ""), ("", "exit 0", ""),
        ]
        for row in rows {
            setenv("SDKROOT", row.given, 1)
            try FileAccess.write(Array("#!/bin/sh\n\(row.script)\n".utf8), to: "\(folder)/xcrun")
            chmod("\(folder)/xcrun", 0o755)
            if row.expected.isEmpty {
                let error = try requireNotNil(expectThrows(LinkError.self) { _ = try path() })
                expectTrue("\(error)".contains("there is no SDK for macOS"), "\(error)")
            } else {
                expectEqual(try path(), row.expected, row.script)
            }
        }
    }
}
#endif
