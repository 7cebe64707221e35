// Documents into trees and Decodable types: cut anywhere, they give the same tree or the same error; a tree sends the
// messages that it was made of; and what both JSONStreamDecoder and Foundation's JSONDecoder accept is equal.

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

    static let names = [
        "id", "small", "big", "single", "text", "flag", "kind", "inner", "list", "matrix", "table", "bytes", "x",
        "note",
        "unknown", "", "é",
    ]
}

private func fuzzTrees(_ bytes: [UInt8]) {
    guard let input = FuzzInput(bytes, names: Sample.names) else { return }
    let whole = tree(input.document, pieces: [max(1, input.document.count)])
    let inPieces = tree(input.document, pieces: input.pieceSizes)
    let byByte = tree(input.document, pieces: [1])
    switch (whole, inPieces, byByte) {
    case (.success(let list), .success(let other), .success(let third)):
        precondition(list == other && list == third, "whole: \(text(list)), in pieces: \(text(other))")
        checkMessages(input.document, list)
        checkDecoding(input.document)
    case (.failure(let error), .failure(let other), .failure(let third)):
        precondition(error == other && error == third, "whole: \(error), in pieces: \(other), by byte: \(third)")
    default: preconditionFailure("whole: \(whole), in pieces: \(inPieces), by byte: \(byByte)")
    }
}

private func tree(_ document: [UInt8], pieces: [Int]) -> Result<PropertyList, StreamError> {
    var builder = PropertyListBuilder()
    do throws(StreamError) {
        try builder.read(document, pieces: pieces)
    } catch {
        precondition(error.kind != .misuse, "\(error)")
        return .failure(error)
    }
    guard let list = builder.takeResult() else { preconditionFailure("there is no tree and no error") }
    return .success(list)
}

private func text(_ list: PropertyList) -> String {
    var trace = EventTrace()
    do { try trace.write(list) } catch { preconditionFailure("the tree breaks the grammar: \(error)") }
    precondition(trace.grammar.isComplete, "the tree ends inside a container")
    return trace.text
}

/// A tree without names that come twice sends what was read; any tree sends what makes the same tree.
private func checkMessages(_ document: [UInt8], _ list: PropertyList) {
    let sent = text(list)
    if !DuplicateFinder.hasDuplicates(document) {
        var trace = EventTrace()
        do { try trace.readJSON(document) } catch { preconditionFailure("\(error)") }
        precondition(sent == trace.text, "read \(trace.text), sent \(sent)")
    }
    var builder = PropertyListBuilder()
    do { try builder.write(list) } catch { preconditionFailure("\(error)") }
    guard let copy = builder.takeResult() else { preconditionFailure("there is no tree") }
    precondition(text(copy) == sent, "sent \(sent), made \(text(copy))")
}

/// Where two names are one, and where there is a number beyond a double, the two decoders may differ.
private func checkDecoding(_ document: [UInt8]) {
    guard !DuplicateFinder.hasDuplicates(document) else { return }
    let data = Data(document)
    let ours = Result { try JSONStreamDecoder().decode([Sample].self, from: data) }
    let theirs = Result { try JSONDecoder().decode([Sample].self, from: data) }
    switch (ours, theirs) {
    case (.success(let samples), .success(let others)):
        precondition(samples == others, "decoded \(samples), Foundation \(others)")
        checkRoundTrip(samples)
    case (.failure, .failure): break
    case (.success(let samples), .failure(let error)): preconditionFailure("decoded \(samples), Foundation: \(error)")
    case (.failure(let error), .success(let samples)): preconditionFailure("\(error), Foundation decoded \(samples)")
    }
}

private func checkRoundTrip(_ samples: [Sample]) {
    do {
        let others = try JSONStreamDecoder().decode([Sample].self, from: try JSONStreamEncoder().encode(samples))
        precondition(samples == others, "encoded \(samples), decoded \(others)")
    } catch {
        preconditionFailure("\(samples): \(error)")
    }
}
