// A stand-in for what macOS tells of loaded images (mach-o/dyld.h, mach-o/getsect.h, mach-o/loader.h), as that for Darwin.

public struct mach_header { public var magic: UInt32 = 0 }
public struct mach_header_64 { public var magic: UInt32 = 0 }
public func _dyld_image_count() -> UInt32 { 0 }
public func _dyld_get_image_header(_ i: UInt32) -> UnsafePointer<mach_header>! { nil }
public func getsectiondata(
    _ h: UnsafePointer<mach_header_64>, _ s: UnsafePointer<CChar>, _ n: UnsafePointer<CChar>,
    _ c: UnsafeMutablePointer<UInt>
) -> UnsafeMutablePointer<UInt8>? { nil }
