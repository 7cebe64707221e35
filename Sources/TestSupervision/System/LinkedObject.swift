// An object as linking sees it, whatever its format: ELF on Linux, Mach-O on macOS, bitcode on either.
//
// Source of what begins a file of WebAssembly: its core specification, Modules, in the binary format.

/// What linking asks of a file that the compiler made.
protocol LinkedObject {
    /// The options that Swift asks the linker for, where the linker does not read them itself.
    var autolinkOptions: [String] { get }
    /// The oldest version of its system that the object runs on, as numbers: 14, 2 and 0; empty where it does not say.
    var systemVersion: [Int] { get }

    /// Whether a symbol is in the file's symbol table, defined or not, by its name in C.
    ///
    /// - Complexity: O(number of symbols).
    func mentions(symbol: String) -> Bool
    /// Whether a symbol of this beginning is in the file's symbol table, defined or not.
    ///
    /// - Complexity: O(number of symbols).
    func mentions(symbolsStartingWith start: String) -> Bool
    func hasSection(_ name: String) -> Bool
}

extension TargetSystem {
    /// Reads an object or executable for this system and a processor, or nothing when it is not such a file.
    func object(_ bytes: [UInt8], _ architecture: Architecture = .current) -> (any LinkedObject)? {
        self == .linux || ObjectFile.isBitcode(bytes)
            ? ObjectFile(bytes: bytes, architecture) : MachOFile(bytes: bytes, architecture)
    }

    /// Whether a file is an object, but of another system or processor.
    func isForeign(_ bytes: [UInt8], _ architecture: Architecture = .current) -> Bool {
        if bytes.starts(with: [0, 0x61, 0x73, 0x6D]) { return true }  // WebAssembly
        let isMachO = MachOFile.isMachO(bytes)
        let isELF = bytes.starts(with: [0x7F, 0x45, 0x4C, 0x46]) && bytes.count >= 0x34
        switch self {
        case .linux: return isMachO || isELF && ObjectFile.isForeign(bytes, architecture)
        case .macOS: return isELF || isMachO && MachOFile.isForeign(bytes, architecture)
        }
    }
}

/// Tells test images from other programs before one is run.
package enum ImageCheck {
    /// Whether a file is an executable that was linked with InClassTesting's main function.
    package static func isTestImage(_ path: String) -> Bool {
        guard let bytes = try? FileAccess.contents(of: path) else { return false }
        return TargetSystem.current.object(bytes)?.mentions(symbol: "inclass_main") ?? false
    }
}
