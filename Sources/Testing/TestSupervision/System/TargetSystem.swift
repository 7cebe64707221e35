// The systems and processors that tests run on. They are values, so each can be tested on another system.
//
// Sources: elf.h and mach/machine.h for the numbers of processors; sysconf(3).

internal import InClassSystem

/// A system that test executables are linked for and run on.
enum TargetSystem: CaseIterable {
    case linux, macOS

    #if canImport(Darwin)
    static let current = TargetSystem.macOS
    #else
    static let current = TargetSystem.linux
    #endif

    /// The name of the linker that clang calls.
    var linker: String { self == .macOS ? "ld" : "ld.lld" }
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

    /// Returns the name in paths of toolchains and in triples.
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

    /// The low byte of `cputype` in Mach-O files. For a processor without macOS, an unused number.
    var machOType: UInt8 {
        switch self {
        case .arm64: 0x0C
        case .x86: 0x07
        case .riscv: 0xFF
        }
    }
}

/// Facts about the machine.
enum SystemCalls {
    /// Returns a memory limit of half of the machine's memory, or the given limit if that is lower.
    static func halfOfMemory(within limit: rlimit) -> rlimit {
        let byteCount = rlim_t(max(0, sysconf(Int32(_SC_PHYS_PAGES)))) * rlim_t(getpagesize())
        return rlimit(rlim_cur: min(limit.rlim_cur, byteCount / 2), rlim_max: limit.rlim_max)
    }
}
