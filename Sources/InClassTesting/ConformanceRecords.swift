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
struct TestedType {
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
enum ConformanceRecords {
    /// Finds the tested types of all modules, sorted by name.
    ///
    /// Call it on the main thread: a conformance isolated to the main actor cannot be seen from elsewhere.
    /// - Complexity: O(number of conformance records in the image).
    static func testedTypes() -> (tested: [TestedType], untestable: [UntestableType]) {
        // SAFETY: the metadata of an existential type holds its protocols from the third word on.
        let ownDescriptor = unsafeBitCast((any SelfTesting).self as Any.Type, to: UnsafePointer<UInt>.self)[2]
        var tested: [TestedType] = []
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
                        TestedType(type: type, name: displayName(metatype), module: record.module(of: descriptor)))
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

// MARK: - Addresses

extension UInt {
    /// Reads the 32-bit offset at this address.
    // SAFETY: only asked of addresses inside metadata records of this process.
    fileprivate func offset(at displacement: UInt = 0) -> Int32 {
        UnsafePointer<Int32>(bitPattern: self + displacement)?.pointee ?? 0
    }

    /// Follows the relative pointer at this address.
    fileprivate func followed(_ displacement: UInt = 0) -> UInt {
        let offset = offset(at: displacement)
        return offset == 0 ? 0 : UInt(bitPattern: Int(bitPattern: self + displacement) + Int(offset))
    }

    /// Follows the relative pointer at this address, whose lowest bit says that it leads to another pointer.
    fileprivate func followedIndirectly(_ displacement: UInt = 0) -> UInt {
        let target = followed(displacement)
        guard target & 1 == 1 else { return target }
        return UnsafePointer<UInt>(bitPattern: target & ~1)?.pointee ?? 0
    }

    /// Reads the C string at this address.
    fileprivate var text: String {
        UnsafePointer<CChar>(bitPattern: self).map { String(cString: $0) } ?? ""
    }
}

// MARK: - Conformances

/// Why a type's metadata cannot be made.
private enum MetadataRefusal: Error, CustomStringConvertible {
    case unpinned
    case unresolvable

    var description: String {
        switch self {
        case .unpinned: "it is generic; pin every parameter, as in 'extension Table: SelfTesting where Value == Int'"
        case .unresolvable: "its generic arguments cannot be resolved at run time; test it through a type of its own"
        }
    }
}

/// A `ProtocolConformanceDescriptor`: protocol, type, witness table, flags, and what trails them.
private struct ConformanceRecord {
    let address: UInt

    var protocolDescriptor: UInt { address.followedIndirectly() }
    private var flags: UInt32 { UInt32(bitPattern: address.offset(at: 12)) }
    private var isRetroactive: Bool { flags & 1 << 6 != 0 }
    private var requirementCount: Int { Int(flags >> 8 & 0xFF) }

    var typeDescriptor: ContextDescriptor? {
        let target = address.followed(4)
        switch flags >> 3 & 7 {
        case 0: return ContextDescriptor(address: target)
        case 1: return UnsafePointer<UInt>(bitPattern: target).map { ContextDescriptor(address: $0.pointee) }
        default: return nil  // an Objective-C class, which has no Swift descriptor
        }
    }

    /// The module that wrote the conformance.
    func module(of type: ContextDescriptor) -> String {
        (isRetroactive ? ContextDescriptor(address: address.followedIndirectly(16)) : type).module
    }

    /// Makes the metatype, with the arguments that the conformance's own requirements pin.
    func metatype(of type: ContextDescriptor) -> Result<Any.Type, MetadataRefusal> {
        guard type.isGeneric else { return type.metatype([]) }
        // Each requirement is flags, a parameter and what it must be; kind 1 is "same type".
        let requirements = address + 16 + (isRetroactive ? 4 : 0)
        var arguments: [GenericParameter: UInt] = [:]
        for index in 0..<requirementCount {
            let requirement = requirements + UInt(index) * 12
            guard requirement.offset() & 0x1F == 1, let parameter = GenericParameter(mangled: requirement.followed(4))
            else { continue }
            guard let metadata = resolvedType(requirement.followed(8)) else { return .failure(.unresolvable) }
            arguments[parameter] = metadata
        }
        guard let generics = type.generics, arguments.count == generics.parameterCount else {
            return .failure(.unpinned)
        }
        let metadata = arguments.sorted { $0.key < $1.key }.map(\.value)
        guard let complete = generics.withWitnessTables(metadata, of: type) else { return .failure(.unresolvable) }
        return type.metatype(complete)
    }
}

/// A generic parameter's place: the depth of its declaration and its index there.
private struct GenericParameter: Hashable, Comparable {
    var depth = 0
    var index = 0

    /// Reads the mangled forms `x`, `q_`, `q0_`, `qd__`, `qd0_1_`: nothing before the `_` is 0, `0_` is 1 and so on.
    init?(mangled address: UInt) {
        var rest = Substring(address.text)
        guard let first = rest.popFirst() else { return nil }
        if first == "x" {
            guard rest.isEmpty else { return nil }
            return
        }
        guard first == "q" else { return nil }
        func number() -> Int? {
            let digits = rest.prefix { $0.isNumber }
            rest = rest.dropFirst(digits.count)
            guard rest.popFirst() == "_" else { return nil }
            return digits.isEmpty ? 0 : Int(digits).map { $0 + 1 }
        }
        if rest.first == "d" {
            rest.removeFirst()
            guard let depth = number(), let index = number() else { return nil }
            self.depth = depth + 1
            self.index = index
        } else {
            guard let index = number() else { return nil }
            self.index = index + 1
        }
        guard rest.isEmpty else { return nil }
    }

    static func < (one: Self, other: Self) -> Bool { (one.depth, one.index) < (other.depth, other.index) }
}

/// Asks the runtime for the type of a mangled name, which may hold references relative to its own address.
private func resolvedType(_ name: UInt, in context: UInt = 0, arguments: [UInt] = []) -> UInt? {
    typealias Resolve = @convention(c) (UInt, Int, UInt, UnsafePointer<UInt>?) -> UInt
    guard name != 0, let symbol = dlsym(nil, "swift_getTypeByMangledNameInContext") else { return nil }
    // SAFETY: pointers and integers travel in the same registers in the Swift and the C convention.
    let resolve = unsafeBitCast(symbol, to: Resolve.self)
    var length: UInt = 0
    while let byte = UnsafePointer<UInt8>(bitPattern: name + length)?.pointee, byte != 0 {
        // Bytes 1...0x17 introduce a 32-bit reference, 0x18...0x1F a pointer.
        length += byte > 0x1F ? 1 : byte < 0x18 ? 5 : 9
    }
    let metadata = arguments.withUnsafeBufferPointer { resolve(name, Int(length), context, $0.baseAddress) }
    return metadata == 0 ? nil : metadata
}

// MARK: - Types

/// A `ContextDescriptor`: a module, an extension, an anonymous context, or a class, structure or enumeration.
private struct ContextDescriptor {
    let address: UInt

    private var flags: UInt32 { UInt32(bitPattern: address.offset()) }
    private var kind: UInt32 { flags & 0x1F }
    var isGeneric: Bool { flags & 0x80 != 0 }

    /// The name of a module or a nominal type, at the same place in both.
    var name: String { address.followed(8).text }

    /// The name of the module at the root of the chain of contexts.
    var module: String {
        var context = self
        while context.kind != 0 {
            let parent = context.address.followedIndirectly(4)
            guard parent != 0 else { return "" }
            context = ContextDescriptor(address: parent)
        }
        return context.name
    }

    /// The generic signature, which follows the fixed part of the descriptor.
    var generics: GenericSignature? {
        switch kind {
        case 16: GenericSignature(address: address + 44 + 8)
        case 17, 18: GenericSignature(address: address + 28 + 8)
        default: nil
        }
    }

    /// Calls the type's metadata accessor.
    func metatype(_ arguments: [UInt]) -> Result<Any.Type, MetadataRefusal> {
        // SAFETY: the accessor takes a request (0: complete metadata, blocking) and up to three arguments in
        // registers, or a pointer to more; it returns the metadata in the first register.
        let accessor = address.followed(12)
        guard let pointer = UnsafeRawPointer(bitPattern: accessor) else { return .failure(.unresolvable) }
        let metadata: UInt
        switch arguments.count {
        case 0:
            metadata = unsafeBitCast(pointer, to: (@convention(c) (UInt) -> UInt).self)(0)
        case 1:
            metadata = unsafeBitCast(pointer, to: (@convention(c) (UInt, UInt) -> UInt).self)(0, arguments[0])
        case 2:
            metadata = unsafeBitCast(pointer, to: (@convention(c) (UInt, UInt, UInt) -> UInt).self)(
                0, arguments[0], arguments[1])
        case 3:
            metadata = unsafeBitCast(pointer, to: (@convention(c) (UInt, UInt, UInt, UInt) -> UInt).self)(
                0, arguments[0], arguments[1], arguments[2])
        default:
            metadata = arguments.withUnsafeBufferPointer {
                unsafeBitCast(pointer, to: (@convention(c) (UInt, UnsafePointer<UInt>?) -> UInt).self)(
                    0, $0.baseAddress)
            }
        }
        guard metadata != 0 else { return .failure(.unresolvable) }
        return .success(unsafeBitCast(metadata, to: Any.Type.self))
    }
}

/// A `GenericContextDescriptorHeader` with its parameters and requirements.
private struct GenericSignature {
    let address: UInt

    // SAFETY: four 16-bit counts in a row: parameters, requirements, key arguments, flags.
    private func count(at index: Int) -> Int {
        Int(UnsafePointer<UInt16>(bitPattern: address)?[index] ?? 0)
    }
    var parameterCount: Int { count(at: 0) }

    /// Adds the witness tables that the type's own constraints (`Key: Hashable`) make part of its arguments.
    func withWitnessTables(_ metadata: [UInt], of type: ContextDescriptor) -> [UInt]? {
        typealias Conforms = @convention(c) (UInt, UInt) -> UInt
        let (requirementCount, keyArgumentCount) = (count(at: 1), count(at: 2))
        guard keyArgumentCount > metadata.count else { return metadata }
        guard let symbol = dlsym(nil, "swift_conformsToProtocol") else { return nil }
        // SAFETY: a C function of the runtime that takes metadata and a protocol and returns a witness table.
        let conforms = unsafeBitCast(symbol, to: Conforms.self)
        var arguments = metadata + Array(repeating: 0, count: keyArgumentCount - metadata.count)
        var next = metadata.count
        // The parameters take a byte each, padded to four.
        let requirements = address + 8 + UInt((parameterCount + 3) & ~3)
        for index in 0..<requirementCount where next < keyArgumentCount {
            let requirement = requirements + UInt(index) * 12
            let flags = requirement.offset()
            guard flags & 0x1F == 0, flags & 0x80 != 0 else { continue }  // a protocol, and a key argument
            // The lowest bit says indirect, the next one that the protocol is an Objective-C one.
            guard let subject = resolvedType(requirement.followed(4), in: type.address, arguments: arguments)
            else { return nil }
            let witnessTable = conforms(subject, requirement.followedIndirectly(8))
            guard witnessTable != 0 else { return nil }
            arguments[next] = witnessTable
            next += 1
        }
        return next == keyArgumentCount ? arguments : nil
    }
}

// MARK: - In-class tests

#if SELF_TESTS
/// A generic type with a constrained parameter, to be found with both pinned.
private struct PinnedTable<Key: Hashable, Value> { struct Row<Element: Collection> where Element.Element: Equatable {} }

extension PinnedTable: SelfTesting where Key == Int, Value == [String] {
    static var testSelectors: TestSelectors {
        ["testIsFound": { expectEqual(ConformanceRecords.displayName(Self.self), "PinnedTable<Int, Array<String>>") }]
    }
}

extension PinnedTable.Row: SelfTesting where Key == Int, Value == String, Element == [Int] {
    static var testSelectors: TestSelectors {
        [
            "testIsFound": {
                expectEqual(ConformanceRecords.displayName(Self.self), "PinnedTable<Int, String>.Row<Array<Int>>")
            }
        ]
    }
}

/// A type in an extension of another module's.
extension Int { fileprivate struct Digit {} }

extension ConformanceRecords: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testFindsTypesOfEveryKind": testFindsTypesOfEveryKind,
            "testNamesTypesAsTheirSourceDoes": testNamesTypesAsTheirSourceDoes,
            "testSortsByName": testSortsByName,
        ]
    }

    private static func testFindsTypesOfEveryKind() async {
        let names = await MainActor.run { testedTypes().tested.filter { $0.module == "InClassTesting" }.map(\.name) }
        for name in ["ConformanceRecords", "FixtureTests", "PinnedTable<Int, Array<String>>", "Recorder"] {
            expectTrue(names.contains(name), name)
        }
    }

    private static func testNamesTypesAsTheirSourceDoes() {
        enum Local {}
        let rows: [(Any.Type, String)] = [
            (Int.self, "Int"), ([Int].self, "Array<Int>"), (PinnedTable<Int, String>.self, "PinnedTable<Int, String>"),
            ([String: [Int]].self, "Dictionary<String, Array<Int>>"), (Unicode.Scalar.self, "Unicode.Scalar"),
            (Local.self, "ConformanceRecords.Local"), (Int.Digit.self, "Int.Digit"),
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
