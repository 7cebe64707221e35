// Links a module's objects into a test executable: an ordinary executable with InClassTesting's main function, so that
// debuggers, sanitizers and coverage tools work as usual.

internal import InClassSystem

/// The reason why a test executable can't be linked.
package enum LinkError: Error, CustomStringConvertible {
    /// The tests can't run on this machine: a part of the toolchain is missing, or the objects are for another machine.
    case obstacle(String)
    /// An unexpected error.
    case failed(String)
    /// The linker failed with this output.
    case refused(String)

    package var description: String {
        switch self {
        case .obstacle(let text), .failed(let text), .refused(let text): text
        }
    }
}

package enum LinkOutcome: Equatable, Sendable {
    case linked
    /// The test executable is newer than all its objects.
    case upToDate
    /// The objects don't contain InClassTesting, as in a release build without `IN_CLASS_TESTS`.
    case compiledOut
}

package struct TestLinker {
    private let description: ModuleDescription
    private let system: TargetSystem

    package init(_ description: ModuleDescription) { self.init(description, for: .current) }

    init(_ description: ModuleDescription, for system: TargetSystem) {
        self.description = description
        self.system = system
    }

    /// Links the test executable unless it is newer than all its parts.
    package func link() throws(LinkError) -> LinkOutcome {
        if !description.obstacle.isEmpty { throw .obstacle(description.obstacle) }
        if !description.unsupported.isEmpty { throw .failed(description.unsupported) }
        let paths: [String]
        do throws(SystemError) { paths = try description.resolvedObjects() } catch {
            throw .failed("\(error.description); the objects aren't in the build folder")
        }
        if let source = description.sourcesWithoutObject.first {
            throw .failed("\(source) isn't compiled; the last build failed")
        }
        if paths.isEmpty { throw .failed("module '\(description.module)' isn't built") }
        let clang = try clangPath()
        let options = try linkOptions(toolchain: clang)
        let words = [clang] + options.words + options.words(for: description)
        if isUpToDate(paths, words) { return .upToDate }
        var autolinked: [String] = []
        var instrumentation: Set<Instrumentation> = []
        var hasRunner = false
        for path in paths {
            let object = try object(at: path)
            autolinked += object.autolinkOptions
            if !hasRunner { hasRunner = object.mentions(symbol: "inclass_main") }
            instrumentation.formUnion(Instrumentation.found(in: object))
        }
        guard hasRunner else { return .compiledOut }
        try link(paths, words, autolinked.unique + options.words(for: instrumentation))
        return .linked
    }

    /// Reads an object. An object of another machine is an obstacle.
    private func object(at path: String) throws(LinkError) -> ObjectFile {
        let bytes: [UInt8]
        do throws(SystemError) { bytes = try FileAccess.contents(of: path) } catch {
            throw .failed(error.description)
        }
        if let object = ObjectFile(bytes: bytes, for: system) { return object }
        if ObjectFile.isForeign(bytes, for: system) {
            throw .obstacle("\(path) is an object for another machine; cross-compiled tests can't run here")
        }
        throw .failed("\(path) isn't an object file")
    }

    private func clangPath() throws(LinkError) -> String {
        if FileAccess.isExecutable(description.clang) { return description.clang }
        if !description.clang.isEmpty { throw .obstacle("there is no clang at \(description.clang)") }
        // The toolchain's clang comes first, because the system's clang doesn't find Swift's libraries.
        let swift = FileAccess.program(named: "swift").flatMap(FileAccess.realPath) ?? ""
        guard let clang = FileAccess.program(named: "clang", beside: swift) else {
            throw .obstacle("there is no clang beside 'swift' or on the PATH")
        }
        return clang
    }

    private func linkOptions(toolchain clang: String) throws(LinkError) -> LinkOptions {
        let path = FileAccess.realPath(clang) ?? clang
        return LinkOptions(
            system: system, architecture: .current, toolchain: FileAccess.directory(of: FileAccess.directory(of: path)),
            sdk: system == .macOS ? try MacSDK.path() : "")
    }

    private var responsePath: String { "\(description.executable).link" }

    private func isUpToDate(_ objects: [String], _ words: [String]) -> Bool {
        guard let linked = FileAccess.modificationTime(of: description.executable),
            let response = try? FileAccess.contents(of: responsePath),
            String(decoding: response, as: UTF8.self).hasPrefix(responseFile(objects, words))
        else { return false }
        return (objects + description.libraryFiles).allSatisfy {
            (FileAccess.modificationTime(of: $0) ?? .max) < linked
        }
    }

    /// Returns the words with the quotes and escapes of response files, one per line. An empty line at the end distinguishes
    /// them from the beginning of more words.
    private func responseFile(_ objects: [String], _ words: [String]) -> String {
        (objects + words.dropFirst()).map { "\($0.inDoubleQuotes)\n" }.joined() + "\n"
    }

    private func link(_ objects: [String], _ words: [String], _ found: [String]) throws(LinkError) {
        let temporary = "\(description.executable).\(getpid())"
        var response = responseFile(objects, words)
        for word in found { response += "\"\(word)\"\n" }
        let result: (end: ProcessEnd, output: [UInt8])
        do throws(SystemError) {
            try FileAccess.write(Array(response.utf8), to: responsePath)
            result = try ChildProcess.run([words[0], "@\(responsePath)", "-o", temporary])
        } catch { throw .failed(error.description) }
        guard result.end == .exited(0) else {
            unlink(temporary)
            unlink(responsePath)
            try checkLinker(words[0])
            if case .killed(let signal) = result.end { throw .failed("the linker was ended by signal \(signal)") }
            throw .refused(String(decoding: result.output, as: UTF8.self))
        }
        guard rename(temporary, description.executable) == 0 else {
            let error = SystemError("rename \(temporary) to \(description.executable)")
            unlink(temporary)
            unlink(responsePath)
            throw .failed(error.description)
        }
        linkBundles()
    }

    /// Throws an obstacle if the linker is missing.
    private func checkLinker(_ clang: String) throws(LinkError) {
        let linker = system.linker
        if FileAccess.program(named: linker, beside: FileAccess.realPath(clang) ?? clang) != nil { return }
        throw .obstacle("there is no \(linker) beside \(clang) or on the PATH")
    }

    /// Creates links to the built resource bundles in the folder of the test executable, where generated accessors expect them.
    private func linkBundles() {
        guard !description.bundleFolder.isEmpty else { return }
        let folder = FileAccess.directory(of: description.executable)
        for name in FileAccess.names(in: description.bundleFolder)
        where name.hasSuffix(".bundle") || name.hasSuffix(".resources") {
            symlink("\(description.bundleFolder)/\(name)", "\(folder)/\(name)")
        }
    }
}

extension String {
    /// The text with the quotes and escapes of JSON and of response files.
    var inDoubleQuotes: String { "\"\(replacing("\\", with: "\\\\").replacing("\"", with: "\\\""))\"" }
}

// MARK: - In-class tests

#if SELF_TESTS && (DEBUG || IN_CLASS_TESTS)
import InClassTesting

enum TestLinkerTests {}

extension TestLinkerTests: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testRelinksAfterChanges": testRelinksAfterChanges,
            "testLinksLibrariesTheObjectsNeed": testLinksLibrariesTheObjectsNeed,
            "testLinksWithOptionsForMacOS": testLinksWithOptionsForMacOS,
            "testDistinguishesMissingLinkerFromLinkErrors": testDistinguishesMissingLinkerFromLinkErrors,
            "testLinksBundlesBesideTheExecutable": testLinksBundlesBesideTheExecutable,
        ]
            + .each("testReportsWhyLinkingFails", brokenModules) { row in
                var module = try module()
                try row.change(&module)
                let error = try requireNotNil(
                    expectThrows(LinkError.self, row.text) { _ = try TestLinker(module).link() })
                expectTrue("\(error)".contains(row.text), "\(error)")
                expectEqual(kind(error), row.kind, row.text)
            }
    }

    /// Creates a module with one object, bitcode with these names. Its compiler is a shell script that writes to `$3`.
    private static func module(
        names: String = "inclass_main", compiler: String = "cp \"${1#@}\" \"$3\"", hasLinker: Bool = true
    ) throws -> ModuleDescription {
        let folder = try temporaryDirectory()
        let root = "\(folder)/\(UInt32.random(in: 0 ... .max))"
        for path in [root, "\(root)/bin", "\(root)/executables"] { mkdir(path, 0o755) }
        var module = ModuleDescription()
        module.module = "M"
        module.objects = ["\(root)/a \"b\".o"]
        module.executable = "\(root)/executables/M.img"
        module.clang = "\(root)/bin/clang"
        try FileAccess.write([0x42, 0x43, 0xC0, 0xDE] + Array(names.utf8), to: module.objects[0])
        try FileAccess.write(Array("#!/bin/sh\necho >> $0.calls\n\(compiler)\n".utf8), to: module.clang)
        chmod(module.clang, 0o755)
        if hasLinker { symlink(module.clang, "\(root)/bin/ld.lld") }
        return module
    }

    /// Returns the arguments that the compiler received.
    private static func words(_ module: ModuleDescription) throws -> [String] {
        String(decoding: try FileAccess.contents(of: "\(module.executable).link"), as: UTF8.self)
            .split(separator: "\n").map(String.init)
    }

    private static func testRelinksAfterChanges() throws {
        var module = try module()
        func link() throws -> LinkOutcome { try TestLinker(module).link() }
        func make(_ path: String, at second: Int) {
            let moment = timeval(tv_sec: .init(second), tv_usec: 0)
            utimes(path, [moment, moment])
        }
        expectEqual(try link(), .linked)
        expectEqual(try words(module).first, "\"\(module.objects[0].replacing("\"", with: "\\\""))\"")
        make(module.objects[0], at: 1_000)
        make(module.executable, at: 2_000)
        expectEqual(try link(), .upToDate)
        module.libraries = ["z"]
        expectEqual(try link(), .linked, "with another library")
        expectTrue(try words(module).contains("\"-lz\""))
        make(module.executable, at: 1_000)
        expectEqual(try link(), .linked, "of the same age")
        make(module.executable, at: 2_000)
        make(module.objects[0], at: 3_000)
        expectEqual(try link(), .linked, "the object is newer")
        unlink(module.executable)
        expectEqual(try link(), .linked, "the executable is gone")
        expectEqual(try FileAccess.contents(of: "\(module.clang).calls").count, 5)
        let folder = FileAccess.directory(of: module.executable)
        expectEqual(FileAccess.names(in: folder).sorted(), ["M.img", "M.img.link"])
        let other = try Self.module(names: "main")
        expectEqual(try TestLinker(other).link(), .compiledOut)
        expectFalse(FileAccess.exists(other.executable))
    }

    private static func testLinksLibrariesTheObjectsNeed() throws {
        var module = try module(
            names: "inclass_main __asan_init __tsan_init __ubsan_handle_x __ubsan_handle_y")
        module.searchPaths = ["/s p"]
        module.linkerOptions = ["-pthread"]
        module.usesCPlusPlus = true
        expectEqual(try TestLinker(module).link(), .linked)
        let words = try words(module)
        for word in ["-L/s p", "-Wl,-rpath,/s p", "-pthread", "-lstdc++"] {
            expectTrue(words.contains("\"\(word)\""), word)
        }
        let asked = LinkOptions(system: .current, architecture: .current, toolchain: "")
            .words(for: [.address, .thread, .undefined])
        expectEqual(words.suffix(asked.count), asked.map { "\"\($0)\"" }[...])
        module.usesCPlusPlus = false
        expectEqual(try TestLinker(module).link(), .linked, "with the last word less")
        expectFalse(try Self.words(module).contains("\"-lstdc++\""))
    }

    /// Runs on every system. Only the compiler and the objects aren't real.
    private static func testLinksWithOptionsForMacOS() throws {
        guard Architecture.current != .riscv else { try skip("macOS does not run on this processor") }
        var module = try module()
        module.usesCPlusPlus = true
        try FileAccess.write(ObjectFile.machO(), to: module.objects[0])
        let other = "\(FileAccess.directory(of: module.clang))/b.o"
        try FileAccess.write(ObjectFile.machO(names: ["___asan_init"]), to: other)
        module.objects.append(other)
        let sdk = Environment.value(of: "SDKROOT")
        setenv("SDKROOT", "/MacOSX15.sdk", 1)
        defer { if let sdk { setenv("SDKROOT", sdk, 1) } else { unsetenv("SDKROOT") } }
        expectEqual(try TestLinker(module, for: .macOS).link(), .linked)
        let words = try words(module).map { $0.dropFirst().dropLast() }
        expectEqual(words[2..<4].joined(separator: " "), "-isysroot /MacOSX15.sdk")
        expectEqual(words.suffix(2).joined(separator: " "), "-lc++ -fsanitize=address")
        try FileAccess.write(ObjectFile.machO(names: ["_main"]), to: module.objects[0])
        expectEqual(try TestLinker(module, for: .macOS).link(), .compiledOut)
        var foreign = ObjectFile.machO()
        foreign[4] ^= 1
        try FileAccess.write(foreign, to: module.objects[0])
        expectEqual(
            expectThrows(LinkError.self) { _ = try TestLinker(module, for: .macOS).link() }.map(kind), "obstacle",
            "an object of another processor")
    }

    private static var brokenModules: [(kind: String, text: String, change: (inout ModuleDescription) throws -> Void)] {
        [
            ("obstacle", "no toolchain", { $0.obstacle = "no toolchain" }),
            ("failed", "no such language", { $0.unsupported = "no such language" }),
            ("failed", "module 'M' isn't built", { $0.objects = [] }),
            ("failed", "the objects aren't in the build folder", { $0.fileMaps = ["/no/map.json"] }),
            ("obstacle", "there is no clang at /no/clang", { $0.clang = "/no/clang" }),
            ("failed", "isn't an object file", { try FileAccess.write(Array("text".utf8), to: $0.objects[0]) }),
            ("failed", "No such file", { $0.objects.append("/no/object.o") }),
            (
                "obstacle", "is an object for another machine",
                { try FileAccess.write([0, 0x61, 0x73, 0x6D, 1], to: $0.objects[0]) }
            ),
            ("failed", "cannot rename", { mkdir($0.executable, 0o755) }),
        ]
    }

    private static func kind(_ error: LinkError) -> String {
        switch error {
        case .obstacle: "obstacle"
        case .failed: "failed"
        case .refused: "refused"
        }
    }

    private static func testDistinguishesMissingLinkerFromLinkErrors() throws {
        let path = Environment.value(of: "PATH") ?? ""
        setenv("PATH", "/bin", 1)
        defer { setenv("PATH", path, 1) }
        let rows = [
            ("echo undefined symbol; exit 1", true, "refused", "undefined symbol\n"),
            ("kill -KILL $$", true, "failed", "the linker was ended by signal 9"),
        ]
        for (compiler, hasLinker, kind, text) in rows {
            let module = try module(compiler: "\(compiler)", hasLinker: hasLinker)
            let error = try requireNotNil(expectThrows(LinkError.self, kind) { _ = try TestLinker(module).link() })
            expectEqual(self.kind(error), kind, compiler)
            expectEqual("\(error)", text, compiler)
            expectEqual(FileAccess.names(in: FileAccess.directory(of: module.executable)), [], "what is left")
        }
        if FileAccess.exists("/bin/\(TargetSystem.current.linker)") { return }
        let module = try module(compiler: "exit 1", hasLinker: false)
        let error = expectThrows(LinkError.self) { _ = try TestLinker(module).link() }
        expectEqual(error.map(kind), "obstacle", "there is no linker")
    }

    private static func testLinksBundlesBesideTheExecutable() throws {
        var module = try module()
        module.bundleFolder = "\(FileAccess.directory(of: module.clang))/products"
        mkdir(module.bundleFolder, 0o755)
        for name in ["P_M.bundle", "P_M.resources", "M.o"] {
            try FileAccess.write([], to: "\(module.bundleFolder)/\(name)")
        }
        _ = try TestLinker(module).link()
        expectEqual(
            FileAccess.names(in: FileAccess.directory(of: module.executable)).sorted(),
            ["M.img", "M.img.link", "P_M.bundle", "P_M.resources"])
    }
}
#endif
