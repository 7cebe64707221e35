// Sends the parts of a document to a sink. Only this code is specialized for each type of sink.

import PlistStreaming

extension XMLScanner {
    /// Sends the parts of a chunk to a sink.
    @inlinable  // PERF: so that all this specialises for sinks of other packages.
    mutating func feed<Sink: XMLSink & ~Copyable>(_ chunk: RawSpan, into sink: inout Sink) throws(StreamError) {
        try begin(chunk)
        do throws(StreamError) {
            try send(chunk, to: &sink)
        } catch {
            let error = locate(error, in: chunk)
            sink.cancel(with: error)
            throw error
        }
    }

    /// Sends the rest of the document, and its end.
    @inlinable
    mutating func finish<Sink: XMLSink & ~Copyable>(into sink: inout Sink) throws(StreamError) {
        try beginEnd()
        do throws(StreamError) {
            try send(RawSpan(), to: &sink)
            try checkEnd()
            try sink.endDocument()
        } catch {
            let error = locate(error, in: RawSpan())
            sink.cancel(with: error)
            throw error
        }
        end()
    }

    @inlinable
    mutating func send<Sink: XMLSink & ~Copyable>(_ chunk: RawSpan, to sink: inout Sink) throws(StreamError) {
        while true {
            if skippedDepth == 0 { try sendPlainParts(of: chunk, to: &sink) }
            if skippedDepth > 0 { try skipPlainParts(of: chunk) }
            let token = try next(in: chunk)
            if token == .needsInput { return }
            if skippedDepth > 0 && skip(token) { continue }
            switch token {
            case .startTag:
                let interest = try sink.startElement(startTag(in: chunk))
                if isEmptyElement {
                    try sink.endElement(endTag)
                    closeElement()
                } else if interest == .skipChildren {
                    beginSkipping()
                }
            case .endTag:
                try sink.endElement(endTag)
                closeElement()
            case .text: try sink.text(text(in: chunk))
            case .comment: try sink.comment(comment(in: chunk))
            case .instruction: try sink.processingInstruction(instruction(in: chunk))
            case .skippedEntity: try sink.skippedEntity(skippedEntity(in: chunk))
            case .declaration: try sink.declaration(declaration(in: chunk))
            case .documentType: try sink.documentType(documentType(in: chunk))
            case .needsInput, .nothing, .entity: break
            }
        }
    }
}
