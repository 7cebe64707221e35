// Maps the names of properties to the names of members in a stream, and detects collisions.

import PlistStreaming

/// A rule that maps the names of properties to names in the stream, for reading and writing, for bound types and `Codable`
/// types.
///
/// The names of a bound type are mapped once, when the type is bound, and always from the property to the stream. Nothing is
/// guessed from the input. If two properties map to the same name, binding fails. A `Decodable` type doesn't list its
/// properties, so decoders also map names in the other direction: see ``snakeCase`` and ``custom(_:inverse:)``.
///
/// Each function has a direction: the function of ``names(_:)`` maps like `JSONEncoder`, the function of ``keys(_:)`` maps
/// like `JSONDecoder`, and ``custom(_:inverse:)`` takes both functions.
public struct KeyMapping: Sendable {
    package enum Rule: Sendable {
        case exact, snakeCase
        case custom(KeyFunctions)
        case keys(@Sendable (String) -> String)
    }

    package let rule: Rule

    /// Names aren't changed.
    public static let exact: KeyMapping = KeyMapping(rule: .exact)

    /// Words are separated by underscores and written in lower case: `fullName` becomes `full_name`.
    ///
    /// A word begins at a capital letter after a small letter or a digit. If several capital letters precede a small letter,
    /// it begins at the last of them: `userID` becomes `user_id`, `myURLProperty` becomes `my_url_property`, `address2Line`
    /// becomes `address2_line`. Underscores at both ends are kept. Underscores within a name already separate words: `_isNew`
    /// becomes `_is_new`.
    ///
    /// Decoders map names of the stream back like `JSONDecoder`, which can't restore acronyms: `user_id` becomes the key
    /// `userId`.
    public static let snakeCase: KeyMapping = KeyMapping(rule: .snakeCase)

    /// Creates a rule from a function that maps properties and coding keys to names in the stream.
    ///
    /// A type is bound once for each rule that you create, not for each use of the rule. Create the rule once, and use
    /// copies.
    ///
    /// Decoders also look up keys by their names, so that they can read properties written with this rule. They can't map
    /// names back: `allKeys` of a container and the paths of errors have the names of the stream. Types that use `allKeys`
    /// therefore can't read their own output, unless the names are unchanged. Examples are enumerations with payloads and
    /// synthesized coding, and dictionaries whose keys aren't strings, such as `[Int: Int]`. For such types, use a rule with
    /// both directions.
    /// - Parameter map: Returns the name for a property or coding key. It is called once for each property of each type.
    public static func names(_ map: @escaping @Sendable (String) -> String) -> KeyMapping {
        KeyMapping(rule: .custom(KeyFunctions(map, nil)))
    }

    /// Creates a rule for decoders from a function that maps names in the stream to coding keys, like `JSONDecoder`.
    ///
    /// The rule can't be used to write values or to bind types, because it doesn't have the names of properties. These uses
    /// are errors of the kind `misuse`.
    /// - Parameter inverse: Returns the coding key for a name.
    public static func keys(_ inverse: @escaping @Sendable (String) -> String) -> KeyMapping {
        KeyMapping(rule: .keys(inverse))
    }

    /// Creates a rule from functions in both directions.
    ///
    /// A type is bound once for each rule that you create, not for each use of the rule. Create the rule once, and use
    /// copies.
    ///
    /// - Parameters:
    ///   - map: Returns the name in the stream for a property or coding key. It is called once for each property of each type.
    ///   - inverse: Returns the coding key for a name in the stream. Only decoders call it, and they call it instead of the
    ///     other function.
    public static func custom(
        _ map: @escaping @Sendable (String) -> String, inverse: @escaping @Sendable (String) -> String
    ) -> KeyMapping {
        KeyMapping(rule: .custom(KeyFunctions(map, inverse)))
    }

    /// Throws `misuse` for a rule that doesn't have the names of properties.
    package func requireNames() throws(StreamError) {
        if case .keys = rule { throw Self.withoutNames() }
    }

    static func withoutNames() -> StreamError {
        StreamError(
            .misuse,
            "the key mapping maps names to coding keys only; expected one that maps properties to names")
    }

    /// Returns the name in the stream for a property. For a rule of ``keys(_:)``, which has no such names, returns the
    /// property itself.
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

/// The functions of a rule, and the plans that were bound with them. All copies of the rule share them.
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
            "testSnakeCaseSplitsWordsAcronymsAndDigits": testSnakeCaseSplitsWordsAcronymsAndDigits,
            "testAppliesExactAndCustomMappings": testAppliesExactAndCustomMappings,
        ]
    }

    private static func testSnakeCaseSplitsWordsAcronymsAndDigits() {
        let rows = [
            ("", ""), ("a", "a"), ("A", "a"), ("name", "name"), ("fullName", "full_name"), ("userID", "user_id"),
            ("myURLProperty", "my_url_property"), ("URLSession", "url_session"), ("address2Line", "address2_line"),
            ("line2", "line2"), ("_isNew", "_is_new"), ("__x", "__x"), ("x_", "x_"),
            ("alreadySnake_case", "already_snake_case"),
            ("already_Snake", "already_snake"), ("aB", "a_b"), ("ABc", "a_bc"), ("größeÄndern", "größe_ändern"),
        ]
        for (property, name) in rows { expectEqual(KeyMapping.snakeCase.name(for: property), name, property) }
    }

    private static func testAppliesExactAndCustomMappings() {
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
