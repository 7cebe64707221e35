// A stand-in for the C library of macOS, so that the code for it is at least type-checked on Linux: what the framework uses
// that is not there, or is declared otherwise, with the types that Swift gives what macOS's headers declare (sys/signal.h,
// sys/stat.h, sys/resource.h, sys/wait.h, sys/xattr.h, sys/sysctl.h, spawn.h, pthread.h, crt_externs.h). Nothing here is ever
// run.

@_exported import Glibc

public struct SignalAction {
    public var __sa_handler: (@convention(c) (Int32) -> Void)!
}
extension sigaction {
    public var __sigaction_u: SignalAction {
        get { SignalAction(__sa_handler: nil) }
        set {}
    }
}
extension stat {
    public var st_mtimespec: timespec { timespec() }
    public var st_ctimespec: timespec { timespec() }
}
@discardableResult public func sigaction(
    _ s: Int32, _ a: UnsafePointer<sigaction>?, _ o: UnsafeMutablePointer<sigaction>?
) -> Int32 { 0 }
@discardableResult public func getrlimit(_ r: Int32, _ l: UnsafeMutablePointer<rlimit>) -> Int32 { 0 }
@discardableResult public func setrlimit(_ r: Int32, _ l: UnsafePointer<rlimit>) -> Int32 { 0 }
@discardableResult public func setitimer(
    _ r: Int32, _ n: UnsafePointer<itimerval>?, _ o: UnsafeMutablePointer<itimerval>?
) -> Int32 { 0 }
@discardableResult public func getitimer(_ r: Int32, _ v: UnsafeMutablePointer<itimerval>?) -> Int32 { 0 }
public var ITIMER_REAL: Int32 { 0 }
@discardableResult public func setpriority(_ r: Int32, _ w: UInt32, _ p: Int32) -> Int32 { 0 }
@discardableResult public func getpriority(_ r: Int32, _ w: UInt32) -> Int32 { 0 }
public var RLIMIT_NOFILE: Int32 { 8 }
public var RLIMIT_CORE: Int32 { 4 }
public var RLIMIT_DATA: Int32 { 2 }
public func _NSGetEnviron() -> UnsafeMutablePointer<UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>> { fatalError() }
@discardableResult public func pthread_create(
    _ t: UnsafeMutablePointer<pthread_t?>, _ a: UnsafePointer<pthread_attr_t>?,
    _ f: @convention(c) (UnsafeMutableRawPointer) -> UnsafeMutableRawPointer?, _ c: UnsafeMutableRawPointer?
) -> Int32 { 0 }
public var WEXITED: Int32 { 4 }
public var WNOHANG: Int32 { 1 }
public var WNOWAIT: Int32 { 0x20 }
@discardableResult public func waitid(_ t: idtype_t, _ i: id_t, _ s: UnsafeMutablePointer<siginfo_t>, _ o: Int32)
    -> Int32
{ 0 }
@discardableResult public func listxattr(
    _ p: UnsafePointer<CChar>, _ n: UnsafeMutablePointer<CChar>?, _ s: Int, _ o: Int32
) -> Int { 0 }
public var CTL_KERN: Int32 { 1 }
public var KERN_PROC: Int32 { 14 }
public var KERN_PROC_UID: Int32 { 5 }
public var KERN_PROCARGS2: Int32 { 49 }
@discardableResult public func sysctl(
    _ n: UnsafeMutablePointer<Int32>, _ c: UInt32, _ o: UnsafeMutableRawPointer?, _ s: UnsafeMutablePointer<Int>?,
    _ new: UnsafeMutableRawPointer?, _ l: Int
) -> Int32 { 0 }
public struct extern_proc { public var p_pid: pid_t = 0 }
public struct kinfo_proc { public var kp_proc = extern_proc() }
@discardableResult public func posix_spawnattr_init(_ a: UnsafeMutablePointer<posix_spawnattr_t?>) -> Int32 { 0 }
@discardableResult public func posix_spawnattr_destroy(_ a: UnsafeMutablePointer<posix_spawnattr_t?>) -> Int32 { 0 }
@discardableResult public func posix_spawnattr_setflags(_ a: UnsafeMutablePointer<posix_spawnattr_t?>, _ f: Int16)
    -> Int32
{ 0 }
@discardableResult public func posix_spawn_file_actions_init(_ a: UnsafeMutablePointer<posix_spawn_file_actions_t?>)
    -> Int32
{ 0 }
@discardableResult public func posix_spawn_file_actions_destroy(_ a: UnsafeMutablePointer<posix_spawn_file_actions_t?>)
    -> Int32
{ 0 }
@discardableResult public func posix_spawn_file_actions_adddup2(
    _ a: UnsafeMutablePointer<posix_spawn_file_actions_t?>, _ o: Int32, _ t: Int32
) -> Int32 { 0 }
@discardableResult public func posix_spawnp(
    _ p: UnsafeMutablePointer<pid_t>, _ w: UnsafePointer<CChar>, _ a: UnsafePointer<posix_spawn_file_actions_t?>?,
    _ b: UnsafePointer<posix_spawnattr_t?>?, _ v: UnsafePointer<UnsafeMutablePointer<CChar>?>?,
    _ e: UnsafePointer<UnsafeMutablePointer<CChar>?>?
) -> Int32 { 0 }
