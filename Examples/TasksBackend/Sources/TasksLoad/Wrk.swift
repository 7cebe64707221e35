// Generates load with wrk and scripts that check each body.

import Foundation

/// The results of wrk.
struct LoadResult {
    var requestsPerSecond: Double
    /// The server's processor time per request, in seconds.
    var processorTime: Double
}

/// Runs wrk.
struct Wrk {
    let folder: URL

    /// Counts responses with an unexpected body. `done` prints the requests, the microseconds, and the errors.
    private static let comparing = """
        local file = io.open(os.getenv("TASKS_BODY"), "rb")
        local expected = file:read("*a")
        file:close()
        local threads = {}
        wrong = 0
        function setup(thread) table.insert(threads, thread) end
        function response(status, headers, body)
            if status ~= 200 or body ~= expected then wrong = wrong + 1 end
        end
        function done(summary, latency, requests)
            local e = summary.errors
            local sum = e.connect + e.read + e.write + e.timeout
            for _, thread in ipairs(threads) do sum = sum + thread:get("wrong") end
            print(string.format("RESULT %d %d %d", summary.requests, summary.duration, sum))
        end

        """

    /// Each thread has one connection with its own sequence: nine reads, and a write that creates a task or, if there are
    /// enough, deletes the oldest one. A list must contain the created tasks and none of the deleted ones. Acknowledged
    /// writes are logged: `+` for a created task, `-` for a deleted one, and `?` before a deletion that may not be
    /// acknowledged.
    private static let writing = """
        local threads = {}
        local number = 0
        function setup(thread)
            number = number + 1
            thread:set("name", "t" .. number)
            table.insert(threads, thread)
        end
        wrong, count, made, gone = 0, 0, 0, 0
        local own, state, log = {}, "read", nil
        function init(args) log = io.open(os.getenv("TASKS_LOG") .. "." .. name, "w") end
        function request()
            count = count + 1
            if count % 10 ~= 0 then
                state = "read"
                return wrk.format("GET", "/tasks")
            end
            if #own < 20 then
                state = "make"
                local headers = { ["Content-Type"] = "application/json" }
                return wrk.format("POST", "/tasks", headers, '{"title":"' .. name .. "-" .. count .. '"}')
            end
            state = "delete"
            log:write("? ", own[1], "\\n")
            log:flush()
            return wrk.format("DELETE", "/tasks/" .. own[1])
        end
        function response(status, headers, body)
            if state == "read" then
                local isRight = status == 200 and body:sub(1, 1) == "[" and body:sub(-1) == "]"
                for _, id in ipairs(own) do
                    if not body:find('{"id":' .. id .. ',"title":"' .. name .. "-", 1, true) then isRight = false end
                end
                local _, titles = body:gsub('"title":"' .. name .. "%-", "")
                if titles ~= #own then isRight = false end
                if not isRight then wrong = wrong + 1 end
            elseif state == "make" then
                local id, title = body:match('^{"id":(%d+),"title":"(.*)","done":false}$')
                if status ~= 201 or title ~= name .. "-" .. count then wrong = wrong + 1 return end
                table.insert(own, id)
                made = made + 1
                log:write("+ ", id, " ", title, "\\n")
                log:flush()
            else
                if status ~= 204 then wrong = wrong + 1 return end
                gone = gone + 1
                log:write("- ", table.remove(own, 1), "\\n")
                log:flush()
            end
        end
        function done(summary, latency, requests)
            local e = summary.errors
            local sum, all = e.connect + e.read + e.write + e.timeout, 0
            for _, thread in ipairs(threads) do
                sum = sum + thread:get("wrong")
                all = all + thread:get("made") + thread:get("gone")
            end
            print(string.format("RESULT %d %d %d %d", summary.requests, summary.duration, sum, all))
        end

        """

    /// Requests all tasks of a server as fast as it responds, and compares each body.
    func compare(_ server: Server, body: Data, seconds: Int, connections: Int) throws -> LoadResult {
        let file = folder.appending(path: "expected")
        try body.write(to: file)
        let before = server.processorTime
        let numbers = try run(
            Self.comparing, server, ["-t1", "-c\(connections)", "-d\(seconds)s"], ["TASKS_BODY": file.path])
        guard numbers[2] == 0 else { throw LoadError("\(server.name): \(numbers[2]) responses were wrong") }
        return LoadResult(
            requestsPerSecond: Double(numbers[0]) / Double(numbers[1]) * 1e6,
            processorTime: (server.processorTime - before) / Double(numbers[0]))
    }

    /// Reads and writes with eight connections, and returns the numbers of answered requests and writes.
    func write(_ server: Server, log: URL, seconds: Int) throws -> (requests: Int, writes: Int) {
        let numbers = try run(
            Self.writing, server, ["-t8", "-c8", "-d\(seconds)s", "--timeout", "10s"], ["TASKS_LOG": log.path])
        guard numbers[2] == 0 else { throw LoadError("\(server.name): \(numbers[2]) responses were wrong") }
        return (numbers[0], numbers[3])
    }

    private func run(
        _ script: String, _ server: Server, _ arguments: [String], _ variables: [String: String]
    ) throws -> [Int] {
        let file = folder.appending(path: "script.lua")
        try Data(script.utf8).write(to: file)
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = ["wrk"] + arguments + ["-s", file.path, server.address.absoluteString]
        process.environment = ProcessInfo.processInfo.environment.merging(variables) { $1 }
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        let text = String(decoding: try output.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
        process.waitUntilExit()
        let line = text.split(separator: "\n").last { $0.hasPrefix("RESULT ") }
        let numbers = line?.split(separator: " ").compactMap { Int($0) } ?? []
        guard numbers.count >= 3, numbers[0] > 0 else { throw LoadError("wrk failed: \(text)") }
        return numbers
    }
}
