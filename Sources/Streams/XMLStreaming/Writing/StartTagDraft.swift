// Collects a start tag before it is written, adds the declarations that it needs, and checks it. Nothing is written for an
// invalid tag.

import PlistStreaming

/// A start tag that is collected in reusable memory, checked as a whole, and then written.
struct StartTagDraft: ~Copyable {
    /// A range of the collected bytes.
    fileprivate struct Piece: BitwiseCopyable {
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
        /// The number of the namespace in the scope, or 0 if the name has no namespace.
        var namespace = 0

        /// The part of the name after the colon.
        var local: Piece { Piece(start: name.start + colon + 1, end: name.end) }
    }

    private var bytes = KeptStack<UInt8>()
    /// The element, followed by its attributes.
    private var parts = KeptStack<Part>()
    /// The prefixes to declare as names, with their URIs as values.
    private var declarations = KeptStack<Part>()
    private var uniqueNames = UniqueNames()

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
        declarations.append(Part(name: prefix, value: keep(uri)))
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
    private func part(_ piece: Piece) -> RawSpan { bytes.bytes.part(piece) }

    private func text(_ piece: Piece) -> String { ShownText.quoted(part(piece)) }

    /// Checks the tag against the grammar and the namespaces in scope, and adds its declarations to the scope.
    ///
    /// After an error, the caller has to end the scope of the tag.
    mutating func check(
        in scope: inout Namespaces, known: [String: String], withNamespaces: Bool
    ) throws(StreamError) {
        let outer = scope.bindingCount
        for index in 0..<parts.count {
            let isElement = index == 0
            let name = parts[index].name
            let colon =
                withNamespaces
                ? WrittenText.colon(inQualifiedName: part(name)) : WrittenText.isName(part(name)) ? -1 : nil
            guard let colon else {
                throw StreamError(
                    .unrepresentable, "\(text(name)) is not a name of an \(isElement ? "element" : "attribute")")
            }
            parts[index].colon = colon
            if !isElement {
                try WrittenText.check(part(parts[index].value), in: "a value of an attribute")
            }
        }
        if withNamespaces || !declarations.isEmpty { try checkDeclarations(&scope, outer) }
        if withNamespaces {
            for index in 0..<parts.count {
                parts[index].namespace = try namespace(of: parts[index], isElement: index == 0, &scope, outer, known)
            }
        }
        if parts.count > 2 { try checkThatNamesDiffer() }
    }

    private func checkDeclarations(_ scope: inout Namespaces, _ outer: Int) throws(StreamError) {
        for index in 0..<declarations.count {
            let declaration = declarations[index]
            guard declaration.name.isEmpty || WrittenText.isPlainName(part(declaration.name)) else {
                throw StreamError(.unrepresentable, "\(text(declaration.name)) is not a prefix")
            }
            guard !scope.declares(part(declaration.name), after: outer) else {
                throw StreamError(.duplicateKey, "the prefix \(text(declaration.name)) is declared twice")
            }
            try declare(declaration, &scope)
        }
    }

    private func declare(_ declaration: Part, _ scope: inout Namespaces) throws(StreamError) {
        let (prefix, uri) = (part(declaration.name), part(declaration.value))
        try WrittenText.check(uri, in: "the name of a namespace")
        if let problem = scope.declare(prefix, uri) {
            throw StreamError(.misuse, problem)
        }
    }

    /// Returns the number of a name's namespace, or 0. Declares the prefix if that is needed and possible.
    private mutating func namespace(
        of part: Part, isElement: Bool, _ scope: inout Namespaces, _ outer: Int, _ known: [String: String]
    ) throws(StreamError) -> Int {
        let hasPrefix = part.colon >= 0
        // An attribute without a prefix has no namespace.
        guard hasPrefix || isElement else {
            guard part.uri?.isEmpty ?? true else {
                throw StreamError(.misuse, "the attribute \(text(part.name)) has a namespace and no prefix")
            }
            return 0
        }
        if !hasPrefix && scope.bindingCount == 0 && part.uri?.isEmpty ?? true { return 0 }
        let prefix = Piece(start: part.name.start, end: part.name.start + max(0, part.colon))
        // The prefix xml always has the same namespace.
        if part.uri == nil, self.part(prefix).equals("xml") { return 1 }
        guard !self.part(prefix).equals("xmlns") else {
            throw StreamError(.misuse, "the prefix 'xmlns' is reserved for declarations")
        }
        let declared = scope.uri(of: self.part(prefix))
        var uri = part.uri
        if uri == nil {
            if declared != nil || !hasPrefix { return declared ?? 0 }
            uri = known[String(xml: self.part(prefix))].map { $0.withUTF8Span { keep($0) } }
        }
        guard let uri else { throw StreamError(.misuse, "the prefix \(text(prefix)) is not declared") }
        if declared != nil || !hasPrefix, scope.text(of: declared ?? 0).hasSameBytes(as: self.part(uri)) {
            return declared ?? 0
        }
        guard !scope.declares(self.part(prefix), after: outer) else {
            throw StreamError(.misuse, "the prefix \(text(prefix)) would stand for two namespaces in one tag")
        }
        let declaration = Part(name: prefix, value: uri)
        declarations.append(declaration)
        try declare(declaration, &scope)
        return scope.uri(of: self.part(prefix)) ?? 0
    }

    /// Throws an error if two attributes have the same name, or the same local name in the same namespace.
    private mutating func checkThatNamesDiffer() throws(StreamError) {
        // SAFETY: the names don't change here.
        let (bytes, parts) = unsafe (bytes.unscopedBytes, parts.unscopedSpan)
        let repeated = uniqueNames.firstRepeated(
            in: 1..<parts.count,
            hash: { index in
                NameTable.hash(bytes.part(parts[index].local))
                    ^ UInt64(parts[index].namespace) &<< 32
            },
            isSame: { one, other in
                parts[one].namespace == parts[other].namespace
                    && bytes.part(parts[one].local).hasSameBytes(as: bytes.part(parts[other].local))
            })
        if let repeated {
            throw StreamError(.duplicateKey, "the attribute \(text(parts[repeated].name)) appears twice")
        }
    }

    // MARK: Writing

    /// Writes the checked tag without its last bracket.
    func write(to output: inout ByteOutput) throws(StreamError) {
        try output.append(UInt8(ascii: "<"))
        try output.append(part(parts[0].name))
        for index in 0..<declarations.count {
            let declaration = declarations[index]
            try WrittenText.append(" xmlns", to: &output)
            if !declaration.name.isEmpty { try output.append(UInt8(ascii: ":")) }
            try output.append(part(declaration.name))
            try writeValue(declaration.value, &output)
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
            unsafe bytes.unscopedBytes.part(parts[0].name)
        }
    }
}

extension RawSpan {
    @_lifetime(copy self)
    fileprivate func part(_ piece: StartTagDraft.Piece) -> RawSpan { part(piece.start, piece.end - piece.start) }
}
