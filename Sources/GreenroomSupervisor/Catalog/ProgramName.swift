internal import GreenroomLinux

/// What a manifest calls its program, and where `env` in the program's first line looks for the next:
/// the same name can be another program for another user.
struct ProgramName: Hashable {
    var name: String
    /// PATH of the process that is to run it.
    var searchPath: String

    /// Of a process with this environment (execvp(3)).
    static func searchPath(of environment: [String]) -> String {
        environment.first { $0.hasPrefix("PATH=") }.map { String($0.dropFirst(5)) }
            ?? "/bin:/usr/bin"
    }
}

extension InstalledApp {
    var programName: ProgramName { ProgramName(name: arguments[0], searchPath: searchPath) }

    /// `env` looks it up at each start: in another PATH, or later, it may find another.
    var isFoundByPath: Bool { fingerprint.contains { $0.role == .wrapper } }
}
