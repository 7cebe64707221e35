// What is remembered of a module's last run, in a file beside its image: the tests that failed, and when it was.

import TestEvents

struct RunMemory: Equatable {
    /// The names of the tests that failed.
    var failed: Set<String> = []
    /// The paths of the sources that have changed since.
    var changed: Set<String> = []
    /// Whether there was a run before.
    var isThere = false

    init() {}

    /// Recalls the last run of a module.
    init(_ module: ModuleDescription) {
        let path = Self.path(module)
        guard let time = FileAccess.modificationTime(of: path), let bytes = try? FileAccess.contents(of: path) else {
            return
        }
        isThere = true
        failed = Set(String(decoding: bytes, as: UTF8.self).split(separator: "\n").map(String.init))
        changed = Set(module.sources.filter { FileAccess.modificationTime(of: $0) ?? 0 > time })
    }

    /// Remembers a run: what failed in it, and what failed before and was not run this time.
    ///
    /// A memory that cannot be kept is no failure: the next run is merely less well informed.
    func store(failed newFailures: Set<String>, run: @autoclosure () -> Set<String>, for module: ModuleDescription) {
        let names = failed.isEmpty ? newFailures.sorted() : newFailures.union(failed.subtracting(run())).sorted()
        try? FileAccess.write(Array(names.map { "\($0)\n" }.joined().utf8), to: Self.path(module))
    }

    private static func path(_ module: ModuleDescription) -> String { "\(module.image).failed" }
}
