// Runs the JSONTestSuite corpus: y_ files are accepted, n_ files are rejected, and a table here decides each i_ file.
// Without the corpus, the tests report it and are skipped.

import Foundation
import JSONStreaming
import PlistStreaming
import TestCorpora
import Testing

/// The files of the corpus.
enum Corpus {
    static let directory = TestCorpora.place("JSONTestSuite/test_parsing")

    static let names: [String] =
        ((try? FileManager.default.contentsOfDirectory(atPath: directory.path)) ?? []).filter { $0.hasSuffix(".json") }
        .sorted()

    static func bytes(_ name: String) throws -> [UInt8] {
        [UInt8](try Data(contentsOf: directory.appending(path: name)))
    }

    /// Returns the trace of a document and its error, read in chunks of the given sizes. The rest is one chunk.
    static func outcome(_ bytes: [UInt8], chunkSizes: [Int] = []) -> String {
        var reader = JSONReader(sink: EventTrace())
        do {
            var start = 0
            var sizes = chunkSizes[...]
            while start < bytes.count {
                let end = min(bytes.count, start + (sizes.popFirst() ?? bytes.count))
                try bytes[start..<end].withUnsafeBytes { try reader.feed($0.bytes) }
                start = end
            }
            try reader.finish()
            return reader.sink.text
        } catch let error as StreamError {
            return (reader.sink.events + ["! \(error.kind) \(error)"]).joined(separator: " ")
        } catch {
            return "\(error)"
        }
    }
}

@Suite(
    .serialized,
    .enabled(if: !Corpus.names.isEmpty, "there is no corpus at ../shared/corpora/JSONTestSuite/test_parsing"))
struct JSONTestSuiteTests {
    /// The files for which RFC 8259 leaves the choice to the parser. Nil means accepted, a kind means rejected.
    ///
    /// Numbers of any size are accepted. Numbers that no binary type can represent are sent as text. Text that isn't
    /// valid Unicode is rejected, including escapes of lone surrogates. Byte order marks and encodings other than UTF-8
    /// are rejected too. 500 levels are within the limit.
    static let decisions: [String: StreamError.Kind?] = [
        "i_number_double_huge_neg_exp.json": nil,
        "i_number_huge_exp.json": nil,
        "i_number_neg_int_huge_exp.json": nil,
        "i_number_pos_double_huge_exp.json": nil,
        "i_number_real_neg_overflow.json": nil,
        "i_number_real_pos_overflow.json": nil,
        "i_number_real_underflow.json": nil,
        "i_number_too_big_neg_int.json": nil,
        "i_number_too_big_pos_int.json": nil,
        "i_number_very_big_negative_int.json": nil,
        "i_object_key_lone_2nd_surrogate.json": .invalidText,
        "i_string_1st_surrogate_but_2nd_missing.json": .invalidText,
        "i_string_1st_valid_surrogate_2nd_invalid.json": .invalidText,
        "i_string_UTF-16LE_with_BOM.json": .invalidSyntax,
        "i_string_UTF-8_invalid_sequence.json": .invalidText,
        "i_string_UTF8_surrogate_U+D800.json": .invalidText,
        "i_string_incomplete_surrogate_and_escape_valid.json": .invalidText,
        "i_string_incomplete_surrogate_pair.json": .invalidText,
        "i_string_incomplete_surrogates_escape_valid.json": .invalidText,
        "i_string_invalid_lonely_surrogate.json": .invalidText,
        "i_string_invalid_surrogate.json": .invalidText,
        "i_string_invalid_utf-8.json": .invalidText,
        "i_string_inverted_surrogates_U+1D11E.json": .invalidText,
        "i_string_iso_latin_1.json": .invalidText,
        "i_string_lone_second_surrogate.json": .invalidText,
        "i_string_lone_utf8_continuation_byte.json": .invalidText,
        "i_string_not_in_unicode_range.json": .invalidText,
        "i_string_overlong_sequence_2_bytes.json": .invalidText,
        "i_string_overlong_sequence_6_bytes.json": .invalidText,
        "i_string_overlong_sequence_6_bytes_null.json": .invalidText,
        "i_string_truncated-utf-8.json": .invalidText,
        "i_string_utf16BE_no_BOM.json": .invalidSyntax,
        "i_string_utf16LE_no_BOM.json": .invalidSyntax,
        "i_structure_500_nested_arrays.json": nil,
        "i_structure_UTF-8_BOM_empty_object.json": nil,
    ]

    @Test func corpusIsComplete() {
        #expect(Corpus.names.count == 318)
    }

    @Test func acceptsOrRefusesFilesAsExpected() throws {
        for name in Corpus.names {
            let outcome = Corpus.outcome(try Corpus.bytes(name))
            switch name.prefix(2) {
            case "y_": #expect(!outcome.contains("! "), "\(name)")
            case "n_": #expect(outcome.contains("! "), "\(name)")
            default:
                let decision = try #require(Self.decisions[name], "\(name) is not decided")
                if let kind = decision {
                    #expect(outcome.contains("! \(kind) "), "\(name)")
                } else {
                    #expect(!outcome.contains("! "), "\(name)")
                }
            }
        }
    }

    @Test func outcomeDoesNotDependOnDivision() throws {
        for name in Corpus.names {
            let bytes = try Corpus.bytes(name)
            // With spaces after it, the same document also goes through the fast path.
            for document in [bytes, bytes + [UInt8](repeating: 0x20, count: 128)] {
                let whole = Corpus.outcome(document)
                let byteByByte = Corpus.outcome(document, chunkSizes: Array(repeating: 1, count: document.count))
                #expect(byteByByte == whole, "\(name) byte by byte")
                guard document.count < 1000 else { continue }
                for split in 1..<max(2, document.count) {
                    let divided = Corpus.outcome(document, chunkSizes: [split])
                    if divided != whole { #expect(divided == whole, "\(name) split at \(split)") }
                }
            }
        }
    }

    @Test func roundTripsFiles() throws {
        for name in Corpus.names where name.hasPrefix("y_") {
            let bytes = try Corpus.bytes(name)
            for options in [JSONWriterOptions(), .pretty] {
                var writer = JSONWriter(options: options)
                try writer.readJSON(bytes)
                try writer.finish()
                #expect(Corpus.outcome(writer.bytes) == Corpus.outcome(bytes), "\(name)")
            }
        }
    }

    @Test func reportsUnexpectedEndAtEveryCut() throws {
        for name in Corpus.names {
            // A document that is truncated at any byte is never accepted as complete and never causes a crash.
            let bytes = try Corpus.bytes(name)
            guard bytes.count < 300, name.hasPrefix("y_") else { continue }
            for count in 0..<bytes.count {
                let outcome = Corpus.outcome(Array(bytes.prefix(count)))
                let rest = bytes[count...]
                let isWhole = rest.allSatisfy { [0x20, 0x09, 0x0A, 0x0D].contains($0) }
                let isNumber = bytes.first.map { $0 == 0x2D || (0x30...0x39).contains($0) } ?? false
                if !isWhole && !isNumber { #expect(outcome.contains("! unexpectedEnd"), "\(name) cut after \(count)") }
            }
        }
    }
}
