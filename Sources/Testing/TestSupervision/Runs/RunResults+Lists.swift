// Reports on a module's lists and sources after its tests. The tests of TestRun and ListCheck, and builds of whole
// packages cover this file.

import TestEvents

extension RunResults {
    /// Warns that sources have changed since the tested module was built.
    func warnOfNewerSources() {
        let module = locator.module
        for path in module.sourcesNewerThanBuild {
            let change = FileAccess.exists(path) ? "changed" : "deleted"
            let text = "\(change) since module '\(module.module)' was built; the tests ran without this change"
            warn(SourceWarning(place: SourcePlace(path: path, line: 1, column: 1), text: text))
        }
    }

    /// Reports negative time limits.
    func reportLimits(_ refused: [(typeName: String, milliseconds: Int)]) {
        for (typeName, milliseconds) in refused where options.choice.checksLists || options.choice.asksFor(typeName) {
            reportModuleIssue(
                TestIssue(
                    kind: .list, message: "negative time limit of \(milliseconds) ms for tests of \(typeName)"
                )
                .placed(at: locator.placeOfList(typeName)))
        }
    }

    /// Reports lost entries, types that the worker couldn't test, and unlisted tests.
    func reportLists(_ untested: [(typeName: String, reason: String?)]) {
        let (sources, isChecking) = (locator.sources, options.choice.checksLists)
        // If a filter names a type without tests, its user needs the reason.
        var untested = isChecking ? untested : untested.filter { options.choice.asksFor($0.typeName) }
        var warnings: [SourceWarning] = []
        if isChecking {
            let refusals = untested.map {
                (SourceScan.plainName($0.typeName), $0.reason ?? "its list of tests is empty")
            }
            let check = ListCheck(
                sources.scan, plan: plan, refusals: Dictionary(refusals) { first, _ in first },
                isAsCompiled: sources.isAsCompiled)
            for entry in check.lost { reportModuleIssue(entry.issue) }
            let lostTypes = Set(check.lost.map(\.typeName))
            untested.removeAll { lostTypes.contains(SourceScan.plainName($0.typeName)) }
            warnings = check.warnings
        }
        for (typeName, reason) in untested {
            // The tests are in another branch of an `#if`.
            if reason == nil, sources.scan[typeName]?.entries.contains(where: { !$0.conditions.isEmpty }) ?? false {
                continue
            }
            let text = reason.map { "its tests don't run: \($0)" } ?? "its list of tests is empty"
            warn(SourceWarning(place: locator.placeOfList(typeName), text: "\(typeName): \(text)"))
        }
        for warning in warnings { warn(warning) }
    }
}
