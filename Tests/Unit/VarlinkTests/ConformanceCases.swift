import Glibc
import TestSupport
import Testing
import Varlink

/// The cases that JSON parsers are commonly compared with, written for this test: files of the
/// fuzzer's corpus whose names begin with `y_` must be read, those with `n_` refused.
@Suite struct `JSON conformance cases` {
    private static let directory = packageRoot + "/Tests/Suites/fuzz/corpus/json"

    private static func cases(_ prefix: String) throws -> [(name: String, bytes: [UInt8])] {
        let stream = try #require(opendir(directory))
        defer { closedir(stream) }
        var names: [String] = []
        while let entry = readdir(stream) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) {
                String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
            }
            if name.hasPrefix(prefix) { names.append(name) }
        }
        return try names.sorted().map { ($0, try contents(of: directory + "/" + $0)) }
    }

    private static func contents(of path: String) throws -> [UInt8] {
        let file = try #require(fopen(path, "r"))
        defer { fclose(file) }
        var bytes = [UInt8](repeating: 0, count: 1 << 20)
        return Array(bytes[..<fread(&bytes, 1, bytes.count, file)])
    }

    @Test func `valid texts are read, and stay the same when written and read again`() throws {
        let cases = try Self.cases("y_")
        #expect(cases.count > 50)
        for (name, bytes) in cases {
            let value = try #require(
                try? JSONValue(parsing: bytes.span), "\(name) is refused")
            var writer = JSONWriter()
            writer.value(value)
            #expect(try JSONValue(parsing: writer.bytes.span) == value, "\(name)")
        }
    }

    @Test func `invalid texts are refused`() throws {
        let cases = try Self.cases("n_")
        #expect(cases.count > 100)
        for (name, bytes) in cases {
            #expect(throws: JSONSyntaxError.self, "\(name) is read") {
                try JSONValue(parsing: bytes.span)
            }
        }
    }
}
