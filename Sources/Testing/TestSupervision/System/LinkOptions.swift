// Lists the options of clang that link a test executable, without its objects and their autolink options, and finds the
// headers and libraries of macOS, which aren't part of a toolchain.
//
// Sources: For Linux, the linker's arguments in `swiftc -v`. For macOS, the arguments of SwiftPM and the driver:
// swift-driver's DarwinToolchain+LinkerSupport.swift (SDK, `-L` of the toolchain and of the SDK for libraries that are
// named in objects, the `-rpath` of the system's Swift), and SwiftPM's ProductBuildDescription.swift
// (`-alias _NAME_main _main`, the `-rpath` of the library for Span). ld(1) and `clang --help` for the options themselves.
// xcrun(1) finds the SDK of macOS. SwiftPM calls it, too, if `SDKROOT` is empty (swift-package-manager's SwiftSDK.swift).

internal import InClassSystem

struct LinkOptions {
    var system: TargetSystem
    var architecture: Architecture
    /// The toolchain's folder that contains `bin` and `lib`.
    var toolchain: String
    /// The folder of the headers and libraries of macOS, or an empty text on Linux.
    var sdk = ""

    /// The options before the module's own options.
    var words: [String] {
        switch system {
        case .linux:
            let libraries = "\(toolchain)/lib/swift/linux"
            return [
                "-fuse-ld=lld", "-pie", "\(libraries)/\(architecture.name)/swiftrt.o", "-L\(libraries)",
                "-Wl,-rpath,\(libraries)", "-Wl,--defsym=main=inclass_main", "-lswiftCore",
            ]
        case .macOS:
            return [
                "-isysroot", sdk, "-Wl,-alias,_inclass_main,_main", "-L\(toolchain)/lib/swift/macosx",
                "-L\(sdk)/usr/lib/swift", "-Wl,-rpath,/usr/lib/swift",
                // Before macOS 26, Span is in a library of the toolchain.
                "-Wl,-rpath,\(toolchain)/lib/swift-6.2/macosx",
            ]
        }
    }

    /// Returns the options for a module: its libraries and their folders.
    func words(for module: ModuleDescription) -> [String] {
        var words: [String] = []
        for path in module.searchPaths {
            words.append("-L\(path)")
            // The build copies the frameworks of binary targets there.
            if system == .macOS { words.append("-F\(path)") }
            words.append("-Wl,-rpath,\(path)")
        }
        words += module.linkerOptions
        words += module.libraries.map { "-l\($0)" }
        if module.usesCPlusPlus { words.append(system == .macOS ? "-lc++" : "-lstdc++") }
        return words
    }

    /// Returns the options for instrumented objects.
    func words(for instrumentation: Set<Instrumentation>) -> [String] {
        Instrumentation.allCases.filter(instrumentation.contains).flatMap { kind in
            // The thread sanitizer's runtime observes the queues of Dispatch, which is part of macOS's system library.
            [kind.rawValue] + (kind == .thread && system == .linux ? ["-ldispatch", "-lBlocksRuntime"] : [])
        }
    }
}

/// The instrumentation of an object, and the option that links its library.
enum Instrumentation: String, CaseIterable {
    case address = "-fsanitize=address"
    case thread = "-fsanitize=thread"
    case undefined = "-fsanitize=undefined"
    case profile = "-fprofile-instr-generate"

    /// Returns the instrumentation of an object. Sanitizers are found by the functions that they call, and coverage by the
    /// section of its counters (`__llvm_prf_cnts` in both formats, llvm/include/llvm/ProfileData/InstrProfData.inc).
    static func found(in object: ObjectFile) -> Set<Instrumentation> {
        var found: Set<Instrumentation> = []
        if object.mentions(symbol: "__asan_init") { found.insert(.address) }
        if object.mentions(symbol: "__tsan_init") { found.insert(.thread) }
        if object.mentions(symbolsStartingWith: "__ubsan_handle_") { found.insert(.undefined) }
        if object.hasSection("__llvm_prf_cnts") { found.insert(.profile) }
        return found
    }
}

/// The headers and libraries of macOS.
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

extension LinkOptions: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testWritesOptionsForLinux": testWritesOptionsForLinux,
            "testWritesOptionsForMacOS": testWritesOptionsForMacOS,
            "testClangPassesOptionsToApplesLinker": testClangPassesOptionsToApplesLinker,
        ]
    }

    private static func text(_ options: LinkOptions) -> String {
        var module = ModuleDescription()
        module.searchPaths = ["/b/debug"]
        module.linkerOptions = ["-pthread"]
        module.libraries = ["z"]
        module.usesCPlusPlus = true
        let lines = [
            options.words, options.words(for: module), options.words(for: Set(Instrumentation.allCases)),
            options.words(for: []),
        ]
        return lines.map { $0.joined(separator: " ") }.joined(separator: "\n")
    }

    private static func testWritesOptionsForLinux() {
        expectEqual(
            text(LinkOptions(system: .linux, architecture: .x86, toolchain: "/t/usr")),
            """
            -fuse-ld=lld -pie /t/usr/lib/swift/linux/x86_64/swiftrt.o -L/t/usr/lib/swift/linux -Wl,-rpath,/t/usr/lib/swift/linux -Wl,--defsym=main=inclass_main -lswiftCore
            -L/b/debug -Wl,-rpath,/b/debug -pthread -lz -lstdc++
            -fsanitize=address -fsanitize=thread -ldispatch -lBlocksRuntime -fsanitize=undefined -fprofile-instr-generate

            """)
    }

    private static func testWritesOptionsForMacOS() {
        expectEqual(
            text(LinkOptions(system: .macOS, architecture: .arm64, toolchain: "/x/usr", sdk: "/MacOSX.sdk")),
            """
            -isysroot /MacOSX.sdk -Wl,-alias,_inclass_main,_main -L/x/usr/lib/swift/macosx -L/MacOSX.sdk/usr/lib/swift -Wl,-rpath,/usr/lib/swift -Wl,-rpath,/x/usr/lib/swift-6.2/macosx
            -L/b/debug -F/b/debug -Wl,-rpath,/b/debug -pthread -lz -lc++
            -fsanitize=address -fsanitize=thread -fsanitize=undefined -fprofile-instr-generate

            """)
    }

    /// Compares clang's command for Apple's linker with the options of ld(1).
    private static func testClangPassesOptionsToApplesLinker() throws {
        let clang = try ObjectFile.toolchainClang()
        let options = LinkOptions(system: .macOS, architecture: .arm64, toolchain: "/x/usr", sdk: "/MacOSX.sdk")
        let target = ["-target", "arm64-apple-macosx14.2.0"]
        let words = target + options.words + options.words(for: [.profile])
        let result = try ChildProcess.run([clang, "-###", "/a.o"] + words + ["-o", "/M.img"])
        let text = String(decoding: result.output, as: UTF8.self)
        let command = try requireNotNil(text.split(separator: "\n").last, "a command").replacing("\"", with: "")
        let expected = [
            "/ld ", "-arch arm64", " 14.2.0 ", "-syslibroot /MacOSX.sdk", "-o /M.img",
            "-alias _inclass_main _main", "-L/x/usr/lib/swift/macosx", "-L/MacOSX.sdk/usr/lib/swift",
            "-rpath /usr/lib/swift -rpath /x/usr/lib/swift-6.2/macosx", "libclang_rt.profile_osx.a", "-lSystem",
        ]
        for part in expected { expectTrue(command.contains(part), "\(part) in \(command)") }
    }
}

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
