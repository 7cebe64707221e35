// One conversion: a reader for the one format, a writer for the other, and what joins them.
// A new format adds a case to `read` and one to `write`; each reader then feeds each writer.

import JSONStreaming
import PlistStreaming

/// A conversion of one input to one output.
struct Conversion {
    let arguments: Arguments

    init(_ arguments: Arguments) {
        self.arguments = arguments
    }

    /// Converts; the output appears when it is complete, or not at all.
    func run() throws(StreamError) {
        let input = arguments.input == "-" ? InputFile(descriptor: 0) : try InputFile(path: arguments.input)
        let output = try OutputFile(path: arguments.output)
        try write(from: input, to: output.descriptor)
        try output.commit()
    }

    /// Makes the writer and lets the reader feed it.
    private func write(from input: borrowing InputFile, to descriptor: Int32) throws(StreamError) {
        switch arguments.to {
        case .json:
            var writer = JSONWriter(
                descriptor: descriptor,
                options: JSONWriterOptions(
                    layout: arguments.isPretty ? .pretty(indent: 2) : .compact, sortsKeys: arguments.sortsKeys))
            // The values of a sequence become the elements of one array.
            if arguments.from.isSequence { try writer.beginArray() }
            try read(input, into: &writer)
            if arguments.from.isSequence { try writer.endArray() }
            try writer.finish()
        case .jsonLines:
            let options = JSONWriterOptions(sortsKeys: arguments.sortsKeys, isSequence: true)
            let writer = JSONWriter(descriptor: descriptor, options: options)
            if arguments.from.isSequence {
                var writer = writer
                try read(input, into: &writer)
                try writer.finish()
            } else {
                var elements = RootElements(writer)
                try read(input, into: &elements)
                try elements.target.finish()
            }
        }
    }

    /// Makes the reader and feeds the sink with all of the input.
    private func read<Sink: PlistSink & ~Copyable>(
        _ input: borrowing InputFile,
        into sink: inout Sink
    ) throws(StreamError) {
        var progress = Progress(totalByteCount: input.byteCount)
        defer { progress.finish() }
        switch arguments.from {
        case .json, .jsonLines:
            var scanner = JSONScanner(options: JSONReaderOptions(isSequence: arguments.from.isSequence))
            try input.readChunks { chunk throws(StreamError) in
                try scanner.scan(chunk, into: &sink)
                progress.advance(by: chunk.byteCount)
            }
            try scanner.finish(into: &sink)
        }
    }
}
