// Finds the declared paths that lead to an element, with a few word operations for each tag. All paths together form one
// automaton whose states are bits, as in the simultaneous search for several patterns.

import PlistStreaming

/// The paths of elements and attributes that a program has declared, and the sets of states for finding them.
///
/// A path of *n* steps has *n* + 1 bits. Bit *i* is set if the first *i* steps lead to the current element. A child whose
/// name fits step *i* moves the bit to the next position.
struct ElementPaths {
    /// One step of a path.
    private struct Step {
        /// The local name, or nil for any name.
        let local: String?
        /// The namespace, or nil for any namespace.
        let namespace: String?
        /// A Boolean value that indicates whether other elements may be between the previous step and this one.
        let isDescendant: Bool
        let isAttribute: Bool
    }

    /// The data of a path, indexed by its number.
    struct Path {
        let text: String
        /// The bit that is set at the end of the path, or at the element that has the attribute.
        let bit: Int
        /// The name of the attribute at the end of the path, or nil if the path leads to an element.
        let attribute: (local: String, namespace: String?)?
    }

    /// The prefixes of paths.
    private let namespaces: [String: String]
    private(set) var paths: [Path] = []
    private var bitCount = 0
    /// The number of words of a set of states.
    var wordCount: Int { max(1, (bitCount + 63) / 64) }

    // Sets of states, of `wordCount` words each.
    /// The states at the beginning of the paths.
    private(set) var initial: [UInt64] = [0]
    /// The states that remain set when a child is entered, because other elements may be between two steps.
    private var staying: [UInt64] = [0]
    /// The states that allow a child to be the next step.
    private var leading: [UInt64] = [0]
    /// The states at the end of a path.
    private(set) var ends: [UInt64] = [0]
    /// The states whose step fits any local name, or any namespace.
    private var anyLocal: [UInt64] = [0]
    private var anyNamespace: [UInt64] = [0]
    /// The local names and namespaces of steps, and for each name's number the states that the name moves.
    private var names = NameTable()
    private var byLocal: [UInt64] = []
    private var byNamespace: [UInt64] = []

    init(namespaces: [String: String]) { self.namespaces = namespaces }

    // MARK: Declaring

    /// Adds the path of an element or an attribute.
    ///
    /// - Returns: The number of the path.
    /// - Throws: `misuse` if the text isn't a valid path.
    mutating func add(_ text: String, isAttribute: Bool = false) throws(StreamError) -> Int {
        let steps = try parse(text)
        guard steps.last?.isAttribute == isAttribute else {
            throw StreamError(
                .misuse, "\(text.debugDescription) is the path of \(isAttribute ? "an element" : "an attribute")")
        }
        let first = bitCount
        let oldCount = wordCount
        bitCount += steps.count + 1
        widen(from: oldCount)
        Self.set(first, &initial)
        for (index, step) in steps.enumerated() {
            let bit = first + index
            if step.isDescendant { Self.set(bit, &staying) }
            if step.isAttribute { continue }
            Self.set(bit, &leading)
            if let local = step.local {
                Self.set(bit, at: number(of: local) * wordCount, wordCount, &byLocal)
            } else {
                Self.set(bit, &anyLocal)
            }
            if let namespace = step.namespace {
                Self.set(bit, at: number(of: namespace) * wordCount, wordCount, &byNamespace)
            } else {
                Self.set(bit, &anyNamespace)
            }
        }
        let last = steps[steps.count - 1]
        let end = first + steps.count - (last.isAttribute ? 1 : 0)
        Self.set(end, &ends)
        paths.append(
            Path(text: text, bit: end, attribute: last.isAttribute ? (last.local ?? "", last.namespace) : nil))
        return paths.count - 1
    }

    /// Parses a path. Steps are separated by `/`, or by `//` if the next step may be at any depth below. `*` stands for any
    /// name.
    private func parse(_ text: String) throws(StreamError) -> [Step] {
        func wrong(_ what: String) -> StreamError {
            StreamError(.misuse, "\(text.debugDescription) is no path: \(what)")
        }
        var steps: [Step] = []
        var isDescendant = false
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        for (index, part) in parts.enumerated() {
            guard !part.isEmpty else {
                // The first name may have one or two slashes before it. Other names may have two.
                guard !isDescendant else { throw wrong("there are too many / behind each other") }
                isDescendant = index > 0
                continue
            }
            guard steps.last?.isAttribute != true else { throw wrong("nothing is within an attribute") }
            let isAttribute = part.utf8.first == UInt8(ascii: "@")
            let name = isAttribute ? part.dropFirst() : part
            guard !isAttribute || !isDescendant && !steps.isEmpty else {
                throw wrong("an attribute is one of an element")
            }
            let colon = name.firstIndex(of: ":")
            let local = colon.map { name[name.index(after: $0)...] } ?? name
            let prefix = colon.map { String(name[..<$0]) }
            let isName = String(local).withUTF8Span { WrittenText.isPlainName($0) }
            guard isName || local == "*" && !isAttribute else {
                throw wrong("\(String(local).debugDescription) is no name")
            }
            var namespace: String?
            if let prefix {
                guard
                    let uri = prefix == "xml"
                        ? String(decoding: NamespaceScopes.xmlURI, as: UTF8.self) : namespaces[prefix]
                else {
                    throw wrong("the prefix \(prefix) is not declared")
                }
                namespace = uri
            } else {
                namespace = isAttribute ? "" : namespaces[""]
            }
            steps.append(
                Step(
                    local: local == "*" ? nil : String(local), namespace: namespace, isDescendant: isDescendant,
                    isAttribute: isAttribute))
            isDescendant = false
        }
        guard !steps.isEmpty, !isDescendant, parts.last?.isEmpty == false else { throw wrong("it ends without a name") }
        return steps
    }

    private static func set(_ bit: Int, _ words: inout [UInt64]) { words[bit / 64] |= 1 << UInt64(bit % 64) }

    private mutating func number(of name: String) -> Int { Int(name.withUTF8Span { names.number(of: $0) }) }

    private static func set(_ bit: Int, at start: Int, _ wordCount: Int, _ words: inout [UInt64]) {
        while words.count < start + wordCount { words.append(0) }
        words[start + bit / 64] |= 1 << UInt64(bit % 64)
    }

    /// Extends each set to more words.
    private mutating func widen(from old: Int) {
        let new = wordCount
        guard new > old else { return }
        func widened(_ words: [UInt64]) -> [UInt64] {
            var result: [UInt64] = []
            for start in stride(from: 0, to: words.count, by: old) {
                result += words[start..<(start + old)]
                result += [UInt64](repeating: 0, count: new - old)
            }
            return result
        }
        (initial, staying, leading, ends) = (widened(initial), widened(staying), widened(leading), widened(ends))
        (anyLocal, anyNamespace) = (widened(anyLocal), widened(anyNamespace))
        (byLocal, byNamespace) = (widened(byLocal), widened(byNamespace))
    }

    // MARK: Matching

    /// Appends the states of a child. The last states belong to its parent element.
    ///
    /// - Complexity: O(1) for a fixed number of paths, plus O(*n*) in the bytes of the name.
    func enter(_ name: borrowing XMLName, _ states: inout [UInt64]) {
        let count = wordCount
        let local = names.known(name.local).map { Int($0) * count } ?? -1
        let namespace = names.known(name.namespace).map { Int($0) * count } ?? -1
        let start = states.count - count
        var carry: UInt64 = 0
        for word in 0..<count {
            var fits = anyLocal[word]
            if local >= 0, local + word < byLocal.count { fits |= byLocal[local + word] }
            var fitsNamespace = anyNamespace[word]
            if namespace >= 0, namespace + word < byNamespace.count { fitsNamespace |= byNamespace[namespace + word] }
            let now = states[start + word]
            let moved = now & fits & fitsNamespace & leading[word]
            states.append(moved << 1 | carry | now & staying[word])
            carry = moved >> 63
        }
    }

    /// Returns whether a path ends in any of the last states.
    func hasEnds(_ states: [UInt64]) -> Bool {
        let start = states.count - wordCount
        return (0..<wordCount).contains { states[start + $0] & ends[$0] != 0 }
    }

    /// Returns whether paths can continue into the children of the element with the last states.
    func leadsOn(_ states: [UInt64]) -> Bool {
        let start = states.count - wordCount
        return (0..<wordCount).contains { states[start + $0] & leading[$0] != 0 }
    }

    /// Returns whether a path ends in the last states.
    func isAt(_ path: Int, _ states: [UInt64]) -> Bool {
        let bit = paths[path].bit
        return states[states.count - wordCount + bit / 64] >> UInt64(bit % 64) & 1 != 0
    }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

extension ElementPaths: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testFindsElements": testFindsElements, "testRefusesInvalidPaths": testRefusesInvalidPaths,
            "testDetectsElementsWithoutFurtherMatches": testDetectsElementsWithoutFurtherMatches,
        ]
    }

    /// Returns whether a path leads to the last of a list of element names. A name in a namespace is written as `uri|name`.
    private static func leads(_ path: String, to elements: String, before: Int = 0) throws -> Bool {
        var paths = ElementPaths(namespaces: ["p": "urn:p", "q": "urn:q"])
        for index in 0..<before { _ = try paths.add("//x\(index)/*//z") }
        let number = try paths.add(path, isAttribute: path.contains("@"))
        for index in 0..<before { _ = try paths.add("y\(index)") }
        var states = paths.initial
        for element in elements.split(separator: "/") {
            let parts = element.split(separator: "|").map(String.init)
            try parts[parts.count - 1].withUTF8Span { name throws(StreamError) in
                (parts.count > 1 ? parts[0] : "").withUTF8Span { paths.enter(XMLName(name, namespace: $0), &states) }
            }
        }
        expectEqual(paths.hasEnds(states), paths.isAt(number, states), "the only path at \(elements)")
        return paths.isAt(number, states)
    }

    private static func testFindsElements() throws {
        let rows: [(String, yes: [String], no: [String])] = [
            ("a", ["a"], ["b", "a/a", "a/b"]), ("/a/b", ["a/b"], ["a", "b", "a/b/c", "a/c/b"]),
            ("*/b", ["a/b", "b/b"], ["b", "a/a/b"]), ("//b", ["b", "a/b", "b/b", "a/a/a/b"], ["a", "b/a"]),
            ("a//b", ["a/b", "a/c/b", "a/b/b"], ["b", "c/a/b", "a"]), ("a/*", ["a/a", "a/b"], ["a", "b/a", "a/a/a"]),
            ("//a/b", ["a/b", "a/a/b", "c/a/b"], ["b", "a/c/b"]),
            ("//a//b/c", ["a/x/b/c", "x/a/b/b/c"], ["a/c", "b/c", "a/b/x/c"]),
            ("p:a/b", ["urn:p|a/b", "urn:p|a/urn:q|b"], ["a/b", "urn:q|a/b"]),
            ("p:*", ["urn:p|a", "urn:p|b"], ["a", "urn:q|a"]),
            ("größe", ["größe"], ["gr"]), ("a/@b", ["a"], ["b", "a/b"]),
        ]
        for (path, yes, no) in rows {
            for before in [0, 1, 15, 16, 17, 40] {
                for elements in yes {
                    expectTrue(try leads(path, to: elements, before: before), "\(path) to \(elements)")
                }
                for elements in no {
                    expectFalse(try leads(path, to: elements, before: before), "\(path) to \(elements)")
                }
            }
        }
    }

    private static func testRefusesInvalidPaths() {
        for path in [
            "", "/", "//", "a/", "a//", "a///b", "///a", "@a", "a/@b/c", "a//@b", "a b", "r:a", "a/@*", "a:b:c", "@",
            "a/@", "a/b",
        ] {
            var paths = ElementPaths(namespaces: [:])
            let error = expectThrows(StreamError.self, path) {
                _ = try paths.add(path, isAttribute: path == "a/b" || path.contains("@"))
            }
            expectEqual(error?.kind, .misuse, "kind for \(path)")
        }
    }

    private static func testDetectsElementsWithoutFurtherMatches() throws {
        for (path, element, leads) in [
            ("a/b", "a", true), ("a/b", "c", false), ("a", "a", false), ("//a", "b", true), ("a/@b", "a", false),
        ] {
            var paths = ElementPaths(namespaces: [:])
            _ = try paths.add(path, isAttribute: path.contains("@"))
            var states = paths.initial
            element.withUTF8Span { paths.enter(XMLName($0), &states) }
            expectEqual(paths.leadsOn(states), leads, "\(path) within \(element)")
        }
    }
}
#endif
