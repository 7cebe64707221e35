// The order in which the cases of a group take turns. It changes each round, so that no case always runs first, or
// always after a case that leaves the caches and the heap in a bad state.

/// Orders of cases.
enum RunOrder {
    /// Returns the order for a round: a row of a balanced Latin square.
    ///
    /// The orders repeat after as many rounds as there are cases, or twice as many if that number is odd. In these
    /// rounds, each case is in each position equally often and follows each other case equally often.
    static func indices(_ count: Int, inRound round: Int) -> [Int] {
        // SPEC: E. J. Williams, "Experimental designs balanced for the estimation of residual effects of treatments"
        // (1949).
        // From one position to the next, the index moves 1 back, 2 forward, 3 back, …. With an even count, each step
        // occurs once.
        let row = (0..<count).map { place in
            (round + (place % 2 == 0 ? place / 2 : count - (place + 1) / 2)) % count
        }
        return count == 0 || round / count % 2 == 0 ? row : row.reversed()
    }
}

/// Checks that the orders are balanced.
let runOrder = Check(name: "RunOrder") { _, _ in
    for count in 1...16 {
        let roundCount = count % 2 == 0 ? count : 2 * count
        var places = [Int](repeating: 0, count: count * count)
        var pairs = places
        for round in 0..<roundCount {
            let order = RunOrder.indices(count, inRound: round)
            for (place, index) in order.enumerated() { places[place * count + index] += 1 }
            for (first, second) in zip(order, order.dropFirst()) { pairs[first * count + second] += 1 }
        }
        for index in pairs.indices where index / count != index % count && pairs[index] * count != roundCount {
            throw DifferentResults(description: "RunOrder: \(count) cases do not follow each other equally often")
        }
        guard places.allSatisfy({ $0 * count == roundCount }) else {
            throw DifferentResults(description: "RunOrder: \(count) cases are not in each place equally often")
        }
    }
    return "each case follows each other one equally often"
}
