// Prevents a build from running the same tests twice. If several targets with the plugin use a module, each of them has a build
// step for it. The first step runs the tests, and the others wait for its result. Skipped tests run in every build, because
// the reason for a skip is unknown to the build.

internal import InClassSystem
import TestSupervision

/// The record of a module's last pass: the contents of its files, and the names of skipped tests after an empty line.
final class PassCache {
    private let path: String
    private let key: String
    private let lock: Int32

    /// Waits until no other step tests the module. Returns nil if no record can be written.
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
            .map { "\($0)\t\(FileAccess.contentHash(of: $0) ?? 0)\n" }.joined() + "\n"
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

    /// The names of the tests that were skipped when all other tests of the same contents passed, or nil if no such pass is
    /// recorded.
    var skippedTests: Set<String>? {
        let text = String(decoding: (try? FileAccess.contents(of: path)) ?? [], as: UTF8.self)
        guard text.hasPrefix(key) else { return nil }
        return Set(text.utf8.dropFirst(key.utf8.count).split(separator: 0x0A).compactMap { String($0) })
    }

    /// Records that these contents have passed. Without a record, the tests run again.
    func record(skipped: Set<String>) {
        let text = key + skipped.sorted().map { "\($0)\n" }.joined()
        try? FileAccess.write(Array(text.utf8), to: path)
    }
}
