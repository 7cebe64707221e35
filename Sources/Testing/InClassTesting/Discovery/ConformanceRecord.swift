// Reads one conformance record: the type, the module that declares the conformance, and the arguments of a generic type.
// TypeDiscovery finds the records and contains the tests of this file.

#if DEBUG || IN_CLASS_TESTS

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
