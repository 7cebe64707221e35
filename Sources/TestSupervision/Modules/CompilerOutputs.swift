// Which sources of a module are not what was compiled, told from what the compiler leaves in the module's folder. Its
// tests are those of ModuleDescription.

/// The sources of a Swift module, and the folders to which the compiler writes what it makes of them.
struct CompilerOutputs {
    var sources: [String]
    var folders: [String]
    /// The folder of the package.
    var root: String

    var sourcesNewerThanBuild: [String] {
        var whole: Int?
        var own: [String: Int] = [:]
        var isIncremental = false
        let stems = Set(sources.map(Self.stem))
        for folder in folders {
            for name in FileAccess.names(in: folder) where Self.comesOfSuccess(name) {
                if name.hasSuffix(".swiftdeps") { isIncremental = true }
                guard let time = FileAccess.modificationTime(of: "\(folder)/\(name)") else { continue }
                whole = max(whole ?? 0, time)
                let stem = String(name.dropLast(2))
                if name.hasSuffix(".d"), stems.contains(stem) { own[stem] = max(own[stem] ?? 0, time) }
            }
        }
        guard let whole else { return [] }
        // The one file of a whole module is named like the module, and so may be a source.
        let isWhole = own.isEmpty || own.count == 1 && !isIncremental
        return sources.filter { source in
            let compiled = isWhole ? whole : own[Self.stem(source)] ?? 0
            guard let time = FileAccess.modificationTime(of: source) else {
                // Where it was compiled elsewhere there is no such package.
                return !FileAccess.exists(source) && FileAccess.isDirectory(root)
            }
            return time > compiled
        }
    }

    var sourcesWithoutObject: [String] {
        let files = Set(folders.flatMap { FileAccess.names(in: $0) })
        // What it has to say of a source is there in any case; of a module that is optimised as a whole it is one file,
        // and that is refused as a whole.
        let isObject = { (name: String) in
            name.hasSuffix(".bc") || name.hasSuffix(".o") && !name.hasSuffix(".swiftmodule.o")
        }
        if files.contains(where: { $0.hasSuffix(".dia") }), !files.contains(where: isObject) { return sources }
        return sources.filter { source in
            let (name, stem) = (FileAccess.name(of: source), Self.stem(source))
            return files.contains("\(stem).dia")
                && files.isDisjoint(with: ["\(name).o", "\(stem).o", "\(name).bc", "\(stem).bc"])
        }
    }

    private static func stem(_ source: String) -> String {
        String(FileAccess.name(of: source).dropLast(".swift".count))
    }

    /// Whether the compiler writes such a file only when there is nothing wrong with a source.
    private static func comesOfSuccess(_ name: String) -> Bool {
        [".o", ".swiftdeps", ".d"].contains(where: name.hasSuffix) && !name.hasSuffix("emit-module.d")
    }
}
