import Glibc
import GreenroomLinux

/// Starts programs directly, as a shell does (posix_spawn(3)).
enum MeasuredProcess {
    /// POSIX_SPAWN_SETSID, which glibc's spawn.h shows only with _GNU_SOURCE.
    private static let setSession: Int16 = 0x80

    /// - Parameters:
    ///   - output: a file for standard output and standard error, or nil for `pipe`.
    ///   - pipe: the writing end of a pipe for standard output.
    /// - startsSession: whether the program loses the terminal (setsid(2)). A program of another
    ///   user could otherwise type into this user's shell (TIOCSTI).
    static func spawn(
        _ path: String, _ words: [String], environment: [String], output: String? = nil,
        pipe: CInt? = nil, startsSession: Bool = false
    ) throws(SystemError) -> pid_t {
        var arguments: [UnsafeMutablePointer<CChar>?] = unsafe words.map { unsafe strdup($0) }
        unsafe arguments.append(nil)
        var variables: [UnsafeMutablePointer<CChar>?] = unsafe environment.map { unsafe strdup($0) }
        unsafe variables.append(nil)
        defer { unsafe (arguments + variables).forEach { unsafe free($0) } }
        var files = unsafe posix_spawn_file_actions_t()
        unsafe posix_spawn_file_actions_init(&files)
        defer { unsafe posix_spawn_file_actions_destroy(&files) }
        unsafe posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0)
        if let output {
            unsafe posix_spawn_file_actions_addopen(
                &files, 1, output, O_WRONLY | O_CREAT | O_APPEND, 0o600)
            unsafe posix_spawn_file_actions_adddup2(&files, 1, 2)
        } else if let pipe {
            unsafe posix_spawn_file_actions_adddup2(&files, pipe, 1)
            unsafe posix_spawn_file_actions_addopen(&files, 2, "/dev/null", O_WRONLY, 0)
        }
        // This process blocks the signals that it waits for.
        var attributes = posix_spawnattr_t()
        unsafe posix_spawnattr_init(&attributes)
        defer { unsafe posix_spawnattr_destroy(&attributes) }
        let flags =
            Int16(POSIX_SPAWN_SETSIGMASK) | (startsSession ? setSession : 0)
        var none = sigset_t()
        unsafe sigemptyset(&none)
        unsafe posix_spawnattr_setsigmask(&attributes, &none)
        unsafe posix_spawnattr_setflags(&attributes, flags)
        var process: pid_t = 0
        let error = unsafe posix_spawn(
            &process, path, &files, &attributes, &arguments, &variables)
        guard error == 0 else { throw SystemError(code: error, call: "starting", subject: path) }
        return process
    }
}
