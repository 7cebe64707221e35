// Generates text from random syllables in several scripts. As in real feeds, no two names, sentences or addresses are
// the same, so a reader gains nothing from earlier values.

import Timetables

typealias SeededGenerator = Timetables.SeededGenerator

/// Makes texts from random numbers.
enum SampleText {
    enum Script { case japanese, latin, cyrillic }

    private static let syllables = [
        "ra", "ti", "on", "se", "lu", "me", "ka", "der", "stra", "vi", "no", "pel", "qui", "ba", "tor", "gen", "wy",
        "fa",
        "mi", "ch", "ü", "é", "ho", "sun", "zi", "ble", "the", "of", "ne", "dal", "por", "x", "and", "er", "gro", "il",
    ]
    private static let marks = [" ", " ", " ", " ", ", ", ". ", "! ", "\n", " – ", " \"", "\" ", " / "]
    private static let japaneseMarks = ["、", "。", "！", "\n", " ", "「", "」", "…"]
    private static let pictures: [Unicode.Scalar] = ["🙂", "😭", "🎉", "🌸", "🐈", "🍣", "🚲", "✨"]

    /// Returns a text of about the given number of UTF-8 bytes.
    static func text(_ byteCount: Int, _ script: Script, _ random: inout SeededGenerator) -> String {
        var text = String.UnicodeScalarView()
        var (written, sinceMark) = (0, 0)
        while written < byteCount {
            let choice = random.next()
            let piece: String.UnicodeScalarView
            if sinceMark > 3 && choice % 5 == 0 {
                let marks = script == .japanese ? Self.japaneseMarks : Self.marks
                piece = marks[Int(choice >> 8) % marks.count].unicodeScalars
                sinceMark = 0
            } else if choice % 97 == 0 {
                piece = String(Self.pictures[Int(choice >> 8) % pictures.count]).unicodeScalars
            } else {
                piece = Self.piece(script, choice >> 8)
                sinceMark += 1
            }
            text.append(contentsOf: piece)
            written += String(piece).utf8.count
        }
        return String(text)
    }

    private static func piece(_ script: Script, _ choice: UInt64) -> String.UnicodeScalarView {
        let scalar: UInt64
        switch script {
        case .latin: return syllables[Int(choice % UInt64(syllables.count))].unicodeScalars
        case .cyrillic: scalar = 0x430 + choice % 32
        case .japanese where choice % 8 < 4: scalar = 0x3042 + (choice >> 3) % 80
        case .japanese where choice % 8 < 6: scalar = 0x30A2 + (choice >> 3) % 80
        case .japanese: scalar = 0x4E00 + (choice >> 3) % 0x5000
        }
        return String(Unicode.Scalar(UInt32(scalar)) ?? "?").unicodeScalars
    }

    /// Returns the script that most of these posts use, or sometimes another.
    static func script(_ random: inout SeededGenerator) -> Script {
        switch random.next() % 10 {
        case 0: .cyrillic
        case 1, 2: .latin
        default: .japanese
        }
    }

    /// Returns letters and digits, as in shortened addresses.
    static func identifier(_ count: Int, _ random: inout SeededGenerator) -> String {
        let letters = Array("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_".utf8)
        return String(decoding: (0..<count).map { _ in letters[random.below(letters.count)] }, as: UTF8.self)
    }

    /// Returns a color as six hexadecimal digits.
    static func color(_ random: inout SeededGenerator) -> String {
        let digits = String(random.next() % 0x100_0000, radix: 16, uppercase: true)
        return String(repeating: "0", count: 6 - digits.count) + digits
    }

    private static let weekdays = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]
    private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

    /// Returns a date in the format of the posts.
    static func date(_ random: inout SeededGenerator) -> String {
        func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
        let time = [24, 60, 60].map { two(random.below($0)) }.joined(separator: ":")
        let day = "\(weekdays[random.below(7)]) \(months[random.below(12)]) \(two(1 + random.below(28)))"
        return "\(day) \(time) +0000 \(2007 + random.below(9))"
    }
}

extension SeededGenerator {
    /// Returns a number from 0 up to, but not including, the bound.
    mutating func below(_ bound: Int) -> Int { Int(next() % UInt64(bound)) }

    /// Returns true with a probability of 1 in `count`.
    mutating func isOne(in count: Int) -> Bool { below(count) == 0 }
}
