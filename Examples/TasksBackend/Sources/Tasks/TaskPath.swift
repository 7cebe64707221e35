// Reads the supported paths from the target of a request.

import HTTPTypes

/// A path that the server supports.
enum TaskPath: Equatable, Sendable {
    /// The page that shows the tasks.
    case page
    /// All tasks.
    case list
    /// One task, which may or may not exist.
    case task(id: Int)

    /// Reads the target of a request: a path, optionally after a scheme and a host.
    ///
    /// Segments are separated before escapes such as `%2F` are decoded. Queries aren't supported, so a target with a query
    /// doesn't exist.
    /// - Throws: 404 for any other path, 400 for invalid escapes.
    init(target: String) throws(RequestError) {
        var text = target.utf8[...]
        if text.first != UInt8(ascii: "/"), let slashes = target.firstRange(of: "://") {
            text = target.utf8[slashes.upperBound...].drop { $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: "?") }
            if text.isEmpty { text = "/".utf8[...] }
        }
        let parts = text.split(separator: UInt8(ascii: "?"), maxSplits: 1, omittingEmptySubsequences: false)
        var segments: [String] = []
        for segment in parts[0].split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false) {
            segments.append(try Self.decoded(segment))
        }
        let hasQuery = parts.count > 1 && !parts[1].isEmpty
        switch segments {
        case ["", ""] where !hasQuery: self = .page
        case ["", "tasks"] where !hasQuery, ["", "tasks", ""] where !hasQuery: self = .list
        case _ where segments.count == 3 && segments.starts(with: ["", "tasks"]) && !hasQuery:
            // One spelling for each id, so that each task has one address.
            guard let id = Int(segments[2]), id > 0, String(id) == segments[2] else { fallthrough }
            self = .task(id: id)
        default: throw RequestError(.notFound, "expected /, /tasks or /tasks/{id}, found another path")
        }
    }

    /// The allowed methods of the path.
    var methods: [HTTPRequest.Method] {
        switch self {
        case .page: [.get, .head, .options]
        case .list: [.get, .head, .post, .options]
        case .task: [.get, .head, .put, .patch, .delete, .options]
        }
    }

    /// SPEC: RFC 3986 section 2.1, for UTF-8.
    private static func decoded(_ segment: Substring.UTF8View.SubSequence) throws(RequestError) -> String {
        if !segment.contains(UInt8(ascii: "%")) { return String(Substring(segment)) }
        var bytes: [UInt8] = []
        var rest = segment
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            guard let high = rest.popFirst().flatMap(digit), let low = rest.popFirst().flatMap(digit) else {
                throw RequestError(.badRequest, "expected two hexadecimal digits after % in the path")
            }
            bytes.append(high << 4 | low)
        }
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw RequestError(.badRequest, "expected UTF-8 in the path")
        }
        return text
    }

    private static func digit(_ byte: UInt8) -> UInt8? {
        Character(UnicodeScalar(byte)).hexDigitValue.map { UInt8($0) }
    }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

extension TaskPath: SelfTesting {
    static var testSelectors: TestSelectors {
        .each(
            "testParsesTargets",
            [
                ("/", .page), ("/?", .page), ("/tasks", .list), ("/tasks/", .list), ("/tasks?", .list),
                ("/t%61sks", .list), ("/%74%41sks", nil), ("/tasks/7", .task(id: 7)), ("/tasks/%37", .task(id: 7)),
                ("/tasks/9223372036854775807", .task(id: .max)), ("http://localhost:80/tasks/7", .task(id: 7)),
                ("http://localhost", .page), ("http://localhost?a", nil), ("", nil), ("*", nil), ("tasks", nil),
                ("//tasks", nil), ("/tasks//", nil), ("/tasks/7/", nil), ("/tasks/0", nil), ("/tasks/-1", nil),
                ("/tasks/+7", nil), ("/tasks/07", nil), ("/tasks/9223372036854775808", nil), ("/tasks/7?a=b", nil),
                ("/tasks?a", nil), ("/tasks%2F7", nil), ("/tasks/7%00", nil), ("/tasks/%C3%A4", nil),
                ("/tasks/%D9%A7", nil), ("/Tasks", nil), ("/tasks/7;v=1", nil), ("/tasks/1%27%20OR%201=1", nil),
            ] as [(String, TaskPath?)], testParsesTargets)
            + .each(
                "testRefusesInvalidTargets",
                ["/tasks/%", "/tasks/%4", "/tasks/%G0", "/tasks/%+1", "/tasks/%FF", "/%C3"]
            ) {
                target in
                let refusal = expectThrows(RequestError.self, target) { _ = try TaskPath(target: target) }
                expectEqual(refusal?.status, .badRequest, "status of \(target)")
            }
    }

    private static func testParsesTargets(_ row: (target: String, path: TaskPath?)) {
        guard let path = row.path else {
            let refusal = expectThrows(RequestError.self, row.target) { _ = try TaskPath(target: row.target) }
            return expectEqual(refusal?.status, .notFound, "status of \(row.target)")
        }
        expectEqual(try? TaskPath(target: row.target), path, row.target)
    }
}
#endif
