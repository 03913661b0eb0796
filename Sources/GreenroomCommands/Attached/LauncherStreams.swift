import Glibc

/// The standard streams that a launcher has given this process.
enum LauncherStreams {
    /// Whether an app may have streams of its own in place of this process's: nobody sees what it
    /// writes to these before its end, and there is nothing to read. They are /dev/null, a file for
    /// the output (the session's log), the journal, or the console of a graphical session. A file
    /// without a name is not a log: its opener keeps it to read it, as a test's capture.
    static var areReplaceable: Bool {
        isEmpty(0) && [1, 2].allSatisfy { isEmpty($0) || isFile($0) || isJournal($0) }
    }

    private static func status(_ descriptor: CInt) -> stat? {
        var status = stat()
        return unsafe fstat(descriptor, &status) == 0 ? status : nil
    }

    private static func isFile(_ descriptor: CInt) -> Bool {
        status(descriptor).map { $0.st_mode & S_IFMT == S_IFREG && $0.st_nlink > 0 } ?? false
    }

    /// Whether this is /dev/null, or a console in whose place a display is shown.
    private static func isEmpty(_ descriptor: CInt) -> Bool {
        guard let status = status(descriptor), status.st_mode & S_IFMT == S_IFCHR else {
            return false
        }
        return status.st_rdev == null || showsGraphics(descriptor)
    }

    /// The device 1:3 (null(4)).
    private static let null: dev_t = 1 << 8 | 3

    /// Whether the descriptor is a virtual console that shows no text (ioctl_console(2)), like that
    /// of a session which was started from a login on it.
    private static func showsGraphics(_ descriptor: CInt) -> Bool {
        var mode: CInt = 0
        return unsafe ioctl(descriptor, kdGetMode, &mode) == 0 && mode == kdGraphics
    }

    private static let kdGetMode: UInt = 0x4b3b
    private static let kdGraphics: CInt = 1

    private static func isJournal(_ descriptor: CInt) -> Bool {
        var address = sockaddr_un()
        var size = socklen_t(MemoryLayout<sockaddr_un>.size)
        let path = unsafe withUnsafeMutablePointer(to: &address) { address -> String? in
            let found = unsafe address.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe getpeername(descriptor, $0, &size) == 0
            }
            guard found, unsafe address.pointee.sun_family == sa_family_t(AF_UNIX) else {
                return nil
            }
            return unsafe withUnsafeBytes(of: &address.pointee.sun_path) {
                unsafe String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
            }
        }
        return path.map(isJournal(at:)) ?? false
    }

    /// Whether the journal, or that of a namespace, takes streams at this path
    /// (systemd-journald.service(8)).
    static func isJournal(at path: String) -> Bool {
        let parts = path.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 5, parts[0...2] == ["", "run", "systemd"], parts[4] == "stdout" else {
            return false
        }
        return parts[3] == "journal" || parts[3].hasPrefix("journal.")
    }
}
