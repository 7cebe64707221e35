import InClassTesting
import Ledger
import Testing

@Test(arguments: await InClassTest.all(inModule: "Ledger"))
func inClassTests(_ test: InClassTest) async throws { try await test.run() }
