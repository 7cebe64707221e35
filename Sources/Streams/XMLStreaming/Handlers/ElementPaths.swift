// Finds the declared paths that lead to an element. Each open element has the states of the paths that lead to it.

import PlistStreaming

/// The paths of elements and attributes that a program has declared, and the states for finding them.
///
/// A path of *n* elements has *n* + 1 states. The first *i* steps of a path lead to an element if state *i* of the path is one
/// of the states of the element. A child whose name fits the step after a state has the next state.
struct ElementPaths {
    /// The state before a step, or at the end of a path.
    private struct State {
        /// The numbers of the step's local name and namespace, or -1 for any.
        var local: Int32 = -1
        var namespace: Int32 = -1
        /// A Boolean value that indicates whether a child keeps the state, because other elements may be before the step.
        var stays = false
        /// The number of the path that ends here, or -1.
        var path = -1
    }

    /// The prefixes of paths.
    private let namespaces: [String: String]
    /// The name of the attribute at the end of each path, or nil if the path leads to an element.
    private(set) var attributes: [(local: String, namespace: String?)?] = []
    /// The states of all paths, in the order of the paths and their steps.
    private var states: [State] = []
    /// The states at the beginning of the paths.
    private(set) var initial: [Int] = []
    /// The local names and namespaces of steps.
    private var names = NameTable()

    init(namespaces: [String: String]) { self.namespaces = namespaces }

    // MARK: Declaring

    /// Adds the path of an element or an attribute. Steps are separated by `/`, or by `//` if the next step may be at any depth
    /// below. `*` stands for any name.
    ///
    /// - Throws: `misuse` if the text isn't a valid path.
    mutating func add(_ text: String, isAttribute: Bool = false) throws(StreamError) {
        func wrong(_ what: String) -> StreamError {
            StreamError(.misuse, "\(text.debugDescription) is not a path: \(what)")
        }
        var (steps, isDescendant): ([State], Bool) = ([], false)
        var attribute: (local: String, namespace: String?)?
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        for (index, part) in parts.enumerated() {
            guard !part.isEmpty else {
                // The first name may have one or two slashes before it. Other names may have two.
                guard !isDescendant else { throw wrong("expected at most two '/' in a row") }
                isDescendant = index > 0
                continue
            }
            guard attribute == nil else { throw wrong("expected no step after an attribute") }
            let isAttribute = part.utf8.first == UInt8(ascii: "@")
            let name = isAttribute ? part.dropFirst() : part
            guard !isAttribute || !isDescendant && !steps.isEmpty else {
                throw wrong("expected an element before the attribute")
            }
            let colon = name.firstIndex(of: ":")
            let local = String(colon.map { name[name.index(after: $0)...] } ?? name)
            guard local.withUTF8Span({ WrittenText.isPlainName($0) }) || local == "*" && !isAttribute else {
                throw wrong("\(local.debugDescription) is not a name")
            }
            var namespace = isAttribute ? "" : namespaces[""]
            if let prefix = colon.map({ String(name[..<$0]) }) {
                namespace = prefix == "xml" ? Namespaces.xmlURI : namespaces[prefix]
                if namespace == nil { throw wrong("the prefix '\(prefix)' is not declared") }
            }
            if isAttribute {
                attribute = (local, namespace)
            } else {
                let numbers = (local == "*" ? -1 : number(of: local), namespace.map { number(of: $0) } ?? -1)
                steps.append(State(local: numbers.0, namespace: numbers.1, stays: isDescendant))
            }
            isDescendant = false
        }
        guard !steps.isEmpty, !isDescendant, parts.last?.isEmpty == false else {
            throw wrong("expected a name at the end")
        }
        guard (attribute != nil) == isAttribute else {
            throw StreamError(
                .misuse, "\(text.debugDescription) is the path of \(isAttribute ? "an element" : "an attribute")")
        }
        initial.append(states.count)
        states += steps + [State(path: attributes.count)]
        attributes.append(attribute)
    }

    private mutating func number(of name: String) -> Int32 { name.withUTF8Span { names.number(of: $0) } }

    // MARK: Matching

    /// Appends the states of a child, in their order.
    ///
    /// - Parameter start: The index of the parent's first state.
    /// - Complexity: O(*n*) in the states of the parent, plus O(*n*) in the bytes of the name.
    func enter(_ name: borrowing XMLName, _ found: inout [Int], from start: Int) {
        let local = names.known(name.local) ?? -2
        let namespace = names.known(name.namespace) ?? -2
        let end = found.count
        for index in start..<end {
            let number = found[index]
            let state = states[number]
            // The previous state may already have led to this one.
            if state.stays, found.count == end || found[found.count - 1] != number { found.append(number) }
            if state.path < 0, state.local == -1 || state.local == local,
                state.namespace == -1 || state.namespace == namespace
            {
                found.append(number + 1)
            }
        }
    }

    /// Returns the number of the path that ends in a state, or -1 if the path goes on.
    func end(of state: Int) -> Int { states[state].path }
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
        for index in 0..<before { try paths.add("//x\(index)/*//z") }
        try paths.add(path, isAttribute: path.contains("@"))
        for index in 0..<before { try paths.add("y\(index)") }
        var (states, start) = (paths.initial, 0)
        for element in elements.split(separator: "/") {
            let parts = element.split(separator: "|").map(String.init)
            let end = states.count
            parts[parts.count - 1].withUTF8Span { name in
                (parts.count > 1 ? parts[0] : "").withUTF8Span {
                    paths.enter(XMLName(name, namespace: $0), &states, from: start)
                }
            }
            start = end
        }
        expectEqual(Set(states[start...]).count, states.count - start, "different states of \(elements)")
        let ends = states[start...].map { paths.end(of: $0) }.filter { $0 >= 0 }
        expectTrue(ends == [] || ends == [before], "the only path at \(elements)")
        return !ends.isEmpty
    }

    private static func testFindsElements() throws {
        let rows: [(String, yes: [String], no: [String])] = [
            ("a", ["a"], ["b", "a/a", "a/b"]), ("/a/b", ["a/b"], ["a", "b", "a/b/c", "a/c/b"]),
            ("*/b", ["a/b", "b/b"], ["b", "a/a/b"]), ("//b", ["b", "a/b", "b/b", "a/a/a/b"], ["a", "b/a"]),
            ("a//b", ["a/b", "a/c/b", "a/b/b"], ["b", "c/a/b", "a"]), ("a/*", ["a/a", "a/b"], ["a", "b/a", "a/a/a"]),
            ("//a/b", ["a/b", "a/a/b", "c/a/b"], ["b", "a/c/b"]),
            ("//a//b/c", ["a/x/b/c", "x/a/b/b/c", "a/a/b/b/b/c"], ["a/c", "b/c", "a/b/x/c"]),
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
                try paths.add(path, isAttribute: path == "a/b" || path.contains("@"))
            }
            expectEqual(error?.kind, .misuse, "kind for \(path)")
        }
    }

    private static func testDetectsElementsWithoutFurtherMatches() throws {
        for (path, element, leads) in [
            ("a/b", "a", true), ("a/b", "c", false), ("a", "a", false), ("//a", "b", true), ("a/@b", "a", false),
        ] {
            var paths = ElementPaths(namespaces: [:])
            try paths.add(path, isAttribute: path.contains("@"))
            var states = paths.initial
            element.withUTF8Span { paths.enter(XMLName($0), &states, from: 0) }
            expectEqual(states[1...].contains { paths.end(of: $0) < 0 }, leads, "\(path) within \(element)")
        }
    }
}
#endif
