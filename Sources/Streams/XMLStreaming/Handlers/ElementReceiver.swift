// Receives a complete element and makes a value from it with an object builder.

import PlistBuilding
import PlistStreaming

/// A receiver of the messages of one element after another.
protocol ElementReceiver: AnyObject {
    func start(_ tag: borrowing XMLStartTag) throws(StreamError)
    func text(_ text: borrowing XMLText) throws(StreamError)
    func end(_ tag: borrowing XMLEndTag) throws(StreamError)
    /// Makes the value of the complete element.
    func finish() throws -> Any?
    func cancel(with error: StreamError)
}

/// A receiver that builds a value of a bound type.
final class ObjectReceiver<Value: StreamValue>: ElementReceiver {
    private var messages: XMLRecordAdapter<ObjectBuilder<PropertyList>>
    private let reduce: (Value) throws -> Any?
    /// The number of open elements whose content is sent although the value ignores it.
    private var unwantedDepth = 0

    init(
        _ options: XMLObjectOptions, _ builderOptions: BuilderOptions, _ reduce: @escaping (Value) throws -> Any?
    ) throws(StreamError) {
        var options = options
        options.root = .value
        // PERF: XML/objects; the adapter is specialized only once, for all types.
        let builder = try ObjectBuilder<PropertyList>(building: Value.self, options: builderOptions)
        messages = XMLRecordAdapter(builder, options: options)
        self.reduce = reduce
    }

    func start(_ tag: borrowing XMLStartTag) throws(StreamError) {
        if unwantedDepth > 0 {
            unwantedDepth += 1
        } else if try messages.startElement(tag) == .skipChildren {
            unwantedDepth = 1
        }
    }

    func text(_ text: borrowing XMLText) throws(StreamError) {
        if unwantedDepth == 0 { try messages.text(text) }
    }

    func end(_ tag: borrowing XMLEndTag) throws(StreamError) {
        if unwantedDepth > 1 {
            unwantedDepth -= 1
        } else {
            unwantedDepth = 0
            try messages.endElement(tag)
        }
    }

    func finish() throws -> Any? { try reduce(messages.sink.takeResult(of: Value.self)) }

    func cancel(with error: StreamError) {
        unwantedDepth = 0
        messages.cancel(with: error)
    }
}
