// Receives a complete element and makes a value from it with an object builder.

import PlistBuilding
import PlistStreaming

/// A receiver of the messages of one element after another, which builds values of a bound type.
final class ElementReceiver {
    // PERF: XML/objects; the adapter is specialized only once, for all types.
    private var messages: XMLRecordAdapter<ObjectBuilder<PropertyList>>
    private let takeValue: (inout ObjectBuilder<PropertyList>) throws -> Any?
    /// The number of open elements whose content is sent although the value ignores it.
    private var unwantedDepth = 0

    init<Value: StreamValue>(
        _ options: XMLObjectOptions, _ builderOptions: BuilderOptions, _ reduce: @escaping (Value) throws -> Any?
    ) throws(StreamError) {
        var options = options
        options.root = .value
        let builder = try ObjectBuilder<PropertyList>(building: Value.self, options: builderOptions)
        messages = XMLRecordAdapter(builder, options: options)
        takeValue = { builder in try reduce(builder.takeResult(of: Value.self)) }
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

    /// Makes the value of the complete element.
    func finish() throws -> Any? { try takeValue(&messages.sink) }

    func cancel(with error: StreamError) {
        unwantedDepth = 0
        messages.cancel(with: error)
    }
}
