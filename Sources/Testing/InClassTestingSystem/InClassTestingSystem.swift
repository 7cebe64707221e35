// The C library as InClassSystem has it, for InClassTesting, and of builds with tests only: a program is linked with the
// libraries of all that its modules import.

#if DEBUG || IN_CLASS_TESTS
#if canImport(Darwin)
@_exported import Darwin
#elseif canImport(Musl)
@_exported import Musl
#else
@_exported import Glibc
#endif
@_exported import CInClassSystem
#endif
