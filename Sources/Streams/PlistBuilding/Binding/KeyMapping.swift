// How the name of a property becomes the name of a member in a stream, and what collisions mean.

import PlistStreaming

/// The rule that makes the name in the stream from the name of a property, for reading and writing, of bound types and of
/// `Codable` ones.
///
/// Names of bound types are mapped once, when a type is bound, always from property to stream: nothing is guessed from the
/// input. Two properties that map to one name are an error of binding. A `Decodable` type does not tell its properties, so that
/// decoders go the other way, too: see ``snakeCase`` and ``custom(_:inverse:)``.
///
/// A function says its direction: that of ``names(_:)`` is the one of `JSONEncoder`, that of ``keys(_:)`` the one of
/// `JSONDecoder`, and ``custom(_:inverse:)`` takes both.
public struct KeyMapping: Sendable {
    package enum Rule: Sendable {
        case exact, snakeCase
        case custom(KeyFunctions)
        case keys(@Sendable (String) -> String)
    }

    package let rule: Rule

    /// Names are used as they are.
    public static let exact: KeyMapping = KeyMapping(rule: .exact)

    /// Words are separated by underscores and written small: `fullName` becomes `full_name`.
    ///
    /// A word begins at a capital after a small letter or a digit, and at the last capital of several before a small
    /// letter: `userID` is `user_id`, `myURLProperty` is `my_url_property`, `address2Line` is `address2_line`.
    /// Underscores at both ends stay, those inside separate words already: `_isNew` is `_is_new`.
    ///
    /// Decoders turn names of the stream back as `JSONDecoder` does, which does not know capitals: `user_id` is the key `userId`.
    public static let snakeCase: KeyMapping = KeyMapping(rule: .snakeCase)

    /// Makes a rule of a function from properties and coding keys to names in the stream.
    ///
    /// Types are bound once by each rule that is made, not by each use of it: make it once, and use copies.
    ///
    /// Decoders look up keys by their names, too, so that they read the properties that are written by this rule. They cannot turn
    /// names back: `allKeys` of a container and the paths of errors have the names of the stream. So types that ask for `allKeys`
    /// do not read what they wrote: enumerations with payloads whose coding is synthesized, and dictionaries whose keys are no
    /// strings, such as `[Int: Int]`, unless the names stay what they were. For those there is a rule of both directions.
    /// - Parameter map: Returns the name of a property or coding key; called once for each property of each type.
    public static func names(_ map: @escaping @Sendable (String) -> String) -> KeyMapping {
        KeyMapping(rule: .custom(KeyFunctions(map, nil)))
    }

    /// Makes a rule of a function from names in the stream to coding keys, as `JSONDecoder` has it; for decoders only.
    ///
    /// Nothing is written by it and no type bound, since it does not tell the names of properties: those are errors of the kind
    /// `misuse`.
    /// - Parameter inverse: Returns the coding key of a name.
    public static func keys(_ inverse: @escaping @Sendable (String) -> String) -> KeyMapping {
        KeyMapping(rule: .keys(inverse))
    }

    /// Makes a rule of functions in both directions.
    ///
    /// Types are bound once by each rule that is made, not by each use of it: make it once, and use copies.
    ///
    /// - Parameters:
    ///   - map: Returns the name in the stream of a property or coding key; called once for each property of each type.
    ///   - inverse: Returns the coding key of a name in the stream. Only decoders ask it, and then instead of the other function.
    public static func custom(
        _ map: @escaping @Sendable (String) -> String, inverse: @escaping @Sendable (String) -> String
    ) -> KeyMapping {
        KeyMapping(rule: .custom(KeyFunctions(map, inverse)))
    }

    /// Throws `misuse` for a rule that does not tell the names of properties.
    package func requireNames() throws(StreamError) {
        if case .keys = rule { throw Self.withoutNames() }
    }

    static func withoutNames() -> StreamError {
        StreamError(
            .misuse,
            "the key mapping goes from names to coding keys only, by which nothing is written and no type bound")
    }

    /// Returns the name in the stream of a property; the property itself for a rule of ``keys(_:)``, which tells no names.
    public func name(for property: String) -> String {
        switch rule {
        case .exact, .keys: property
        case .snakeCase: Self.snakeCased(property)
        case .custom(let functions): functions.map(property)
        }
    }

    private static func snakeCased(_ name: String) -> String {
        let characters = Array(name)
        var result = ""
        for (index, character) in characters.enumerated() {
            if character.isUppercase, index > 0, characters[index - 1] != "_" {
                let isAfterSmall = !characters[index - 1].isUppercase
                let isBeforeSmall = index + 1 < characters.count && characters[index + 1].isLowercase
                if isAfterSmall || isBeforeSmall { result += "_" }
            }
            result += character.lowercased()
        }
        return result
    }
}

/// The functions of a rule, and what was bound by them, which all copies of the rule share.
package final class KeyFunctions: Sendable {
    package let map: @Sendable (String) -> String
    package let inverse: (@Sendable (String) -> String)?
    let plans = SharedPlans()

    init(_ map: @escaping @Sendable (String) -> String, _ inverse: (@Sendable (String) -> String)?) {
        self.map = map
        self.inverse = inverse
    }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

extension KeyMapping: SelfTesting {
    /// The in-class tests of the rules.
    public static var testSelectors: TestSelectors {
        [
            "testSnakeCaseOfWordsAcronymsAndDigits": testSnakeCaseOfWordsAcronymsAndDigits,
            "testExactAndCustom": testExactAndCustom,
        ]
    }

    private static func testSnakeCaseOfWordsAcronymsAndDigits() {
        let rows = [
            ("", ""), ("a", "a"), ("A", "a"), ("name", "name"), ("fullName", "full_name"), ("userID", "user_id"),
            ("myURLProperty", "my_url_property"), ("URLSession", "url_session"), ("address2Line", "address2_line"),
            ("line2", "line2"), ("_isNew", "_is_new"), ("__x", "__x"), ("x_", "x_"),
            ("alreadySnake_case", "already_snake_case"),
            ("already_Snake", "already_snake"), ("aB", "a_b"), ("ABc", "a_bc"), ("größeÄndern", "größe_ändern"),
        ]
        for (property, name) in rows { expectEqual(KeyMapping.snakeCase.name(for: property), name, property) }
    }

    private static func testExactAndCustom() {
        expectEqual(KeyMapping.exact.name(for: "fullName"), "fullName", "exact")
        expectEqual(KeyMapping.names { $0.uppercased() }.name(for: "name"), "NAME", "a function")
        let both = KeyMapping.custom({ $0.uppercased() }, inverse: { $0.lowercased() })
        expectEqual(both.name(for: "name"), "NAME", "two functions")
        for mapping in [.exact, .snakeCase, .names { $0 }, both] as [KeyMapping] {
            expectNoThrow("names of \(mapping.rule)") { try mapping.requireNames() }
        }
        let keys = KeyMapping.keys { $0.lowercased() }
        expectEqual(keys.name(for: "Name"), "Name", "a function of the other direction")
        let error = expectThrows(StreamError.self, "no names") { try keys.requireNames() }
        expectEqual(error?.kind, .misuse, "kind")
    }
}
#endif
