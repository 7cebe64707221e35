// Reads documents into randomly composed types: structures and classes, reflected and declared, with members that occur
// twice, lie within others, or are computed. For any pieces of the document and any builder, the values must be those of its
// tree, set in the order of the document, or the error must be the same at the same place.

import Foundation
import FuzzInputs
import JSONStreaming
import PlistBuilding
import PlistStreaming

@main
enum FuzzBinding {
    static func main() {
        FuzzInput.run { start, count in
            fuzzBinding(Array(UnsafeRawBufferPointer(start: start, count: count)))
            return 0
        }
    }
}

/// The number of tried types. It is limited because the memory for each type is never freed.
private let typeCount = 8_192

private func fuzzBinding(_ bytes: [UInt8]) {
    guard bytes.count > 2 else { return }
    var chance = Chance(seed: UInt64(Int(bytes[0]) << 8 | Int(bytes[1])) % UInt64(typeCount))
    let types = (chance.type(depth: 3), chance.type(depth: 2), chance.type(depth: 1))
    let (kind, bits) = (chance.next(below: 3), chance.bits(28, oneIn: 1 + chance.next(below: 3)))
    compare(types.0, types.1, types.2, bits, kind, Array(bytes[2...]))
}

/// Compares a structure and a class with the same members.
private func compare<A: Sample, B: Sample, C: Sample, Choice: Bits>(
    _ a: A.Type, _ b: B.Type, _ c: C.Type, _ choice: Choice.Type, _ kind: Int, _ bytes: [UInt8]
) {
    let outcomes =
        switch kind {
        case 0: (compare(Triple<A, B, C>.self, bytes), compare(Box<A, B, C>.self, bytes))
        case 1: (compare(Covered<A, B, C, Choice>.self, bytes), compare(CoveredBox<A, B, C, Choice>.self, bytes))
        default: (compare(Declared<A, B, C, Choice>.self, bytes), compare(DeclaredBox<A, B, C, Choice>.self, bytes))
        }
    // The last two types don't have the same members.
    guard kind < 2 else { return }
    guard let first = outcomes.0, let second = outcomes.1 else { return }
    check(first.isLike(second), "\(kind), \(a), \(b), \(c), \(choice):\n\(first)\n\(second)")
}

/// The values that a builder made, or its error.
private enum Outcome: Equatable, CustomStringConvertible {
    case made([String])
    case refused(StreamError, after: [String])

    /// Returns whether both have the same values, or errors of the same kind at the same place. Messages differ because they
    /// name the type.
    func isLike(_ other: Outcome) -> Bool {
        switch (self, other) {
        case (.refused(let error, _), .refused(let other, _)):
            error.kind == other.kind && error.path == other.path && error.position == other.position
        default: self == other
        }
    }

    var description: String {
        switch self {
        case .made(let summaries): summaries.joined(separator: "\n")
        case .refused(let error, let summaries): "\(error) after\n" + summaries.joined(separator: "\n")
        }
    }
}

private func compare<Root: Sample>(_ type: Root.Type, _ bytes: [UInt8]) -> Outcome? {
    guard let input = FuzzInput(bytes, shape: .array(Root.shape)) else { return nil }
    // The plan keeps objects as its defaults.
    do { _ = try ObjectBuilder<[Root]>() } catch { fatalError("\(type) is not bound: \(error)") }
    let before = Token.liveCount
    defer { check(Token.liveCount == before, "\(Token.liveCount - before) objects of \(type) are left") }
    let (document, whole) = (input.document, [max(1, input.document.count)])
    func describe(_ first: Outcome, _ second: Outcome) -> String {
        "\(type)\n\(String(decoding: document, as: UTF8.self))\n\(first)\n\(second)"
    }
    let built = build(type, document, whole)
    for pieces in [input.pieceSizes, [1]] {
        let inPieces = build(type, document, pieces)
        check(built == inPieces, "in pieces of \(pieces): \(describe(built, inPieces))")
    }
    let streamed = stream(type, document, whole)
    for pieces in [input.pieceSizes, [1]] {
        let inPieces = stream(type, document, pieces)
        check(streamed == inPieces, "streamed in pieces of \(pieces): \(describe(streamed, inPieces))")
    }
    switch (built, streamed) {
    case (.made, .made): check(built == streamed, "streamed: \(describe(built, streamed))")
    case (.refused(let error, _), .refused(let other, _)):
        // A value that is an array only as a whole is a mismatch at another place.
        check(error == other || error.kind == .typeMismatch, "streamed: \(describe(built, streamed))")
    case (.made, .refused): fatalError("streamed: \(describe(built, streamed))")
    case (.refused, .made): break
    }
    checkTree(type, document, built)
    checkOptions(type, input)
    return built
}

private func build<Root: Sample>(
    _ type: Root.Type, _ document: [UInt8], _ pieces: [Int], _ options: BuilderOptions = BuilderOptions()
) -> Outcome {
    UUID.made = []
    do throws(StreamError) {
        var builder = try ObjectBuilder<[Root]>(options: options)
        try builder.read(document, pieces: pieces)
        let values = try builder.takeResult()
        var identifiers: [UUID] = []
        values.collectFresh(&identifiers)
        check(Set(identifiers).count == identifiers.count, "\(type) has one identifier as the default of two values")
        return .made(values.map(\.summary))
    } catch {
        check(error.kind != .misuse, "\(error)")
        return .refused(error, after: [])
    }
}

private final class Summaries { var all: [String] = [] }

private func stream<Root: Sample>(_ type: Root.Type, _ document: [UInt8], _ pieces: [Int]) -> Outcome {
    let summaries = Summaries()
    UUID.made = []
    do throws(StreamError) {
        var stream = try RecordStream<Root> { value throws(StreamError) in summaries.all.append((copy value).summary) }
        try stream.read(document, pieces: pieces)
        return .made(summaries.all)
    } catch {
        check(error.kind != .misuse, "\(error)")
        return .refused(error, after: summaries.all)
    }
}

/// Checks that the values are those of the tree, and that the tree also doesn't fit if the builder failed.
private func checkTree<Root: Sample>(_ type: Root.Type, _ document: [UInt8], _ built: Outcome) {
    guard let tree = Tree(document) else {
        if case .made = built { fatalError("\(type) is made of what is no JSON") }
        return
    }
    UUID.made = []
    let expected: [String]
    do throws(Refusal) {
        expected = try [Root](tree: tree).map(\.summary)
    } catch {
        if case .made = built, error == .refused {
            fatalError("\(type) does not refuse\n\(String(decoding: document, as: UTF8.self))\n\(built)")
        }
        return
    }
    let text = String(decoding: document, as: UTF8.self)
    check(built == .made(expected), "\(type)\n\(text)\nis\n\(built)\nnot\n\(Outcome.made(expected))")
}

/// Checks with other options that pieces don't change the result.
private func checkOptions<Root: Sample>(_ type: Root.Type, _ input: FuzzInput) {
    let choices = Int(input.choices)
    let options = BuilderOptions(
        unknownMembers: [.ignore, .collect, .reject, .ignore][choices & 3],
        missingMembers: choices & 4 == 0 ? .reject : .useDefaults, nulls: choices & 8 == 0 ? .treatAsMissing : .reject,
        depthLimit: choices & 16 == 0 ? 4 : 1_024)
    let built = build(type, input.document, [max(1, input.document.count)], options)
    let inPieces = build(type, input.document, input.pieceSizes, options)
    check(built == inPieces, "\(type) with \(options), whole: \(built), in pieces: \(inPieces)")
}
