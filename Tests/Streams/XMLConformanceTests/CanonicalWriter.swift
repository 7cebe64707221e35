// Writes Canonical XML, the form of the expected outputs in the W3C's suite.

import PlistStreaming
import XMLStreaming

/// A sink that writes canonical XML in the first form, which the suite's outputs use.
struct CanonicalWriter: XMLSink {
    var text = ""

    /// Returns a text escaped for content and attribute values.
    static func escaped(_ text: String) -> String {
        var escaped = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": escaped += "&amp;"
            case "<": escaped += "&lt;"
            case ">": escaped += "&gt;"
            case "\"": escaped += "&quot;"
            case "\t", "\n", "\r": escaped += "&#\(scalar.value);"
            default: escaped.unicodeScalars.append(scalar)
            }
        }
        return escaped
    }

    mutating func startElement(_ tag: borrowing XMLStartTag) throws(StreamError) -> XMLInterest {
        var attributes: [(name: String, value: String)] = []
        for list in [0, 1] {
            let all = list == 0 ? tag.attributes : tag.declarations
            for index in 0..<all.count {
                let attribute = all[index]
                attributes.append((String(xml: attribute.name.qualified), Self.escaped(String(xml: attribute.value))))
            }
        }
        attributes.sort { Array($0.name.unicodeScalars).lexicographicallyPrecedes(Array($1.name.unicodeScalars)) }
        text += "<" + String(xml: tag.name.qualified)
        for (name, value) in attributes { text += " \(name)=\"\(value)\"" }
        text += ">"
        return .content
    }

    mutating func endElement(_ tag: borrowing XMLEndTag) throws(StreamError) {
        text += "</\(String(xml: tag.name.qualified))>"
    }

    mutating func text(_ piece: borrowing XMLText) throws(StreamError) { text += Self.escaped(String(xml: piece.utf8)) }

    mutating func processingInstruction(_ instruction: borrowing XMLProcessingInstruction) throws(StreamError) {
        text += "<?\(String(xml: instruction.target)) \(String(xml: instruction.data))?>"
    }
}
