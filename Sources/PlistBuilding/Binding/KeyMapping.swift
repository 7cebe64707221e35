// How the name of a property becomes the name of a member in a stream, and what collisions mean.

/// The rule that makes the name in the stream from the name of a property, for reading and writing, of bound types and of
/// `Codable` ones.
///
/// Names of bound types are mapped once, when a type is bound, always from property to stream: nothing is guessed from the
/// input. Two properties that map to one name are an error of binding. A `Decodable` type does not tell its properties, so that
/// decoders go the other way, too: see ``snakeCase`` and ``custom(_:inverse:)``.
public struct KeyMapping: Sendable {
    package enum Rule: Sendable {
        case exact, snakeCase
        case custom(@Sendable (String) -> String, inverse: (@Sendable (String) -> String)?)
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

    /// Makes a rule of a function, which is called once for each property of each type.
    ///
    /// - Parameters:
    ///   - map: Returns the name in the stream of a property or coding key.
    ///   - inverse: Returns the coding key of a name in the stream. Only decoders ask it, and then instead of the other function.
    ///     Without it they look up keys by their names all the same, and only `allKeys` of a container and the paths of errors
    ///     have the names of the stream.
    public static func custom(
        _ map: @escaping @Sendable (String) -> String, inverse: (@Sendable (String) -> String)? = nil
    ) -> KeyMapping {
        KeyMapping(rule: .custom(map, inverse: inverse))
    }

    /// Returns the name in the stream of a property.
    public func name(for property: String) -> String {
        switch rule {
        case .exact: property
        case .snakeCase: Self.snakeCased(property)
        case .custom(let map, _): map(property)
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
        expectEqual(KeyMapping.custom { $0.uppercased() }.name(for: "name"), "NAME", "custom")
    }
}
#endif
