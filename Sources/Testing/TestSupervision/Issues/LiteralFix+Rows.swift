// Finds the literal that a row of a table gives its test, so that `--accept` can write it, too.

import TestEvents

extension LiteralFix {
    /// Finds the value of a row that a failed comparison expects: `value` of `.each("testA", [("x", 1)]) { text, value in`.
    ///
    /// The expected value must be a parameter of the closure around the call, and one literal in the row.
    init?(for issue: TestIssue, inRowOf test: PlannedTest, in file: TokenizedFile?, sources: SourceScan) {
        guard let row = test.row, issue.kind == .expectation, issue.knownReason == nil,
            let rows = sources[test.typeName]?.listed.first(where: { $0.name == row.table })?.table?.rows,
            rows.indices.contains(row.index), rows[row.index].path == issue.path, let file,
            let (parameter, word) = file.secondArgument(line: issue.line, column: issue.column),
            word == parameter.start..<parameter.end,
            let call = file.index(line: issue.line, column: issue.column),
            let start = file.index(line: rows[row.index].line, column: rows[row.index].column), start < call
        else { return nil }
        let values = file.elements(ofRow: start)
        let names = file.parameters(ofTableAround: call)
        guard let position = names.firstIndex(of: file.text(parameter)) else { return nil }
        // The first parameter of a test with a fixture is the fixture.
        let offset = names.count - values.count
        guard offset >= 0, offset <= 1, values.indices.contains(position - offset) else { return nil }
        guard let (first, range) = file.literal(at: values[position - offset]) else { return nil }
        self.init(for: issue, in: file.bytes, first, range)
        // Other rows pass at the same call.
        self.call = self.start
    }
}
