// Stored-property reflection: names, types and offsets from the metadata of the Swift runtime. The only file that calls
// entry points which are no public interface of the standard library: the ones its own `Mirror` uses.

@_spi(Reflection) import Swift

/// A stored property of a structure or class.
struct StoredProperty {
    let name: String
    let type: Any.Type
    /// The number of bytes from the start of a structure, or of the memory of an object.
    let offset: Int
    let isVariable: Bool
    let isStrong: Bool
}

enum StoredProperties {
    /// Returns the stored properties of a structure or class, those of superclasses first; nil without metadata.
    ///
    /// Two entry points are asked, and must agree; a toolchain on which they do not gives nil.
    static func of(_ type: Any.Type, isClass: Bool) -> [StoredProperty]? {
        var properties: [StoredProperty] = []
        var index = 0
        var isConsistent = true
        // The option `classType`, which is declared as a variable and so refused by strict concurrency.
        let options = _EachFieldOptions(rawValue: isClass ? 1 : 0)
        let count = reflectedCount(type)
        let isComplete = unsafe _forEachField(of: type, options: options) { name, offset, fieldType, _ in
            guard index < count else {
                isConsistent = false
                return false
            }
            var field = unsafe FieldMetadata()
            let metadataType = unsafe reflectedChild(type, index: index, metadata: &field)
            defer {
                if let name = unsafe field.name { unsafe field.freeName?(name) }
            }
            let name = unsafe String(cString: name)
            isConsistent = isConsistent && metadataType == fieldType
            isConsistent = unsafe isConsistent && field.name.map { unsafe String(cString: $0) } == name
            properties.append(
                unsafe StoredProperty(
                    name: name, type: fieldType, offset: offset, isVariable: field.isVariable,
                    isStrong: field.isStrong))
            index += 1
            return isConsistent
        }
        guard isComplete, isConsistent, index == count else { return nil }
        return properties
    }
}

/// What the runtime says of a field, laid out as the standard library's `_FieldReflectionMetadata`.
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

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

extension StoredProperties: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testStructureAgreesWithMemoryLayout": testStructureAgreesWithMemoryLayout,
            "testClassAgreesWithKeyPaths": testClassAgreesWithKeyPaths,
            "testTellsVariablesAndWeakOnesApart": testTellsVariablesAndWeakOnesApart,
        ]
    }

    private struct Sample {
        var flag = true
        var number = 1.5
        let constant = 3
        var text: String? = nil
        var small: UInt16 = 0
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

    private static func testTellsVariablesAndWeakOnesApart() throws {
        let properties = try requireNotNil(of(Derived<Int>.self, isClass: true), "properties")
        expectEqual(properties.map(\.isVariable), [true, true, false, true], "variables")
        expectEqual(properties.map(\.isStrong), [true, true, true, false], "strong ones")
    }
}
#endif
