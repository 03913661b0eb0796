/// Where the daemon's spawner is found, and how one is started.
struct SpawnerSource: Sendable {
    let runtimeDirectory: String
    /// The spawner's program.
    let program: String
    /// Whether the daemon starts a spawner if there is none. Otherwise systemd does.
    let mayStart: Bool
}
