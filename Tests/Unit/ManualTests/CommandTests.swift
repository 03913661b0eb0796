import ArgumentParser
@testable import GreenroomCommands
import GreenroomSpawner
import GreenroomSupervisor
import Testing

@Suite struct `The manual of programs` {
    @Test func `the manual has every verb of the client, and no other`() throws {
        let page = try ManualPage("greenroomctl.1")
        let documented = page.subsections(of: "VERBS").map(Self.firstWord)
        #expect(Set(documented) == Set(Self.verbs.map(\.name)))
        #expect(Set(documented).count == documented.count)
    }

    @Test func `the manual has every option of every verb, and no other`() throws {
        let page = try ManualPage("greenroomctl.1")
        let common = Self.options(in: page.tags(section: "COMMON OPTIONS"))
        var used: Set<String> = []
        for verb in Self.verbs {
            let heading = page.subsections(of: "VERBS").first { Self.firstWord($0) == verb.name }
            let documented = Self.options(
                in: page.tags(section: "VERBS", subsection: heading ?? ""))
            let known = Self.options(ofHelp: verb.help)
            used.formUnion(known.intersection(common))
            #expect(
                known.subtracting(common) == documented,
                "options of \(verb.name): the program's, and those of greenroomctl.1")
        }
        #expect(used == common, "options of the program, and COMMON OPTIONS")
    }

    @Test func `the manual has every exit status of the client, and no other`() throws {
        let documented = try ManualPage("greenroomctl.1").tags(section: "EXIT STATUS")
        #expect(documented == ExitStatus.allCases.map { String($0.rawValue) })
    }

    @Test func `the manual has every option of the daemon and the spawner, and no other`() throws {
        for (name, help) in [
            ("greenroomd.8", Options.help), ("greenroom-spawner.8", SpawnerOptions.usage),
        ] {
            let documented = Self.options(in: try ManualPage(name).tags(section: "OPTIONS"))
            #expect(documented == Self.options(ofHelp: help), "\(name)")
        }
    }

    @Test(arguments: ManualPage.all) func `every page names this version`(name: String) throws {
        let module = try readFile(ManualPage.folder + "/../../Python/greenroom_app.py")
        #expect(module.contains("__version__ = \"\(Options.version)\""))
        #expect(try ManualPage(name).source.contains("\"Greenroom \(Options.version)\""))
    }

    private static var verbs: [(name: String, help: String)] {
        var verbs: [(name: String, help: String)] = []
        for verb in Greenroomctl.configuration.subcommands
        where verb.configuration.shouldDisplay {
            let own = verb.configuration.subcommands.filter { $0.configuration.shouldDisplay }
            let texts = ([verb] + own).map { Greenroomctl.helpMessage(for: $0, columns: 80) }
            verbs.append((verb._commandName, texts.joined(separator: "\n")))
        }
        return verbs
    }

    private static func firstWord(_ text: String) -> String {
        text.split(separator: " ").first.map(String.init) ?? ""
    }

    private static func options(in tags: [String]) -> Set<String> {
        Set(tags.flatMap { $0.matches(of: /--[a-z][a-z-]*/).map { String($0.output) } })
    }

    /// The options at the beginnings of lines; explanations name other verbs' options.
    private static func options(ofHelp help: String) -> Set<String> {
        let lines = help.split(separator: "\n").filter { $0.contains(/^ +(-[a-zA-Z], )?--/) }
        return options(
            in: lines.map {
                String($0.drop { $0 == " " }.prefix(while: { $0 != "\t" }))
                    .split(separator: "  ").first.map(String.init) ?? ""
            })
    }
}
