internal import GreenroomLinux

/// Which program a process is to pause in.
///
/// A wrong answer would run the program for real, which nobody asked for. So the program is
/// determined just before the process starts, with the PATH that the process gets.
struct PausedProgram {
    /// The real path of the executable, as the process will see its own.
    let path: String
    /// The executable's path as it was named, perhaps a symbolic link: this path leads an
    /// interpreter to the virtual environment that it belongs to.
    let namedPath: String
    /// How many programs the process executes until it is this one: one, and one more for each
    /// `env` before it.
    let executions: UInt32

    /// - Returns: nil if the PATH leads to no program, or to one that cannot be paused.
    init?(of app: InstalledApp, environment: [String]) {
        guard app.isFoundByPath else {
            path = app.program.pausedPath
            namedPath = Self.named(app.program.fingerprint) ?? path
            executions = Self.executions(app.program.fingerprint)
            return
        }
        let given = ProgramName.searchPath(of: environment)
        let searchPath =
            app.identity.changesUser ? Self.harmless(given, app.environment.searchPath) : given
        guard
            let facts = try? ExecutableInspection.inspect(
                path: app.program.path, searchPath: searchPath),
            facts.eligibility == .eligible
        else { return nil }
        path = facts.executable
        namedPath = Self.named(facts.files) ?? path
        executions = Self.executions(facts.files)
    }

    /// How the program is started as an interpreter. Nil if the PATH leads to another interpreter
    /// than it did when the manifest was read: such an instance pauses before main, and the core is
    /// told so.
    func start(of app: InstalledApp) -> RuntimeStart? {
        guard let start = app.program.depth.start else { return nil }
        let isKnown = path == app.program.pausedPath || Runtime(executable: path) == start.runtime
        return isKnown ? start : nil
    }

    private static func named(_ files: [InspectedFile]) -> String? {
        files.last { $0.role == .executable }?.path
    }

    private static func executions(_ files: [InspectedFile]) -> UInt32 {
        1 + UInt32(files.count { $0.role == .wrapper })
    }

    /// The beginning of the given PATH, as long as it consists of the app's own and the system's
    /// directories. Looking into another user's directory could take for ever, for example if it is
    /// mounted through fuse(4).
    private static func harmless(_ given: String, _ own: String) -> String {
        let known = Set((own + ":" + system).split(separator: ":"))
        return given.split(separator: ":").prefix { known.contains($0) }.joined(separator: ":")
    }

    private static let system =
        "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/usr/local/games:/usr/games"
}
