// Links a module's objects into a test image: an ordinary executable whose main function is InClassTesting's, so that
// debuggers, sanitizers and coverage tools need to know nothing about it.

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// Why an image could not be made.
package enum LinkError: Error, CustomStringConvertible {
    /// A part of the toolchain is missing, or the objects are for another machine: nobody can run the tests here.
    case obstacle(String)
    /// Something went wrong that ought not to.
    case failed(String)
    /// The linker refused, for reasons in its own words.
    case refused(String)

    package var description: String {
        switch self {
        case .obstacle(let text), .failed(let text), .refused(let text): text
        }
    }
}

package enum LinkOutcome: Equatable, Sendable {
    case linked
    /// The image was newer than all of its objects.
    case upToDate
    /// The objects hold no InClassTesting: a release build without `IN_CLASS_TESTS`.
    case compiledOut
}

package struct ImageLinker {
    private let description: ModuleDescription

    package init(_ description: ModuleDescription) { self.description = description }

    /// Makes the image, unless it is there and newer than all of its parts.
    package func link() throws(LinkError) -> LinkOutcome {
        if !description.obstacle.isEmpty { throw .obstacle(description.obstacle) }
        if !description.unsupported.isEmpty { throw .failed(description.unsupported) }
        let paths: [String]
        do throws(SystemError) { paths = try description.resolvedObjects() } catch {
            throw .failed("\(error.description); the objects are not where this build puts them")
        }
        if let source = description.sourcesWithoutObject.first {
            throw .failed("\(source) is not compiled; the last build that tried has failed")
        }
        if paths.isEmpty { throw .failed("no objects of module '\(description.module)' are built") }
        let clang = try clangPath()
        let words = [clang] + options(toolchain: clang)
        if isUpToDate(paths, words) { return .upToDate }
        var autolinked: [String] = []
        var instrumentation: [String] = []
        var hasRunner = false
        for path in paths {
            #if os(macOS)
            hasRunner = true
            #else
            let object = try Self.object(at: path)
            autolinked += object.autolinkOptions
            if !hasRunner { hasRunner = object.mentions(symbol: "inclass_main") }
            if object.mentions(symbol: "__asan_init") { instrumentation.append("-fsanitize=address") }
            if object.mentions(symbol: "__tsan_init") {
                // Its runtime watches the queues of Dispatch, whoever uses them.
                instrumentation += ["-fsanitize=thread", "-ldispatch", "-lBlocksRuntime"]
            }
            if object.mentions(symbolsStartingWith: "__ubsan_handle_") {
                instrumentation.append("-fsanitize=undefined")
            }
            if object.hasSection("__llvm_prf_cnts") { instrumentation.append("-fprofile-instr-generate") }
            #endif
        }
        guard hasRunner else { return .compiledOut }
        try link(paths, words, unique(autolinked) + unique(instrumentation))
        return .linked
    }

    #if !os(macOS)
    /// Reads an object, and tells what cannot be linked here from what cannot be linked at all.
    private static func object(at path: String) throws(LinkError) -> ObjectFile {
        let bytes: [UInt8]
        do throws(SystemError) { bytes = try FileAccess.contents(of: path) } catch {
            throw .failed(error.description)
        }
        if let object = ObjectFile(bytes: bytes) { return object }
        if ObjectFile.isForeign(bytes) {
            throw .obstacle("\(path) is not an object of this machine; cross-compiled tests cannot run here")
        }
        throw .failed("\(path) is not an object")
    }
    #endif

    private func unique(_ words: [String]) -> [String] {
        var seen: Set<String> = []
        return words.filter { seen.insert($0).inserted }
    }

    private func clangPath() throws(LinkError) -> String {
        if FileAccess.isExecutable(description.clang) { return description.clang }
        if !description.clang.isEmpty { throw .obstacle("there is no clang at \(description.clang)") }
        // The toolchain's own first: the system's clang does not find Swift's libraries.
        let beside = FileAccess.program(named: "swift").flatMap(FileAccess.realPath)
            .map { "\(FileAccess.directory(of: $0))/clang" }
        guard
            let clang = [beside, FileAccess.program(named: "clang")].compactMap(\.self).first(
                where: FileAccess.isExecutable)
        else { throw .obstacle("there is no clang beside 'swift' or on the PATH") }
        return clang
    }

    /// Everything of the command but the objects and what they ask for.
    private func options(toolchain clang: String) -> [String] {
        var options: [String] = []
        #if os(macOS)
        // Unverified: nobody has run this on macOS yet.
        options += ["-Wl,-alias,_inclass_main,_main", "-L/usr/lib/swift", "-Wl,-rpath,/usr/lib/swift"]
        #else
        let libraries =
            "\(FileAccess.directory(of: FileAccess.directory(of: FileAccess.realPath(clang) ?? clang)))/lib/swift/linux"
        #if arch(arm64)
        let architecture = "aarch64"
        #else
        let architecture = "x86_64"
        #endif
        options += ["-fuse-ld=lld", "-pie", "\(libraries)/\(architecture)/swiftrt.o", "-L\(libraries)"]
        options += ["-Wl,-rpath,\(libraries)", "-Wl,--defsym=main=inclass_main", "-lswiftCore"]
        #endif
        for path in description.searchPaths { options += ["-L\(path)", "-Wl,-rpath,\(path)"] }
        options += description.linkerOptions
        options += description.libraries.map { "-l\($0)" }
        if description.usesCPlusPlus { options.append("-lstdc++") }
        return options
    }

    private var responsePath: String { "\(description.image).link" }

    private func isUpToDate(_ objects: [String], _ words: [String]) -> Bool {
        guard let image = FileAccess.modificationTime(of: description.image),
            let response = try? FileAccess.contents(of: responsePath),
            String(decoding: response, as: UTF8.self).hasPrefix(responseFile(objects, words))
        else { return false }
        return objects.allSatisfy { (FileAccess.modificationTime(of: $0) ?? .max) < image }
    }

    /// One word a line, quoted as response files are: a backslash before anything special.
    private func responseFile(_ objects: [String], _ words: [String]) -> String {
        var text = ""
        for word in objects + words.dropFirst() {
            text += "\""
            for character in word {
                if character == "\"" || character == "\\" { text += "\\" }
                text.append(character)
            }
            text += "\"\n"
        }
        return text
    }

    private func link(_ objects: [String], _ words: [String], _ found: [String]) throws(LinkError) {
        let temporary = "\(description.image).\(getpid())"
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
        guard rename(temporary, description.image) == 0 else {
            let error = SystemError("rename \(temporary) to \(description.image)")
            unlink(temporary)
            unlink(responsePath)
            throw .failed(error.description)
        }
        #if !os(macOS)
        linkBundles()
        #endif
    }

    /// Tells a linker that is not there from one that refuses.
    private func checkLinker(_ clang: String) throws(LinkError) {
        #if !os(macOS)
        let folder = FileAccess.directory(of: FileAccess.realPath(clang) ?? clang)
        if FileAccess.isExecutable("\(folder)/ld.lld") || FileAccess.program(named: "ld.lld") != nil { return }
        throw .obstacle("there is no ld.lld beside \(clang) or on the PATH")
        #endif
    }

    /// Puts the built resource bundles beside the image, where generated accessors look for them.
    private func linkBundles() {
        guard !description.bundleFolder.isEmpty else { return }
        let folder = FileAccess.directory(of: description.image)
        for name in FileAccess.names(in: description.bundleFolder)
        where name.hasSuffix(".bundle") || name.hasSuffix(".resources") {
            symlink("\(description.bundleFolder)/\(name)", "\(folder)/\(name)")
        }
    }
}
