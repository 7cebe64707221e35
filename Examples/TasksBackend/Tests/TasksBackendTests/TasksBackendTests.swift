// Tests the server through sockets, for behavior that a table of requests and responses can't show: how bytes arrive, and the
// state after the process has ended. Each test runs with reads from SQLite and from memory.

import Foundation
import Synchronization
import Testing

@Suite(.serialized)
struct TasksBackendTests {
    static let variants = [[], ["--memory"]]

    /// Starts a server with two tasks.
    private func withServer(_ arguments: [String], _ body: (RunningServer, RawConnection) throws -> Void) throws {
        try RunningServer.inFolder { folder in
            let server = try RunningServer(arguments, in: folder)
            let connection = try server.connect()
            for json in [#"{"title":"Clean Room"}"#, #"{"title":"Grüße 👋","done":true}"#] {
                try connection.request("POST /tasks", json: json)
                #expect(try connection.response().status == 201)
            }
            try body(server, connection)
        }
    }

    private let one = #"{"id":1,"title":"Clean Room","done":false}"#
    private var all: String { "[\(one),{\"id\":2,\"title\":\"Grüße 👋\",\"done\":true}]" }

    @Test(arguments: variants) func answersPipelinedRequestsInOrder(_ arguments: [String]) throws {
        try withServer(arguments) { server, connection in
            let head = "HTTP/1.1\r\nHost: localhost\r\n"
            let json = #"{"title":"c"}"#
            try connection.send(
                "GET /tasks \(head)\r\nHEAD /tasks/1 \(head)\r\nPOST /tasks \(head)Content-Type: application/json\r\n"
                    + "Content-Length: \(json.utf8.count)\r\n\r\n\(json)DELETE /tasks/3 \(head)\r\nGET /tasks/3 \(head)\r\n"
                    + "PUT / \(head)Content-Length: 3\r\n\r\nabcGET /tasks/1 \(head)\r\n")
            var response = try connection.response()
            #expect(response.status == 200 && response.body == all)
            response = try connection.response(toHEAD: true)
            #expect(response.status == 200 && response.fields["content-length"] == "\(one.utf8.count)")
            response = try connection.response()
            #expect(response.status == 201 && response.fields["location"] == "/tasks/3")
            response = try connection.response()
            #expect(response.status == 204 && response.fields["content-length"] == nil)
            #expect(try connection.response().status == 404)
            #expect(try connection.response().fields["allow"] == "GET, HEAD, OPTIONS")
            #expect(try connection.response().body == one)
        }
    }

    @Test(arguments: variants) func readsRequestsByteByByte(_ arguments: [String]) throws {
        try withServer(arguments) { server, connection in
            let json = #"{"title":"in pieces"}"#
            let text =
                "POST /t%61sks/ HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                + "Content-Length: \(json.utf8.count)\r\n\r\n\(json)"
            for character in text {
                try connection.send("\(character)")
                usleep(500)
            }
            #expect(try connection.response().body == #"{"id":3,"title":"in pieces","done":false}"#)
            let chunks = "3\r\n{\"t\r\n1\r\ni\r\n8;a=b\r\ntle\":\"x\"\r\n1\r\n}\r\n0\r\nTrailer: y\r\n\r\n"
            let fields = ["Content-Type: application/json", "Transfer-Encoding: chunked"]
            try connection.request("POST /tasks", fields)
            try connection.send(chunks)
            #expect(try connection.response().body == #"{"id":4,"title":"x","done":false}"#)
        }
    }

    @Test func answersExpectContinue() throws {
        try withServer([]) { server, connection in
            let json = #"{"title":"x"}"#
            let fields = ["Content-Type: application/json", "Expect: 100-continue"]
            try connection.request("POST /tasks", fields + ["Content-Length: \(json.utf8.count)"])
            #expect(try connection.response() == RawResponse(status: 100, fields: [:], body: ""))
            try connection.send(json)
            #expect(try connection.response().status == 201)
            try connection.request("GET /tasks/3", fields)
            #expect(try connection.response().status == 200)
            try connection.request("POST /tasks", fields + ["Content-Length: 65537"])
            #expect(try connection.response().status == 413)
        }
    }

    @Test(arguments: variants) func answersWithStandardStatusCodes(_ arguments: [String]) throws {
        try withServer(arguments) { server, connection in
            try connection.request("HEAD /tasks")
            let head = try connection.response(toHEAD: true)
            try connection.request("GET /tasks/")
            let get = try connection.response()
            #expect(get.body == all && get.fields["content-length"] == "\(all.utf8.count)")
            #expect(get.fields["content-type"] == "application/json" && get.fields["transfer-encoding"] == nil)
            #expect(head.fields.filter { $0.key != "date" } == get.fields.filter { $0.key != "date" })
            try connection.request("GET /tasks", ["If-None-Match: \(get.fields["etag"] ?? "")"])
            let known = try connection.response()
            #expect(known.status == 304 && known.body == "" && known.fields["etag"] == get.fields["etag"])
            try connection.request("POST /tasks", json: #"{"title":"a",}"#)
            let refused = try connection.response()
            #expect(refused.status == 400)
            #expect(refused.body.hasSuffix(#","line":1,"column":14,"byteOffset":13}"#), "\(refused)")
            try connection.request("DELETE /tasks")
            #expect(try connection.response().status == 405)
            try connection.request("GET /tasks/%31%2F")
            #expect(try connection.response().status == 404)
            try connection.request("GET /tasks/%ff")
            #expect(try connection.response().status == 400)
            try connection.request("POST /tasks", ["Content-Length: 2"])
            try connection.send("{}")
            #expect(try connection.response().status == 415)
            try connection.request("GET /tasks/1", ["Connection: close"])
            #expect(try connection.response().body == one)
            #expect(try connection.isEnded())
        }
    }

    @Test(arguments: variants) func refusesTooLongRequests(_ arguments: [String]) throws {
        try withServer(arguments) { server, connection in
            let type = "Content-Type: application/json"
            try connection.request("POST /tasks", [type, "Content-Length: 1000000000000"])
            let declared = try connection.response()
            #expect(declared.status == 413 && declared.fields["connection"] == "close")
            let another = try server.connect()
            try another.request("POST /tasks", [type, "Transfer-Encoding: chunked"])
            let chunk = "4000\r\n\(String(repeating: " ", count: 0x4000))\r\n"
            for _ in 0..<5 { try another.send(chunk) }
            #expect(try another.response().status == 413)
            let limit = try server.connect()
            let json = #"{"title":"x"}"# + String(repeating: " ", count: (1 << 16) - 13)
            try limit.request("POST /tasks", json: json)
            #expect(try limit.response().status == 201)
            try limit.request("POST /tasks", json: json + " ")
            #expect(try limit.response().status == 413)
            let fields = try server.connect()
            try fields.send("GET /tasks HTTP/1.1\r\nHost: a\r\nA: \(String(repeating: "x", count: 1 << 17))\r\n\r\n")
            #expect(try fields.response().status == 400)
            #expect(try fields.isEnded())
        }
    }

    @Test func closesConnectionsIfAsked() throws {
        try withServer([]) { server, _ in
            for text in [
                "GET /tasks/1 HTTP/1.1\r\nHost: localhost\r\nConnection: Close\r\n\r\n",
                "GET /tasks/1 HTTP/1.1\r\nHost: localhost\r\nConnection: keep-alive, close\r\n\r\n",
                "GET /tasks/1 HTTP/1.0\r\n\r\n",
            ] {
                let connection = try server.connect()
                try connection.send(text)
                let response = try connection.response()
                #expect(response.body == one && response.fields["connection"] == "close", "\(text)")
                let start = ContinuousClock.now
                #expect(try connection.isEnded())
                #expect(ContinuousClock.now - start < .seconds(8), "not when nothing comes for long")
            }
            // The response announced as the last one is the last one, even if the body arrives after all.
            let long = try server.connect()
            try long.request("POST /tasks", json: String(repeating: " ", count: 1 << 17))
            try long.request("GET /tasks/1")
            let response = try long.response()
            #expect(response.status == 413 && response.fields["connection"] == "close")
            #expect(try long.isEnded())
            let foreign = try server.connect()
            try foreign.send("GET /tasks HTTP/1.1\r\nHost: example.com:\(server.port)\r\n\r\n")
            #expect(try foreign.response().status == 421)
        }
    }

    @Test func disconnectsClientsThatStopReading() throws {
        try withServer([]) { server, connection in
            let json = #"{"title":"\#(String(repeating: "x", count: 1_000))"}"#
            for _ in 0..<200 {
                try connection.request("POST /tasks", json: json)
                #expect(try connection.response().status == 201)
            }
            let (silent, slow) = (try server.connect(), try server.connect())
            for client in [silent, slow] {
                for _ in 0..<100 { try client.request("GET /tasks") }
            }
            // The client reads a response now and then, for twice the server's time limit. Its first response makes the
            // server wait again.
            for _ in 0..<42 {
                sleep(1)
                #expect(try slow.response().status == 200)
            }
            for _ in 42..<100 { #expect(try slow.response().status == 200) }
            #expect(throws: ConnectionError.self, "what was sent before the end comes, and no more") {
                for _ in 0..<100 { _ = try silent.response() }
            }
        }
    }

    /// Posts tasks until the server has ended, and returns the titles of acknowledged ones by their ids.
    private static func post(_ name: String, _ port: UInt16) -> [Int: String] {
        var titles: [Int: String] = [:]
        guard let connection = try? RawConnection(port: port) else { return titles }
        for number in 0... {
            let title = "\(name)-\(number)"
            guard (try? connection.request("POST /tasks", json: #"{"title":"\#(title)"}"#)) != nil,
                let response = try? connection.response(), response.status == 201,
                let id = response.fields["location"]?.split(separator: "/").last.flatMap({ Int($0) })
            else { break }
            titles[id] = title
        }
        return titles
    }

    @Test(arguments: variants) func keepsAcknowledgedTasksAfterKill(_ arguments: [String]) throws {
        try RunningServer.inFolder { folder in
            var expected: [Int: String] = [:]
            for round in 0..<4 {
                let server = try RunningServer(arguments, in: folder)
                let (titles, group, port) = (Titles(), DispatchGroup(), server.port)
                for number in 0..<4 {
                    DispatchQueue.global().async(group: group) { titles.add(Self.post("\(round)-\(number)", port)) }
                }
                usleep(150_000 * UInt32(round + 1))
                server.kill()
                group.wait()
                expected.merge(titles.all.withLock { $0 }) { $1 }
            }
            #expect(expected.count > 16)
            let server = try RunningServer(arguments, in: folder)
            let connection = try server.connect()
            for (id, title) in expected {
                try connection.request("GET /tasks/\(id)")
                #expect(try connection.response().body == #"{"id":\#(id),"title":"\#(title)","done":false}"#)
            }
            try connection.request("GET /tasks")
            let list = try JSONDecoder().decode([[String: Value]].self, from: Data(try connection.response().body.utf8))
            // For each writer and round, there may be one more task whose response didn't arrive.
            #expect(list.count >= expected.count && list.count <= expected.count + 16)
        }
    }

    private enum Value: Decodable {
        init(from decoder: any Decoder) throws { self = .any }
        case any
    }

    @Test(arguments: variants) func answersOpenRequestsBeforeExit(_ arguments: [String]) throws {
        try RunningServer.inFolder { folder in
            let server = try RunningServer(arguments, in: folder)
            let (busy, idle) = (try server.connect(), try server.connect())
            try idle.request("GET /tasks")
            #expect(try idle.response().body == "[]")
            let json = #"{"title":"at the end"}"#
            try busy.request("POST /tasks", ["Content-Type: application/json", "Content-Length: \(json.utf8.count)"])
            try busy.send(String(json.prefix(5)))
            usleep(100_000)
            server.process.terminate()
            #expect(try idle.isEnded())
            #expect(throws: ConnectionError.self, "nobody else is served") {
                let late = try server.connect()
                try late.request("GET /tasks")
                _ = try late.response()
            }
            #expect(server.process.isRunning)
            try busy.send(String(json.dropFirst(5)))
            #expect(try busy.response().status == 201)
            #expect(try busy.isEnded())
            #expect(server.end() == 0)
            #expect(try server.log().last?.contains("the database is closed") == true)
            // The log of the database is merged into it.
            let files = try FileManager.default.contentsOfDirectory(atPath: folder.path).filter {
                $0.hasPrefix("tasks")
            }
            #expect(files == ["tasks.sqlite"])
            let next = try RunningServer(arguments, in: folder)
            let connection = try next.connect()
            try connection.request("GET /tasks")
            #expect(try connection.response().body == #"[{"id":1,"title":"at the end","done":false}]"#)
        }
    }

    @Test(arguments: variants) func exitsDespiteClientsThatStopReading(_ arguments: [String]) throws {
        try withServer(arguments) { server, connection in
            let json = #"{"title":"\#(String(repeating: "x", count: 1_000))"}"#
            for _ in 0..<200 {
                try connection.request("POST /tasks", json: json)
                #expect(try connection.response().status == 201)
            }
            let silent = try server.connect()
            for _ in 0..<100 { try silent.request("GET /tasks") }
            usleep(500_000)
            server.process.terminate()
            #expect(server.hasEnded(within: 25))
            guard !server.process.isRunning else { return }
            #expect(server.end() == 0)
            #expect(try server.log().last?.contains("the database is closed") == true)
            // Its socket is open until here.
            _ = try? silent.isEnded()
        }
    }

    @Test func servesWithoutWritableLog() throws {
        var logs: [FileHandle] = []
        let pipe = Pipe()
        try pipe.fileHandleForReading.close()
        logs.append(pipe.fileHandleForWriting)
        if let full = FileHandle(forWritingAtPath: "/dev/full") { logs.append(full) }
        for log in logs {
            try RunningServer.inFolder { folder in
                let server = try RunningServer(["--log", "debug"], in: folder, log: log)
                let connection = try server.connect()
                for _ in 0..<3 {
                    try connection.request("GET /tasks")
                    #expect(try connection.response().status == 200)
                }
                server.process.terminate()
                #expect(server.end() == 0)
            }
        }
    }

    @Test func refusesRequestsWithoutHost() throws {
        try withServer([]) { server, connection in
            let ask = "GET /tasks/1 HTTP/1.1\r\nHost: localhost\r\n\r\n"
            for fields in ["", "A: b\r\n", "Host: a\r\nHost: a\r\n", "Host: a\r\nhost: b\r\n"] {
                let another = try server.connect()
                try another.send("\(ask)DELETE /tasks/1 HTTP/1.1\r\n\(fields)\r\n\(ask)")
                #expect(try another.response().body == one)
                let refused = try another.response()
                #expect(refused.status == 400 && refused.fields["connection"] == "close", "\(fields): \(refused)")
                #expect(try another.isEnded())
            }
            try connection.send("GET /tasks/1 HTTP/1.0\r\n\r\n")
            #expect(try connection.response().body == one)
        }
    }

    @Test func reportsInvalidArgumentsAndFiles() throws {
        try RunningServer.inFolder { folder in
            for (arguments, error) in [
                (["--port"], "--port needs a value"), (["--port", "65536"], "--port needs a number"),
                (["-x"], "there is no option -x"), (["--log", "loud"], "--log needs one of trace, debug"),
            ] {
                let result = try RunningServer.run(arguments, in: folder)
                #expect(result.status == 2 && result.errors.contains(error), "\(arguments): \(result)")
            }
            #expect(try RunningServer.run(["--help"], in: folder).status == 0)
            try Data("this is no database, whatever its name".utf8).write(to: folder.appending(path: "text"))
            let text = try RunningServer.run(["--database", "text"], in: folder)
            #expect(text.status == 1 && text.errors.contains("not a database"), "\(text)")
            let memory = try RunningServer.run(["--database", ":memory:"], in: folder)
            #expect(memory.status == 1 && memory.errors.contains("expected the path of a file"), "\(memory)")
            let earlier = try RunningServer(in: folder)
            earlier.process.terminate()
            #expect(earlier.end() == 0)
            let server = try RunningServer(["--memory"], in: folder)
            let second = try RunningServer.run(["--port", "0"], in: folder)
            #expect(second.status == 1 && second.errors.contains("database is locked"), "\(second)")
            let port = try RunningServer.run(["--port", "\(server.port)", "--database", "other"], in: folder)
            #expect(port.status == 1 && port.errors.contains("ddress already in use"), "\(port)")
        }
    }

    @Test func writesLogAsJSONLines() throws {
        try withServer(["--log", "debug"]) { server, connection in
            try connection.request("GET /%22?\"")
            #expect(try connection.response().status == 404)
            server.process.terminate()
            #expect(server.end() == 0)
            struct Line: Decodable { var level: String, message: String, values: [String: String] }
            let lines = try server.log().map { try JSONDecoder().decode(Line.self, from: Data($0.utf8)) }
            let answered = lines.filter { $0.message == "answered" }
            #expect(answered.map { $0.values["status"] } == ["201", "201", "404"])
            #expect(answered.last?.values["target"] == "/%22?\"")
        }
    }

    #if os(Linux)
    @Test func listensOnLoopbackOnly() throws {
        try withServer([]) { server, _ in
            let hexadecimal = String(server.port, radix: 16, uppercase: true)
            let digits = String(repeating: "0", count: 4 - hexadecimal.count) + hexadecimal
            let sockets = try ["tcp", "tcp6"].flatMap { name in
                try String(contentsOfFile: "/proc/net/\(name)", encoding: .utf8).split(separator: "\n").dropFirst()
                    .map { $0.split(separator: " ") }.filter { $0[1].hasSuffix(":\(digits)") && $0[3] == "0A" }
            }
            #expect(sockets.map { $0[1] } == ["0100007F:\(digits)"])
        }
    }
    #endif

    private static let browser = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"]
        .first { FileManager.default.isExecutableFile(atPath: $0) }

    @Test(.enabled(if: browser != nil, "it needs Chromium")) func showsTasksInABrowser() throws {
        try withServer([]) { server, connection in
            try connection.request("POST /tasks", json: #"{"title":"<b>bold</b>"}"#)
            #expect(try connection.response().status == 201)
            let process = Process()
            process.executableURL = URL(filePath: Self.browser ?? "")
            let options = ["--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=5000", "--dump-dom"]
            process.arguments = options + ["http://127.0.0.1:\(server.port)/"]
            let output = Pipe()
            process.standardOutput = output
            process.standardError = FileHandle.nullDevice
            try process.run()
            let text = String(decoding: try output.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
            process.waitUntilExit()
            #expect(text.contains("2 of 3 open"), "\(text)")
            #expect(text.components(separatedBy: "<li").count == 4 && !text.contains("<b>"))
        }
    }
}

/// Titles written by several threads.
private final class Titles: Sendable {
    let all = Mutex<[Int: String]>([:])
    func add(_ titles: [Int: String]) { all.withLock { $0.merge(titles) { $1 } } }
}
