import InClassTesting
import Ledger
import Papers
import Testing

@Test(arguments: await InClassTest.all(inModule: "Ledger"))
func inClassTests(_ test: InClassTest) async {
    for issue in await test.run() {
        Issue.record(
            "\(issue)", sourceLocation: issue.sourceLocation(SourceLocation.init(fileID:filePath:line:column:)))
    }
}

@Test(arguments: await InClassTest.all(inModule: "Papers"))
func testsWithResources(_ test: InClassTest) async {
    for issue in await test.run() {
        Issue.record(
            "\(issue)", sourceLocation: issue.sourceLocation(SourceLocation.init(fileID:filePath:line:column:)))
    }
}
