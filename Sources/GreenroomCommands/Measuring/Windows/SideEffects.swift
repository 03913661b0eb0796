/// What a program has done before its window.
struct SideEffects: Hashable {
    /// Files in its home, relative to the home.
    var files: [String] = []
    /// Whether all files were looked at.
    var areFilesComplete = true
    /// Files in the folders of its session and for temporary files, each with the variable that names
    /// its folder. They are no reason not to hold the program: they end with the session, and many
    /// programs make some.
    var temporaryFiles: [String] = []
    /// Names on the bus of its session.
    var names: [String] = []
    /// Its internet sockets, and the hosts that it has reached or asked for, each with its protocol.
    var connections: [String] = []

    /// The files that matter to others: settings and the like, but not caches.
    var visibleFiles: [String] { files.filter { !$0.hasPrefix(".cache/") } }
}
