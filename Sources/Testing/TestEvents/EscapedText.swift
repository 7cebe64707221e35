// Replaces scalars of a text, for example with escapes.

extension String {
    /// Returns the text with replacements for some scalars. Scalars with the replacement nil stay.
    package func replacingScalars(_ replacement: (Unicode.Scalar) -> String?) -> String {
        var result = ""
        for scalar in unicodeScalars {
            if let text = replacement(scalar) { result += text } else { result.unicodeScalars.append(scalar) }
        }
        return result
    }

    /// The text with its control characters as string literals write them.
    package var escapedForLiteral: String {
        replacingScalars { scalar in
            switch scalar {
            case "\n": "\\n"
            case "\r": "\\r"
            case "\t": "\\t"
            default: scalar.isControl ? "\\u{\(String(scalar.value, radix: 16))}" : nil
            }
        }
    }
}

extension Unicode.Scalar {
    /// A Boolean value that indicates whether this is a control character or separates lines.
    package var isControl: Bool { value < 0x20 || (0x7F..<0xA0).contains(value) || (0x2028...0x2029).contains(value) }
}
