import ArgumentParser
@testable import GreenroomCommands
import Glibc
import GreenroomControl
import Testing

@Suite struct `The command line` {
    /// With UPDATE_SNAPSHOTS=1 the snapshot becomes what is printed now.
    @Test func `the help text equals the snapshot`() throws {
        var text = Greenroomctl.helpMessage(columns: 80) + "\n"
        for verb in Greenroomctl.configuration.subcommands {
            // Each verb sets its name, because deriving it from the type took half of a command's
            // time.
            let name = try #require(verb.configuration.commandName, "\(verb)")
            text += "\n===== \(name)\n"
            text += Greenroomctl.helpMessage(for: verb, columns: 80) + "\n"
        }
        let path = #filePath.split(separator: "/").dropLast().reduce("") { $0 + "/" + $1 }
        let snapshot = path + "/Snapshots/help.txt"
        if getenv("UPDATE_SNAPSHOTS") != nil {
            let file = fopen(snapshot, "w")
            fputs(text, file)
            fclose(file)
        }
        #expect(try String(decoding: ManifestFile.read(snapshot), as: UTF8.self) == text)
    }

    @Test(arguments: [
        ["lunch"], ["kill"], ["kill", "a.b", "--instance", "1"], ["kill", "--instance", "x"],
        ["status", "a.b", "--instance", "1"], ["prewarm", "a.b", "--count", "0"],
        ["prewarm", "a.b", "--count", "17"], ["launch"], ["launch", "a.b", "--env", "X"],
        ["launch", "a.b", "--env", "=X"], ["launch", "a.b", "--env", "A=1", "--env", "A=2"],
        ["run", "a.b", "argument"], ["run", "a.b", "-i"], ["verify"], ["reload", "a.b"],
    ])
    func `wrong usage ends with status 64`(words: [String]) {
        let error = #expect(throws: (any Error).self) { try Greenroomctl.parseAsRoot(words) }
        #expect(error.map { Greenroomctl.exitCode(for: $0) } == .validationFailure)
    }

    @Test func `arguments after two dashes are not read as options`() throws {
        let command = try Greenroomctl.parseAsRoot([
            "run", "a.b", "--env", "A=1=2", "--env", "B=", "--", "-i", "--", "x y",
        ])
        let call = try #require(command as? Run).launch.call(app: "a.b")
        #expect(call.arguments == ["-i", "--", "x y"])
        #expect(call.environment.map(\.assignment) == ["A=1=2", "B="])
        let again = try #require(command as? Run).launch.call(app: "a.b")
        #expect(call.launchIdentifier != again.launchIdentifier)
        #expect((call.launchIdentifier?.utf8.count ?? 100) <= 64)
    }
}
