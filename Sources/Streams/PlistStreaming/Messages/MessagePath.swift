// The path of the current message in its document, for warnings and errors, and a check for repeated keys.

/// The path from the root to the current value.
package struct MessagePath {
    /// The largest number of keys of a dictionary that are compared with those that follow.
    private let keyLimit: Int

    private struct Level {
        var isDictionary = false
        /// The index of the current element of an array.
        var index = -1
        /// The key of a dictionary if it isn't the last one of `keys`.
        var otherKey: [UInt8]?
        /// The different keys of the dictionary, and behind `keyCount` those of the one before it at this depth.
        var keys: [[UInt8]] = []
        var keyCount = 0
        /// The same keys as a set, once one differs from those of the dictionary before.
        var set: Set<[UInt8]>?

        /// The key of a dictionary, empty before the first one.
        var key: [UInt8] { otherKey ?? (keyCount > 0 ? keys[keyCount - 1] : []) }

        mutating func begin(isDictionary: Bool) {
            self.isDictionary = isDictionary
            (index, keyCount) = (-1, 0)
            if set != nil { set = nil }
            if otherKey != nil { otherKey = nil }
        }

        /// Sets the key, and returns whether the dictionary already has it.
        mutating func setKey(_ utf8: RawSpan, limit: Int) -> Bool {
            if set == nil, keyCount < keys.count, utf8.hasBytes(keys[keyCount]) {
                keyCount += 1
                return false
            }
            let key = Array(copying: utf8)
            otherKey = key
            guard keyCount < limit else { return false }
            if set == nil {
                keys.removeSubrange(keyCount...)
                set = Set(keys)
            }
            guard set?.insert(key).inserted ?? false else { return true }
            otherKey = nil
            keys.append(key)
            keyCount += 1
            return false
        }
    }

    /// The open levels, and behind them those that were open before.
    private var levels: [Level] = []
    package private(set) var depth = 0

    /// Creates the path of the root.
    package init(keyLimit: Int = .max) { self.keyLimit = keyLimit }

    package mutating func begin(isDictionary: Bool) {
        if depth == levels.count { levels.append(Level()) }
        levels[depth].begin(isDictionary: isDictionary)
        depth += 1
    }

    package mutating func end() { depth = max(0, depth - 1) }

    /// Sets the key of the value that follows.
    ///
    /// - Returns: True if the key equals an earlier key of the dictionary, up to the limit of compared keys.
    package mutating func setKey(_ utf8: RawSpan) -> Bool {
        depth > 0 && levels[depth - 1].setKey(utf8, limit: keyLimit)
    }

    /// Counts a value, which begins.
    package mutating func beginValue() {
        if depth > 0, !levels[depth - 1].isDictionary { levels[depth - 1].index += 1 }
    }

    /// The bytes of the key of the innermost dictionary.
    package var key: [UInt8] { depth > 0 ? levels[depth - 1].key : [] }
    /// The key of the innermost dictionary.
    package var keyText: String { String(decoding: key, as: UTF8.self) }

    package var streamPath: StreamPath {
        StreamPath(
            levels[..<depth].map {
                $0.isDictionary ? .key(String(decoding: $0.key, as: UTF8.self)) : .index(max(0, $0.index))
            })
    }
}

extension RawSpan {
    fileprivate func hasBytes(_ bytes: [UInt8]) -> Bool {
        // SAFETY: the pointer is used only within the closure.
        unsafe byteCount == bytes.count && withUnsafeBytes { unsafe $0.elementsEqual(bytes) }
    }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

extension MessagePath: SelfTesting {
    package static var testSelectors: TestSelectors {
        [
            "testReportsPathOfValues": testReportsPathOfValues, "testDetectsRepeatedKeys": testDetectsRepeatedKeys,
        ]
    }

    /// Dictionaries at one depth, one after the other, with the keys that each repeats.
    private static func testDetectsRepeatedKeys() {
        let rows = [
            ("ab", ""), ("ab", ""), ("aa", "a"), ("ab", ""), ("aba", "a"), ("ba", ""), ("bacb", "b"), ("", ""),
            ("bacac", "ac"), ("c", ""), ("cab", ""), ("ccc", "cc"),
        ]
        var path = MessagePath()
        for (keys, expected) in rows {
            path.begin(isDictionary: true)
            let found = keys.filter { key in String(key).withUTF8Span { path.setKey($0) } }
            expectEqual(found, expected, keys)
            path.end()
        }
    }

    private static func testReportsPathOfValues() {
        var path = MessagePath()
        func key(_ text: String) { text.withUTF8Span { _ = path.setKey($0) } }
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
