// Where in a document the message at hand is, for warnings and errors.

import PlistStreaming

/// The way from the root to the value that a message is about.
struct MessagePath {
    private struct Level {
        let isDictionary: Bool
        /// The elements so far, of an array.
        var index = -1
        /// Where the key of the member begins among the bytes of all keys.
        let keyStart: Int
    }

    private var levels: [Level] = []
    // The keys of all levels side by side, so that a key takes no memory of its own.
    private var keys: [UInt8] = []

    var depth: Int { levels.count }
    /// Whether the innermost container is a dictionary.
    var isInDictionary: Bool { levels.last?.isDictionary ?? false }

    mutating func begin(isDictionary: Bool) { levels.append(Level(isDictionary: isDictionary, keyStart: keys.count)) }

    mutating func end() {
        guard let level = levels.popLast() else { return }
        keys.removeLast(keys.count - level.keyStart)
    }

    mutating func setKey(_ key: RawSpan) {
        guard let start = levels.last?.keyStart else { return }
        keys.removeLast(keys.count - start)
        key.withUnsafeBytes { keys.append(contentsOf: $0) }
    }

    /// Counts a value, which begins.
    mutating func beginValue() {
        if !isInDictionary, !levels.isEmpty { levels[levels.count - 1].index += 1 }
    }

    /// The bytes of the key of the innermost dictionary.
    var key: ArraySlice<UInt8> { keys[(levels.last?.keyStart ?? 0)...] }
    /// The key of the innermost dictionary.
    var keyText: String { String(decoding: key, as: UTF8.self) }

    var streamPath: StreamPath {
        var steps: [StreamPath.Step] = []
        for (number, level) in levels.enumerated() {
            let end = number + 1 < levels.count ? levels[number + 1].keyStart : keys.count
            steps.append(
                level.isDictionary
                    ? .key(String(decoding: keys[level.keyStart..<end], as: UTF8.self)) : .index(max(0, level.index)))
        }
        return StreamPath(steps)
    }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

extension MessagePath: SelfTesting {
    static var testSelectors: TestSelectors { ["testSaysWhereAValueIs": testSaysWhereAValueIs] }

    private static func testSaysWhereAValueIs() {
        var path = MessagePath()
        func key(_ text: String) { text.withUTF8Span { path.setKey($0) } }
        expectEqual(path.streamPath.description, "$", "the root")
        path.beginValue()
        path.begin(isDictionary: false)
        path.beginValue()
        path.beginValue()
        path.begin(isDictionary: true)
        key("long")
        key("a")
        expectEqual(path.streamPath.description, "$[1].a", "a member")
        path.beginValue()
        path.begin(isDictionary: true)
        key("bc")
        expectEqual(path.streamPath.description, "$[1].a.bc", "a member of a member")
        expectEqual(path.keyText, "bc", "its key")
        path.end()
        expectEqual(path.keyText, "a", "the key around it")
        path.end()
        path.beginValue()
        expectEqual(path.streamPath.description, "$[2]", "the next element")
        path.end()
        expectEqual(path.depth, 0, "depth")
    }
}
#endif
