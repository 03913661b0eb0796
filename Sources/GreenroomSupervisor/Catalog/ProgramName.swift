internal import GreenroomLinux

/// The name that a manifest gives its program, and the PATH in which the program is searched for,
/// also by `env` in a script's first line. The same name can mean another program for another user.
struct ProgramName: Hashable {
    var name: String
    /// The PATH of the process that will run the program.
    var searchPath: String

    /// The search path of a process with this environment (execvp(3)).
    static func searchPath(of environment: [String]) -> String {
        environment.first { $0.hasPrefix("PATH=") }.map { String($0.dropFirst(5)) }
            ?? "/bin:/usr/bin"
    }
}

extension InstalledApp {
    var programName: ProgramName {
        ProgramName(name: command.arguments[0], searchPath: environment.searchPath)
    }

    /// True if `env` looks the program up at each start. In another PATH, or later, `env` may find
    /// another program.
    var isFoundByPath: Bool { program.fingerprint.contains { $0.role == .wrapper } }
}
