// Tracks the prefixes that are declared at the current position of a writer or a tree, with a scope for each open element.

/// The namespaces in scope by prefix. Each declaration lasts as long as its element is open.
///
/// SPEC: Namespaces in XML 1.0, sections 2 and 6.
struct NamespaceScopes {
    private struct Declaration {
        let prefix: [UInt8]
        let uri: [UInt8]
        /// The index of the outer declaration of the same prefix, or -1 if the prefix has no outer declaration.
        let outer: Int
        let depth: Int
    }

    /// The namespace of the prefix `xml`.
    static let xmlURI: [UInt8] = Array("http://www.w3.org/XML/1998/namespace".utf8)
    /// The namespace of the prefix `xmlns`.
    static let xmlnsURI: [UInt8] = Array("http://www.w3.org/2000/xmlns/".utf8)

    private var declarations: [Declaration] = []
    private var innermost: [[UInt8]: Int] = [:]

    /// A Boolean value that indicates whether no namespace is declared.
    var isEmpty: Bool { declarations.isEmpty }

    /// Returns the namespace of a prefix, or nil if the prefix isn't declared. It is empty if names without a prefix have no
    /// namespace.
    ///
    /// - Complexity: O(1).
    func uri(of prefix: [UInt8]) -> [UInt8]? {
        if let index = innermost[prefix] { return declarations[index].uri }
        return switch prefix {
        case []: []
        case Array("xml".utf8): Self.xmlURI
        default: nil
        }
    }

    /// Declares a prefix for an element at a depth and the elements within it.
    mutating func declare(_ prefix: [UInt8], _ uri: [UInt8], depth: Int) {
        let outer = innermost.updateValue(declarations.count, forKey: prefix) ?? -1
        declarations.append(Declaration(prefix: prefix, uri: uri, outer: outer, depth: depth))
    }

    /// Returns whether the element at a depth declares a prefix.
    func declares(_ prefix: [UInt8], depth: Int) -> Bool {
        innermost[prefix].map { declarations[$0].depth == depth } ?? false
    }

    /// Removes the declarations of the elements at a depth and below.
    mutating func close(depth: Int) {
        while let last = declarations.last, last.depth >= depth {
            declarations.removeLast()
            innermost[last.prefix] = last.outer < 0 ? nil : last.outer
        }
    }

    /// Returns the reason why a declaration is never allowed, or nil if it is allowed.
    static func objection(to prefix: [UInt8], _ uri: [UInt8]) -> String? {
        let isXML = prefix == Array("xml".utf8)
        if isXML || uri == xmlURI {
            return isXML && uri == xmlURI ? nil : "only the prefix xml has the namespace of xml"
        }
        if prefix == Array("xmlns".utf8) || uri == xmlnsURI { return "the prefix xmlns and its namespace are reserved" }
        if uri.isEmpty && !prefix.isEmpty { return "only the default namespace can be none" }
        return nil
    }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

extension NamespaceScopes: SelfTesting {
    static var testSelectors: TestSelectors {
        ["testNestsScopes": testNestsScopes, "testRefusesReservedNames": testRefusesReservedNames]
    }

    private static func testNestsScopes() {
        var scopes = NamespaceScopes()
        func uri(_ prefix: String) -> String? {
            scopes.uri(of: Array(prefix.utf8)).map { String(decoding: $0, as: UTF8.self) }
        }
        expectEqual(uri(""), "", "no default namespace")
        expectEqual(uri("xml"), "http://www.w3.org/XML/1998/namespace", "the prefix xml")
        expectNil(uri("p"), "an undeclared prefix")
        scopes.declare([0x70], [0x31], depth: 1)
        scopes.declare([], [0x32], depth: 1)
        scopes.declare([0x70], [0x33], depth: 2)
        scopes.declare([], [], depth: 3)
        expectEqual([uri("p"), uri("")], ["3", ""], "within")
        expectTrue(scopes.declares([0x70], depth: 2), "its own declaration")
        expectFalse(scopes.declares([0x70], depth: 3), "another one's declaration")
        scopes.close(depth: 2)
        expectEqual([uri("p"), uri("")], ["1", "2"], "behind it")
        scopes.close(depth: 1)
        expectEqual([uri("p"), uri("")], [nil, ""], "at the end")
        expectTrue(scopes.isEmpty, "nothing declared")
    }

    private static func testRefusesReservedNames() {
        let (xml, xmlns) = (Array("xml".utf8), Array("xmlns".utf8))
        expectNil(objection(to: [0x70], [0x31]), "a prefix")
        expectNil(objection(to: [], []), "no default namespace")
        expectNil(objection(to: xml, xmlURI), "the prefix xml")
        for (prefix, uri) in [
            ([0x70], []), (xml, [0x31]), ([0x70], xmlURI), (xmlns, [0x31]), ([], xmlnsURI), ([], xmlURI),
        ] {
            expectNotNil(objection(to: prefix, uri), "\(prefix) for \(uri)")
        }
    }
}
#endif
