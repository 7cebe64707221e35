// Maps prefixes to URIs in the scope of each element.

import PlistStreaming

/// The namespaces in scope.
@usableFromInline
struct Namespaces: ~Copyable {
    @usableFromInline
    struct Binding: BitwiseCopyable {
        var prefix: Int32
        var previous: Int32
        var addsPrefix: Bool
        var addsURI: Bool
    }

    // SPEC: Namespaces in XML 1.0, section 3.
    static let xmlURI = "http://www.w3.org/XML/1998/namespace"
    static let xmlnsURI = "http://www.w3.org/2000/xmlns/"
    /// The maximum number of bytes of prefixes and URIs in scope.
    static let byteCountMax = 256 << 20

    private var prefixes = ScopedNames()
    @usableFromInline var uris = ScopedNames()
    /// The index of each prefix's URI, or 0 if the prefix isn't declared.
    private var bound = KeptStack<Int32>()
    @usableFromInline var bindings = KeptStack<Binding>()
    /// The slice of the URI for element names without a prefix.
    private(set) var defaultSlice: (start: Int32, count: Int32) = (0, 0)
    /// A prefix in scope, right-aligned in eight bytes, and the slice of its URI.
    private typealias Known = (prefix: UInt64, slice: (start: Int32, count: Int32))
    /// The two prefixes that were looked up last.
    private var known: (Known, Known) = ((0, (0, 0)), (0, (0, 0)))

    init() {
        for (prefix, uri) in [("", ""), ("xml", Self.xmlURI), ("xmlns", Self.xmlnsURI)] {
            let index = uri.withUTF8Span { uris.append($0) }
            _ = prefix.withUTF8Span { prefixes.append($0) }
            bound.append(Int32(index))
        }
    }

    /// The number of declarations in scope.
    @inlinable var bindingCount: Int { bindings.count }
    /// The bytes that contain the URIs.
    var uriBytes: RawSpan {
        @_lifetime(borrow self) get { uris.memory.bytes }
    }

    /// The same bytes without a scope, like ``KeptStack/unscopedBytes``.
    @inlinable @unsafe var unscopedURIBytes: RawSpan {
        @_lifetime(immortal) get { unsafe uris.memory.unscopedBytes }
    }

    /// The index of the URI for element names without a prefix.
    var defaultURI: Int { Int(bound[0]) }

    /// Returns the index of a prefix's URI, or nil if the prefix isn't declared.
    func uri(of prefix: RawSpan) -> Int? {
        guard let index = prefixes.index(of: prefix), bound[index] != 0 else { return nil }
        return Int(bound[index])
    }

    /// Returns the bytes of a URI.
    @_lifetime(borrow self)
    func text(of uri: Int) -> RawSpan { uris.text(uri) }

    /// Returns a copy of the URI of a prefix, or nil if the prefix isn't declared.
    func copyOfURI(of prefix: RawSpan) -> [UInt8]? { uri(of: prefix).map { Array(copying: uris.text($0)) } }

    /// Returns whether a prefix has a declaration in scope after a number of the first ones.
    func declares(_ prefix: RawSpan, after count: Int) -> Bool {
        guard let index = prefixes.index(of: prefix) else { return false }
        for place in count..<bindings.count where bindings[place].prefix == Int32(index) { return true }
        return false
    }

    /// Returns the slice of the URI for a prefix of elements and attributes, or nil if the prefix isn't declared.
    ///
    /// - Parameter word: The first eight bytes of a name with this prefix.
    @inline(__always)
    mutating func slice(of prefix: RawSpan, _ word: UInt64) -> (start: Int32, count: Int32)? {
        let last = prefix.byteCount <= 8 ? OpenElement.word(word, prefix.byteCount) : 0
        if last != 0 {
            if last == known.0.prefix { return known.0.slice }
            if last == known.1.prefix { return known.1.slice }
        }
        return lookUp(prefix, last)
    }

    @inline(never)
    private mutating func lookUp(_ prefix: RawSpan, _ word: UInt64) -> (start: Int32, count: Int32)? {
        guard let uri = uri(of: prefix), uri != 2 else { return nil }
        let slice = slice(uri)
        if word != 0 { known = ((word, slice), known.0) }
        return slice
    }

    /// Returns the slice of a URI in the bytes of all URIs.
    func slice(_ uri: Int) -> (start: Int32, count: Int32) { uris.slice(uri) }

    /// Binds a prefix, or the default namespace for an empty prefix, until the scope ends.
    ///
    /// - Returns: The reason why the declaration is invalid, or nil.
    mutating func declare(_ prefix: RawSpan, _ uri: RawSpan) -> String? {
        if let objection = Self.objection(to: prefix, uri) { return objection }
        let known = uris.index(of: uri)
        let newBytes = prefix.byteCount + uri.byteCount
        guard prefixes.memory.count + uris.memory.count + newBytes <= Self.byteCountMax else {
            return "more than \(Self.byteCountMax) bytes of namespaces"
        }
        let knownPrefix = prefixes.index(of: prefix)
        let index = knownPrefix ?? prefixes.append(prefix)
        if knownPrefix == nil { bound.append(0) }
        let uriIndex = known ?? uris.append(uri)
        bindings.append(
            Binding(
                prefix: Int32(index), previous: bound[index], addsPrefix: knownPrefix == nil, addsURI: known == nil))
        bound[index] = Int32(uriIndex)
        discardSlices()
        return nil
    }

    /// Returns the reason why a declaration is invalid, or nil if it is allowed.
    static func objection(to prefix: RawSpan, _ uri: RawSpan) -> String? {
        let (isXML, hasXMLURI) = (prefix.equals("xml"), uri.equals(xmlURI))
        if isXML || hasXMLURI {
            return isXML && hasXMLURI ? nil : "expected the prefix 'xml' and its namespace only together"
        }
        if prefix.equals("xmlns") || uri.equals(xmlnsURI) { return "the prefix 'xmlns' and its namespace are reserved" }
        if uri.byteCount == 0 && prefix.byteCount > 0 {
            return "expected a URI, since only the default namespace can be undeclared"
        }
        return nil
    }

    /// Removes all declarations except a number of the first ones.
    mutating func endScope(_ count: Int) {
        defer { discardSlices() }
        while bindings.count > count {
            let binding = bindings.removeLast()
            bound[Int(binding.prefix)] = binding.previous
            if binding.addsPrefix {
                prefixes.removeLast()
                _ = bound.removeLast()
            }
            if binding.addsURI { uris.removeLast() }
        }
    }

    private mutating func discardSlices() {
        defaultSlice = slice(defaultURI)
        (known.0.prefix, known.1.prefix) = (0, 0)
    }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

enum NamespacesTests {}

extension NamespacesTests: SelfTesting {
    static var testSelectors: TestSelectors {
        ["testScopesPrefixes": testScopesPrefixes, "testRefusesReservedNames": testRefusesReservedNames]
    }

    private static func declare(_ names: inout Namespaces, _ prefix: String, _ uri: String) -> String? {
        prefix.withUTF8Span { prefix in uri.withUTF8Span { names.declare(prefix, $0) } }
    }

    private static func uri(_ names: inout Namespaces, _ prefix: String) -> String? {
        guard let index = prefix.withUTF8Span({ names.uri(of: $0) }) else { return nil }
        let slice = names.slice(index)
        return String(xml: names.uriBytes.part(Int(slice.start), Int(slice.count)))
    }

    private static func testScopesPrefixes() {
        var names = Namespaces()
        expectEqual(uri(&names, "xml"), Namespaces.xmlURI, "xml")
        expectNil(uri(&names, "p"), "before its declaration")
        _ = declare(&names, "p", "urn:a")
        _ = declare(&names, "", "urn:b")
        expectEqual(uri(&names, "p"), "urn:a", "declared")
        _ = declare(&names, "q", "urn:a")
        _ = declare(&names, "p", "urn:c")
        expectEqual(uri(&names, "p"), "urn:c", "declared again")
        expectEqual(uri(&names, "q"), "urn:a", "another prefix")
        "p".withUTF8Span { prefix in
            expectTrue(names.declares(prefix, after: 3), "its own declaration")
            expectFalse(names.declares(prefix, after: 4), "an earlier declaration")
        }
        expectEqual(names.defaultURI, names.slice(names.defaultURI).count > 0 ? names.defaultURI : 0, "default")
        _ = declare(&names, "", "")
        expectEqual(names.defaultURI, 0, "undeclared default")
        names.endScope(2)
        expectEqual(uri(&names, "p"), "urn:a", "behind the inner scope")
        expectNil(uri(&names, "q"), "of the inner scope")
        names.endScope(0)
        expectNil(uri(&names, "p"), "behind all scopes")
        expectEqual(names.defaultURI, 0, "default behind all")
    }

    private static func testRefusesReservedNames() {
        var names = Namespaces()
        for (prefix, uri) in [
            ("xmlns", "urn:a"), ("xmlns", Namespaces.xmlnsURI), ("p", Namespaces.xmlnsURI), ("", Namespaces.xmlnsURI),
            ("xml", "urn:a"), ("p", Namespaces.xmlURI),
            ("", Namespaces.xmlURI), ("p", ""), ("xml", ""),
        ] {
            expectTrue(declare(&names, prefix, uri) != nil, "\(prefix) as \(uri)")
        }
        expectEqual(names.bindingCount, 0, "nothing is declared")
        expectNil(declare(&names, "xml", Namespaces.xmlURI), "xml as it is")
        func objection(_ prefix: String, _ uri: String) -> String? {
            prefix.withUTF8Span { prefix in uri.withUTF8Span { Namespaces.objection(to: prefix, $0) } }
        }
        expectNil(objection("p", "1"), "a prefix")
        expectNil(objection("", ""), "no default namespace")
        expectNil(objection("xml", Namespaces.xmlURI), "the prefix xml")
        for (prefix, uri) in [
            ("p", ""), ("xml", "1"), ("p", Namespaces.xmlURI), ("xmlns", "1"), ("", Namespaces.xmlnsURI),
            ("", Namespaces.xmlURI),
        ] {
            expectNotNil(objection(prefix, uri), "\(prefix) for \(uri)")
        }
    }
}
#endif
