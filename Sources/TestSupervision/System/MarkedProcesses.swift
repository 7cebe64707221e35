// The processes whose environment has a mark in it: what macOS has in place of a parent for those whose own is gone.
//
// Sources: sysctl(3), `KERN_PROC_UID` for the processes of a user and `KERN_PROCARGS2` for the arguments and the
// environment of one, laid out as in `getproclline` of Apple's ps (adv_cmds): the count of arguments, the program's
// path, then arguments and variables, each with a NUL behind it. Of programs of the system itself macOS shows no
// environment.

#if canImport(Darwin)
import Darwin

enum MarkedProcesses {
    /// The processes of this user that carry a mark, which is in no argument or variable of any other.
    ///
    /// - Complexity: O(processes of the user).
    static func all(_ mark: String) -> [pid_t] {
        let size = MemoryLayout<kinfo_proc>.stride
        let bytes = contents(of: [CTL_KERN, KERN_PROC, KERN_PROC_UID, Int32(bitPattern: getuid())]) ?? []
        let processes = bytes.withUnsafeBytes { list in
            stride(from: 0, to: list.count / size * size, by: size).map {
                list.loadUnaligned(fromByteOffset: $0, as: kinfo_proc.self).kp_proc.p_pid
            }
        }
        return processes.filter { process in
            guard process != getpid(), let words = contents(of: [CTL_KERN, KERN_PROCARGS2, process]) else {
                return false
            }
            var mark = mark
            return words.withUnsafeBytes { bytes in
                mark.withUTF8 { ByteSearch.offset(of: UnsafeRawBufferPointer($0), in: bytes) != nil }
            }
        }
    }

    /// What the system says under a name; nil when it says nothing.
    private static func contents(of name: [Int32]) -> [UInt8]? {
        var name = name
        var count = 0
        guard sysctl(&name, UInt32(name.count), nil, &count, nil, 0) == 0 else { return nil }
        // Processes may have begun meanwhile.
        var bytes = [UInt8](repeating: 0, count: count + count / 8)
        count = bytes.count
        guard sysctl(&name, UInt32(name.count), &bytes, &count, nil, 0) == 0 else { return nil }
        return Array(bytes.prefix(count))
    }
}
#endif
