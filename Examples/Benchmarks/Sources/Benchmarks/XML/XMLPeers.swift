// The peers in C and C++. Each of them is optional.

import CXMLPeers
import Foundation

/// An XML library in C.
struct XMLPeers {
    typealias Function = (UnsafePointer<CChar>?, Int) -> UInt64

    let library: String
    let package: String
    let version: String?

    static let expat = XMLPeers("expat", "libexpat1-dev", cxmlpeers_expat_version())
    static let libxml2 = XMLPeers("libxml2", "libxml2-dev", cxmlpeers_libxml2_version())
    static let pugixml = XMLPeers("pugixml", "libpugixml-dev", cxmlpeers_pugixml_version())

    private init(_ library: String, _ package: String, _ version: UnsafePointer<CChar>?) {
        (self.library, self.package) = (library, package)
        self.version = version.map { String(cString: $0) }
    }

    /// Prints the names of the missing libraries.
    static func reportMissing() {
        for one in [expat, libxml2, pugixml] where one.version == nil {
            print("skipped: \(one.library); it needs Debian's \(one.package)")
        }
    }

    /// Returns the case of a function, or an empty array if the library is missing.
    func cases(_ name: String, _ function: @escaping Function, check: Function?, _ sample: XMLSample) -> [Case] {
        guard let version else { return [] }
        func call(_ function: @escaping Function) -> () throws -> UInt64 {
            {
                sample.bytes.withUnsafeBytes { bytes in
                    function(bytes.bindMemory(to: CChar.self).baseAddress, bytes.count)
                }
            }
        }
        return [Case(name: "\(name), \(version)", check: check.map(call), run: call(function))]
    }

    /// Returns the case of libxml2's text writer.
    static func libxml2Writer(_ records: NativeXMLRecords, _ sum: @escaping ([UInt8]) throws -> UInt64) -> [Case] {
        guard let version = libxml2.version else { return [] }
        func write() -> Int { cxmlpeers_libxml2_write(records.elements, records.elements.count) }
        return [
            Case(
                name: "libxml2 writer, \(version)",
                check: {
                    let count = write()
                    return try sum(Array(UnsafeRawBufferPointer(start: cxmlpeers_libxml2_written(), count: count)))
                }
            ) { write() > 0 ? 1 : 0 }
        ]
    }
}

/// Records for C, with the strings that they point to.
final class NativeXMLRecords {
    private(set) var elements: [cxmlpeers_record] = []
    private var texts: [UnsafeMutablePointer<CChar>] = []

    init(_ records: [WrittenRecord]) {
        func copy(_ text: String) -> UnsafePointer<CChar>? {
            guard let copy = strdup(text) else { return nil }
            texts.append(copy)
            return UnsafePointer(copy)
        }
        for one in records {
            elements.append(
                cxmlpeers_record(
                    identifier: copy(one.identifier), language: copy(one.language), title: copy(one.title),
                    note: copy(one.note)))
        }
    }

    deinit { for text in texts { free(text) } }
}
