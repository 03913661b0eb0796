/// What a process needs in its environment, and at which descriptor number, to be prewarmed.
///
/// The shim removes all of it before the program's own code runs.
public enum PrewarmEnvironment {
    public static let channelName = "GREENROOM_CHANNEL"
    public static let executableName = "GREENROOM_EXECUTABLE"
    /// With the value `call`: the program says itself when it pauses.
    public static let pauseName = "GREENROOM_PAUSE"
    public static let preloadName = "LD_PRELOAD"

    /// Programs rely on their first descriptor being 3, so the channel's is the highest one that
    /// the soft limit of open files allows, capped where `select(2)` ends.
    /// - Parameter softLimit: the soft `RLIMIT_NOFILE` the process will have.
    public static func channelDescriptor(softLimit: UInt64) -> Int32 {
        Int32(clamping: min(softLimit, 1024)) - 1
    }

    /// The entries to add, and ``preloadName`` to replace, in the prewarm's environment.
    /// - Parameters:
    ///   - shim: path of `libgreenroom-prewarm.so`.
    ///   - userPreload: the app's own `LD_PRELOAD`, kept behind ours.
    ///   - descriptor: the channel's number in the new process.
    ///   - socketInode: `st_ino` of the process's end of the socketpair.
    ///   - executable: the resolved path of the one executable that shall pause: for a script, its
    ///     last interpreter. Nil pauses the first one with a C library.
    public static func entries(
        shim: String, userPreload: String?, descriptor: Int32, socketInode: UInt64,
        executable: String?
    ) -> [String] {
        let preload = userPreload.map { $0.isEmpty ? shim : "\(shim):\($0)" } ?? shim
        var entries = [
            "\(preloadName)=\(preload)", "\(channelName)=\(descriptor):\(socketInode)",
        ]
        if let executable { entries.append("\(executableName)=\(executable)") }
        return entries
    }
}
