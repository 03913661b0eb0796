import AppFolders
import DesktopEntry
import Glibc
import GreenroomLinux

extension Caller {
    /// The variables of environ(7), by name.
    static var variables: [String: String] { SearchPath.variables(of: environment()) }

    /// The absolute path of a file, for processes in other directories. Any other text stays as it
    /// is.
    static func absolute(_ file: String) -> String {
        guard !file.hasPrefix("/"), !FileURL.hasScheme(file), FileStatus(path: file) != nil,
            let directory = currentPath()
        else { return file }
        return directory == "/" ? "/" + file : directory + "/" + file
    }

    /// Removes a folder of a measurement, even if the signal that has ended the measurement comes again.
    static func remove(_ folder: String) {
        _ = run("/bin/rm", ["rm", "-rf", "--", folder], isQuiet: true, keepsMask: true)
    }

    /// Runs a program with this process's terminal and environment, and waits (posix_spawn(3)).
    /// - Parameters:
    ///   - isQuiet: whether its output is discarded.
    ///   - keepsMask: whether signals that this process blocks do not interrupt the program either.
    /// - Returns: its exit status; 127 if it cannot be started, 128 + N if signal N ended it.
    static func run(
        _ path: String, _ arguments: [String], isQuiet: Bool = false, keepsMask: Bool = false
    ) -> Int32 {
        var words: [UnsafeMutablePointer<CChar>?] = unsafe arguments.map { unsafe strdup($0) }
        unsafe words.append(nil)
        defer { unsafe words.forEach { unsafe free($0) } }
        var child: pid_t = 0
        var files = unsafe posix_spawn_file_actions_t()
        unsafe posix_spawn_file_actions_init(&files)
        defer { unsafe posix_spawn_file_actions_destroy(&files) }
        for output in isQuiet ? [STDOUT_FILENO, STDERR_FILENO] : [] {
            unsafe posix_spawn_file_actions_addopen(&files, output, "/dev/null", O_WRONLY, 0)
        }
        // This process may block the signals that it waits for.
        var attributes = posix_spawnattr_t()
        unsafe posix_spawnattr_init(&attributes)
        defer { unsafe posix_spawnattr_destroy(&attributes) }
        var none = sigset_t()
        unsafe sigemptyset(&none)
        unsafe posix_spawnattr_setsigmask(&attributes, &none)
        unsafe posix_spawnattr_setflags(&attributes, keepsMask ? 0 : Int16(POSIX_SPAWN_SETSIGMASK))
        guard unsafe posix_spawn(&child, path, &files, &attributes, &words, environ) == 0 else {
            return 127
        }
        var status: CInt = 0
        while unsafe waitpid(child, &status, 0) < 0 {
            guard errno == EINTR else { return 127 }
        }
        // WIFEXITED and WEXITSTATUS (wait(2)) are macros.
        return status & 0x7f == 0 ? (status >> 8) & 0xff : 128 + (status & 0x7f)
    }
}
