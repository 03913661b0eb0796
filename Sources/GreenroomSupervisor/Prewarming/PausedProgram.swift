internal import GreenroomLinux

/// Which program is waited for in a process that is to pause.
///
/// A wrong answer is a real run that nobody asked for: what the process becomes is found out just
/// before, with the PATH that it gets.
struct PausedProgram {
    /// Real path of the executable, as the process will see its own.
    let path: String
    /// How often the process executes a program until it is this one: once, and once for each `env` on the way.
    let executions: UInt32

    /// - Returns: nil if there is none in that PATH, or none that can be paused.
    init?(of app: InstalledApp, environment: [String]) {
        guard app.isFoundByPath else {
            path = app.pausedExecutablePath
            executions = Self.executions(app.fingerprint)
            return
        }
        let given = ProgramName.searchPath(of: environment)
        let searchPath = app.changesUser ? Self.harmless(given, app.searchPath) : given
        guard
            let facts = try? ExecutableInspection.inspect(
                path: app.executablePath, searchPath: searchPath),
            facts.eligibility == .eligible
        else { return nil }
        path = facts.executable
        executions = Self.executions(facts.files)
    }

    private static func executions(_ files: [InspectedFile]) -> UInt32 {
        1 + UInt32(files.count { $0.role == .wrapper })
    }

    /// As far as it consists of the system's directories: to look into another user's could take for ever
    /// (one that is mounted through fuse(4), say).
    private static func harmless(_ given: String, _ own: String) -> String {
        let known = Set((own + ":" + system).split(separator: ":"))
        return given.split(separator: ":").prefix { known.contains($0) }.joined(separator: ":")
    }

    private static let system =
        "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/usr/local/games:/usr/games"
}
