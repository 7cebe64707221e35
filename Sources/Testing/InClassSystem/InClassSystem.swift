// The C library, whichever it is, and the functions of it that Swift doesn't show alike on all systems.

#if canImport(Darwin)
@_exported import Darwin
#elseif canImport(Musl)
@_exported import Musl
#else
@_exported import Glibc
#endif
@_exported import CInClassSystem
