import ArgumentParser
import GreenroomControl

/// The options of `run`.
struct LaunchOptions: ParsableArguments {
    @Argument(help: "The app.", completion: Candidates.apps)
    var app: String

    @Option(
        name: .customLong("env"),
        help: ArgumentHelp("Set this variable; may be repeated.", valueName: "name=value"))
    var environment: [String] = []

    // The parser gets no words after "--" (`CommandWords.own`).
    @Argument(
        parsing: .postTerminator, help: "The program's arguments, after \"--\".",
        completion: .file())
    var arguments: [String] = []

    mutating func validate() throws { try Self.check(environment) }

    static func check(_ environment: [String]) throws {
        var names: Set<ByteString> = []
        for assignment in environment {
            guard let name = Control.EnvironmentVariable(assignment: .text(assignment))?.name else {
                throw ValidationError("--env takes NAME=VALUE, not \"\(assignment)\".")
            }
            guard names.insert(name).inserted else {
                throw ValidationError("--env names \(name.shown) twice.")
            }
        }
    }

    var environmentBytes: [ByteString] {
        CommandWords.originals(of: environment, option: "--env")
    }
    var argumentBytes: [ByteString] {
        arguments.map { .text($0) } + CommandWords.behindTerminator
    }

    func call(app: String) -> Control.LaunchCall {
        Control.LaunchCall(
            repeatable: app, environment: AttachedRun.variables(environmentBytes) ?? [],
            arguments: argumentBytes)
    }
}
