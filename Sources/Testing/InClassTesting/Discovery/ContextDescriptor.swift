// Reads the compiler's metadata records: a type's name, module and generic signature, and the conformances to a protocol.
// Creates metatypes. TypeDiscovery finds the records and contains the tests of this file.

#if DEBUG || IN_CLASS_TESTS

/// The reason why a type's metadata can't be created.
enum MetadataRefusal: String, Error {
    case unpinned = "it is generic; pin every parameter, as in 'extension Table: SelfTesting where Value == Int'"
    case pack = "it has a parameter pack, which no extension can pin; list its tests in a type that isn't generic"
    case unresolvable = "its generic arguments cannot be resolved at run time; test it through a type of its own"
}

/// A `ContextDescriptor`: a module, an extension, an anonymous context, or a class, structure or enumeration.
struct ContextDescriptor {
    let address: UInt

    private var flags: UInt32 { UInt32(bitPattern: address.offset()) }
    private var kind: UInt32 { flags & 0x1F }
    var isGeneric: Bool { flags & 0x80 != 0 }

    /// The name of a module or a nominal type. Both have it at the same offset.
    var name: String { address.followed(8).text }

    private var parent: ContextDescriptor? {
        let parent = address.followedIndirectly(4)
        return kind == 0 || parent == 0 ? nil : ContextDescriptor(address: parent)
    }

    /// The name of the module at the root of the chain of contexts.
    var module: String { parent?.module ?? (kind == 0 ? name : "") }

    /// The name with those of the types around it: `Outer.Inner`.
    var nominalName: String {
        let outer = parent?.nominalName ?? ""
        return kind < 16 ? outer : outer.isEmpty ? name : "\(outer).\(name)"
    }

    /// The generic signature, which follows the fixed part of the descriptor.
    var generics: GenericSignature? {
        switch kind {
        case 16: GenericSignature(address: address + 44 + 8)
        case 17, 18: GenericSignature(address: address + 28 + 8)
        default: nil
        }
    }

    /// A Boolean value that indicates whether the type is a class with a superclass.
    var isSubclass: Bool { kind == 16 && address.offset(at: 20) != 0 }

    /// A Boolean value that indicates whether a class that isn't generic overrides a class property of a superclass.
    var overridesClassProperties: Bool {
        // The upper half of the flags: how the metadata is initialized, and which tables exist.
        guard kind == 16, !isGeneric, flags & 1 << 30 != 0 else { return false }
        var table = address + 44
        if flags & 1 << 29 != 0 { table += 4 }  // a reference to a resilient superclass
        switch flags >> 16 & 3 {
        case 1: table += 12  // initialized at run time
        case 2: table += 4  // of another language's class
        default: break
        }
        if flags & 1 << 31 != 0 {
            // An offset and a count, then the flags and the implementation of each new method.
            table += 8 + UInt(UInt32(bitPattern: table.offset(at: 4))) * 8
        }
        return (0..<UInt(UInt32(bitPattern: table.offset()))).contains { index in
            // The class, the method and the implementation of each override.
            let method = (table + 4 + index * 12).followedIndirectly(4)
            let (kind, isInstance) = (method.offset() & 0xF, method.offset() & 0x10 != 0)
            return method != 0 && kind == 2 && !isInstance
        }
    }

    /// Calls the type's metadata accessor.
    func metatype(_ arguments: [UInt]) -> Result<Any.Type, MetadataRefusal> {
        // SAFETY: the accessor takes a request (0: complete metadata, blocking) and up to three arguments in
        // registers, or a pointer to more; it returns the metadata in the first register.
        guard let pointer = UnsafeRawPointer(bitPattern: address.followed(12)) else {
            return .failure(.unresolvable)
        }
        let accessor = unsafeBitCast(pointer, to: (@convention(c) (UInt, UInt, UInt, UInt) -> UInt).self)
        // A register without an argument is ignored.
        let padded = arguments + [0, 0, 0]
        let metadata = arguments.withUnsafeBufferPointer { pointer in
            arguments.count > 3
                ? accessor(0, UInt(bitPattern: pointer.baseAddress), 0, 0)
                : accessor(0, padded[0], padded[1], padded[2])
        }
        guard metadata != 0 else { return .failure(.unresolvable) }
        return .success(unsafeBitCast(metadata, to: Any.Type.self))
    }
}

/// A `GenericContextDescriptorHeader` with its parameters and requirements.
struct GenericSignature {
    let address: UInt

    // SAFETY: four 16-bit counts in a row: parameters, requirements, key arguments, flags.
    private func count(at index: Int) -> Int {
        Int(UnsafePointer<UInt16>(bitPattern: address)?[index] ?? 0)
    }
    var parameterCount: Int { count(at: 0) }
    var hasPack: Bool { count(at: 3) & 1 != 0 }

    /// Adds the witness tables that the type's constraints (`Key: Hashable`) require as arguments.
    func withWitnessTables(_ metadata: [UInt], of type: ContextDescriptor) -> [UInt]? {
        typealias Conforms = @convention(c) (UInt, UInt) -> UInt
        let (requirementCount, keyArgumentCount) = (count(at: 1), count(at: 2))
        guard keyArgumentCount > metadata.count else { return metadata }
        guard let symbol = SystemSymbol.address(of: "swift_conformsToProtocol") else { return nil }
        // SAFETY: a C function of the runtime that takes metadata and a protocol and returns a witness table.
        let conforms = unsafeBitCast(symbol, to: Conforms.self)
        var arguments = metadata + Array(repeating: 0, count: keyArgumentCount - metadata.count)
        var next = metadata.count
        // Each parameter takes one byte. The total is padded to a multiple of four.
        let requirements = address + 8 + UInt((parameterCount + 3) & ~3)
        for index in 0..<requirementCount where next < keyArgumentCount {
            let requirement = requirements + UInt(index) * 12
            let flags = requirement.offset()
            guard flags & 0x1F == 0, flags & 0x80 != 0 else { continue }  // a protocol, and a key argument
            // The lowest bit marks an indirect pointer, the next bit an Objective-C protocol.
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

/// Returns the runtime's type for a mangled name, which may contain references relative to its own address.
func resolvedType(_ name: UInt, in context: UInt = 0, arguments: [UInt] = []) -> UInt? {
    typealias Resolve = @convention(c) (UInt, Int, UInt, UnsafePointer<UInt>?) -> UInt
    guard name != 0, let symbol = SystemSymbol.address(of: "swift_getTypeByMangledNameInContext") else { return nil }
    // SAFETY: the Swift and the C convention pass pointers and integers in the same registers.
    let resolve = unsafeBitCast(symbol, to: Resolve.self)
    var length: UInt = 0
    while let byte = UnsafePointer<UInt8>(bitPattern: name + length)?.pointee, byte != 0 {
        // Bytes 1...0x17 introduce a 32-bit reference, 0x18...0x1F a pointer.
        length += byte > 0x1F ? 1 : byte < 0x18 ? 5 : 9
    }
    let metadata = arguments.withUnsafeBufferPointer { resolve(name, Int(length), context, $0.baseAddress) }
    return metadata == 0 ? nil : metadata
}

extension UInt {
    /// Reads the 32-bit offset at this address.
    // SAFETY: only called for addresses inside metadata records of this process.
    func offset(at displacement: UInt = 0) -> Int32 {
        UnsafePointer<Int32>(bitPattern: self + displacement)?.pointee ?? 0
    }

    /// Follows the relative pointer at this address.
    func followed(_ displacement: UInt = 0) -> UInt {
        let offset = offset(at: displacement)
        return offset == 0 ? 0 : UInt(bitPattern: Int(bitPattern: self + displacement) + Int(offset))
    }

    /// Follows the relative pointer at this address. If its lowest bit is set, it leads to another pointer.
    func followedIndirectly(_ displacement: UInt = 0) -> UInt {
        let target = followed(displacement)
        guard target & 1 == 1 else { return target }
        return UnsafePointer<UInt>(bitPattern: target & ~1)?.pointee ?? 0
    }

    /// Reads the C string at this address.
    var text: String {
        UnsafePointer<CChar>(bitPattern: self).map { String(cString: $0) } ?? ""
    }
}

// MARK: - Conformances

/// A `ProtocolConformanceDescriptor`: protocol, type, witness table, flags, and the trailing objects.
struct ConformanceRecord {
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

    /// Returns the module that declares the conformance.
    func module(of type: ContextDescriptor) -> String {
        (isRetroactive ? ContextDescriptor(address: address.followedIndirectly(16)) : type).module
    }

    /// Creates the metatype with the arguments that the conformance's requirements fix.
    func metatype(of type: ContextDescriptor) -> Result<Any.Type, MetadataRefusal> {
        guard type.isGeneric else { return type.metatype([]) }
        // Each requirement has flags, a parameter and the required type or protocol. Kind 1 is "same type".
        let requirements = address + 16 + (isRetroactive ? 4 : 0)
        var arguments: [GenericParameter: UInt] = [:]
        for index in 0..<requirementCount {
            let requirement = requirements + UInt(index) * 12
            guard requirement.offset() & 0x1F == 1, let parameter = GenericParameter(mangled: requirement.followed(4))
            else { continue }
            guard let metadata = resolvedType(requirement.followed(8)) else { return .failure(.unresolvable) }
            arguments[parameter] = metadata
        }
        if type.generics?.hasPack ?? false { return .failure(.pack) }
        guard let generics = type.generics, arguments.count == generics.parameterCount else {
            return .failure(.unpinned)
        }
        let metadata = arguments.sorted { $0.key < $1.key }.map(\.value)
        guard let complete = generics.withWitnessTables(metadata, of: type) else { return .failure(.unresolvable) }
        return type.metatype(complete)
    }
}

/// The position of a generic parameter: the depth of its declaration and its index there.
struct GenericParameter: Hashable, Comparable {
    var depth = 0
    var index = 0

    /// Reads the mangled forms `x`, `q_`, `q0_`, `qd__`, `qd0_1_`: an empty number before the `_` is 0, `0_` is 1 and so on.
    init?(mangled address: UInt) {
        let text = address.text
        if text == "x" { return }
        let isNested = text.hasPrefix("qd")
        let parts = text.dropFirst(isNested ? 2 : 1).dropLast().split(
            separator: "_", omittingEmptySubsequences: false)
        // The number 0 is written as an empty text, so each written number is smaller by one.
        let numbers = parts.compactMap { $0.isEmpty ? 0 : Int($0).map { $0 + 1 } }
        guard text.first == "q", text.last == "_", numbers.count == parts.count, parts.count == (isNested ? 2 : 1)
        else { return nil }
        depth = isNested ? numbers[0] + 1 : 0
        index = isNested ? numbers[1] : numbers[0] + 1
    }

    static func < (one: Self, other: Self) -> Bool { (one.depth, one.index) < (other.depth, other.index) }
}

#endif
