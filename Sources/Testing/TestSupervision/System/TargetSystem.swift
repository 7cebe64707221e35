// The systems and processors that tests run on. They are values, so each can be tested on another system.
//
// Sources: elf.h and mach/machine.h for the numbers of processors.

/// A system that test executables are linked for and run on.
enum TargetSystem {
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
struct Architecture: Equatable {
    /// The name in the paths of toolchains for Linux.
    var name: String
    /// `e_machine` of ELF files.
    var elfMachine: Int
    /// The low byte of `cputype` in Mach-O files. For a processor without macOS, an unused number.
    var machOType: UInt8

    static let arm64 = Architecture(name: "aarch64", elfMachine: 0xB7, machOType: 0x0C)
    static let x86 = Architecture(name: "x86_64", elfMachine: 0x3E, machOType: 0x07)
    static let riscv = Architecture(name: "riscv64", elfMachine: 0xF3, machOType: 0xFF)

    #if arch(arm64)
    static let current = arm64
    #elseif arch(x86_64)
    static let current = x86
    #elseif arch(riscv64)
    static let current = riscv
    #endif
}
