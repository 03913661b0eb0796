@testable import GreenroomManifest
@testable import GreenroomSupervisor
import Testing

@Suite struct `The manual of files` {
    @Test func `the manual has every key of a manifest, and no other`() throws {
        try compare("greenroom.app.5", KnownKeys.ofManifest)
    }

    @Test func `the manual has every key of the configuration, and no other`() throws {
        try compare("greenroom.conf.5") { text in
            var reader = SectionReader(Array(text.utf8), file: "greenroom.conf")
            var configuration = DaemonConfiguration()
            configuration.read(&reader)
            return reader.keysBySection
        }
    }

    @Test func `the manual has every variable that must be equal`() throws {
        let page = try ManualPage("greenroom.app.5").source
        let start = try #require(page.firstRange(of: ".SS What must be equal")).upperBound
        let end = try #require(page[start...].firstRange(of: ".SS ")).lowerBound
        let words = Set(
            page[start..<end].split { !$0.isLetter && !$0.isNumber && $0 != "_" })
        for name in PoolEnvironment.names.union(PoolEnvironment.families) {
            #expect(words.contains(name), "\(name) must be named under What must be equal")
        }
    }

    /// The reader gets all keys that the page names, so that it reads every section that it knows.
    private func compare(
        _ name: String, _ known: (String) -> [String: Set<String>]
    ) throws {
        var documented: [String: Set<String>] = [:]
        for entry in try ManualPage(name).tags where entry.section == "KEYS" {
            let section = String(entry.subsection.dropFirst().dropLast())
            let key = String(entry.tag.prefix { $0 != "=" })
            #expect(
                documented[section, default: []].insert(key).inserted,
                "\(name) has \(key)= in [\(section)] twice")
        }
        var text = ""
        for (section, keys) in documented {
            text += "[\(section)]\n" + keys.map { $0 + "=\n" }.joined()
        }
        let known = known(text)
        for section in Set(documented.keys).union(known.keys) {
            let (parser, page) = (known[section] ?? [], documented[section] ?? [])
            #expect(
                parser.subtracting(page).sorted() == [],
                "keys of [\(section)] that \(name) must describe, each with a line \".BI Key= …\"")
            #expect(
                page.subtracting(parser).sorted() == [],
                "keys of [\(section)] in \(name) that the parser does not know")
        }
    }
}
