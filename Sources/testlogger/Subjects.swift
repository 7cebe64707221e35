// Finds what a word of the command line names: a module that was built here, an image, or objects.

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif
import TestSupervision

/// What is to be tested.
enum Subject: Equatable {
    /// A module whose image is linked first.
    case module(ModuleDescription)
    /// An image that somebody else linked.
    case image(String)
}

/// Why there is nothing to test.
struct SubjectError: Error, Equatable, CustomStringConvertible {
    var description: String
}

struct Subjects {
    /// The folder of the package that the current directory is in, or the current directory.
    let root: String

    init(directory: String) {
        var folder = directory
        while folder != "/", !FileAccess.exists("\(folder)/Package.swift") { folder = FileAccess.directory(of: folder) }
        root = folder == "/" ? directory : folder
    }

    /// Finds what all words name; objects make one module together.
    func find(_ words: [String]) throws(SubjectError) -> [Subject] {
        var subjects: [Subject] = []
        let objects = words.filter { $0.hasSuffix(".o") }
        for object in objects where !FileAccess.exists(object) {
            throw SubjectError(description: "there is no object \(object)")
        }
        if !objects.isEmpty {
            var module = ModuleDescription()
            module.root = root
            module.objects = objects.compactMap(FileAccess.realPath)
            module.image = "\(FileAccess.directory(of: module.objects.first ?? root))/inclass.img"
            subjects.append(.module(module))
        }
        for word in words where !word.hasSuffix(".o") { subjects += try find(word) }
        return subjects
    }

    /// Finds the modules that have the sources of these lines.
    func find(_ lines: [SourceLine]) throws(SubjectError) -> [Subject] {
        var subjects: [Subject] = []
        for (_, path) in builtModules().sorted(by: { $0.key < $1.key }) {
            let module = try description(at: path)
            if module.sources.contains(where: { source in lines.contains { $0.names(source) } }) {
                subjects.append(.module(module))
            }
        }
        guard !subjects.isEmpty else {
            throw SubjectError(
                description: "no module that has been built here has \(lines.map(\.path).joined(separator: " or "))")
        }
        return subjects
    }

    private func find(_ word: String) throws(SubjectError) -> [Subject] {
        if word.hasSuffix(".inclass") { return [.module(try description(at: word))] }
        if word.contains("/") || FileAccess.isExecutable(word) && !FileAccess.isDirectory(word) {
            guard let path = FileAccess.realPath(word) else {
                throw SubjectError(description: "there is no file \(word)")
            }
            guard FileAccess.isExecutable(path), ImageCheck.isTestImage(path) else {
                throw SubjectError(description: "\(word) is not a test image: it has no function inclass_main")
            }
            return [.image(path)]
        }
        let built = builtModules()
        guard let path = built[word] else {
            let known = built.keys.sorted()
            let advice =
                known.isEmpty
                ? "; no module has been built with the plugin InClassTests in \(root) (try 'swift build')"
                : suggestion(for: word, among: known) + " (known are \(known.joined(separator: ", ")))"
            throw SubjectError(description: "there is no module '\(word)'" + advice)
        }
        return [.module(try description(at: path))]
    }

    private func description(at path: String) throws(SubjectError) -> ModuleDescription {
        do {
            let text = String(decoding: try FileAccess.contents(of: path), as: UTF8.self)
            return try ModuleDescription(lines: text, path: path)
        } catch { throw SubjectError(description: "\(error)") }
    }

    /// The description of each module that the plugins have left of a build of this package: of the build that this
    /// program belongs to if it belongs to one, and of no other; else of the last that was tested.
    private func builtModules() -> [String: String] {
        if let place = BuildPlace.ofThisProgram {
            let descriptions = descriptions(below: "\(place.scratch)/plugins", depth: 7).map {
                (path: $0, lines: lines(of: $0))
            }
            .filter { $0.lines.contains("root\t\(root)") }
            if !descriptions.isEmpty {
                return newest(descriptions.filter { $0.lines.contains("bundles\t\(place.products)") }.map(\.path))
            }
        }
        // SwiftPM's own variable says where it builds, for whatever package.
        let elsewhere = getenv("SWIFTPM_BUILD_DIR").map {
            descriptions(below: "\(String(cString: $0))/plugins", depth: 7)
        }
        return newest(
            descriptions(below: "\(root)/.build/plugins", depth: 7)
                + (elsewhere ?? []).filter { lines(of: $0).contains("root\t\(root)") })
    }

    private func lines(of path: String) -> Set<Substring> {
        Set(String(decoding: (try? FileAccess.contents(of: path)) ?? [], as: UTF8.self).split(separator: "\n"))
    }

    /// Of each module the description whose image was linked last.
    private func newest(_ paths: [String]) -> [String: String] {
        var best: [String: (path: String, rank: (Int, Int))] = [:]
        for path in paths {
            let module = String(FileAccess.name(of: path).dropLast(".inclass".count))
            let image = path.dropLast(".inclass".count) + ".img"
            let rank = (
                FileAccess.modificationTime(of: String(image)) ?? 0, FileAccess.modificationTime(of: path) ?? 0
            )
            if let known = best[module], known.rank >= rank { continue }
            best[module] = (path, rank)
        }
        return best.mapValues(\.path)
    }

    private func descriptions(below folder: String, depth: Int) -> [String] {
        guard depth > 0 else { return [] }
        var found: [String] = []
        for name in FileAccess.names(in: folder) {
            let path = "\(folder)/\(name)"
            if name.hasSuffix(".inclass") {
                found.append(path)
            } else if FileAccess.isDirectory(path) {
                found += descriptions(below: path, depth: depth - 1)
            }
        }
        return found
    }
}
