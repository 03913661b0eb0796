import ArgumentParser
import GreenroomControl

/// What `launch` and `run` share.
struct LaunchOptions: ParsableArguments {
    @Argument(help: "The app.")
    var app: String

    @Option(
        name: .customLong("env"),
        help: ArgumentHelp("Add to the environment; may be repeated.", valueName: "name=value"))
    var environment: [String] = []

    @Argument(parsing: .postTerminator, help: "The program's arguments, after \"--\".")
    var arguments: [String] = []

    mutating func validate() throws {
        var names: Set<String> = []
        for assignment in environment {
            guard let name = variable(assignment)?.name else {
                throw ValidationError("--env takes NAME=VALUE, not \"\(assignment)\".")
            }
            guard names.insert(name).inserted else {
                throw ValidationError("--env names \(name) twice.")
            }
        }
    }

    private func variable(_ assignment: String) -> Control.EnvironmentVariable? {
        guard let equals = assignment.utf8.firstIndex(of: UInt8(ascii: "=")),
            equals > assignment.startIndex
        else { return nil }
        return .init(
            name: String(assignment[..<equals]),
            value: String(assignment[assignment.index(after: equals)...]))
    }

    /// The call of it, with a name of its own, so that it can be repeated after a lost connection
    /// without launching twice.
    func call(app: String) -> Control.LaunchCall {
        var call = Control.LaunchCall(app: app)
        call.arguments = arguments
        call.environment = environment.compactMap(variable)
        var random = SystemRandomNumberGenerator()
        call.launchIdentifier =
            String(random.next(), radix: 36) + "-" + String(random.next(), radix: 36)
        return call
    }
}
