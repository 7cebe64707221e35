// Finds the types of this image that conform to SelfTesting by walking the conformance records which the compiler
// leaves in every image. The layouts are those of the stable ABI (swift/ABI/Metadata.h and MetadataValues.h of the
// Swift sources); the one thing asked of the runtime by name is where the sections are.

#if DEBUG || IN_CLASS_TESTS

#if canImport(Darwin)
import Darwin
import MachO
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// The metatype of any type with tests, copyable or not.
typealias SelfTestingType = any (SelfTesting & ~Copyable & ~Escapable).Type

/// A type whose list of tests can be read.
struct ConformingType {
    let type: SelfTestingType
    /// Without the module: `Outer.Inner`.
    let name: String
    let module: String
}

/// A type that conforms but cannot be asked for its tests, and why.
struct UntestableType {
    let name: String
    let module: String
    let reason: String
}

/// The conformances to SelfTesting in this image.
enum TypeDiscovery {
    /// Finds the tested types of all modules, sorted by name.
    ///
    /// Call it on the main thread: a conformance isolated to the main actor cannot be seen from elsewhere.
    /// - Complexity: O(number of conformance records in the image).
    static func testedTypes() -> (tested: [ConformingType], untestable: [UntestableType]) {
        // SAFETY: the metadata of an existential type holds its protocols from the third word on.
        let ownDescriptor = unsafeBitCast((any SelfTesting).self as Any.Type, to: UnsafePointer<UInt>.self)[2]
        var tested: [ConformingType] = []
        var untestable: [UntestableType] = []
        var seen: Set<ObjectIdentifier> = []
        for section in sections() {
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
                            name: descriptor.name, module: record.module(of: descriptor), reason: reason.description))
                }
            }
        }
        tested.sort { ($0.name, $0.module) < ($1.name, $1.module) }
        untestable.sort { ($0.name, $0.module) < ($1.name, $1.module) }
        return (tested, untestable)
    }

    /// Says a type's name as its source does: without modules and without the marks of private types.
    static func displayName(_ type: Any.Type) -> String {
        var name = ""
        var component = ""
        var isFirst = true
        var rest = Substring(withoutDiscriminators(String(reflecting: type)))
        while let character = rest.first {
            if rest.hasPrefix("(unknown context at "), let end = rest.firstIndex(of: ")") {
                rest = rest[rest.index(after: end)...].drop { $0 == "." }
                continue
            }
            // A type in an extension of another module's type.
            if rest.hasPrefix("(extension in "), let end = rest.firstIndex(of: ":") {
                rest = rest[rest.index(after: end)...]
                continue
            }
            rest.removeFirst()
            switch character {
            case ".":
                // The first component of each qualified name is a module.
                if !isFirst || component.isEmpty { name += component + "." }
                isFirst = false
                component = ""
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

    /// The address ranges of the conformance sections of all images.
    private static func sections() -> [Range<UInt>] {
        #if canImport(Darwin)
        // Unverified: nobody has run this on macOS yet.
        var found: [Range<UInt>] = []
        for image in 0..<_dyld_image_count() {
            guard let header = _dyld_get_image_header(image) else { continue }
            var size: UInt = 0
            // SAFETY: 64-bit images only, as on every supported system.
            let start = header.withMemoryRebound(to: mach_header_64.self, capacity: 1) {
                getsectiondata($0, "__TEXT", "__swift5_proto", &size)
            }
            if let start { found.append(UInt(bitPattern: start)..<UInt(bitPattern: start) + size) }
        }
        return found
        #else
        typealias Visitor = @convention(c) (UnsafePointer<UInt>, UnsafeMutableRawPointer?) -> Bool
        typealias Enumerate = @convention(c) (Visitor, UnsafeMutableRawPointer?) -> Void
        guard let symbol = dlsym(nil, "swift_enumerateAllMetadataSections") else { return [] }
        // SAFETY: the signature is the runtime's, in swift/Runtime/… ImageInspection.
        let enumerate = unsafeBitCast(symbol, to: Enumerate.self)
        var found: [Range<UInt>] = []
        withUnsafeMutablePointer(to: &found) { result in
            enumerate(
                { sections, context in
                    // The structure starts with a version, a base address and two unused words; then follow the
                    // sections as pairs of start and length, protocols first, conformances second.
                    guard sections[0] >= 1 else { return true }
                    let (start, length) = (sections[6], sections[7])
                    context?.assumingMemoryBound(to: [Range<UInt>].self).pointee.append(start..<start + length)
                    return true
                }, result)
        }
        return found
        #endif
    }
}

/// Casts at run time what the compiler believes cannot be: `Any.Type` to the metatype of a noncopyable type.
private func cast<Target>(_ value: Any, to target: Target.Type) -> Target? { value as? Target }

// MARK: - In-class tests

#if SELF_TESTS
/// A generic type with a constrained parameter, to be found with both pinned.
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

/// A type in an extension of another module's.
extension Int { fileprivate struct Digit {} }

extension TypeDiscovery: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testFindsTypesOfEveryKind": testFindsTypesOfEveryKind,
            "testNamesTypesAsTheirSourceDoes": testNamesTypesAsTheirSourceDoes,
            "testSortsByName": testSortsByName,
        ]
    }

    private static func testFindsTypesOfEveryKind() async {
        let names = await MainActor.run { testedTypes().tested.filter { $0.module == "InClassTesting" }.map(\.name) }
        for name in ["TypeDiscovery", "FixtureTests", "PinnedTable<Int, Array<String>>", "Recorder"] {
            expectTrue(names.contains(name), name)
        }
    }

    private static func testNamesTypesAsTheirSourceDoes() {
        enum Local {}
        let rows: [(Any.Type, String)] = [
            (Int.self, "Int"), ([Int].self, "Array<Int>"), (PinnedTable<Int, String>.self, "PinnedTable<Int, String>"),
            ([String: [Int]].self, "Dictionary<String, Array<Int>>"), (Unicode.Scalar.self, "Unicode.Scalar"),
            (Local.self, "TypeDiscovery.Local"), (Int.Digit.self, "Int.Digit"),
            ([Int.Digit].self, "Array<Int.Digit>"),
        ]
        for (type, name) in rows { expectEqual(displayName(type), name) }
    }

    private static func testSortsByName() async {
        let names = await MainActor.run { testedTypes().tested.map(\.name) }
        expectEqual(names, names.sorted())
    }
}
#endif

#endif
