// Why a request is refused, as a status and as the JSON of its answer.

import HTTPTypes
import JSONStreaming
import PlistBuilding
import PlistStreaming

/// A request that is refused.
struct Refusal: Error, Equatable {
    /// The body of the answer; what is nil is left out.
    struct Body: StreamObject, Equatable {
        var error = ""
        var path: String? = nil
        var line: Int? = nil
        var column: Int? = nil
        var byteOffset: Int? = nil
    }

    let status: HTTPResponse.Status
    let body: Body
    /// The methods that the path has, of a refusal of another one.
    var allowed: String?

    init(_ status: HTTPResponse.Status, _ message: String, at member: String? = nil, allowed: String? = nil) {
        self.status = status
        self.allowed = allowed
        body = Body(error: message, path: member.map { StreamPath().member($0).description })
    }

    /// Makes the refusal of a body: text that is no JSON is a bad request, JSON that is no task cannot be processed.
    init(_ error: StreamError) {
        status =
            switch error.kind {
            case .typeMismatch, .unrepresentable, .missingMember, .unknownMember, .duplicateKey: .unprocessableContent
            default: .badRequest
            }
        // The name of a Swift type says nothing to a client.
        let message = error.kind == .unknownMember ? "a task has no such member" : error.message
        body = Body(
            error: message, path: error.path?.description, line: error.position?.line,
            column: error.position?.column, byteOffset: error.position?.byteOffset)
    }
}
