// Generates JSON text of a shape. The fuzzer's bytes choose the content, which usually fits the shape and sometimes doesn't.
// Without a shape, few texts are accepted by a builder of a type with many members.

/// The shape of the JSON that a type is read from.
public indirect enum Shape: Sendable {
    case integer, real, text, bool
    /// One of these texts of JSON.
    case oneOf([String])
    case optional(Shape)
    case array(Shape)
    /// A dictionary with any names.
    case dictionary(Shape)
    case object([(name: String, shape: Shape)])
}

/// A text under construction, and the remaining bytes for choices.
struct ShapedText {
    private var choices: ArraySlice<UInt8>
    private var text = ""

    init(choices: [UInt8]) { self.choices = choices[...] }

    /// Returns the next choice, or 0 after the last one.
    private mutating func next() -> Int { Int(choices.popFirst() ?? 0) }

    /// Returns a document. One of eight documents has a wrong byte, and one of eight is truncated.
    mutating func document(_ shape: Shape) -> [UInt8] {
        let (fault, place, byte) = (next(), next(), UInt8(next()))
        write(shape)
        var document = Array(text.utf8)
        let index = (place << 8 | Int(byte)) % document.count
        if fault & 7 == 1 { document[index] = byte }
        if fault & 7 == 2 { document.removeSubrange(index...) }
        return document
    }

    private mutating func write(_ shape: Shape) {
        let choice = next()
        if choice >= 0xF8 { return writeAnything() }
        switch shape {
        case .integer: text += choice < 0xE8 ? "\(choice >> 1)" : Self.pick(choice, Self.integers)
        case .real: text += choice < 0xE0 ? "\(choice - 99).5" : Self.pick(choice, Self.reals)
        case .text: text += Self.pick(choice, Self.strings)
        case .oneOf(let texts): text += Self.pick(choice, texts)
        case .bool: text += choice & 1 == 0 ? "true" : "false"
        case .optional(let wrapped): if choice & 3 == 0 { text += "null" } else { write(wrapped) }
        case .array(let element): writeArray(choice & 3, element)
        case .dictionary(let value):
            writeDictionary((0..<choice & 3).map { (Self.pick($0 + choice >> 2, Self.strings), value) })
        case .object(let members):
            // Any of the members in any rotation, occasionally a repeated or an unknown one.
            var chosen: [(String, Shape)] = []
            for index in members.indices {
                let (name, shape) = members[(index + choice) % members.count]
                let choice = next()
                if choice & 3 != 0 { chosen.append(("\"\(name)\"", shape)) }
                if choice == 0xF0 { chosen.append(("\"\(name)\"", shape)) }
                if choice & 0x1F == 0x08 { chosen.append(("\"stranger\"", .dictionary(.array(shape)))) }
                if choice & 0x1F == 0x10 {
                    chosen.append(("\"unknown\\n\"", .array(.object(members.prefix(2).map { $0 }))))
                }
            }
            writeDictionary(chosen)
        }
    }

    private mutating func writeArray(_ count: Int, _ element: Shape) {
        text += "["
        for index in 0..<count {
            text += index > 0 ? "," : ""
            write(element)
        }
        text += "]"
    }

    private mutating func writeDictionary(_ members: [(name: String, shape: Shape)]) {
        text += "{"
        for (index, member) in members.enumerated() {
            text += (index > 0 ? ", " : "") + member.name + ":"
            write(member.shape)
        }
        text += "}"
    }

    private mutating func writeAnything() {
        let choice = next()
        switch choice & 7 {
        case 0: text += "null"
        case 1: text += "true"
        case 2: text += Self.pick(choice >> 3, Self.integers)
        case 3: text += Self.pick(choice >> 3, Self.reals)
        case 4: text += Self.pick(choice >> 3, Self.strings)
        case 5: writeArray(2, .optional(.dictionary(.real)))
        case 6: writeDictionary([("\"name\"", .text), ("\"integer\"", .integer)])
        default: text += "[[{\"a\":[{}]}]]"
        }
    }

    private static func pick(_ choice: Int, _ texts: [String]) -> String { texts[choice % texts.count] }

    private static let integers = [
        "0", "-1", "-0", "1.0", "1e2", "255", "256", "-128", "-129", "32767", "32768", "9223372036854775807",
        "-9223372036854775808", "9223372036854775808", "18446744073709551615", "18446744073709551616", "0.5",
    ]

    private static let reals = [
        "0.5", "-0.0", "1", "-2.25e3", "1e22", "0.1", "123456789.123456789", "1e-320", "5e-324", "3.4e38", "3.5e38",
        "1.7976931348623157e308", "1e400", "123456789012345678901234567890", "2.2250738585072011e-308",
    ]

    private static let strings = [
        "\"\"", "\"a\"", "\"one\"", "\"two\"", "\"fifteen bytes!!\"", "\"sixteen bytes!!!\"", "\"é\"", "\"\\u00e9\"",
        "\"\\ud83d\\ude00\"", "\"\\n\\\"\\\\\"", "\"a text that is too long for a small string\"", "\"\\u0000\"",
        "\"🙂\"", "\"AAEC\"", "\"1\"",
    ]
}
