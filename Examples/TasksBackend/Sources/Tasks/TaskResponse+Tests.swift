// Tests the HTTP behavior of the server with a table of requests and responses. Each row of the table has its own database
// with two tasks.

#if DEBUG || IN_CLASS_TESTS
import HTTPTypes
import InClassTesting
import Logging
import NIOCore

enum TaskResponseTests {}

extension TaskResponseTests: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testAnswers304ForKnownVersions": testAnswers304ForKnownVersions,
            "testChangesOnlyKnownVersions": testChangesOnlyKnownVersions,
            "testRefusesLongBodies": testRefusesLongBodies, "testNeverReusesIDs": testNeverReusesIDs,
            "testKeepsHostileTitles": testKeepsHostileTitles, "testServesThePage": testServesThePage,
        ] + .each("testAnswersReads", reads, check) + .each("testAnswersWrites", writes, check)
            + .each("testRefusesInvalidBodies", bodies, check) + .each("testRefusesInvalidRequests", errors, check)
            + .each("testRefusesOtherHostNames", names, testRefusesOtherHostNames)
    }

    /// A request and its expected response: a status, an optional field, the body, and all tasks afterwards if they changed.
    struct Row: CustomStringConvertible {
        var request: String
        var json = ""
        var type: String? = "application/json"
        var status: Int
        var field: (HTTPField.Name, String)?
        var body: String
        var tasks: String?

        init(
            _ request: String, json: String = "", type: String? = "application/json", _ status: Int,
            _ field: (HTTPField.Name, String)? = nil, _ body: String = "", tasks: String? = nil
        ) {
            (self.request, self.json, self.type, self.status) = (request, json, type, status)
            (self.field, self.body, self.tasks) = (field, body, tasks)
        }

        var description: String { "\(request) \(json)\(type == "application/json" ? "" : " \(type ?? "")")" }
    }

    private static let one = #"{"id":1,"title":"Clean Room","done":false}"#
    private static let two = #"{"id":2,"title":"Grüße 👋","done":true}"#
    private static let all = "[\(one),\(two)]"
    private static let tooLong = String(repeating: "x", count: TaskDraft.titleByteLimit + 1)

    private static let reads = [
        Row("GET /tasks", 200, (.contentType, "application/json"), all), Row("GET /tasks/", 200, nil, all),
        Row("GET /tasks", 200, (.contentLength, "\(all.utf8.count)"), all), Row("GET /t%61sks", 200, nil, all),
        Row("HEAD /tasks", 200, (.contentLength, "\(all.utf8.count)")),
        Row("HEAD /tasks/2", 200, (.contentLength, "\(two.utf8.count)")), Row("GET /tasks/2", 200, nil, two),
        Row("OPTIONS /tasks", 204, (.allow, "GET, HEAD, POST, OPTIONS")),
        Row("OPTIONS /tasks/9", 204, (.allow, "GET, HEAD, PUT, PATCH, DELETE, OPTIONS")),
        Row("GET /tasks/3", 404, nil, #"{"error":"task not found"}"#), Row("HEAD /tasks/3", 404),
        Row("HEAD /other", 404),
    ]

    private static let writes = [
        Row(
            "POST /tasks", json: #"{"title":"Paint"}"#, 201, (.location, "/tasks/3"),
            #"{"id":3,"title":"Paint","done":false}"#,
            tasks: "[\(one),\(two),{\"id\":3,\"title\":\"Paint\",\"done\":false}]"),
        Row(
            "POST /tasks/", json: #" { "done" : true, "title" : "\u0050\ud83d\ude00" } "#,
            type: "Application/JSON; charset=\"UTF-8\"", 201, (.contentLength, "36"),
            #"{"id":3,"title":"P😀","done":true}"#, tasks: "[\(one),\(two),{\"id\":3,\"title\":\"P😀\",\"done\":true}]"),
        Row(
            "PUT /tasks/2", json: #"{"title":"b"}"#, 200, nil, #"{"id":2,"title":"b","done":false}"#,
            tasks: #"[\#(one),{"id":2,"title":"b","done":false}]"#),
        Row("PUT /tasks/1", json: one, 200, nil, one),
        Row(
            "PATCH /tasks/2", json: #"{"done":false}"#, 200, nil, #"{"id":2,"title":"Grüße 👋","done":false}"#,
            tasks: #"[\#(one),{"id":2,"title":"Grüße 👋","done":false}]"#),
        Row("PATCH /tasks/2", json: "{}", 200, nil, two), Row("DELETE /tasks/1", 204, nil, "", tasks: "[\(two)]"),
        Row("DELETE /tasks/3", 404, nil, #"{"error":"task not found"}"#),
        Row("PUT /tasks/3", json: #"{"title":"c"}"#, 404, nil, #"{"error":"task not found"}"#),
        Row("PATCH /tasks/3", json: "{}", 404, nil, #"{"error":"task not found"}"#),
    ]

    private static func refused(
        _ text: String, _ status: Int, _ error: String, path: String? = nil, at column: Int? = nil, line: Int = 1,
        byte: Int? = nil
    ) -> Row {
        var body = #"{"error":"\#(error)""#
        if let path { body += #","path":"\#(path)""# }
        if let column { body += #","line":\#(line),"column":\#(column),"byteOffset":\#(byte ?? column - 1)"# }
        return Row("POST /tasks", json: text, status, nil, body + "}")
    }

    private static let bodies = [
        refused("", 400, "expected a value, found the end of the input", at: 1),
        refused("{", 400, "expected a member name or '}', found the end of the input", at: 2),
        refused("{\n \"title\":tru}", 400, "expected 'true', found '}'", at: 13, line: 2, byte: 14),
        refused("[]", 422, "expected a dictionary, found an array", path: "$", at: 1),
        refused(#"{"title":1}"#, 422, "expected a string, found integer 1", path: "$.title", at: 10),
        refused(#"{"title":null}"#, 422, "expected a string, found null", path: "$.title", at: 10),
        refused(
            #"{"title":"a","done":"no"}"#, 422, #"expected a Boolean, found string \"no\""#, path: "$.done", at: 21),
        refused(#"{"title":"a","done":null}"#, 422, "expected a Boolean, found null", path: "$.done", at: 21),
        refused(#"{"title":"a","title":"b"}"#, 422, #"duplicate key \"title\""#, path: "$.title", at: 14),
        refused(#"{"title":"a","t\u0069tle":"a"}"#, 422, #"duplicate key \"title\""#, path: "$.title", at: 14),
        refused(#"{"title":"a","other":1}"#, 422, "unknown member", path: "$.other", at: 14),
        refused(
            "{\"title\":\"\u{1}\"}", 400,
            "expected an escape, found a control character in a string, byte 0x01", at: 11),
        refused(
            #"{"title":"\ud800"}"#, 400, #"expected the low surrogate of a pair, such as \\udc00, found '\"'"#, at: 17),
        refused(#"{"title":"a"}{"#, 400, "expected the end of the input, found '{'", at: 14),
        refused(#"{"done":true}"#, 422, "expected a title, found none", path: "$.title"),
        refused(#"{"title":""}"#, 422, "expected a title of 1 to 1000 bytes, found 0", path: "$.title"),
        refused(#"{"title":"\#(tooLong)"}"#, 422, "expected a title of 1 to 1000 bytes, found 1001", path: "$.title"),
        refused(#"{"title":"a\u0000"}"#, 422, "expected a title without NUL", path: "$.title"),
        refused(
            #"{"title":"a","id":7}"#, 422, "expected no id, which is chosen here, found 7", path: "$.id"),
        Row(
            "PATCH /tasks/2", json: #"{"done":false,"done":true}"#, 422, nil,
            #"{"error":"duplicate key \"done\"","path":"$.done","line":1,"column":15,"byteOffset":14}"#),
        Row(
            "PUT /tasks/2", json: one, 422, nil, #"{"error":"expected the id 2 of the path, found 1","path":"$.id"}"#),
    ]

    private static let errors =
        [
            Row(
                "DELETE /tasks", 405, (.allow, "GET, HEAD, POST, OPTIONS"), #"{"error":"/tasks has no method DELETE"}"#),
            Row(
                "POST /tasks/1", json: "{}", 405, (.allow, "GET, HEAD, PUT, PATCH, DELETE, OPTIONS"),
                #"{"error":"/tasks/1 has no method POST"}"#),
            Row("PROPFIND /", 405, (.allow, "GET, HEAD, OPTIONS"), #"{"error":"/ has no method PROPFIND"}"#),
            Row("GET /tasks?id=1", 404, nil, #"{"error":"expected /, /tasks or /tasks/{id}, found another path"}"#),
            Row("GET /tasks/%", 400, nil, #"{"error":"expected two hexadecimal digits after % in the path"}"#),
        ]
        + types.map { type in
            Row(
                "POST /tasks", json: #"{"title":"a"}"#, type: type, 415, (.contentType, "application/json"),
                #"{"error":"expected a body of the type application/json in UTF-8"}"#)
        }

    private static let types = [
        nil, "", "text/plain", "application/json5", "application/json; charset=latin1", "text/json, application/json",
    ]

    private static func scene() throws -> TaskTable {
        let table = try TaskTable(path: ":memory:")
        try table.insert([TaskRecord(title: "Clean Room"), TaskRecord(title: "Grüße 👋", done: true)])
        return table
    }

    private static func request(_ text: String, _ json: String = "", _ fields: HTTPFields = [:]) -> TaskRequest {
        let parts = text.split(separator: " ", maxSplits: 1).map(String.init)
        let head = HTTPRequest(
            method: .init(parts[0]) ?? .get, scheme: nil, authority: nil, path: parts[1], headerFields: fields)
        return TaskRequest(head: head, body: ByteBuffer(string: json))
    }

    /// Answers a request directly, without a store.
    private static func response(_ request: TaskRequest, _ table: TaskTable) throws -> TaskResponse {
        do {
            let command = try request.command()
            if let response = TaskResponse(to: command, request) { return response }
            return TaskResponse(try table.outcome(of: command, request), request)
        } catch let error as RequestError {
            return TaskResponse(error, request)
        }
    }

    private static func check(_ row: Row) throws {
        let table = try scene()
        var fields: HTTPFields = [:]
        fields[.contentType] = row.type
        let response = try response(request(row.request, row.json, fields), table)
        expectEqual(response.status.code, row.status, "status")
        expectEqual(String(buffer: response.body), row.body, "body")
        if let (name, value) = row.field { expectEqual(response.fields[name], value, "\(name)") }
        if row.status != 204, row.request.first != "H" {
            expectEqual(response.fields[.contentLength], "\(response.body.readableBytes)", "length")
        }
        expectEqual(String(buffer: try text(table)), row.tasks ?? all, "all tasks afterwards")
    }

    private static func text(_ table: TaskTable) throws -> ByteBuffer { try Representation(of: try table.all()).bytes }

    private static func testAnswers304ForKnownVersions() throws {
        let table = try scene()
        for path in ["/", "/tasks", "/tasks/2"] {
            let tag = try requireNotNil(
                try response(request("GET \(path)"), table).fields[.eTag], "entity tag of \(path)")
            for (list, status) in [
                (tag, 304), ("W/\(tag)", 304), ("\"a\", \(tag)", 304), ("\"a\" ,\tW/\(tag) ", 304),
                ("\t\(tag)\t", 304), ("*", 304),
                ("\"a\"", 200), ("", 200), (String(tag.dropLast()), 200),
            ] {
                for method in ["GET", "HEAD"] {
                    let response = try response(request("\(method) \(path)", "", [.ifNoneMatch: list]), table)
                    expectEqual(response.status.code, status, "\(method) \(path) with \(list)")
                    expectEqual(response.fields[.eTag], tag, "entity tag")
                    if status == 304 { expectNil(response.fields[.contentLength], "length of nothing") }
                }
            }
        }
        let before = try response(request("GET /tasks"), table).fields[.eTag]
        try table.insert([TaskRecord(title: "c")])
        expectTrue(try response(request("GET /tasks"), table).fields[.eTag] != before, "another entity tag")
    }

    private static func testChangesOnlyKnownVersions() throws {
        let table = try scene()
        let known = try requireNotNil(try response(request("GET /tasks/1"), table).fields[.eTag], "entity tag")
        let change = #"{"title":"b"}"#
        for method in ["PUT", "PATCH", "DELETE"] {
            for fields in [[.ifMatch: "\"a\""], [.ifMatch: "W/\(known)"], [.ifNoneMatch: "*"]] as [HTTPFields] {
                var fields = fields
                fields[.contentType] = "application/json"
                let response = try response(request("\(method) /tasks/1", change, fields), table)
                expectEqual(response.status.code, 412, "\(method) with \(fields)")
            }
        }
        expectEqual(String(buffer: try text(table)), all, "all tasks")
        let fields: HTTPFields = [.contentType: "application/json", .ifMatch: known]
        let changed = try response(request("PATCH /tasks/1", change, fields), table)
        expectEqual(changed.status.code, 200, "with what is there")
        expectTrue(changed.fields[.eTag] != known, "another entity tag")
        expectEqual(try response(request("PATCH /tasks/1", change, fields), table).status.code, 412, "again")
        let deleted = try response(request("DELETE /tasks/1", "", [.ifMatch: "*"]), table)
        expectEqual(deleted.status.code, 204, "with anything")

        // The condition applies to the list that the task is added to.
        let list = try requireNotNil(try response(request("GET /tasks"), table).fields[.eTag], "entity tag of all")
        for (field, status) in [("\"a\"", 412), (list, 201), (list, 412), ("*", 201)] {
            let fields: HTTPFields = [.contentType: "application/json", .ifMatch: field]
            let made = try response(request("POST /tasks", change, fields), table)
            expectEqual(made.status.code, status, "POST with \(field)")
        }
        expectEqual(try table.all().count, 3, "tasks")
    }

    private static let names = [
        ("localhost", true), ("LocalHost:8080", true), ("tasks.localhost:1", true), ("127.0.0.1:80", true),
        ("[::1]:8080", true), ("192.168.1.7", true), ("example.com", false), ("example.com:8080", false),
        ("localhost.example.com", false), ("127.0.0.1.example.com", false), ("", false), (":8080", false),
    ]

    private static func testRefusesOtherHostNames(_ row: (host: String, isServed: Bool)) throws {
        let table = try scene()
        for isLocal in [true, false] {
            var head = request("GET /tasks/1").head
            head.authority = row.host
            let response = try response(TaskRequest(head: head, isLocal: isLocal), table)
            let isServed = row.isServed || !isLocal
            expectEqual(response.status.code, isServed ? 200 : 421, isLocal ? "status" : "status for everybody")
            if !isServed {
                let error = "expected the host localhost or an address, found \(row.host)"
                expectEqual(String(buffer: response.body), #"{"error":"\#(error)"}"#, "body")
            }
        }
    }

    private static func testRefusesLongBodies() throws {
        let table = try scene()
        var long = request("POST /tasks", "", [.contentType: "application/json"])
        long.body = nil
        expectEqual(try response(long, table).status.code, 413, "status")
        expectEqual(
            String(buffer: try response(long, table).body), #"{"error":"expected a body of at most 65536 bytes"}"#,
            "body"
        )
        expectEqual(try response(long, table).fields[.connection], "close", "what is to come is not read")
        long.head.path = "/other"
        expectEqual(try response(long, table).status.code, 404, "status of another path")
    }

    private static func testNeverReusesIDs() throws {
        let table = try scene()
        expectEqual(try response(request("DELETE /tasks/2"), table).status.code, 204, "status")
        let new = request("POST /tasks", #"{"title":"c"}"#, [.contentType: "application/json"])
        expectEqual(try response(new, table).fields[.location], "/tasks/3", "location")
    }

    private static func testKeepsHostileTitles() throws {
        let table = try scene()
        let titles = [
            "'); DROP TABLE tasks; --", "\" OR 1=1", "<script>alert(1)</script>", "\u{1F}\u{7F}\r\n", "%s%n", "?1",
        ]
        for title in titles {
            let json = String(buffer: try Representation(of: ["title": title]).bytes)
            let made = try response(request("POST /tasks", json, [.contentType: "application/json"]), table)
            expectEqual(made.status.code, 201, title)
            expectEqual(try table.all().last?.title, title, "title")
        }
        expectEqual(try table.all().count, 8, "tasks")
    }

    private static func testServesThePage() throws {
        let table = try scene()
        let response = try response(request("GET /"), table)
        expectEqual(response.fields[.contentType], "text/html; charset=utf-8", "type")
        expectTrue(String(buffer: response.body).hasPrefix("<!doctype html>"), "page")
        expectEqual(
            response.fields[.contentSecurityPolicy],
            "default-src 'none'; connect-src 'self'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
                + "base-uri 'none'; form-action 'none'; frame-ancestors 'none'", "policy")
        expectEqual(response.fields[.xContentTypeOptions], "nosniff", "what browsers guess")
    }
}
#endif
