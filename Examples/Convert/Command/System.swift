// Imports the C library for all files of the command, and defines its output to standard error.

#if canImport(Darwin)
@preconcurrency @_exported import Darwin
#elseif canImport(Musl)
@preconcurrency @_exported import Musl
#else
@preconcurrency @_exported import Glibc
#endif

/// Writes a text to standard error.
func printError(_ text: String) { fputs(text, stderr) }
