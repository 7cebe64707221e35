// A client that sends exactly the bytes of a test to a socket, and reads the responses one by one.

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// An error between a test and its server.
struct ConnectionError: Error, CustomStringConvertible {
    let description: String
}

/// A response as it was received.
struct RawResponse: Equatable {
    var status: Int
    /// The fields by their names in lower case.
    var fields: [String: String]
    var body: String
}

/// A connection to a server on this machine.
final class RawConnection {
    private let descriptor: Int32
    private var received: [UInt8] = []

    init(port: UInt16) throws {
        #if canImport(Glibc)
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        #else
        descriptor = socket(AF_INET, SOCK_STREAM, 0)
        #endif
        // If the server has ended, this is an error of the connection and must not end all tests.
        signal(SIGPIPE, SIG_IGN)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let code = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        var limit = timeval(tv_sec: 30, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        guard code == 0 else { throw ConnectionError(description: "cannot connect to port \(port)") }
    }

    deinit { close(descriptor) }

    /// Sends bytes unchanged.
    func send(_ text: String) throws {
        var bytes = Array(text.utf8)[...]
        while !bytes.isEmpty {
            let count = bytes.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
            guard count > 0 else { throw ConnectionError(description: "cannot send") }
            bytes = bytes.dropFirst(count)
        }
    }

    /// Sends a request with the fields that its body needs.
    func request(_ requestLine: String, _ fields: [String] = [], json: String? = nil) throws {
        var lines = ["\(requestLine) HTTP/1.1", "Host: localhost"] + fields
        if let json { lines += ["Content-Type: application/json", "Content-Length: \(json.utf8.count)"] }
        try send(lines.joined(separator: "\r\n") + "\r\n\r\n" + (json ?? ""))
    }

    /// Waits for the next response. A response to HEAD has no body, regardless of its length field.
    func response(toHEAD: Bool = false) throws -> RawResponse {
        let end = Array("\r\n\r\n".utf8)
        var start: Int?
        while start == nil {
            start = received.indices.first { received[$0...].starts(with: end) }
            if start == nil, try !receive() { throw ConnectionError(description: "the connection ended in a head") }
        }
        let lines = String(decoding: received.prefix(start ?? 0), as: UTF8.self).split(separator: "\r\n")
        received.removeFirst((start ?? 0) + end.count)
        let statusLine = lines[0].split(separator: " ")
        guard statusLine.count > 1, statusLine[0] == "HTTP/1.1", let status = Int(statusLine[1]) else {
            throw ConnectionError(description: "no response begins with \(lines[0])")
        }
        var fields: [String: String] = [:]
        for line in lines.dropFirst() {
            let parts = line.split(separator: ":", maxSplits: 1)
            fields[parts[0].lowercased()] = String(parts[1].dropFirst())
        }
        let length = toHEAD ? 0 : Int(fields["content-length"] ?? "0") ?? 0
        while received.count < length {
            if try !receive() { throw ConnectionError(description: "the connection ended in a body") }
        }
        defer { received.removeFirst(length) }
        let body = String(decoding: received.prefix(length), as: UTF8.self)
        return RawResponse(status: status, fields: fields, body: body)
    }

    /// Returns whether the server closes the connection without sending more.
    func isEnded() throws -> Bool { try received.isEmpty && !receive() }

    private func receive() throws -> Bool {
        var bytes = [UInt8](repeating: 0, count: 1 << 16)
        let count = recv(descriptor, &bytes, bytes.count, 0)
        if count < 0, errno == ECONNRESET { return false }
        guard count >= 0 else { throw ConnectionError(description: "no response: \(String(cString: strerror(errno)))") }
        received += bytes.prefix(count)
        return count > 0
    }
}
