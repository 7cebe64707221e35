import CNeighbour

public struct Coin: Sendable {
    public let value: Int
    public init(value: Int) { self.value = value }
    public var doubled: Int { Int(neighbour_double(Int32(value))) }
}
