// Reflects stored properties: names, types and offsets from the metadata of the Swift runtime. This is the only file that
// calls entry points of the standard library that aren't public.
//
// Source: swift/stdlib/public/core/ReflectionMirror.swift. Xcode's toolchains don't have its `_forEachField`, which is SPI,
// but every runtime exports the functions that it calls.

/// A stored property of a structure or class.
struct StoredProperty {
    let name: String
    let type: Any.Type
    /// The number of bytes from the start of a structure, or of the memory of an object.
    let offset: Int
    let isVariable: Bool
    let isStrong: Bool

    /// The offset after the property, or nil for a property without bytes, which may have any offset.
    var end: Int? {
        let size = layout(of: type).size
        return size > 0 ? offset + size : nil
    }
}

enum StoredProperties {
    /// Returns the stored properties of a structure or class, starting with those of superclasses, or nil if the type has no
    /// metadata.
    ///
    /// Also returns nil for a type if the runtime leaves out properties: in modules without reflection metadata, and for C
    /// structures with bit fields.
    static func of(_ type: Any.Type, isClass: Bool) -> [StoredProperty]? {
        let properties = (0..<reflectedCount(type)).map { index in
            var field = unsafe FieldMetadata()
            let fieldType = unsafe reflectedChild(type, index: index, metadata: &field)
            defer {
                if let name = unsafe field.name { unsafe field.freeName?(name) }
            }
            return unsafe StoredProperty(
                name: field.name.map { unsafe String(cString: $0) } ?? "", type: fieldType,
                offset: reflectedOffset(type, index: index), isVariable: field.isVariable, isStrong: field.isStrong)
        }
        let isWhole = isClass ? areWhole(properties, ofClass: type) : areWhole(properties, ofStructure: type)
        return isWhole ? properties : nil
    }

    /// Returns whether these are all properties of a structure. The runtime places each property as close to the previous one
    /// as its alignment allows.
    private static func areWhole(_ properties: [StoredProperty], ofStructure type: Any.Type) -> Bool {
        var end = 0
        for property in properties {
            guard let propertyEnd = property.end else { continue }
            let alignment = layout(of: property.type).alignment
            guard property.offset == (end + alignment - 1) / alignment * alignment else { return false }
            end = propertyEnd
        }
        return end == layout(of: type).size
    }

    /// Returns whether these are all properties of a class and its superclasses. Each class ends at the end of its last
    /// property.
    private static func areWhole(_ properties: [StoredProperty], ofClass type: Any.Type) -> Bool {
        guard let type = type as? AnyClass else { return false }
        let ownEnd = Int(instanceExtents(type).positive)
        let superclass: AnyClass? = _getSuperclass(type)
        let inheritedCount = superclass.map { reflectedCount($0) } ?? 0
        guard inheritedCount <= properties.count else { return false }
        if let end = properties.dropFirst(inheritedCount).compactMap(\.end).last {
            guard end == ownEnd else { return false }
        } else if let superclass {
            guard ownEnd == Int(instanceExtents(superclass).positive) else { return false }
        } else {
            // No more than the header of an object.
            guard ownEnd <= 2 * MemoryLayout<Int>.size else { return false }
        }
        guard let superclass else { return true }
        return areWhole(Array(properties.prefix(inheritedCount)), ofClass: superclass)
    }
}

/// Returns the memory layout of the values of a type that is known only at run time.
private func layout(of type: Any.Type) -> (size: Int, alignment: Int) {
    func open<Value>(_ type: Value.Type) -> (Int, Int) { (MemoryLayout<Value>.size, MemoryLayout<Value>.alignment) }
    return open(type)
}

/// The runtime's metadata of a field, with the layout of the standard library's `_FieldReflectionMetadata`.
@unsafe
private struct FieldMetadata {
    var name: UnsafePointer<CChar>?
    var freeName: (@convention(c) (UnsafePointer<CChar>?) -> Void)?
    var isStrong = false
    var isVariable = false
}

@_silgen_name("swift_reflectionMirror_recursiveCount")
private func reflectedCount(_ type: Any.Type) -> Int

@_silgen_name("swift_reflectionMirror_recursiveChildMetadata")
private func reflectedChild(
    _ type: Any.Type, index: Int, metadata: UnsafeMutablePointer<FieldMetadata>
) -> Any.Type

@_silgen_name("swift_reflectionMirror_recursiveChildOffset")
private func reflectedOffset(_ type: Any.Type, index: Int) -> Int

/// The numbers of bytes of an object before and after the address of its header. The bytes after it end with the last
/// property.
#if canImport(ObjectiveC)
@_silgen_name("_swift_getObjCClassInstanceExtents")
#else
@_silgen_name("_swift_getSwiftClassInstanceExtents")
#endif
private func instanceExtents(_ type: AnyClass) -> (negative: UInt, positive: UInt)

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

extension StoredProperties: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testStructureAgreesWithMemoryLayout": testStructureAgreesWithMemoryLayout,
            "testClassAgreesWithKeyPaths": testClassAgreesWithKeyPaths,
            "testDistinguishesVariableAndWeakProperties": testDistinguishesVariableAndWeakProperties,
            "testDetectsOmittedProperties": testDetectsOmittedProperties,
        ]
    }

    private struct Sample {
        var flag = true
        var number = 1.5
        let constant = 3
        var text: String? = nil
        var small: UInt16 = 0
    }

    private enum Only { case one }

    private struct WithEmpty {
        var number = 1
        var only = Only.one
        var void: Void = ()
        var last: Int8 = 2
        var other = Only.one
    }

    private class Base { var first: Int8 = 1 }

    private final class Derived<Value>: Base {
        var value: Value?
        let constant = ""
        weak var other: Base?
    }

    private static func testStructureAgreesWithMemoryLayout() throws {
        let properties = try requireNotNil(of(Sample.self, isClass: false), "properties")
        expectEqual(properties.map(\.name), ["flag", "number", "constant", "text", "small"], "names")
        let offsets = [
            MemoryLayout.offset(of: \Sample.flag), MemoryLayout.offset(of: \Sample.number),
            MemoryLayout.offset(of: \Sample.constant), MemoryLayout.offset(of: \Sample.text),
            MemoryLayout.offset(of: \Sample.small),
        ]
        expectEqual(properties.map(\.offset), offsets.map { $0 ?? -1 }, "offsets")
        expectTrue(properties[3].type == String?.self, "type of text")
    }

    private static func testClassAgreesWithKeyPaths() throws {
        let properties = try requireNotNil(of(Derived<String>.self, isClass: true), "properties")
        expectEqual(properties.map(\.name), ["first", "value", "constant", "other"], "names")
        let object = Derived<String>()
        let start = unsafe UnsafeRawPointer(Unmanaged.passUnretained(object).toOpaque())
        let value = unsafe withUnsafeMutablePointer(to: &object.value) { unsafe UnsafeRawPointer($0) - start }
        let first = unsafe withUnsafeMutablePointer(to: &object.first) { unsafe UnsafeRawPointer($0) - start }
        expectEqual(properties[1].offset, value, "offset of value")
        expectEqual(properties[0].offset, first, "offset of first")
    }

    private static func testDistinguishesVariableAndWeakProperties() throws {
        let properties = try requireNotNil(of(Derived<Int>.self, isClass: true), "properties")
        expectEqual(properties.map(\.isVariable), [true, true, false, true], "variables")
        expectEqual(properties.map(\.isStrong), [true, true, true, false], "strong ones")
    }

    private class Empty {}
    private class Hiding: Empty { var flag = true }
    private final class Shown: Hiding { var number = 1 }

    private static func testDetectsOmittedProperties() throws {
        let sample = try requireNotNil(of(Sample.self, isClass: false), "properties")
        for index in sample.indices {
            var others = sample
            others.remove(at: index)
            expectFalse(areWhole(others, ofStructure: Sample.self), "without \(sample[index].name)")
        }
        expectFalse(areWhole([], ofStructure: Int.self), "a type of which nothing is known")
        expectTrue(areWhole([], ofStructure: Void.self), "a type without properties")
        expectEqual(of(WithEmpty.self, isClass: false)?.count, 5, "properties, three of them without bytes")
        let shown = try requireNotNil(of(Shown.self, isClass: true), "properties of an object")
        expectTrue(areWhole(shown, ofClass: Shown.self), "all of an object")
        expectFalse(areWhole([shown[0]], ofClass: Shown.self), "without the own one")
        expectFalse(areWhole([], ofClass: Hiding.self), "without the only one")
        expectNotNil(of(Empty.self, isClass: true), "an object without properties")
    }
}
#endif
