// Handlers by element path: the sink that finds where handlers want something, collects it, and calls them as elements close.

public import PlistBuilding
public import PlistStreaming

/// A sink that calls handlers, which are declared by the paths of elements, as these elements close.
///
/// ```swift
/// var handlers = XMLHandlers()
/// try handlers.onText("people/person/name") { name in print(name) }
/// try handlers.onAttribute("people/person/@id") { id in print(id) }
/// try handlers.collectElement("people/person") { person in person.text.count }
/// try handlers.onElement("people") { people in print(try people.values("person", as: Int.self)) }
/// try handlers.readXML(.file("people.xml"))
/// ```
///
/// The functions that begin with `on` declare what is done. Those that begin with `collect` declare what is made of an element: the
/// handler of the next element around it gets the value, and those of the outermost elements are in ``values``. So memory is that of the
/// elements that are open, and of the values that were collected.
/// Elements that no path leads to or through are skipped at the reader's full speed.
///
/// A path begins at the root: `people/person`; `*` is any name, `//` any elements between: `//name`, `people//name`. An attribute is the
/// last step: `people/person/@id`. A name without a prefix fits every namespace, unless one is declared for the empty prefix; one with a
/// prefix fits that namespace. Attributes without a prefix are in no namespace. Several handlers may fit an element: all are called, in
/// the order in which they were declared.
///
/// What a handler throws ends the document, with the position and the path of the element. Errors of other types than
/// `StreamError` are the cause of one of the kind `receiverFailed`.
public struct XMLHandlers: XMLSink, ~Copyable {
    /// Makes a value of an element that has closed; nil is none.
    typealias Reduce = (CollectedElement) throws -> Any?

    /// What is done where a path ends.
    private enum Action {
        case reduce(Reduce)
        case attribute((String) throws -> Void)
        case object(any ElementReceiver)
    }

    private struct Level {
        /// The index of its content, -1 when no handler wants it.
        var content = -1
        /// Where its name begins in `pathBytes`.
        let nameStart: Int
    }

    /// The values that were made of elements with no other handled element around them, by their names.
    public var values: [(name: String, value: Any)] = []
    /// The most bytes, about, of the texts and attributes of open elements that handlers wait for; 64 MiB unless set.
    public var maxBufferedBytes: Int = 64 << 20
    private var paths: ElementPaths
    private var actions: [Action] = []
    private var levels: [Level] = []
    /// The states of the open elements, one behind the other.
    private var states: [UInt64] = []
    /// The contents of open elements with handlers, then of others, whose memory is used again.
    private var contents: [CollectedElement] = []
    private var contentCount = 0
    /// About how many bytes the contents of the open elements have.
    private var contentByteCount = 0
    /// The names of the open elements.
    private var pathBytes: [UInt8] = []
    /// The receivers of an element that is open, with the depth of that element.
    private var receivers: [(receiver: any ElementReceiver, depth: Int, path: Int)] = []

    /// Creates handlers.
    ///
    /// - Parameter namespaces: The URIs of the prefixes that paths use; that of the empty prefix is for names without one.
    public init(namespaces: [String: String] = [:]) {
        paths = ElementPaths(namespaces: namespaces)
    }

    // MARK: Declaring

    private mutating func add(_ path: String, isAttribute: Bool, _ action: Action) throws(StreamError) {
        guard levels.isEmpty else { throw StreamError(.misuse, "handlers are declared before a document begins") }
        _ = try paths.add(path, isAttribute: isAttribute)
        actions.append(action)
    }

    /// Declares what is made of elements: a value, which the handler around gets, or nil.
    ///
    /// - Throws: ``/PlistStreaming/StreamError/Kind/misuse`` for text that is no path of an element.
    public mutating func collectElement<Value>(
        _ path: String, _ reduce: @escaping (CollectedElement) throws -> Value?
    ) throws(StreamError) {
        try add(path, isAttribute: false, .reduce { content in try reduce(content).map { $0 as Any } })
    }

    /// Declares what is done with elements, of which no value is made.
    ///
    /// - Throws: ``/PlistStreaming/StreamError/Kind/misuse`` for text that is no path of an element.
    public mutating func onElement(
        _ path: String, _ body: @escaping (CollectedElement) throws -> Void
    ) throws(StreamError) {
        try add(
            path, isAttribute: false,
            .reduce { content in
                try body(content)
                return nil
            })
    }

    /// Declares what is done with the text of elements.
    ///
    /// - Throws: ``/PlistStreaming/StreamError/Kind/misuse`` for text that is no path of an element.
    public mutating func onText(_ path: String, _ body: @escaping (String) throws -> Void) throws(StreamError) {
        try onElement(path) { content in try body(content.text) }
    }

    /// Declares the member of an object that the text of elements is assigned to.
    ///
    /// - Throws: ``/PlistStreaming/StreamError/Kind/misuse`` for text that is no path of an element.
    public mutating func onText<Root>(
        _ path: String, of object: Root, _ member: ReferenceWritableKeyPath<Root, String>
    ) throws(StreamError) {
        try onText(path) { object[keyPath: member] = $0 }
    }

    /// Declares what is done with the values of attributes.
    ///
    /// - Throws: ``/PlistStreaming/StreamError/Kind/misuse`` for text that is no path of an attribute.
    public mutating func onAttribute(_ path: String, _ body: @escaping (String) throws -> Void) throws(StreamError) {
        try add(path, isAttribute: true, .attribute(body))
    }

    /// Declares what is made of elements that are bound to a type, with all that is within them.
    ///
    /// Within such an element the path is not looked for again.
    /// - Parameters:
    ///   - path: Where the elements are, as for the other handlers.
    ///   - type: What is made of each.
    ///   - objectOptions: How elements become members.
    ///   - builderOptions: What is done with unknown and missing members.
    ///   - reduce: Gets each value, and returns what the handler around is to get, or nil.
    /// - Throws: ``/PlistStreaming/StreamError/Kind/misuse`` for text that is no path of an element, and for a type that cannot be
    ///   bound.
    public mutating func collectObject<Value: StreamValue, Result>(
        _ path: String, _ type: Value.Type, objectOptions: XMLObjectOptions = XMLObjectOptions(),
        builderOptions: BuilderOptions = BuilderOptions(), _ reduce: @escaping (Value) throws -> Result?
    ) throws(StreamError) {
        let receiver = try ObjectReceiver(objectOptions, builderOptions) { (value: Value) in
            try reduce(value).map { $0 as Any }
        }
        try add(path, isAttribute: false, .object(receiver))
    }

    /// Declares what is done with elements that are bound to a type.
    ///
    /// - Throws: What the other form throws.
    public mutating func onObject<Value: StreamValue>(
        _ path: String, _ type: Value.Type, objectOptions: XMLObjectOptions = XMLObjectOptions(),
        builderOptions: BuilderOptions = BuilderOptions(), _ body: @escaping (Value) throws -> Void
    ) throws(StreamError) {
        let receiver = try ObjectReceiver(objectOptions, builderOptions) { (value: Value) in
            try body(value)
            return nil
        }
        try add(path, isAttribute: false, .object(receiver))
    }

    // MARK: Messages of the reader

    /// Looks which handlers want the element, and what is within it.
    public mutating func startElement(_ tag: borrowing XMLStartTag) throws(StreamError) -> XMLInterest {
        if levels.isEmpty { states = paths.initial }
        paths.enter(tag.name, &states)
        let nameStart = pathBytes.count
        // SAFETY: the bytes are copied within the closure.
        unsafe tag.name.qualified.withUnsafeBytes { unsafe pathBytes.append(contentsOf: $0) }
        levels.append(Level(nameStart: nameStart))
        let wantsContent = paths.hasEnds(states) ? try begin(tag) : false
        if wantsContent {
            for index in 0..<tag.attributes.count where tag.attributes[index].hasSkippedEntity {
                throw located(tag.attributes[index].lack)
            }
            levels[levels.count - 1].content = contentCount
            if contentCount == contents.count { contents.append(CollectedElement()) }
            contents[contentCount].begin(tag)
            contentByteCount += contents[contentCount].byteCount
            contentCount += 1
            try checkHeld()
        }
        for index in receivers.indices {
            do throws(StreamError) { try receivers[index].receiver.start(tag) } catch {
                throw located(error, depth: receivers[index].depth)
            }
        }
        return wantsContent || !receivers.isEmpty || paths.leadsOn(states) ? .content : .skipChildren
    }

    /// Calls the handlers of attributes, and takes note of the receivers of the element.
    ///
    /// - Returns: Whether the element is to be reduced as it closes.
    private mutating func begin(_ tag: borrowing XMLStartTag) throws(StreamError) -> Bool {
        var wantsContent = false
        for path in actions.indices where paths.isAt(path, states) {
            switch actions[path] {
            case .reduce:
                wantsContent = true
            case .attribute(let body):
                guard let name = paths.paths[path].attribute else { continue }
                let index =
                    name.namespace == ""
                    ? tag.attributes.index(ofSpelling: name.local)
                    : tag.attributes.index(of: name.local, in: name.namespace ?? "")
                guard let index else { continue }
                if tag.attributes[index].hasSkippedEntity { throw located(tag.attributes[index].lack) }
                let value = String(xml: tag.attributes[index].value)
                try call { try body(value) }
            case .object(let receiver):
                if receivers.contains(where: { $0.path == path }) { continue }
                receivers.append((receiver, levels.count, path))
            }
        }
        return wantsContent
    }

    private func checkHeld() throws(StreamError) {
        guard contentByteCount <= maxBufferedBytes else {
            throw located(
                StreamError(
                    .limitExceeded, "open elements that are waited for have more than \(maxBufferedBytes) bytes"))
        }
    }

    /// Adds a piece of text to the element, if a handler wants it.
    public mutating func text(_ text: borrowing XMLText) throws(StreamError) {
        guard let level = levels.last else { return }
        if level.content >= 0 {
            contents[level.content].append(text: text.utf8)
            contentByteCount += text.utf8.byteCount
            try checkHeld()
        }
        for index in receivers.indices {
            do throws(StreamError) { try receivers[index].receiver.text(text) } catch {
                throw located(error, depth: receivers[index].depth)
            }
        }
    }

    /// Passes the notice on to the types that elements are bound to.
    public mutating func skippedEntity(_ reference: borrowing XMLSkippedEntity) throws(StreamError) {
        let isWanted = levels.last.map { $0.content >= 0 } ?? false
        guard isWanted || !receivers.isEmpty else { return }
        let name = ShownText.quoted(reference.name)
        throw located(StreamError(.unrepresentable, "the text of the entity \(name) is not known"))
    }

    /// Calls the handlers of the element.
    public mutating func endElement(_ tag: borrowing XMLEndTag) throws(StreamError) {
        guard let level = levels.last else { throw StreamError(.misuse, "got the end of an element that is not open") }
        var made: [Any] = []
        for index in receivers.indices {
            do throws(StreamError) { try receivers[index].receiver.end(tag) } catch {
                throw located(error, depth: receivers[index].depth)
            }
        }
        if level.content >= 0 || !receivers.isEmpty {
            for path in actions.indices where paths.isAt(path, states) {
                if case .reduce(let reduce) = actions[path], level.content >= 0 {
                    let content = contents[level.content]
                    try call { if let value = try reduce(content) { made.append(value) } }
                } else if let last = receivers.firstIndex(where: { $0.path == path && $0.depth == levels.count }) {
                    let receiver = receivers.remove(at: last).receiver
                    try call { if let value = try receiver.finish() { made.append(value) } }
                }
            }
        }
        if level.content >= 0 {
            contentCount -= 1
            contentByteCount -= contents[level.content].byteCount
        }
        close(level)
        guard !made.isEmpty else { return }
        let name = String(xml: tag.name.qualified)
        for value in made {
            if contentCount > 0 { contents[contentCount - 1].append(name, value) } else { values.append((name, value)) }
        }
    }

    private mutating func close(_ level: Level) {
        levels.removeLast()
        pathBytes.removeSubrange(level.nameStart...)
        states.removeLast(paths.wordCount)
    }

    /// Forgets the open elements.
    public mutating func cancel(with error: StreamError) {
        for index in receivers.indices { receivers[index].receiver.cancel(with: error) }
        receivers.removeAll()
        levels.removeAll()
        pathBytes.removeAll()
        (contentCount, contentByteCount) = (0, 0)
    }

    // MARK: Errors

    /// Calls a handler, whose errors get the path of the element.
    private func call(_ body: () throws -> Void) throws(StreamError) {
        do { try body() } catch { throw located(StreamError(ofReceiver: error)) }
    }

    /// Puts the path of an open element, the innermost unless said, before that of an error; a request to stop has none.
    private func located(_ error: StreamError, depth: Int = .max) -> StreamError {
        if error.isStopRequest { return error }
        var steps: [StreamPath.Step] = []
        for (index, level) in levels.enumerated().prefix(depth) {
            let end = index + 1 < levels.count ? levels[index + 1].nameStart : pathBytes.count
            steps.append(.key(String(decoding: pathBytes[level.nameStart..<end], as: UTF8.self)))
        }
        return error.under(steps)
    }
}
