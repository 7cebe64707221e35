// Finds functions and variables of the C library and the Swift runtime by name at run time. Swift doesn't import some
// of these symbols on every system, and the linker must not see others.
//
// Sources: dlfcn.h of each system, crt_externs.h of macOS.

#if DEBUG || IN_CLASS_TESTS

internal import InClassTestingSystem

enum SystemSymbol {
    /// The handle for all loaded files.
    #if canImport(Darwin)
    private static let allImages = -2
    #else
    private static let allImages = 0
    #endif

    /// Finds a function or variable of any loaded file by its C name. Returns nil if it doesn't exist.
    ///
    /// - Complexity: A call of dlsym takes some microseconds.
    static func address(of name: String) -> UnsafeMutableRawPointer? {
        dlsym(UnsafeMutableRawPointer(bitPattern: allImages), name)
    }

    /// The path of this test executable and its start in memory. They are "" and 0 if they are unknown.
    static var executable: (path: String, start: UInt) {
        // SAFETY: this is dladdr's signature. Its result is four words: the path, the start, and a symbol's name and
        // address.
        typealias AddressOwner = @convention(c) (UnsafeRawPointer, UnsafeMutablePointer<UInt>) -> Int32
        var owner: [UInt] = [0, 0, 0, 0]
        guard let symbol = address(of: "dladdr"),
            unsafeBitCast(symbol, to: AddressOwner.self)(#dsohandle, &owner) != 0
        else { return ("", 0) }
        return (UnsafePointer<CChar>(bitPattern: owner[0]).map { String(cString: $0) } ?? "", owner[1])
    }
}

// MARK: - In-class tests

#if SELF_TESTS
extension SystemSymbol: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testFindsSymbolsOfTheSystem": testFindsSymbolsOfTheSystem,
            "testFindsItsOwnExecutable": testFindsItsOwnExecutable,
        ]
    }

    private static func testFindsSymbolsOfTheSystem() {
        for name in ["dladdr", "fork", "swift_getTypeByMangledNameInContext", "swift_conformsToProtocol"] {
            expectNotNil(address(of: name), name)
        }
        expectNil(address(of: "in_class_testing_nothing"))
    }

    private static func testFindsItsOwnExecutable() {
        expectEqual(access(executable.path, X_OK), 0, executable.path)
        expectNotEqual(executable.start, 0)
    }
}
#endif

#endif
