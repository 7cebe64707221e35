// The peers in C and C++, built twice: by SwiftPM with the toolchain's clang, and by g++ if it is installed.
// With clang and any options that a package may use, RapidJSON is only half as fast as with g++. So the benchmarks
// compile the same sources with g++ when they start, and compare the package with the faster build.

import CJSONPeers
import Foundation

/// One build of the peers.
struct NativePeers: @unchecked Sendable {
    typealias Function = @convention(c) (UnsafePointer<CChar>?, Int) -> UInt64
    typealias Text = @convention(c) () -> UnsafePointer<CChar>?

    /// The compiler, such as `g++ 12.2.0`.
    let compiler: String
    private let has: (String) -> Bool
    private let find: (String) -> Function?
    private let findText: (String) -> Text?

    /// Returns the cases for a function of the peers' interface, one for each build that includes the library.
    static func cases(
        _ library: String, _ name: String, _ function: String, _ sample: JSONSample, check: String? = nil,
        first: String? = nil
    ) -> [Case] {
        all.filter { $0.has(library) }.compactMap { peers in
            guard let run = peers.find(function) else { return nil }
            func call(_ function: @escaping Function) -> () throws -> UInt64 {
                {
                    sample.padded.withUnsafeBytes {
                        function($0.bindMemory(to: CChar.self).baseAddress, sample.byteCount)
                    }
                }
            }
            let runFirst = first.flatMap { peers.find($0) }.map { function in
                { () throws -> Duration in
                    let clock = ContinuousClock()
                    return try clock.measure { _ = try call(function)() }
                }
            }
            return Case(
                name: "\(name), \(peers.compiler)", check: check.flatMap { peers.find($0) }.map(call), first: runFirst,
                run: call(run))
        }
    }

    /// Returns the cases of RapidJSON, with and without its SSE4.2 switch, named as builds of the same peer.
    static func rapidJSONCases(_ name: String, _ function: String, _ sample: JSONSample) -> [Case] {
        cases("rapidjson", name, "rapidjson_\(function)", sample, first: "rapidjson_first_event")
            + cases(
                "rapidjson_sse42", "\(name), SSE4.2", "rapidjson_sse42_\(function)", sample,
                first: "rapidjson_sse42_first_event")
    }

    /// Returns the cases for a function that writes an array, one for each build that includes the library.
    ///
    /// - Parameter sum: Returns a checksum that must be the same for all written texts.
    static func writers<Element>(
        _ library: String, _ name: String, _ function: String, _ input: NativeInput<Element>,
        sum: @escaping (Data) throws -> UInt64
    ) -> [Case] {
        all.filter { $0.has(library) }.compactMap { peers in
            guard let run = peers.find("\(library)_\(function)"), let text = peers.findText(library) else { return nil }
            func write() -> Int {
                input.elements.withUnsafeBytes { elements in
                    Int(run(elements.bindMemory(to: CChar.self).baseAddress, input.count))
                }
            }
            return Case(
                name: "\(name), \(peers.compiler)",
                check: {
                    let count = write()
                    return try sum(text().map { Data(bytes: $0, count: count) } ?? Data())
                }
            ) {
                UInt64(write())
            }
        }
    }

    /// Returns whether a build includes a library.
    static func has(_ library: String) -> Bool { all.contains { $0.has(library) } }

    /// A Boolean value that indicates whether g++ optimizes the peers. Set it before the first use.
    nonisolated(unsafe) static var isOptimized = true

    /// All builds. A message names each missing library once.
    static let all: [NativePeers] = {
        let builds = [linked] + [compiledByGCC()].compactMap { $0 }
        for (library, package) in [
            ("rapidjson", "Debian's rapidjson-dev"), ("simdjson", "Debian's libsimdjson-dev, and AVX2"),
            ("yyjson", "libyyjson-dev of Debian 13"),
        ] where !builds.contains(where: { $0.has(library) }) {
            print("skipped: \(library) in C; it needs \(package)")
        }
        return builds
    }()

    private static let linked = NativePeers(
        compiler: String(cString: cjsonpeers_compiler()).split(separator: " ").prefix(2).joined(separator: " "),
        has: { library in
            switch library {
            case "rapidjson": cjsonpeers_has_rapidjson()
            case "rapidjson_sse42": cjsonpeers_has_rapidjson_sse42()
            case "simdjson": cjsonpeers_has_simdjson()
            default: cjsonpeers_has_yyjson()
            }
        },
        find: { name in
            switch name {
            case "rapidjson_checksum": cjsonpeers_rapidjson_checksum
            case "rapidjson_first_event": cjsonpeers_rapidjson_first_event
            case "rapidjson_sse42_first_event": cjsonpeers_rapidjson_sse42_first_event
            case "rapidjson_sse42_checksum": cjsonpeers_rapidjson_sse42_checksum
            case "rapidjson_sse42_strict_checksum": cjsonpeers_rapidjson_sse42_strict_checksum
            case "rapidjson_write_records": cjsonpeers_rapidjson_write_records
            case "rapidjson_write_reals": cjsonpeers_rapidjson_write_reals
            case "rapidjson_write_strings": cjsonpeers_rapidjson_write_strings
            case "rapidjson_sse42_write_records": cjsonpeers_rapidjson_sse42_write_records
            case "rapidjson_sse42_write_reals": cjsonpeers_rapidjson_sse42_write_reals
            case "rapidjson_sse42_write_strings": cjsonpeers_rapidjson_sse42_write_strings
            case "yyjson_write_records": cjsonpeers_yyjson_write_records
            case "yyjson_write_reals": cjsonpeers_yyjson_write_reals
            case "yyjson_write_strings": cjsonpeers_yyjson_write_strings
            case "simdjson_first_event": cjsonpeers_simdjson_first_event
            case "rapidjson_strict_checksum": cjsonpeers_rapidjson_strict_checksum
            case "simdjson_checksum": cjsonpeers_simdjson_checksum
            case "yyjson_checksum": cjsonpeers_yyjson_checksum
            case "yyjson_tree": cjsonpeers_yyjson_tree
            case "simdjson_structures": cjsonpeers_simdjson_structures
            case "simdjson_structures_checksum": cjsonpeers_simdjson_structures_checksum
            case "simdjson_posts_checksum": cjsonpeers_simdjson_posts_checksum
            case "simdjson_catalogue_checksum": cjsonpeers_simdjson_catalogue_checksum
            case "simdjson_coordinates_checksum": cjsonpeers_simdjson_coordinates_checksum
            case "simdjson_people_checksum": cjsonpeers_simdjson_people_checksum
            case "simdjson_documents_checksum": cjsonpeers_simdjson_documents_checksum
            case "simdjson_streamed": cjsonpeers_simdjson_streamed
            case "simdjson_first": cjsonpeers_simdjson_first
            case "simdjson_posts": cjsonpeers_simdjson_posts
            case "simdjson_catalogue": cjsonpeers_simdjson_catalogue
            case "simdjson_coordinates": cjsonpeers_simdjson_coordinates
            case "simdjson_people": cjsonpeers_simdjson_people
            case "simdjson_documents": cjsonpeers_simdjson_documents
            default: nil
            }
        },
        findText: { library in
            switch library {
            case "rapidjson": cjsonpeers_rapidjson_written
            case "rapidjson_sse42": cjsonpeers_rapidjson_sse42_written
            case "yyjson": cjsonpeers_yyjson_written
            default: nil
            }
        })

    /// Compiles the sources of the peers with g++ into a library and loads it.
    private static func compiledByGCC() -> NativePeers? {
        let sources = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../CJSONPeers")
            .standardizedFileURL
        let files = (try? FileManager.default.contentsOfDirectory(atPath: sources.path)) ?? []
        let library = FileManager.default.temporaryDirectory.appending(path: "benchmarks-\(getpid())-peers.so")
        defer { try? FileManager.default.removeItem(at: library) }
        let level = isOptimized ? ["-O3", "-march=native"] : ["-O0", "-mavx2", "-mbmi", "-mpclmul", "-mlzcnt"]
        let libraries = ["simdjson", "yyjson"].filter { FileManager.default.fileExists(atPath: "/usr/include/\($0).h") }
        // -Bsymbolic is needed because the loader otherwise takes templates from the clang build, which is already
        // loaded.
        let options = ["-DNDEBUG", "-std=c++17", "-shared", "-fPIC", "-fno-gnu-unique", "-Wl,-Bsymbolic"]
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments =
            ["g++"] + level + options + ["-I\(sources.path)/include"]
            + files.filter { $0.hasSuffix(".cpp") }.sorted().map { "\(sources.path)/\($0)" }
            + ["-o", library.path] + libraries.map { "-l\($0)" }
        process.standardError = FileHandle.nullDevice
        do { try process.run() } catch { return nil }
        process.waitUntilExit()
        guard process.terminationStatus == 0, let handle = dlopen(library.path, RTLD_NOW | RTLD_LOCAL) else {
            print("skipped: the peers as g++ builds them; there is no g++, or it cannot")
            return nil
        }
        func symbol<Value>(_ name: String, as type: Value.Type) -> Value? {
            dlsym(handle, "cjsonpeers_\(name)").map { unsafeBitCast($0, to: type) }
        }
        typealias Name = @convention(c) () -> UnsafePointer<CChar>
        typealias Has = @convention(c) () -> Bool
        guard let name = symbol("compiler", as: Name.self)?() else { return nil }
        return NativePeers(
            compiler: String(cString: name) + " " + level[0], has: { symbol("has_\($0)", as: Has.self)?() ?? false },
            find: { symbol($0, as: Function.self) }, findText: { symbol("\($0)_written", as: Text.self) })
    }
}

/// An array for the peers, together with the strings that its elements point to.
final class NativeInput<Element> {
    private(set) var elements: [Element] = []
    private var texts: [UnsafeMutablePointer<CChar>] = []
    var count: Int { elements.count }

    /// Makes an element for each value. The closure `copy` copies a string. The copies live as long as the array.
    init<Value>(_ values: [Value], _ element: (_ value: Value, _ copy: (String) -> cjsonpeers_string) -> Element) {
        elements = values.map { value in
            element(value) { text in
                guard let copy = strdup(text) else { return cjsonpeers_string() }
                texts.append(copy)
                return cjsonpeers_string(text: copy, length: text.utf8.count)
            }
        }
    }

    deinit { for text in texts { free(text) } }
}
