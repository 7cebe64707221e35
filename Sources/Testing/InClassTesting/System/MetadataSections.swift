// Finds the Swift compiler's metadata records in memory.
//
// Sources: On Linux, the runtime returns the sections (swift_enumerateAllMetadataSections, structure in
// swift/stdlib/public/runtime/ImageInspectionELF.h). On macOS, they are in the images that dyld has loaded
// (mach-o/dyld.h, mach-o/getsect.h). The compiler calls them `__swift5_proto` and `__swift5_types` in `__TEXT`
// (swift/lib/IRGen/GenDecl.cpp).

#if DEBUG || IN_CLASS_TESTS

#if canImport(Darwin)
import Darwin
import MachO
#endif

/// The address ranges of the sections of all loaded files: the records of conformances and the records of types.
struct MetadataSections {
    var conformances: [Range<UInt>] = []
    var types: [Range<UInt>] = []

    static func ofAllImages() -> MetadataSections {
        #if canImport(Darwin)
        MetadataSections(conformances: sections("__swift5_proto"), types: sections("__swift5_types"))
        #else
        typealias Visitor = @convention(c) (UnsafePointer<UInt>, UnsafeMutableRawPointer?) -> Bool
        typealias Enumerate = @convention(c) (Visitor, UnsafeMutableRawPointer?) -> Void
        var found = MetadataSections()
        guard let symbol = SystemSymbol.address(of: "swift_enumerateAllMetadataSections") else { return found }
        // SAFETY: this is the signature in the runtime.
        let enumerate = unsafeBitCast(symbol, to: Enumerate.self)
        withUnsafeMutablePointer(to: &found) { result in
            enumerate(
                { sections, context in
                    // The structure starts with a version, a base address and two unused words. The sections follow as
                    // pairs of start and length: protocols first, then conformances, then types.
                    guard sections[0] >= 1, let found = context?.assumingMemoryBound(to: MetadataSections.self) else {
                        return true
                    }
                    found.pointee.conformances.append(sections[6]..<sections[6] + sections[7])
                    found.pointee.types.append(sections[8]..<sections[8] + sections[9])
                    return true
                }, result)
        }
        return found
        #endif
    }

    #if canImport(Darwin)
    private static func sections(_ name: String) -> [Range<UInt>] {
        (0..<_dyld_image_count()).compactMap { image in
            guard let header = _dyld_get_image_header(image) else { return nil }
            var size: UInt = 0
            // SAFETY: every supported system runs only 64-bit programs.
            let start = header.withMemoryRebound(to: mach_header_64.self, capacity: 1) {
                getsectiondata($0, "__TEXT", name, &size)
            }
            return start.map { UInt(bitPattern: $0)..<UInt(bitPattern: $0) + size }
        }
    }
    #endif
}

#endif
