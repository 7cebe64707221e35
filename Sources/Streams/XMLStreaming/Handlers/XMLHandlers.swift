// Calls handlers by element path. The sink finds the elements with handlers, collects their content, and calls the handlers
// when the elements close.

public import PlistBuilding
public import PlistStreaming

/// A sink that calls handlers when elements close. You declare the handlers by the paths of the elements.
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
/// Functions that begin with `on` declare an action. Functions that begin with `collect` declare a value for an element. The
/// value is passed to the handler of the nearest element around it. Values of outermost elements are added to ``values``.
/// Memory is used only for the open elements and the collected values.
///
/// Elements that aren't on any path are skipped at the reader's full speed.
///
/// A path begins at the root: `people/person`. `*` stands for any name, and `//` for any elements in between: `//name`,
/// `people//name`. An attribute is the last step: `people/person/@id`. A name without a prefix fits every namespace, unless
/// you declare a namespace for the empty prefix. A name with a prefix fits only the namespace of that prefix. Attributes
/// without a prefix have no namespace. If several handlers fit an element, they are all called, in the order of their
/// declarations.
///
/// If a handler throws an error, reading ends with this error, which gets the position and the path of the element. Errors of
/// other types than `StreamError` are wrapped in an error of kind `receiverFailed`, as its cause.
public struct XMLHandlers: XMLSink, ~Copyable {
    /// Makes a value from a closed element, or returns nil for no value.
    typealias Reduce = (CollectedElement) throws -> Any?

    /// The action at the end of a path.
    private enum Action {
        case reduce(Reduce)
        case attribute((String) throws -> Void)
        case object(ElementReceiver)
    }

    private struct Level {
        /// The index of the element's content, or -1 if no handler needs it.
        var content = -1
        /// The offset of the element's name in `pathBytes`.
        let nameStart: Int
        /// The index of the element's first state in `states`.
        let stateStart: Int
    }

    /// The values of outermost handled elements, with the names of the elements.
    public var values: [(name: String, value: Any)] = []
    /// The approximate maximum size, in bytes, of the texts and attributes of open elements with handlers. The default is 64
    /// MiB.
    public var maxBufferedBytes: Int = 64 << 20
    private var paths: ElementPaths
    private var actions: [Action] = []
    private var levels: [Level] = []
    /// The states of the open elements, one after the other.
    private var states: [Int] = []
    /// The contents of open elements with handlers, followed by unused contents whose memory is used again.
    private var contents: [CollectedElement] = []
    private var contentCount = 0
    /// The approximate number of bytes in the contents of the open elements.
    private var contentByteCount = 0
    /// The names of the open elements.
    private var pathBytes: [UInt8] = []
    /// The receivers of open elements, with the depth of each element.
    private var receivers: [(receiver: ElementReceiver, depth: Int, path: Int)] = []

    /// Creates handlers.
    ///
    /// - Parameter namespaces: The URIs of the prefixes in paths. The URI of the empty prefix is the namespace of names
    ///   without a prefix.
    public init(namespaces: [String: String] = [:]) {
        paths = ElementPaths(namespaces: namespaces)
    }

    // MARK: Declaring

    private mutating func add(_ path: String, isAttribute: Bool, _ action: Action) throws(StreamError) {
        guard levels.isEmpty else { throw StreamError(.misuse, "expected all handlers before the document begins") }
        try paths.add(path, isAttribute: isAttribute)
        actions.append(action)
    }

    /// Declares a handler that makes a value from each element at a path. The next handler around the element gets the value,
    /// unless it is nil.
    ///
    /// - Throws: ``/PlistStreaming/StreamError/Kind/misuse`` for text that isn't the path of an element.
    public mutating func collectElement<Value>(
        _ path: String, _ reduce: @escaping (CollectedElement) throws -> Value?
    ) throws(StreamError) {
        try add(path, isAttribute: false, .reduce { content in try reduce(content).map { $0 as Any } })
    }

    /// Declares a handler for each element at a path. It makes no value.
    ///
    /// - Throws: ``/PlistStreaming/StreamError/Kind/misuse`` for text that isn't the path of an element.
    public mutating func onElement(
        _ path: String, _ body: @escaping (CollectedElement) throws -> Void
    ) throws(StreamError) {
        try collectElement(path) { content -> Never? in
            try body(content)
            return nil
        }
    }

    /// Declares a handler for the text of each element at a path.
    ///
    /// - Throws: ``/PlistStreaming/StreamError/Kind/misuse`` for text that isn't the path of an element.
    public mutating func onText(_ path: String, _ body: @escaping (String) throws -> Void) throws(StreamError) {
        try onElement(path) { content in try body(content.text) }
    }

    /// Assigns the text of each element at a path to a property of an object.
    ///
    /// - Throws: ``/PlistStreaming/StreamError/Kind/misuse`` for text that isn't the path of an element.
    public mutating func onText<Root>(
        _ path: String, of object: Root, _ member: ReferenceWritableKeyPath<Root, String>
    ) throws(StreamError) {
        try onText(path) { object[keyPath: member] = $0 }
    }

    /// Declares a handler for the value of each attribute at a path.
    ///
    /// - Throws: ``/PlistStreaming/StreamError/Kind/misuse`` for text that isn't the path of an attribute.
    public mutating func onAttribute(_ path: String, _ body: @escaping (String) throws -> Void) throws(StreamError) {
        try add(path, isAttribute: true, .attribute(body))
    }

    /// Declares a handler that makes a value from each element at a path, including its content, through a bound type.
    ///
    /// The path isn't searched for again within such an element.
    /// - Parameters:
    ///   - path: The path of the elements, as for the other handlers.
    ///   - type: The type that each element is decoded as.
    ///   - objectOptions: The options for turning elements into members.
    ///   - builderOptions: The options for unknown and missing members.
    ///   - reduce: A closure that gets each value and returns the value for the handler around it, or nil.
    /// - Throws: ``/PlistStreaming/StreamError/Kind/misuse`` for text that isn't the path of an element, and for a type that
    ///   can't be bound.
    public mutating func collectObject<Value: StreamValue, Result>(
        _ path: String, _ type: Value.Type, objectOptions: XMLObjectOptions = XMLObjectOptions(),
        builderOptions: BuilderOptions = BuilderOptions(), _ reduce: @escaping (Value) throws -> Result?
    ) throws(StreamError) {
        let receiver = try ElementReceiver(objectOptions, builderOptions) { (value: Value) in
            try reduce(value).map { $0 as Any }
        }
        try add(path, isAttribute: false, .object(receiver))
    }

    /// Declares a handler for each element at a path, which gets the element as a value of a bound type.
    ///
    /// - Throws: The same errors as `collectObject`.
    public mutating func onObject<Value: StreamValue>(
        _ path: String, _ type: Value.Type, objectOptions: XMLObjectOptions = XMLObjectOptions(),
        builderOptions: BuilderOptions = BuilderOptions(), _ body: @escaping (Value) throws -> Void
    ) throws(StreamError) {
        try collectObject(path, type, objectOptions: objectOptions, builderOptions: builderOptions) { value -> Never? in
            try body(value)
            return nil
        }
    }

    // MARK: Messages of the reader

    /// Finds the handlers for the element and for the elements within it.
    public mutating func startElement(_ tag: borrowing XMLStartTag) throws(StreamError) -> XMLInterest {
        if levels.isEmpty { states = paths.initial }
        let (nameStart, stateStart) = (pathBytes.count, states.count)
        paths.enter(tag.name, &states, from: levels.last?.stateStart ?? 0)
        // SAFETY: the bytes are copied within the closure.
        unsafe tag.name.qualified.withUnsafeBytes { unsafe pathBytes.append(contentsOf: $0) }
        levels.append(Level(nameStart: nameStart, stateStart: stateStart))
        let wantsContent = try begin(tag, stateStart)
        if wantsContent {
            for index in 0..<tag.attributes.count where tag.attributes[index].hasSkippedEntity {
                throw located(tag.attributes[index].lack)
            }
            levels[levels.count - 1].content = contentCount
            if contentCount == contents.count { contents.append(CollectedElement()) }
            contents[contentCount].begin(tag)
            contentByteCount += contents[contentCount].byteCount
            contentCount += 1
            try checkBuffered()
        }
        for (receiver, depth, _) in receivers {
            do throws(StreamError) { try receiver.start(tag) } catch { throw located(error, depth: depth) }
        }
        return wantsContent || !receivers.isEmpty || leadsOn(stateStart) ? .content : .skipChildren
    }

    /// Calls the handlers of attributes, and adds the receivers of the element.
    ///
    /// - Parameter start: The index of the element's first state.
    /// - Returns: `true` if a handler needs the content of the element when it closes.
    private mutating func begin(_ tag: borrowing XMLStartTag, _ start: Int) throws(StreamError) -> Bool {
        var wantsContent = false
        for index in start..<states.count {
            let path = paths.end(of: states[index])
            if path < 0 { continue }
            switch actions[path] {
            case .reduce:
                wantsContent = true
            case .attribute(let body):
                guard let name = paths.attributes[path] else { continue }
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

    /// Returns whether paths can continue into the children of the innermost element.
    private func leadsOn(_ start: Int) -> Bool {
        for index in start..<states.count where paths.end(of: states[index]) < 0 { return true }
        return false
    }

    private func checkBuffered() throws(StreamError) {
        guard contentByteCount <= maxBufferedBytes else {
            throw located(
                StreamError(
                    .limitExceeded, "elements that are being collected have more than \(maxBufferedBytes) bytes"))
        }
    }

    /// Adds a piece of text to the element if a handler needs it.
    public mutating func text(_ text: borrowing XMLText) throws(StreamError) {
        guard let level = levels.last else { return }
        if level.content >= 0 {
            contents[level.content].append(text: text.utf8)
            contentByteCount += text.utf8.byteCount
            try checkBuffered()
        }
        for (receiver, depth, _) in receivers {
            do throws(StreamError) { try receiver.text(text) } catch { throw located(error, depth: depth) }
        }
    }

    /// Throws an error if a handler needs the text of the entity.
    public mutating func skippedEntity(_ reference: borrowing XMLSkippedEntity) throws(StreamError) {
        let isWanted = levels.last.map { $0.content >= 0 } ?? false
        guard isWanted || !receivers.isEmpty else { return }
        let name = ShownText.quoted(reference.name)
        throw located(StreamError(.unrepresentable, "the text of the entity \(name) is unknown"))
    }

    /// Calls the handlers of the element.
    public mutating func endElement(_ tag: borrowing XMLEndTag) throws(StreamError) {
        guard let level = levels.last else { throw StreamError(.misuse, "got the end of an element that is not open") }
        var made: [Any] = []
        for (receiver, depth, _) in receivers {
            do throws(StreamError) { try receiver.end(tag) } catch { throw located(error, depth: depth) }
        }
        if level.content >= 0 || !receivers.isEmpty {
            for index in level.stateStart..<states.count {
                let path = paths.end(of: states[index])
                if path < 0 { continue }
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
        states.removeSubrange(level.stateStart...)
    }

    /// Removes the open elements and cancels their receivers.
    public mutating func cancel(with error: StreamError) {
        for (receiver, _, _) in receivers { receiver.cancel(with: error) }
        receivers.removeAll()
        levels.removeAll()
        pathBytes.removeAll()
        (contentCount, contentByteCount) = (0, 0)
    }

    // MARK: Errors

    /// Calls a handler and adds the path of the element to its errors.
    private func call(_ body: () throws -> Void) throws(StreamError) {
        do { try body() } catch { throw located(StreamError(ofReceiver: error)) }
    }

    /// Adds the path of an open element to an error. The default is the innermost element. A stop request gets no path.
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
