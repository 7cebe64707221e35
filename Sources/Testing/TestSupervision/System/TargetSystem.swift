// The systems that tests run on, as values, so that what is different on one can be tested on the other.
//
// Sources: signal(7) of Linux and sys/signal.h of macOS for the numbers of signals; elf.h and mach/machine.h for those of
// processors.

/// A system that images are linked for, and run on.
enum TargetSystem: CaseIterable {
    case linux, macOS

    #if canImport(Darwin)
    static let current = TargetSystem.macOS
    #else
    static let current = TargetSystem.linux
    #endif

    /// The name of the linker that clang calls.
    var linker: String { self == .macOS ? "ld" : "ld.lld" }

    /// The name of a signal, such as SIGSEGV.
    ///
    /// A trap of Swift's is SIGILL on x86 and SIGTRAP on arm64, on either system.
    func name(ofSignal number: Int32) -> String {
        let common: [Int32: String] = [
            1: "SIGHUP", 2: "SIGINT", 3: "SIGQUIT", 4: "SIGILL", 5: "SIGTRAP", 6: "SIGABRT", 8: "SIGFPE", 9: "SIGKILL",
            11: "SIGSEGV", 13: "SIGPIPE", 14: "SIGALRM", 15: "SIGTERM", 24: "SIGXCPU", 25: "SIGXFSZ",
        ]
        let own: [Int32: String] =
            self == .macOS ? [7: "SIGEMT", 10: "SIGBUS", 12: "SIGSYS"] : [7: "SIGBUS", 31: "SIGSYS"]
        return common[number] ?? own[number] ?? "signal \(number)"
    }
}

/// A processor that objects are compiled for.
enum Architecture: CaseIterable {
    case arm64, x86, riscv

    #if arch(arm64)
    static let current = Architecture.arm64
    #elseif arch(x86_64)
    static let current = Architecture.x86
    #elseif arch(riscv64)
    static let current = Architecture.riscv
    #endif

    /// The name in paths of toolchains and in triples.
    func name(on system: TargetSystem) -> String {
        switch self {
        case .arm64: system == .macOS ? "arm64" : "aarch64"
        case .x86: "x86_64"
        case .riscv: "riscv64"
        }
    }

    /// `e_machine` of ELF files.
    var elfMachine: Int {
        switch self {
        case .arm64: 0xB7
        case .x86: 0x3E
        case .riscv: 0xF3
        }
    }

    /// The low byte of `cputype` in Mach-O files; that of no processor where macOS doesn't run.
    var machOType: UInt8 {
        switch self {
        case .arm64: 0x0C
        case .x86: 0x07
        case .riscv: 0xFF
        }
    }
}

// MARK: - In-class tests

#if SELF_TESTS && (DEBUG || IN_CLASS_TESTS)
internal import InClassSystem
import InClassTesting

extension TargetSystem: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testNamesTheSignalsOfBothSystems": testNamesTheSignalsOfBothSystems
        ]
            + .each("testNamesThisSystemsOwn", signals) { number, name in
                expectEqual(current.name(ofSignal: number), name)
            }
    }

    private static func testNamesTheSignalsOfBothSystems() {
        func names(_ system: TargetSystem) -> String {
            (1...31).map { system.name(ofSignal: $0) }.filter { $0.hasPrefix("SIG") }.joined(separator: " ")
        }
        expectEqual(
            names(.linux),
            "SIGHUP SIGINT SIGQUIT SIGILL SIGTRAP SIGABRT SIGBUS SIGFPE SIGKILL SIGSEGV SIGPIPE SIGALRM SIGTERM "
                + "SIGXCPU SIGXFSZ SIGSYS")
        expectEqual(
            names(.macOS),
            "SIGHUP SIGINT SIGQUIT SIGILL SIGTRAP SIGABRT SIGEMT SIGFPE SIGKILL SIGBUS SIGSEGV SIGSYS SIGPIPE SIGALRM "
                + "SIGTERM SIGXCPU SIGXFSZ")
        expectEqual(allCases.map { $0.name(ofSignal: 34) }, ["signal 34", "signal 34"])
    }

    /// The numbers are written down above; here the C library says its own.
    private static var signals: [(Int32, String)] {
        [
            (SIGILL, "SIGILL"), (SIGTRAP, "SIGTRAP"), (SIGSEGV, "SIGSEGV"), (SIGBUS, "SIGBUS"), (SIGABRT, "SIGABRT"),
            (SIGFPE, "SIGFPE"), (SIGSYS, "SIGSYS"), (SIGKILL, "SIGKILL"), (SIGTERM, "SIGTERM"), (SIGINT, "SIGINT"),
            (SIGPIPE, "SIGPIPE"), (SIGHUP, "SIGHUP"), (SIGXCPU, "SIGXCPU"), (SIGXFSZ, "SIGXFSZ"),
            (SIGQUIT, "SIGQUIT"), (SIGALRM, "SIGALRM"),
        ]
    }
}
#endif
