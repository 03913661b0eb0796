import Glibc
import TestSupport
import Testing

/// The code in the documentation is compiled somewhere, and the tests that the documentation names
/// exist.
@Suite struct ArticleTests {
    private static let articles = "\(packageRoot)/Sources/ApplicationKit/ApplicationKit.docc"

    private static func files(below folder: String, suffix: String) -> [String] {
        guard let directory = opendir(folder) else { return [] }
        defer { closedir(directory) }
        var files: [String] = []
        while let entry = readdir(directory) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) {
                String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
            }
            if name.hasPrefix(".") { continue }
            if name.hasSuffix(suffix) { files.append("\(folder)/\(name)") }
            files += Self.files(below: "\(folder)/\(name)", suffix: suffix)
        }
        return files
    }

    /// The lines without blanks at their ends, which depend on where the code is.
    private static func lines(_ text: some StringProtocol) -> [String] {
        text.split(separator: "\n").map { line in
            var line = line.drop { $0 == " " }
            while line.last == " " { line.removeLast() }
            return String(line)
        }
    }

    private static func text(_ path: String) throws -> String {
        String(decoding: try readFile(path), as: UTF8.self)
    }

    @Test func `the code in the articles is compiled in a sample or a test`() throws {
        let folders = ["Sources/Samples", "Tests/Probes"]
        let sources = try folders.flatMap {
            Self.files(below: "\(packageRoot)/\($0)", suffix: ".swift")
        }
        .map { "\n" + Self.lines(try Self.text($0)).joined(separator: "\n") + "\n" }
        var count = 0
        for article in Self.files(below: Self.articles, suffix: ".md") {
            for block in try Self.text(article).split(separator: "```swift\n").dropFirst() {
                let code = Self.lines(block[..<block.firstRange(of: "\n```")!.lowerBound])
                    .joined(separator: "\n")
                count += 1
                let isCompiled = sources.contains { $0.contains("\n\(code)\n") }
                #expect(
                    isCompiled,
                    "\(article) has code that nobody compiles:\n\(code)")
            }
        }
        #expect(count >= 10)
    }

    @Test func `every test that the table of sentences names exists`() throws {
        // A function's name after any number of blanks; the name of a suite is not enough.
        let tests = try Self.files(below: "\(packageRoot)/Tests", suffix: ".swift")
            .map(Self.text).joined().split { $0 == " " || $0 == "\n" }.joined(separator: " ")
        let table = try Self.text("\(Self.articles)/SentencesAndTests.md")
        var count = 0
        for row in table.split(separator: "\n") where row.hasPrefix("| ") {
            let isHeading = row.hasPrefix("| Article |")
            #expect(isHeading || row.contains("“"), "no test: \(row)")
            #expect(!row.contains("*") || row.contains("“"), "not checked: \(row)")
            for part in row.split(separator: "“").dropFirst() {
                let name = part.prefix { $0 != "”" }
                let exists = tests.contains("func `\(name)`")
                #expect(exists, "no test is called \(name)")
                count += 1
            }
        }
        #expect(count > 110, "the table is read wrongly")
    }
}
