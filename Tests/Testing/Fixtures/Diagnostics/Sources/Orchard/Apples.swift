// Tests that are selected, and say in which order they ran.
// swift-format-ignore-file
import InClassTesting

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

enum Apple {}

extension Apple: SelfTesting {
    static var testSelectors: TestSelectors { [
        "testGrows": testGrows,
        "testRipens": testRipens,
        "testFalls": testFalls,
        "testRots": testRots,
    ] }
    static var testSelectorsByType: [TestType: TestSelectors] { ["harvest": ["testIsPicked": testIsPicked]] }

    private static func testGrows() { Orchard.pick("Apple.testGrows") }
    private static func testRipens() { Orchard.pick("Apple.testRipens") }

    private static func testFalls() {
        let name = "Apple.testFalls"
        Orchard.pick(name)
    }

    private static func testRots() { Orchard.pick("Apple.testRots") }
    private static func testIsPicked() { Orchard.pick("Apple.testIsPicked") }
}

/// What the tests of this module do.
enum Orchard {
    /// Notes that a test runs, and fails where the environment says so.
    static func pick(_ name: String) {
        if let path = getenv("ORCHARD_LOG") {
            let file = open(String(cString: path), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o644)
            write(file, "\(name)\n", name.utf8.count + 1)
            close(file)
        }
        let rotten = getenv("ORCHARD_ROTTEN").map { String(cString: $0) } ?? ""
        if rotten.split(separator: " ").contains(Substring(name)) { fail("rotten") }
        // Fails only when it is run often.
        if rotten == "third", name == "Apple.testFalls", let path = getenv("ORCHARD_LOG"), let text = fopen(path, "r") {
            var count = 0
            while case let byte = fgetc(text), byte != EOF { count += byte == 10 ? 1 : 0 }
            fclose(text)
            if count > 17 { fail("the third time") }
        }
    }
}
