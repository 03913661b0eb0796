internal import AppFolders
internal import Glibc
internal import GreenroomControl
internal import GreenroomLinux

/// The directory of everything that outlives a boot.
enum StateDirectory {
    /// Makes the directory and those above it that are missing. Rooms make their own folders in it.
    ///
    /// - Returns: for clients, why nothing can be kept there; nil if it can.
    static func make(_ path: String) -> Control.Note? {
        do throws(SystemError) {
            // The apps of other users pass through root's directory to their own data, whatever our
            // umask is. A user's directory is private, as the XDG Base Directory Specification asks.
            let mode: UInt32 = getuid() == 0 ? 0o711 : 0o700
            let isNew = unsafe access(path, F_OK) != 0
            try AppFolderChange.makeFolder(path, mode: mode)
            if isNew { _ = unsafe chmod(path, mode) }
            guard unsafe access(path, W_OK | X_OK) == 0 else {
                throw SystemError(code: errno, call: "access", subject: path)
            }
            return nil
        } catch {
            return Control.Note(
                code: "no_state",
                text: "launches, scheduled tasks and what was learned are not kept: \(error)")
        }
    }
}
