// The declarations that the package uses of the module Dispatch.

public enum DispatchTimeoutResult: Sendable { case success, timedOut }

public struct DispatchTime: Sendable {
    public static func now() -> DispatchTime { DispatchTime() }
    public static func + (time: DispatchTime, interval: DispatchTimeInterval) -> DispatchTime { time }
}

public enum DispatchTimeInterval: Sendable { case milliseconds(Int) }

public final class DispatchSemaphore: Sendable {
    public init(value: Int) {}
    public func wait() {}
    public func wait(timeout: DispatchTime) -> DispatchTimeoutResult { .success }
    @discardableResult public func signal() -> Int { 0 }
}

public final class DispatchQueue: Sendable {
    public init(label: String) {}
    public func async(execute work: @escaping @Sendable @convention(block) () -> Void) {}
}
