// Forty short tests that write down that they have run, and in which process: for runs that are cut short or shared.
// swift-format-ignore-file
import InClassTesting

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

enum Counting {
    private static func note(_ name: String) {
        guard let path = getenv("COUNTING_LOG") else { return }
        let file = open(String(cString: path), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o644)
        let line = "\(name) \(getpid())\n"
        write(file, line, line.utf8.count)
        close(file)
    }

    private static func number(_ variable: String) -> Int? { getenv(variable).flatMap { Int(String(cString: $0)) } }

    private static func count(_ name: String) async throws {
        try await Task.sleep(for: .milliseconds(number("COUNTING_PAUSE") ?? 2))
        // A run that ends here until it is killed.
        if let end = number("COUNTING_END"), name >= "test\(end / 10)\(end % 10)" {
            try await Task.sleep(for: .seconds(3_600))
        }
        print("counted \(name)")
        note(name)
        if name == "test07" { fail("seven") }
        if name == "test20", getenv("COUNTING_CALM") == nil { abort() }
        if name == "test30" { try skip("thirty") }
    }
}

extension Counting: SelfTesting {
    static var testSelectors: TestSelectors { [
        "test00": { try await count("test00") },
        "test01": { try await count("test01") },
        "test02": { try await count("test02") },
        "test03": { try await count("test03") },
        "test04": { try await count("test04") },
        "test05": { try await count("test05") },
        "test06": { try await count("test06") },
        "test07": { try await count("test07") },
        "test08": { try await count("test08") },
        "test09": { try await count("test09") },
        "test10": { try await count("test10") },
        "test11": { try await count("test11") },
        "test12": { try await count("test12") },
        "test13": { try await count("test13") },
        "test14": { try await count("test14") },
        "test15": { try await count("test15") },
        "test16": { try await count("test16") },
        "test17": { try await count("test17") },
        "test18": { try await count("test18") },
        "test19": { try await count("test19") },
        "test20": { try await count("test20") },
        "test21": { try await count("test21") },
        "test22": { try await count("test22") },
        "test23": { try await count("test23") },
        "test24": { try await count("test24") },
        "test25": { try await count("test25") },
        "test26": { try await count("test26") },
        "test27": { try await count("test27") },
        "test28": { try await count("test28") },
        "test29": { try await count("test29") },
        "test30": { try await count("test30") },
        "test31": { try await count("test31") },
        "test32": { try await count("test32") },
        "test33": { try await count("test33") },
        "test34": { try await count("test34") },
        "test35": { try await count("test35") },
        "test36": { try await count("test36") },
        "test37": { try await count("test37") },
        "test38": { try await count("test38") },
        "test39": { try await count("test39") },
    ] }
}
