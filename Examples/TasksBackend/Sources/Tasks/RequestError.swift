// The errors that reject a request, with the status and the JSON of their responses.

import HTTPTypes
import JSONStreaming
import PlistBuilding
import PlistStreaming

/// A rejected request.
struct RequestError: Error, Equatable {
    /// The body of the response. Members that are nil are omitted.
    struct Body: StreamObject, Equatable {
        var error = ""
        var path: String? = nil
        var line: Int? = nil
        var column: Int? = nil
        var byteOffset: Int? = nil
    }

    let status: HTTPResponse.Status
    let body: Body
    /// The allowed methods of the path, if the method isn't allowed.
    var allowed: String?

    init(_ status: HTTPResponse.Status, _ message: String, at member: String? = nil, allowed: String? = nil) {
        self.status = status
        self.allowed = allowed
        body = Body(error: message, path: member.map { StreamPath().member($0).description })
    }

    /// Creates the error for a body: 400 for text that isn't JSON, 422 for JSON that isn't a task.
    init(_ error: StreamError) {
        status =
            switch error.kind {
            case .typeMismatch, .unrepresentable, .missingMember, .unknownMember, .duplicateKey: .unprocessableContent
            default: .badRequest
            }
        // The name of a Swift type is meaningless to a client.
        let message = error.kind == .unknownMember ? "unknown member" : error.message
        body = Body(
            error: message, path: error.path?.description, line: error.position?.line,
            column: error.position?.column, byteOffset: error.position?.byteOffset)
    }
}
