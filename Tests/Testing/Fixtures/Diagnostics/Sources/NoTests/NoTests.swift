// A module that knows InClassTesting and lists no test.
// swift-format-ignore-file
import InClassTesting

public func answer() -> Int { 42 }
