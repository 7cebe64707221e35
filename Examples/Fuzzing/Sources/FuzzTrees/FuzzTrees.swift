// Reads documents into trees and Decodable types. In any pieces, they must give the same tree or the same error. A tree must
// send the messages it was made from. If both JSONStreamDecoder and Foundation's JSONDecoder accept a document, the values
// must be equal.

import Foundation
import FuzzInputs
import JSONStreaming
import PlistBuilding
import PlistStreaming

@main
enum FuzzTrees {
    static func main() {
        FuzzInput.run { start, count in
            fuzzTrees(Array(UnsafeRawBufferPointer(start: start, count: count)))
            return 0
        }
    }
}

private struct Inner: Codable, Equatable {
    var x: Double
    var note: String?
}

private enum Kind: String, Codable { case one, two }

private struct Sample: Codable, Equatable {
    var id: Int?
    var small: UInt8?
    var big: UInt64?
    var single: Float?
    var text: String?
    var flag: Bool?
    var kind: Kind?
    var inner: Inner?
    var list: [Inner?]?
    var matrix: [[Int]]?
    var table: [String: Int]?
    var bytes: Data?

    static var shape: Shape {
        let inner = Shape.object([("x", .real), ("note", .optional(.text))])
        return .object([
            ("id", .optional(.integer)), ("small", .optional(.integer)), ("big", .optional(.integer)),
            ("single", .optional(.real)), ("text", .optional(.text)), ("flag", .optional(.bool)), ("inner", inner),
            ("list", .array(.optional(inner))), ("matrix", .array(.array(.integer))), ("table", .dictionary(.integer)),
        ])
    }
}

private func fuzzTrees(_ bytes: [UInt8]) {
    guard let input = FuzzInput(bytes, shape: .array(Sample.shape)) else { return }
    let whole = tree(input.document, pieces: [max(1, input.document.count)])
    let inPieces = tree(input.document, pieces: input.pieceSizes)
    let byByte = tree(input.document, pieces: [1])
    switch (whole, inPieces, byByte) {
    case (.success(let list), .success(let other), .success(let third)):
        check(list == other && list == third, "whole: \(text(list)), in pieces: \(text(other))")
        checkMessages(input.document, list)
        checkDecoding(input.document)
    case (.failure(let error), .failure(let other), .failure(let third)):
        check(error == other && error == third, "whole: \(error), in pieces: \(other), by byte: \(third)")
    default: fatalError("whole: \(whole), in pieces: \(inPieces), by byte: \(byByte)")
    }
}

private func tree(_ document: [UInt8], pieces: [Int]) -> Result<PropertyList, StreamError> {
    var builder = PropertyListBuilder()
    do throws(StreamError) {
        try builder.read(document, pieces: pieces)
        return .success(try builder.takeResult())
    } catch {
        check(error.kind != .misuse, "\(error)")
        return .failure(error)
    }
}

private func text(_ list: PropertyList) -> String {
    var trace = EventTrace()
    do { try trace.write(list) } catch { fatalError("the tree breaks the grammar: \(error)") }
    check(trace.grammar.isComplete, "the tree ends inside a container")
    return trace.text
}

/// Checks that a tree without repeated names sends the messages of its document, and that any tree sends messages for an
/// equal tree.
private func checkMessages(_ document: [UInt8], _ list: PropertyList) {
    let sent = text(list)
    if !DuplicateFinder.hasDuplicates(document) {
        var trace = EventTrace()
        do { try trace.readJSON(document) } catch { fatalError("\(error)") }
        check(sent == trace.text, "read \(trace.text), sent \(sent)")
    }
    var builder = PropertyListBuilder()
    do { try builder.write(list) } catch { fatalError("\(error)") }
    guard let copy = try? builder.takeResult() else { fatalError("there is no tree") }
    check(text(copy) == sent, "sent \(sent), made \(text(copy))")
}

/// Compares both decoders, except for documents with repeated names, where they differ.
private func checkDecoding(_ document: [UInt8]) {
    guard !DuplicateFinder.hasDuplicates(document) else { return }
    let data = Data(document)
    let ours = Result { try JSONStreamDecoder().decode([Sample].self, from: data) }
    let theirs = Result { try JSONDecoder().decode([Sample].self, from: data) }
    switch (ours, theirs) {
    case (.success(let samples), .success(let others)):
        check(samples == others, "decoded \(samples), Foundation \(others)")
        checkRoundTrip(samples)
    case (.failure, .failure): break
    // Foundation rejects numbers that are closer to zero than the type can represent; we round them to zero.
    case (.success, .failure) where String(decoding: document, as: UTF8.self).contains(#/[eE]-|\.0{30}/#): break
    case (.success(let samples), .failure(let error)): fatalError("decoded \(samples), Foundation: \(error)")
    case (.failure(let error), .success(let samples)): fatalError("\(error), Foundation decoded \(samples)")
    }
}

private func checkRoundTrip(_ samples: [Sample]) {
    do {
        let data: Data = try JSONStreamEncoder().encode(samples)
        let others = try JSONStreamDecoder().decode([Sample].self, from: data)
        check(samples == others, "encoded \(samples), decoded \(others)")
    } catch {
        fatalError("\(samples): \(error)")
    }
}
