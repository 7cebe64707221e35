// What is reported of a module's lists and sources when its tests are over. Its tests are those of
// TestRun, those of what it asks, SourceScan's lost entries and list warnings, and builds of whole packages.

import TestEvents

extension RunResults {
    /// Says that what was tested is not what the editor shows.
    func warnOfNewerSources() {
        let module = locator.module
        for path in module.sourcesNewerThanBuild {
            let change = FileAccess.exists(path) ? "changed" : "deleted"
            let text = "\(change) since module '\(module.module)' was built, which is what was tested"
            warn(SourceWarning(place: SourcePlace(path: path, line: 1, column: 1), text: text))
        }
    }

    /// Reports limits that are no limits.
    func reportLimits(_ refused: [(typeName: String, milliseconds: Int)]) {
        for (typeName, milliseconds) in refused where options.choice.checksLists || options.choice.asksFor(typeName) {
            let place = locator.sources.scan[typeName]?.lists.first ?? locator.fallbackPlace
            reportModuleIssue(
                TestIssue(
                    kind: .list, path: place.path, line: place.line, column: place.column,
                    got: "a limit of \(milliseconds) ms for tests of \(typeName)", expected: "0 or more"))
        }
    }

    /// Reports what is listed and not planned, what the worker could not test, and what the sources say was forgotten.
    func reportLists(_ untested: [(typeName: String, reason: String?)], isListComplete: Bool) {
        let sources = locator.sources
        // Whoever asks for the tests of a type learns why there are none.
        var untested = options.choice.checksLists ? untested : untested.filter { options.choice.asksFor($0.typeName) }
        if options.choice.checksLists, !isListComplete || !untested.isEmpty {
            let reasons = untested.map {
                (SourceScan.plainName($0.typeName), $0.reason ?? "its list of tests is empty")
            }
            let lost = sources.scan.lostEntries(
                plan: plan, refusals: Dictionary(reasons) { first, _ in first }, isAsCompiled: sources.isAsCompiled)
            for entry in lost { reportModuleIssue(entry.issue) }
            let lostTypes = Set(lost.map(\.typeName))
            untested.removeAll { lostTypes.contains(SourceScan.plainName($0.typeName)) }
        }
        for (typeName, reason) in untested {
            // Another branch of an `#if` has them.
            if reason == nil, sources.scan[typeName]?.listed.contains(where: { !$0.conditions.isEmpty }) ?? false {
                continue
            }
            let text = reason.map { "its tests do not run: \($0)" } ?? "its list of tests is empty"
            let place = sources.scan[typeName]?.lists.first ?? locator.fallbackPlace
            warn(SourceWarning(place: place, text: "\(typeName): \(text)"))
        }
        if isListComplete { return }
        for warning in sources.scan.listWarnings(plan: plan) { warn(warning) }
    }
}
