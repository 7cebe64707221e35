// Reads documents into typed values: a whole array of nested structures, the same structures one by one, and objects of a
// class that the stream reuses. In any pieces, they must give the same values or the same error. The values must be those of
// the tree, kept objects must not change, and values must be equal after writing and reading them again.

import FuzzInputs
import JSONStreaming
import PlistBuilding
import PlistStreaming

@main
enum FuzzObjects {
    static func main() {
        FuzzInput.run { start, count in
            fuzzObjects(Array(UnsafeRawBufferPointer(start: start, count: count)))
            return 0
        }
    }
}

/// The values that a builder made, or its error.
private enum Outcome<Value: Equatable>: Equatable {
    case made(Value)
    case refused(StreamError)
}

/// The number of objects that plans keep as their defaults.
private let keptCount: Int = {
    _ = try? ObjectBuilder<[Node]>()
    return Part.liveCount
}()

private func fuzzObjects(_ bytes: [UInt8]) {
    let before = keptCount
    compare(bytes)
    check(Part.liveCount == before, "\(Part.liveCount - before) objects are left")
}

private func compare(_ bytes: [UInt8]) {
    guard let input = FuzzInput(bytes, shape: .array(Node.shape)) else { return }
    let built = build(input.document, pieces: [max(1, input.document.count)])
    let inPieces = build(input.document, pieces: input.pieceSizes)
    check(built == inPieces, "whole: \(built), in pieces: \(inPieces)")
    let byByte = build(input.document, pieces: [1])
    check(built == byByte, "whole: \(built), by byte: \(byByte)")

    let choices = Int(input.choices)
    let options = BuilderOptions(
        unknownMembers: [.ignore, .collect, .reject, .ignore][choices & 3],
        missingMembers: choices & 4 == 0 ? .reject : .useDefaults, nulls: choices & 8 == 0 ? .treatAsMissing : .reject,
        depthLimit: choices & 16 == 0 ? 4 : 1_024)
    let chosen = build(input.document, pieces: [max(1, input.document.count)], options)
    let chosenInPieces = build(input.document, pieces: input.pieceSizes, options)
    check(chosen == chosenInPieces, "with options \(options), whole: \(chosen), in pieces: \(chosenInPieces)")
    let chosenByByte = build(input.document, pieces: [1], options)
    check(chosen == chosenByByte, "with options \(options), whole: \(chosen), by byte: \(chosenByByte)")

    let streamed = stream(input.document, pieces: [max(1, input.document.count)])
    let streamedInPieces = stream(input.document, pieces: input.pieceSizes)
    check(streamed == streamedInPieces, "whole: \(streamed), in pieces: \(streamedInPieces)")
    if case .made(let values) = built {
        check(streamed.values == values && streamed.error == nil, "built \(values), streamed \(streamed)")
        checkRoundTrip(values)
    }
    checkTree(input.document, built)
    checkObjects(input)
}

private func build(
    _ document: [UInt8], pieces: [Int], _ options: BuilderOptions = BuilderOptions()
) -> Outcome<[Node]> {
    do throws(StreamError) {
        var builder = try ObjectBuilder<[Node]>(options: options)
        try builder.read(document, pieces: pieces)
        return .made(try builder.takeResult())
    } catch {
        check(error.kind != .misuse, "\(error)")
        return .refused(error)
    }
}

private struct Streamed: Equatable {
    var values: [Node] = []
    var error: StreamError?
}

private func stream(_ document: [UInt8], pieces: [Int]) -> Streamed {
    final class Values { var nodes: [Node] = [] }
    let values = Values()
    do throws(StreamError) {
        var stream = try RecordStream<Node> { node throws(StreamError) in values.nodes.append(copy node) }
        try stream.read(document, pieces: pieces)
        return Streamed(values: values.nodes)
    } catch {
        check(error.kind != .misuse, "\(error)")
        return Streamed(values: values.nodes, error: error)
    }
}

/// Checks that the values are those of the tree, and that the tree also doesn't fit if the builder failed.
private func checkTree(_ document: [UInt8], _ built: Outcome<[Node]>) {
    var builder = PropertyListBuilder()
    do { try builder.readJSON(document) } catch {
        // A syntax error is an error for every sink, unless another error comes first.
        guard case .refused = built else { fatalError("the tree refuses \(error)") }
        return
    }
    guard let tree = try? builder.takeResult(), !DuplicateFinder.hasDuplicates(document) else { return }
    let expected = Result { try array(tree) { try Node(expected: $0) } }
    switch (built, expected) {
    case (.made(let values), .success(let others)):
        check(values == others, "built \(values), the tree has \(others)")
    case (.refused, .failure): break
    case (.made(let values), .failure): fatalError("built \(values) of another tree")
    case (.refused(let error), .success(let values)): fatalError("\(error), but the tree has \(values)")
    }
}

/// Checks that values are equal after writing and reading them again.
private func checkRoundTrip(_ values: [Node]) {
    do {
        var writer = JSONWriter()
        try writer.write(values)
        try writer.finish()
        var builder = try ObjectBuilder<[Node]>()
        try builder.readJSON(writer.bytes)
        let others = try builder.takeResult()
        check(values == others, "wrote \(values), read \(others)")
    } catch {
        fatalError("\(values): \(error)")
    }
}

/// Checks that kept objects don't change, and that each object only has the values of its own text.
private func checkObjects(_ input: FuzzInput) {
    final class Kept { var objects: [(object: NodeObject, description: String)] = [], all: [String] = [] }
    func run(keeping: Bool, pieces: [Int]) -> (all: [String], error: StreamError?) {
        let kept = Kept()
        do throws(StreamError) {
            var stream = try RecordStream<NodeObject> { object throws(StreamError) in
                kept.all.append(object.description)
                if keeping, kept.all.count % 3 == Int(input.choices & 3) {
                    kept.objects.append((copy object, object.description))
                }
            }
            try stream.read(input.document, pieces: pieces)
        } catch {
            for (object, description) in kept.objects {
                check(object.description == description, "\(description) became \(object.description)")
            }
            return (kept.all, error)
        }
        for (object, description) in kept.objects {
            check(object.description == description, "\(description) became \(object.description)")
        }
        return (kept.all, nil)
    }
    let plain = run(keeping: false, pieces: [max(1, input.document.count)])
    let kept = run(keeping: true, pieces: input.pieceSizes)
    check(plain.all == kept.all && plain.error == kept.error, "\(plain) and \(kept)")
}
