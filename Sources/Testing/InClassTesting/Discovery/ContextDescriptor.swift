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

    /// Calls the metadata accessor of a type that isn't generic.
    var metatype: Any.Type? {
        // SAFETY: the accessor takes a request (0: complete metadata, blocking) and returns the metadata.
        guard let pointer = UnsafeRawPointer(bitPattern: address.followed(12)) else { return nil }
        let accessor = unsafeBitCast(pointer, to: (@convention(c) (UInt) -> UInt).self)
        let metadata = accessor(0)
        return metadata == 0 ? nil : unsafeBitCast(metadata, to: Any.Type.self)
    }

    /// Returns the type with the values of its generic parameters, in their order. The runtime finds the witness tables
    /// that the type's constraints (`Key: Hashable`) require.
    fileprivate func metatype(with arguments: [(key: GenericParameter, value: UInt)]) -> Any.Type? {
        // The mangled name of the type with its own parameters, `yxq_G` after a reference: the byte 2 and the distance from
        // the following number to the descriptor's address.
        let name = "y\(arguments.map(\.key.mangled).joined())G\0"
        let memory = UnsafeMutableRawPointer.allocate(byteCount: 13 + name.utf8.count, alignment: 8)
        defer { memory.deallocate() }
        memory.storeBytes(of: address, as: UInt.self)
        memory.storeBytes(of: 2, toByteOffset: 8, as: UInt8.self)
        memory.storeBytes(of: -9, toByteOffset: 9, as: Int32.self)
        (memory + 13).copyMemory(from: Array(name.utf8), byteCount: name.utf8.count)
        return resolvedType(UInt(bitPattern: memory + 8), in: address, arguments: arguments.map(\.value))
            .map { unsafeBitCast($0, to: Any.Type.self) }
    }
}

/// A `GenericContextDescriptorHeader`: four 16-bit counts.
struct GenericSignature {
    let address: UInt

    var parameterCount: Int { Int(address.offset() & 0xFFFF) }
    var hasPack: Bool { address.offset(at: 4) & 1 << 16 != 0 }
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
        guard type.isGeneric else { return type.metatype.map { .success($0) } ?? .failure(.unresolvable) }
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
        let metatype = type.metatype(with: arguments.sorted { $0.key < $1.key })
        return metatype.map { .success($0) } ?? .failure(.unresolvable)
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

    /// The mangled form.
    var mangled: String {
        func number(_ value: Int) -> String { value > 0 ? "\(value - 1)_" : "_" }
        if depth > 0 { return "qd\(number(depth - 1))\(number(index))" }
        return index > 0 ? "q\(number(index - 1))" : "x"
    }

    static func < (one: Self, other: Self) -> Bool { (one.depth, one.index) < (other.depth, other.index) }
}

#endif
