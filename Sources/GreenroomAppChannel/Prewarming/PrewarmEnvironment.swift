/// The environment, and the number of the channel's descriptor, with which a process is prewarmed.
///
/// The shim removes all of it before the program's own code runs.
public enum PrewarmEnvironment {
    public static let channelName = "GREENROOM_CHANNEL"
    public static let executableName = "GREENROOM_EXECUTABLE"
    /// With the value `call`, the program itself decides when it pauses. With `x11`, a program is held
    /// at its first window only if it is no client of a Wayland compositor.
    public static let pauseName = "GREENROOM_PAUSE"
    /// How many bytes the process has written before it executes the program. Whatever it has
    /// written beyond that at its pause comes from its dynamic linker or its libraries.
    public static let writtenName = "GREENROOM_WRITTEN"
    /// The name that the process gets instead of that of its executable (proc_pid_comm(5)).
    public static let processNameName = "GREENROOM_NAME"
    /// The libraries to open before the pause: absolute paths, separated by colons.
    public static let librariesName = "GREENROOM_LIBRARIES"
    /// With the value `1`, the process announces each library that it opens. Only a daemon that
    /// knows the announcement asks for it: an older daemon would end the process because of it.
    public static let announcesName = "GREENROOM_ANNOUNCES"
    public static let preloadName = "LD_PRELOAD"

    /// The number of the channel's descriptor. Programs rely on their first descriptor being 3, so
    /// the channel gets the highest number that the soft limit on open files and select(2) allow.
    /// - Parameter softLimit: the soft `RLIMIT_NOFILE` that the process will have.
    public static func channelDescriptor(softLimit: UInt64) -> Int32 {
        Int32(clamping: min(softLimit, 1024)) - 1
    }

    /// The entries to add, and ``preloadName`` to replace, in the prewarm's environment.
    /// - Parameters:
    ///   - shim: the path of `libgreenroom-prewarm.so`.
    ///   - userPreload: the app's own `LD_PRELOAD`, which is put after the shim.
    ///   - descriptor: the channel's number in the new process.
    ///   - socketInode: `st_ino` of the process's end of the socketpair.
    ///   - executable: the resolved path of the only executable that is to pause; for a script, its
    ///     last interpreter. If nil, the first executable with a C library pauses.
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
