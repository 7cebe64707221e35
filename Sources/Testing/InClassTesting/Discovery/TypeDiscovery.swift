// Finds the types of this test executable that conform to SelfTesting. It reads the conformance records that the
// compiler writes into every binary. The layouts belong to the stable ABI (swift/ABI/Metadata.h and
// MetadataValues.h of the Swift sources).

#if DEBUG || IN_CLASS_TESTS

/// The metatype of any type with tests, copyable or not.
typealias SelfTestingType = any (SelfTesting & ~Copyable & ~Escapable).Type

/// A type with a readable list of tests.
struct ConformingType {
    let type: SelfTestingType
    /// The name without the module: `Outer.Inner`.
    var name: String
    let module: String
}

/// A conforming type whose tests can't be read, and the reason.
struct UntestableType {
    let name: String
    let module: String
    let reason: String
}

/// The conformances to SelfTesting in this test executable.
enum TypeDiscovery {
    /// Finds the tested types of all modules, sorted by name.
    ///
    /// Call it on the main thread, because a conformance isolated to the main actor can't be used on other threads.
    /// - Complexity: O(number of conformance records in the test executable).
    static func testedTypes() -> (tested: [ConformingType], untestable: [UntestableType]) {
        // SAFETY: the third and following words of an existential type's metadata are its protocols.
        let ownDescriptor = unsafeBitCast((any SelfTesting).self as Any.Type, to: UnsafePointer<UInt>.self)[2]
        var tested: [ConformingType] = []
        var untestable: [UntestableType] = []
        var seen: Set<ObjectIdentifier> = []
        let sections = MetadataSections.ofAllImages()
        for section in sections.conformances {
            // SAFETY: the section is an array of 32-bit offsets, each relative to its own address.
            for address in stride(from: section.lowerBound, to: section.upperBound, by: 4) {
                let record = ConformanceRecord(address: address.followed())
                guard record.protocolDescriptor == ownDescriptor, let descriptor = record.typeDescriptor else {
                    continue
                }
                switch record.metatype(of: descriptor) {
                case .success(let metatype):
                    guard let type = cast(metatype, to: SelfTestingType.self),
                        seen.insert(ObjectIdentifier(metatype)).inserted
                    else { continue }
                    tested.append(
                        ConformingType(type: type, name: displayName(metatype), module: record.module(of: descriptor)))
                case .failure(let reason):
                    untestable.append(
                        UntestableType(
                            name: descriptor.nominalName, module: record.module(of: descriptor), reason: reason.rawValue
                        ))
                }
            }
        }
        addSubclasses(in: sections.types, to: &tested, &seen)
        number(&tested)
        tested.sort { ($0.name, $0.module) < ($1.name, $1.module) }
        untestable.sort { ($0.name, $0.module) < ($1.name, $1.module) }
        return (tested, untestable)
    }

    /// Adds the classes that inherit a conformance and have their own list. Such a class overrides a class property.
    private static func addSubclasses(
        in sections: [Range<UInt>], to tested: inout [ConformingType], _ seen: inout Set<ObjectIdentifier>
    ) {
        guard tested.contains(where: { cast($0.type, to: AnyClass.self) != nil }) else { return }
        for section in sections {
            // SAFETY: as for conformances. The lowest bits indicate whether the pointer is indirect.
            for address in stride(from: section.lowerBound, to: section.upperBound, by: 4) {
                let descriptor = ContextDescriptor(address: address.followed() & ~3)
                guard address.followed() & 3 == 0, descriptor.isSubclass, descriptor.overridesClassProperties,
                    let metatype = descriptor.metatype,
                    let type = cast(metatype, to: SelfTestingType.self),
                    seen.insert(ObjectIdentifier(metatype)).inserted
                else { continue }
                tested.append(ConformingType(type: type, name: displayName(metatype), module: descriptor.module))
            }
        }
    }

    /// Numbers types with the same name in one module, such as private types in several files: `Helper` and `Helper#2`.
    private static func number(_ types: inout [ConformingType]) {
        var counts: [String: Int] = [:]
        for index in types.indices {
            let key = "\(types[index].module) \(types[index].name)"
            counts[key, default: 0] += 1
            if let count = counts[key], count > 1 { types[index].name += "#\(count)" }
        }
    }

    /// Returns the name of a type as in its source, without modules and without the discriminators of private types.
    static func displayName(_ type: Any.Type) -> String {
        var name = ""
        var component = ""
        var isFirst = true
        var rest = withoutDiscriminators(String(reflecting: type))[...]
        // PERF: a search for a regular expression takes microseconds.
        if rest.contains("(") {
            // A local type, and a type in an extension of another module's type.
            rest.replace(/\(unknown context at [^)]*\)\.|\(extension in [^:]*:/, with: "")
        }
        while let character = rest.popFirst() {
            switch character {
            case ".":
                // The first component of each qualified name is a module.
                if !isFirst || component.isEmpty { name += component + "." }
                isFirst = false
                component = ""
            case "`":
                // A raw identifier. The compiler replaces its spaces with no-break spaces.
                let identifier = rest.prefix { $0 != "`" }
                component += identifier.replacing("\u{A0}", with: " ")
                rest = rest.dropFirst(identifier.count + 1)
            case _ where character.isLetter || character.isNumber || character == "_":
                component.append(character)
            default:
                name += component + String(character)
                component = ""
                isFirst = true
            }
        }
        return name + component
    }
}

/// Casts at run time. The compiler considers this cast from `Any.Type` to the metatype of a noncopyable type
/// impossible.
private func cast<Target>(_ value: Any, to target: Target.Type) -> Target? { value as? Target }

// MARK: - In-class tests

#if SELF_TESTS
/// A generic type with a constrained parameter. The conformance fixes both parameters.
private struct PinnedTable<Key: Hashable, Value> { struct Row<Element: Collection> where Element.Element: Equatable {} }

extension PinnedTable: SelfTesting where Key == Int, Value == [String] {
    static var testSelectors: TestSelectors {
        ["testIsFound": { expectEqual(TypeDiscovery.displayName(Self.self), "PinnedTable<Int, Array<String>>") }]
    }
}

extension PinnedTable.Row: SelfTesting where Key == Int, Value == String, Element == [Int] {
    static var testSelectors: TestSelectors {
        [
            "testIsFound": {
                expectEqual(TypeDiscovery.displayName(Self.self), "PinnedTable<Int, String>.Row<Array<Int>>")
            }
        ]
    }
}

/// Generic types in each other, with more parameters than the runtime passes in registers.
private enum Level<A, B: Hashable, C> { final class Below<D, E: Comparable> { struct Bottom<F> where F: Sequence {} } }

extension Level.Below.Bottom: SelfTesting where A == Int, B == String, C == Bool, D == [A], E == Int, F == Set<Int> {
    static var testSelectors: TestSelectors {
        [
            "testIsFound": {
                let name = "Level<Int, String, Bool>.Below<Array<Int>, Int>.Bottom<Set<Int>>"
                expectEqual(TypeDiscovery.displayName(Self.self), name)
            }
        ]
    }
}

/// A type whose parameters no extension can fix.
private struct Pack<each Element> {}

/// Classes that inherit a conformance, some with their own lists.
private class ListedBase: SelfTesting {
    class var testSelectors: TestSelectors { ["testBaseListRuns": { expectEqual(name, "base") }] }
    class var name: String { "base" }
    class func make() -> ListedBase { ListedBase() }
}
private class OwnList: ListedBase {
    var stored = 1
    override class var testSelectors: TestSelectors { ["testOwnListRuns": { expectEqual(name, "base") }] }
    func added() {}
    override class func make() -> ListedBase { OwnList() }
}
private final class OwnListBelow: OwnList {
    override class var testSelectors: TestSelectors { super.testSelectors + ["testEntryOfSubclassRuns": {}] }
}
private class InheritedList: ListedBase {
    override class func make() -> ListedBase { InheritedList() }
}
private final class InheritedBelow: OwnList {}

/// A type whose name is a raw identifier.
private enum `Raw type` { struct `a.b` {} }

/// A type in an extension of a type from another module.
extension Int { fileprivate struct Digit {} }

extension TypeDiscovery: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testFindsTypesOfEveryKind": testFindsTypesOfEveryKind,
            "testDetectsParameterPacks": testDetectsParameterPacks,
            "testNamesTypesThatCannotBeTested": testNamesTypesThatCannotBeTested,
            "testNumbersTypesWithTheSameName": testNumbersTypesWithTheSameName,
            "testFindsSubclassesWithOwnLists": testFindsSubclassesWithOwnLists,
        ] + .each("testNamesTypesAsInTheirSource", named, named: \.1) { expectEqual(displayName($0), $1) }
    }

    private static var named: [(Any.Type, String)] {
        enum Local {}
        return [
            (Int.self, "Int"), ([Int].self, "Array<Int>"), (PinnedTable<Int, String>.self, "PinnedTable<Int, String>"),
            ([String: [Int]].self, "Dictionary<String, Array<Int>>"), (Unicode.Scalar.self, "Unicode.Scalar"),
            (Local.self, "TypeDiscovery.Local"), (Int.Digit.self, "Int.Digit"),
            ([Int.Digit].self, "Array<Int.Digit>"), (`Raw type`.`a.b`.self, "Raw type.a.b"),
            ([`Raw type`].self, "Array<Raw type>"),
        ]
    }

    private static func testFindsTypesOfEveryKind() async {
        let tested = await MainActor.run { testedTypes().tested.map { (module: $0.module, name: $0.name) } }
        let names = tested.map(\.name)
        expectEqual(names, names.sorted())
        for name in ["TypeDiscovery", "FixtureTests", "PinnedTable<Int, Array<String>>", "Recorder"] {
            expectTrue(tested.contains { $0 == ("InClassTesting", name) }, name)
        }
    }

    private static func testFindsSubclassesWithOwnLists() async {
        let lists = await MainActor.run {
            testedTypes().tested.map { ($0.name, $0.type.testSelectors.entries.map(\.name)) }
        }
        let found = Dictionary(lists) { first, _ in first }
        expectEqual(found["ListedBase"], ["testBaseListRuns"])
        expectEqual(found["OwnList"], ["testOwnListRuns"])
        expectEqual(found["OwnListBelow"], ["testOwnListRuns", "testEntryOfSubclassRuns"])
        expectNil(found["InheritedList"])
        expectNil(found["InheritedBelow"])
    }

    private static func testNamesTypesThatCannotBeTested() {
        for (type, name) in [
            (PinnedTable<Int, Int>.Row<[Int]>.self as Any.Type, "PinnedTable.Row"), (Pack<Int>.self, "Pack"),
        ] {
            // SAFETY: the second word of a structure's metadata is its descriptor.
            let descriptor = ContextDescriptor(address: unsafeBitCast(type, to: UnsafePointer<UInt>.self)[1])
            expectEqual(descriptor.nominalName, name)
        }
    }

    private static func testDetectsParameterPacks() {
        for (type, hasPack) in [(Pack<Int, Bool>.self as Any.Type, true), (PinnedTable<Int, Int>.self, false)] {
            // SAFETY: the second word of a structure's metadata is its descriptor.
            let descriptor = ContextDescriptor(address: unsafeBitCast(type, to: UnsafePointer<UInt>.self)[1])
            expectEqual(descriptor.generics?.hasPack, hasPack, "\(type)")
        }
    }

    private static func first() -> Any.Type {
        struct Namesake: SelfTesting { static var testSelectors: TestSelectors { ["testRuns": {}] } }
        return Namesake.self
    }

    private static func second() -> Any.Type {
        struct Namesake: SelfTesting { static var testSelectors: TestSelectors { ["testRuns": {}] } }
        return Namesake.self
    }

    private static func testNumbersTypesWithTheSameName() async {
        expectEqual([first(), second()].map(displayName), ["TypeDiscovery.Namesake", "TypeDiscovery.Namesake"])
        let names = await MainActor.run { testedTypes().tested.map(\.name) }
        let namesakes = names.filter { $0.contains("Namesake") }
        expectEqual(namesakes, ["TypeDiscovery.Namesake", "TypeDiscovery.Namesake#2"])
    }
}
#endif

#endif
