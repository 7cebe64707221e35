// Finds the folders of a SwiftPM build, and the options to build there again.

internal import InClassSystem
import TestSupervision

struct BuildPlace: Equatable {
    /// The folder of the products, such as `.build/x86_64-unknown-linux-gnu/debug` or
    /// `.build/out/Products/Debug-linux`.
    let products: String
    /// The folder for all of SwiftPM's files, by default `.build`.
    let scratch: String
    /// The arguments after `swift build`.
    let options: [String]

    /// Parses the path of a products folder. Returns nil if no build system of SwiftPM uses this layout.
    init?(products: String) {
        let name = FileAccess.name(of: products)
        let parent = FileAccess.directory(of: products)
        let grandparent = FileAccess.directory(of: parent)
        let isSwiftBuild = FileAccess.name(of: parent) == "Products" && FileAccess.name(of: grandparent) == "out"
        let configuration = isSwiftBuild ? String(name.lowercased().prefix { $0 != "-" }) : name
        guard configuration == "debug" || configuration == "release" else { return nil }
        self.products = products
        scratch = isSwiftBuild ? FileAccess.directory(of: grandparent) : grandparent
        options = [
            "--scratch-path", scratch, "--build-system", isSwiftBuild ? "swiftbuild" : "native", "-c", configuration,
        ]
    }

    /// The build that contains this program, or nil if it isn't in a build folder.
    static var ofThisProgram: BuildPlace? { BuildPlace(products: programFolder) }

    /// A Boolean value that indicates whether `swift package testlogger` is building. It runs the tests itself.
    ///
    /// Its plugin holds a lock while it builds. The system releases the lock if the plugin ends for any reason.
    static var isOfCommand: Bool {
        guard let scratch = ofThisProgram?.scratch else { return false }
        let descriptor = open("\(scratch)/plugins/TestLogger/outputs/command.lock", O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        return flock(descriptor, LOCK_SH | LOCK_NB) != 0
    }

    /// The folder of this program.
    static var programFolder: String { FileAccess.directory(of: program) }

    /// The path of this program.
    static var program: String {
        let word = CommandLine.arguments.first ?? ""
        let path = FileAccess.program(named: word) ?? word
        return FileAccess.realPath(path) ?? path
    }
}

// MARK: - In-class tests

#if SELF_TESTS && (DEBUG || IN_CLASS_TESTS)
import InClassTesting

extension BuildPlace: SelfTesting {
    static var testSelectors: TestSelectors {
        .each("testReadsBothLayouts", layouts) { products, scratch, system, configuration in
            let place = try requireNotNil(BuildPlace(products: products))
            expectEqual(place.scratch, scratch)
            expectEqual(place.options, ["--scratch-path", scratch, "--build-system", system, "-c", configuration])
        }
            + .each("testRejectsOtherPaths", ["/usr/bin", "/", "", ".", "/x/Products/Debugging"]) { products in
                expectNil(BuildPlace(products: products))
            }
    }

    private static let layouts = [
        ("/p/.build/x86_64-unknown-linux-gnu/debug", "/p/.build", "native", "debug"),
        ("/s x/arm64-apple-macosx/release", "/s x", "native", "release"),
        ("/p/.build/out/Products/Debug-linux", "/p/.build", "swiftbuild", "debug"),
        ("/x/out/Products/Release", "/x", "swiftbuild", "release"),
    ]
}
#endif
