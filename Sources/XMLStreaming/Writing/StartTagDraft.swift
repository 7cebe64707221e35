// A start tag before it is written: collected, completed with the declarations that it needs, and checked, so that nothing of
// a wrong one is written.

import PlistStreaming

/// A start tag that is collected in memory which is used again, checked as a whole, and then written.
struct StartTagDraft {
    private struct Part {
        let name: Range<Int>
        let value: Range<Int>
        /// The namespace that the name is to have; nil where the prefix alone says it.
        var uri: Range<Int>?
        /// The offset of the colon in the name, -1 without one.
        var colon = -1
    }

    private var bytes: [UInt8] = []
    /// The element, then its attributes.
    private var parts: [Part] = []
    /// The prefixes to declare, and what they stand for.
    private var declarations: [(prefix: Range<Int>, uri: Range<Int>)] = []

    // MARK: Collecting

    private mutating func keep(_ text: RawSpan) -> Range<Int> {
        let start = bytes.count
        // SAFETY: the bytes are copied within the closure.
        unsafe text.withUnsafeBytes { unsafe bytes.append(contentsOf: $0) }
        return start..<bytes.count
    }

    /// Begins another tag.
    mutating func begin(_ name: RawSpan) {
        bytes.removeAll(keepingCapacity: true)
        parts.removeAll(keepingCapacity: true)
        declarations.removeAll(keepingCapacity: true)
        let name = keep(name)
        parts.append(Part(name: name, value: name.upperBound..<name.upperBound))
    }

    /// Adds an attribute.
    mutating func add(_ name: RawSpan, value: RawSpan) {
        parts.append(Part(name: keep(name), value: keep(value)))
    }

    /// Says which namespace the name that was added last is to have.
    mutating func setNamespace(_ uri: RawSpan) {
        parts[parts.count - 1].uri = keep(uri)
    }

    /// Adds the declaration of a prefix, which is empty for the default namespace.
    mutating func declare(_ prefix: RawSpan, _ uri: RawSpan) {
        declarations.append((keep(prefix), keep(uri)))
    }

    /// Adds what is written as an attribute: a declaration, where the name says that it is one.
    mutating func addAttributeOrDeclaration(_ name: RawSpan, value: RawSpan) {
        if name.equals("xmlns") {
            declare(name.extracting(0..<0), value)
        } else if name.byteCount > 6, name.extracting(0..<6).equals("xmlns:") {
            declare(name.extracting(6..<name.byteCount), value)
        } else {
            add(name, value: value)
        }
    }

    // MARK: Checking

    /// The bytes of a part.
    private func with<Value>(
        _ range: Range<Int>, _ body: (RawSpan) throws(StreamError) -> Value
    ) throws(StreamError) -> Value {
        try unsafe bytes.withUnsafeBufferPointer { (buffer) throws(StreamError) in
            // SAFETY: the span does not leave the closure.
            try body(unsafe UnsafeRawBufferPointer(buffer).bytes.extracting(range))
        }
    }

    private func text(_ range: Range<Int>) -> String { WrittenText.quoted(bytes[range]) }

    /// Checks the tag by itself, and with the namespaces in scope, to which it adds its declarations.
    ///
    /// After an error, the declarations of the depth have to be closed.
    mutating func check(
        in scopes: inout NamespaceScopes, depth: Int, known: [String: String], withNamespaces: Bool
    ) throws(StreamError) {
        for index in parts.indices {
            let isElement = index == 0
            let name = parts[index].name
            let colon = try with(name) { (name) throws(StreamError) -> Int? in
                withNamespaces ? WrittenText.colon(inQualifiedName: name) : WrittenText.isName(name) ? -1 : nil
            }
            guard let colon else {
                throw StreamError(
                    .unrepresentable, "\(text(name)) is no name of an \(isElement ? "element" : "attribute")")
            }
            parts[index].colon = colon
            if !isElement {
                try with(parts[index].value) { (value) throws(StreamError) in
                    try WrittenText.check(value, in: "a value of an attribute")
                }
            }
        }
        if withNamespaces || !declarations.isEmpty { try checkDeclarations(&scopes, depth) }
        if withNamespaces {
            for part in parts { try resolve(part, isElement: part.name == parts[0].name, &scopes, depth, known) }
        }
        try checkThatNamesDiffer(scopes, withNamespaces)
    }

    private func checkDeclarations(_ scopes: inout NamespaceScopes, _ depth: Int) throws(StreamError) {
        for (prefixRange, uriRange) in declarations {
            let (prefix, uri) = (Array(bytes[prefixRange]), Array(bytes[uriRange]))
            let isName = try with(prefixRange) { (prefix) throws(StreamError) in WrittenText.isPlainName(prefix) }
            guard prefix.isEmpty || isName else {
                throw StreamError(.unrepresentable, "\(text(prefixRange)) is no name of a prefix")
            }
            try with(uriRange) { (uri) throws(StreamError) in try WrittenText.check(uri, in: "the name of a namespace")
            }
            if let objection = NamespaceScopes.objection(to: prefix, uri) { throw StreamError(.misuse, objection) }
            guard !scopes.declares(prefix, depth: depth) else {
                throw StreamError(.duplicateKey, "the prefix \(text(prefixRange)) is declared twice")
            }
            scopes.declare(prefix, uri, depth: depth)
        }
    }

    /// Finds the namespace of a name, and declares the prefix where that is needed and possible.
    private mutating func resolve(
        _ part: Part, isElement: Bool, _ scopes: inout NamespaceScopes, _ depth: Int, _ known: [String: String]
    ) throws(StreamError) {
        let hasPrefix = part.colon >= 0
        // An attribute without a prefix is in no namespace.
        guard hasPrefix || isElement else {
            guard part.uri?.isEmpty ?? true else {
                throw StreamError(.misuse, "the attribute \(text(part.name)) has a namespace and no prefix")
            }
            return
        }
        if !hasPrefix && scopes.isEmpty && part.uri?.isEmpty ?? true { return }
        let prefixRange = part.name.lowerBound..<(part.name.lowerBound + max(0, part.colon))
        let prefix = Array(bytes[prefixRange])
        let declared = scopes.uri(of: prefix)
        guard prefix != Array("xmlns".utf8) else {
            throw StreamError(.misuse, "the prefix xmlns is for declarations")
        }
        let wanted: [UInt8]
        if let uri = part.uri {
            wanted = Array(bytes[uri])
        } else if let declared {
            wanted = declared
        } else if let uri = known[String(decoding: prefix, as: UTF8.self)] {
            wanted = Array(uri.utf8)
        } else {
            throw StreamError(.misuse, "the prefix \(text(prefixRange)) is not declared")
        }
        guard declared != wanted else { return }
        guard !scopes.declares(prefix, depth: depth) else {
            throw StreamError(.misuse, "the prefix \(text(prefixRange)) would stand for two namespaces in one tag")
        }
        try declareAsNeeded(prefixRange, wanted, &scopes, depth)
    }

    private mutating func declareAsNeeded(
        _ prefix: Range<Int>, _ uri: [UInt8], _ scopes: inout NamespaceScopes, _ depth: Int
    ) throws(StreamError) {
        if let objection = NamespaceScopes.objection(to: Array(bytes[prefix]), uri) {
            throw StreamError(.misuse, objection)
        }
        let start = bytes.count
        bytes += uri
        try with(start..<bytes.count) { (uri) throws(StreamError) in
            try WrittenText.check(uri, in: "the name of a namespace")
        }
        declarations.append((prefix, start..<bytes.count))
        scopes.declare(Array(bytes[prefix]), uri, depth: depth)
    }

    /// Refuses two attributes of the same name, or of the same local name in the same namespace.
    ///
    /// - Complexity: O(*n*) in the bytes of the names.
    private func checkThatNamesDiffer(_ scopes: NamespaceScopes, _ withNamespaces: Bool) throws(StreamError) {
        guard parts.count > 2 else { return }
        var names: Set<[UInt8]> = []
        for part in parts.dropFirst() {
            var name = Array(bytes[part.name])
            if withNamespaces, part.colon >= 0 {
                let uri = scopes.uri(of: Array(name[..<part.colon])) ?? []
                // No name has this byte.
                name = uri + [0] + name[(part.colon + 1)...]
            }
            guard names.insert(name).inserted else {
                throw StreamError(.duplicateKey, "the attribute \(text(part.name)) comes twice")
            }
        }
    }

    // MARK: Writing

    /// Writes the tag, which was checked, without its last bracket.
    func write(to output: inout ByteOutput) throws(StreamError) {
        try output.append(UInt8(ascii: "<"))
        try with(parts[0].name) { (name) throws(StreamError) in try output.append(name) }
        for (prefix, uri) in declarations {
            try WrittenText.append(" xmlns", to: &output)
            if !prefix.isEmpty { try output.append(UInt8(ascii: ":")) }
            try with(prefix) { (prefix) throws(StreamError) in try output.append(prefix) }
            try writeValue(uri, &output)
        }
        for part in parts.dropFirst() {
            try output.append(UInt8(ascii: " "))
            try with(part.name) { (name) throws(StreamError) in try output.append(name) }
            try writeValue(part.value, &output)
        }
    }

    private func writeValue(_ value: Range<Int>, _ output: inout ByteOutput) throws(StreamError) {
        try WrittenText.append("=\"", to: &output)
        try with(value) { (value) throws(StreamError) in try WrittenText.append(value, in: .attribute, to: &output) }
        try output.append(UInt8(ascii: "\""))
    }

    /// The name of the element.
    var name: ArraySlice<UInt8> { bytes[parts[0].name] }
}

extension WrittenText {
    /// A name in an error: quoted, and at most 64 bytes of it.
    static func quoted(_ name: some Collection<UInt8>) -> String {
        String(decoding: name.prefix(64), as: UTF8.self).debugDescription
    }
}
