import GreenroomManifest
import Testing

/// The daemon without a key does what the manual and the shipped configuration call its default.
@Suite struct `The defaults that are documented` {
    @Test func `the manual states the defaults of the configuration`() throws {
        let text = try documented("greenroom.conf.5").map { "\($0.key)=\($0.value)\n" }.joined()
        let read = DaemonConfiguration.parse("[Greenroom]\n" + text, file: "greenroom.conf")
        #expect(read.configuration == DaemonConfiguration(), "\(text)\(read.diagnostics)")
        let names = try ManualPage("greenroom.conf.5").tags(section: "KEYS")
        #expect(text.split(separator: "\n").count == names.count { !$0.contains("Groups=") })
    }

    @Test func `the manual states the defaults that the shipped greenroom.conf shows`() throws {
        let file = try readFile(ManualPage.folder + "/../../../config/greenroom.conf")
        let shown = file.split(separator: "\n").filter { $0.wholeMatch(of: /#\w+=\S*/) != nil }
            .map { $0.dropFirst() }
        let read = DaemonConfiguration.parse(
            "[Greenroom]\n" + shown.joined(separator: "\n"), file: "greenroom.conf")
        #expect(read.configuration == DaemonConfiguration(), "\(shown)\(read.diagnostics)")
        let keys = Set(shown.map { String($0.prefix { $0 != "=" }) })
        let names = try ManualPage("greenroom.conf.5").tags(section: "KEYS")
            .map { String($0.prefix { $0 != "=" }) }
        #expect(keys.symmetricDifference(names).sorted() == [])
    }

    /// The lines that a section needs before its keys have an effect.
    private static let kit = "Type=application-kit\n"
    private static let beginnings = [
        "App": "", "Application": kit + "[Application]\n",
        "LaunchScreen": kit + "[LaunchScreen]\nDefault=/usr/share/a\n",
        "Path": kit + "[Path]\nPathExists=/run/a\n",
        "Socket": kit + "[Socket]\nListenStream=/run/a\n",
        "Supervision": "[Supervision]\nRestart=always\n",
    ]

    @Test func `the manual states the defaults of a manifest`() throws {
        var count = 0
        // (The defaults of timers are tested with the timers.)
        for (section, key, value) in try documented("greenroom.app.5") where section != "Timer" {
            let base = "[App]\nExec=/bin/true\n" + (Self.beginnings[section] ?? "[\(section)]\n")
            let (plain, faults) = AppManifest.parse(base, file: "a.b.app")
            let read = AppManifest.parse(base + "\(key)=\(value)\n", file: "a.b.app")
            try #require(plain != nil, "\(faults)")
            var manifest = read.manifest
            manifest?.sandbox.settings = plain?.sandbox.settings ?? []
            let isDefault = manifest == plain
            #expect(isDefault, "[\(section)] \(key)=\(value): \(read.diagnostics)")
            count += 1
        }
        #expect(count > 25)
    }

    /// The defaults that the page gives as literal values, not as "the identifier" or another
    /// key's.
    private func documented(
        _ name: String
    ) throws -> [(section: String, key: String, value: String)] {
        let source = try ManualPage(name).source
        let keys = source.split(separator: "\n.SH ").first { $0.hasPrefix("KEYS") } ?? ""
        var found: [(String, String, String)] = []
        for part in keys.split(separator: "\n.SS ").dropFirst() {
            let section = part.dropFirst().prefix { $0 != "]" }
            for paragraph in part.split(separator: "\n.TP\n").dropFirst() {
                let lines = paragraph.split(separator: "\n")
                let names = lines.filter { $0.hasPrefix(".BI ") && $0.contains("=") }
                    .map { $0.dropFirst(4).prefix { $0 != "=" } }
                let text = lines.filter { !$0.hasPrefix(".") }.joined(separator: " ")
                for (key, value) in zip(names, Self.defaults(in: text)) {
                    found.append((String(section), String(key), value))
                }
            }
        }
        return found
    }

    private static func defaults(in text: String) -> [String] {
        let number =
            #/(?i)defaults?: (yes|no|none|auto|infinity|\d[\w]*)(?: (?:and|in|within) (\d\w*))?[.,]/#
        guard let match = text.firstMatch(of: number), match.1 != "none" else { return [] }
        return [String(match.1)] + (match.2.map { [String($0)] } ?? [])
    }
}
