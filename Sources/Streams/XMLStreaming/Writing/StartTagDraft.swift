// Collects a start tag before it is written, adds the declarations that it needs, and checks it. Nothing is written for an
// invalid tag.

import PlistStreaming

/// A start tag that is collected in reusable memory, checked as a whole, and then written.
struct StartTagDraft: ~Copyable {
    /// A range of the collected bytes.
    private struct Piece: BitwiseCopyable {
        let start: Int
        let end: Int

        var isEmpty: Bool { start == end }
    }

    private struct Part: BitwiseCopyable {
        let name: Piece
        let value: Piece
        /// The namespace of the name, or nil if the namespace depends only on the prefix.
        var uri: Piece?
        /// The offset of the colon in the name, or -1 if the name has no colon.
        var colon = -1
    }

    private struct Declaration: BitwiseCopyable {
        let prefix: Piece
        let uri: Piece
    }

    private var bytes = KeptStack<UInt8>()
    /// The element, followed by its attributes.
    private var parts = KeptStack<Part>()
    /// The prefixes to declare, with their URIs.
    private var declarations = KeptStack<Declaration>()

    // MARK: Collecting

    private mutating func keep(_ text: RawSpan) -> Piece {
        let start = bytes.count
        bytes.append(contentsOf: text)
        return Piece(start: start, end: bytes.count)
    }

    /// Begins a new tag.
    mutating func begin(_ name: RawSpan) {
        bytes.removeAll()
        parts.removeAll()
        declarations.removeAll()
        let name = keep(name)
        parts.append(Part(name: name, value: Piece(start: name.end, end: name.end)))
    }

    /// Adds an attribute.
    mutating func add(_ name: RawSpan, value: RawSpan) {
        let name = keep(name)
        parts.append(Part(name: name, value: keep(value)))
    }

    /// Sets the namespace of the last name that was added.
    mutating func setNamespace(_ uri: RawSpan) {
        parts[parts.count - 1].uri = keep(uri)
    }

    /// Adds the declaration of a prefix. An empty prefix declares the default namespace.
    mutating func declare(_ prefix: RawSpan, _ uri: RawSpan) {
        let prefix = keep(prefix)
        declarations.append(Declaration(prefix: prefix, uri: keep(uri)))
    }

    /// Adds an attribute, or a declaration if the name is the name of a declaration.
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

    /// Returns the bytes of a piece.
    @_lifetime(borrow self)
    private func part(_ piece: Piece) -> RawSpan { bytes.bytes.part(piece.start, piece.end - piece.start) }

    private func array(_ piece: Piece) -> [UInt8] { [UInt8](copying: part(piece)) }

    private func text(_ piece: Piece) -> String { ShownText.quoted(part(piece)) }

    /// Checks the tag against the grammar and the namespaces in scope, and adds its declarations to the scope.
    ///
    /// After an error, the caller has to close the declarations of the depth.
    mutating func check(
        in scopes: inout NamespaceScopes, depth: Int, known: [String: String], withNamespaces: Bool
    ) throws(StreamError) {
        for index in 0..<parts.count {
            let isElement = index == 0
            let name = parts[index].name
            let colon =
                withNamespaces
                ? WrittenText.colon(inQualifiedName: part(name)) : WrittenText.isName(part(name)) ? -1 : nil
            guard let colon else {
                throw StreamError(
                    .unrepresentable, "\(text(name)) is no name of an \(isElement ? "element" : "attribute")")
            }
            parts[index].colon = colon
            if !isElement {
                try WrittenText.check(part(parts[index].value), in: "a value of an attribute")
            }
        }
        if withNamespaces || !declarations.isEmpty { try checkDeclarations(&scopes, depth) }
        if withNamespaces {
            for index in 0..<parts.count { try resolve(parts[index], isElement: index == 0, &scopes, depth, known) }
        }
        if parts.count > 2 { try checkThatNamesDiffer(scopes, withNamespaces) }
    }

    private func checkDeclarations(_ scopes: inout NamespaceScopes, _ depth: Int) throws(StreamError) {
        for index in 0..<declarations.count {
            let (prefixPiece, uriPiece) = (declarations[index].prefix, declarations[index].uri)
            let (prefix, uri) = (array(prefixPiece), array(uriPiece))
            guard prefix.isEmpty || WrittenText.isPlainName(part(prefixPiece)) else {
                throw StreamError(.unrepresentable, "\(text(prefixPiece)) is no name of a prefix")
            }
            try WrittenText.check(part(uriPiece), in: "the name of a namespace")
            if let objection = NamespaceScopes.objection(to: prefix, uri) { throw StreamError(.misuse, objection) }
            guard !scopes.declares(prefix, depth: depth) else {
                throw StreamError(.duplicateKey, "the prefix \(text(prefixPiece)) is declared twice")
            }
            scopes.declare(prefix, uri, depth: depth)
        }
    }

    /// Finds the namespace of a name, and declares the prefix if that is needed and possible.
    private mutating func resolve(
        _ part: Part, isElement: Bool, _ scopes: inout NamespaceScopes, _ depth: Int, _ known: [String: String]
    ) throws(StreamError) {
        let hasPrefix = part.colon >= 0
        // An attribute without a prefix has no namespace.
        guard hasPrefix || isElement else {
            guard part.uri?.isEmpty ?? true else {
                throw StreamError(.misuse, "the attribute \(text(part.name)) has a namespace and no prefix")
            }
            return
        }
        if !hasPrefix && scopes.isEmpty && part.uri?.isEmpty ?? true { return }
        let prefixPiece = Piece(start: part.name.start, end: part.name.start + max(0, part.colon))
        // The prefix xml always has the same namespace.
        if part.uri == nil, self.part(prefixPiece).equals("xml") { return }
        let prefix = array(prefixPiece)
        let declared = scopes.uri(of: prefix)
        guard prefix != Array("xmlns".utf8) else {
            throw StreamError(.misuse, "the prefix xmlns is for declarations")
        }
        let wanted: [UInt8]
        if let uri = part.uri {
            wanted = array(uri)
        } else if let declared {
            wanted = declared
        } else if let uri = known[String(decoding: prefix, as: UTF8.self)] {
            wanted = Array(uri.utf8)
        } else {
            throw StreamError(.misuse, "the prefix \(text(prefixPiece)) is not declared")
        }
        guard declared != wanted else { return }
        guard !scopes.declares(prefix, depth: depth) else {
            throw StreamError(.misuse, "the prefix \(text(prefixPiece)) would stand for two namespaces in one tag")
        }
        try declareAsNeeded(prefixPiece, wanted, &scopes, depth)
    }

    private mutating func declareAsNeeded(
        _ prefix: Piece, _ uri: [UInt8], _ scopes: inout NamespaceScopes, _ depth: Int
    ) throws(StreamError) {
        if let objection = NamespaceScopes.objection(to: array(prefix), uri) { throw StreamError(.misuse, objection) }
        let kept = try uri.withRawSpan { (uri) throws(StreamError) in
            try WrittenText.check(uri, in: "the name of a namespace")
            return keep(uri)
        }
        declarations.append(Declaration(prefix: prefix, uri: kept))
        scopes.declare(array(prefix), uri, depth: depth)
    }

    /// Throws an error if two attributes have the same name, or the same local name in the same namespace.
    ///
    /// - Complexity: O(*n*) in the bytes of the names.
    private func checkThatNamesDiffer(_ scopes: NamespaceScopes, _ withNamespaces: Bool) throws(StreamError) {
        if parts.count <= Self.fewParts, !mayRepeat(withNamespaces) { return }
        var names: Set<[UInt8]> = []
        for index in 1..<parts.count {
            let part = parts[index]
            var name = array(part.name)
            if withNamespaces, part.colon >= 0 {
                let uri = scopes.uri(of: Array(name[..<part.colon])) ?? []
                // No name contains this byte.
                name = uri + [0] + name[(part.colon + 1)...]
            }
            guard names.insert(name).inserted else {
                throw StreamError(.duplicateKey, "the attribute \(text(part.name)) comes twice")
            }
        }
    }

    /// The maximum number of names that are compared one by one.
    private static var fewParts: Int { 9 }

    /// Returns whether two attributes have the same name, or the same local name and prefixes that may have the same
    /// namespace.
    private func mayRepeat(_ withNamespaces: Bool) -> Bool {
        for index in 2..<parts.count {
            for other in 1..<index where isSame(parts[index], parts[other], withNamespaces) { return true }
        }
        return false
    }

    private func isSame(_ one: Part, _ other: Part, _ withNamespaces: Bool) -> Bool {
        guard withNamespaces else { return part(one.name).hasSameBytes(as: part(other.name)) }
        return (one.colon < 0) == (other.colon < 0) && local(one).hasSameBytes(as: local(other))
    }

    /// Returns the part of the name after the colon.
    @_lifetime(borrow self)
    private func local(_ one: Part) -> RawSpan {
        part(Piece(start: one.name.start + one.colon + 1, end: one.name.end))
    }

    // MARK: Writing

    /// Writes the checked tag without its last bracket.
    func write(to output: inout ByteOutput) throws(StreamError) {
        try output.append(UInt8(ascii: "<"))
        try output.append(part(parts[0].name))
        for index in 0..<declarations.count {
            let declaration = declarations[index]
            try WrittenText.append(" xmlns", to: &output)
            if !declaration.prefix.isEmpty { try output.append(UInt8(ascii: ":")) }
            try output.append(part(declaration.prefix))
            try writeValue(declaration.uri, &output)
        }
        for index in 1..<parts.count {
            try output.append(UInt8(ascii: " "))
            try output.append(part(parts[index].name))
            try writeValue(parts[index].value, &output)
        }
    }

    private func writeValue(_ value: Piece, _ output: inout ByteOutput) throws(StreamError) {
        try WrittenText.append("=\"", to: &output)
        try WrittenText.append(part(value), in: .attribute, to: &output)
        try output.append(UInt8(ascii: "\""))
    }

    /// The name of the element. It is valid until the draft changes.
    @unsafe var unscopedName: RawSpan {
        @_lifetime(immortal) get {
            let name = parts[0].name
            return unsafe bytes.unscopedBytes.part(name.start, name.end - name.start)
        }
    }
}
