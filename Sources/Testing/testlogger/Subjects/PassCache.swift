// Keeps a build from running the same tests twice: a module may be used by several targets that each have the build
// plugin, and so a step for each of them. The first to come runs the tests, the others wait and believe it. What was
// skipped is not believed: it may have waited for something that no build knows of, and runs again in every build.

internal import InClassSystem
import TestSupervision

/// The record of a module's last pass, by the contents of what it was made of, beside its objects.
final class PassCache {
    private let path: String
    private let key: String
    private let lock: Int32

    /// Waits until no other step tests the module; nil where no record can be kept.
    init?(_ module: ModuleDescription) {
        guard !module.bundleFolder.isEmpty, !module.module.isEmpty, let objects = try? module.resolvedObjects() else {
            return nil
        }
        path = "\(module.bundleFolder)/\(module.module).in-class-passed"
        let tool = FileAccess.program(named: CommandLine.arguments.first ?? "") ?? ""
        key =
            module.identity
            + (objects + module.libraryFiles + module.sources + module.resourceFiles + [
                tool, "\(module.root)/\(PackageOptions.fileName)",
            ])
            .map { "\($0)\t\(FileAccess.contentHash(of: $0) ?? 0)\n" }.joined()
        lock = open("\(path).lock", O_RDWR | O_CREAT | O_CLOEXEC, 0o644)
        guard lock >= 0 else { return nil }
        while flock(lock, LOCK_EX) != 0 {
            if errno != EINTR {
                close(lock)
                return nil
            }
        }
    }

    deinit { close(lock) }

    /// The tests that were skipped when all others of the same contents passed; nil when that is not known.
    var skippedTests: Set<String>? {
        guard let bytes = try? FileAccess.contents(of: path) else { return nil }
        let text = String(decoding: bytes, as: UTF8.self)
        guard text.hasPrefix(key) else { return nil }
        var names: Set<String> = []
        for line in text.utf8.dropFirst(key.utf8.count).split(separator: UInt8(ascii: "\n")) {
            let line = String(decoding: line, as: UTF8.self)
            guard line.hasPrefix(Self.mark) else { return nil }
            names.insert(String(line.dropFirst(Self.mark.count)))
        }
        return names
    }

    private static let mark = "skipped\t"

    /// Records that these contents have passed; without a record they are merely tested again.
    func record(skipped: Set<String>) {
        let text = key + skipped.sorted().map { "\(Self.mark)\($0)\n" }.joined()
        try? FileAccess.write(Array(text.utf8), to: path)
    }
}
