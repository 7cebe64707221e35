// What the sources say about the lists that no compiler checks: tests that nobody listed, entries under a wrong name.

import TestEvents

extension SourceScan {
    /// Compares what is declared with what is planned.
    func listWarnings(plan: [PlannedTest]) -> [SourceWarning] {
        var planned: [String: Set<String>] = [:]
        for test in plan { planned[Self.plainName(test.typeName), default: []].insert(test.testName) }
        var warnings: [SourceWarning] = []
        // A type is looked at when it has a list; other types may call their functions as they like.
        for (name, type) in types.sorted(by: { $0.key < $1.key }) where !type.lists.isEmpty {
            for declared in type.declared where !declared.isConditional {
                if planned[name]?.contains(declared.name) ?? false || type.listedWords.contains(declared.name) { continue }
                var warning = SourceWarning(
                    place: declared.place,
                    text: "test '\(declared.name)' of \(name) is in no list and does not run")
                if let insertion = type.insertion, !type.isInsertionEmptyList {
                    warning.fixIt = (insertion, "\(declared.entry), ")
                }
                warnings.append(warning)
            }
            for entry in type.listed {
                guard let function = entry.function, function != entry.name else { continue }
                warnings.append(
                    SourceWarning(place: entry.place, text: "entry '\(entry.name)' of \(name) runs '\(function)'"))
            }
        }
        return warnings
    }
}
