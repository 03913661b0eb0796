import Glibc

/// Whether an attached app gets its own terminal. The names are those of systemd-run(1).
enum TerminalUse: Equatable {
    /// The app gets one if standard output is a terminal, or if standard input is one and the
    /// output goes to a file.
    case automatic
    /// `--pty`: the app gets one, for all three standard streams, whatever the caller's are.
    case always
    /// `--pipe`: the app gets the caller's descriptors.
    case never

    /// Whether this process's standard descriptors make it use the user's terminal, unless it is
    /// told otherwise. In a pipeline, another program may read the keys (`run x | less`), and keeps
    /// them.
    static var isInteractive: Bool {
        if isatty(1) == 1 { return true }
        var status = stat()
        guard isatty(0) == 1, unsafe fstat(1, &status) == 0 else { return false }
        let kind = status.st_mode & S_IFMT
        return kind != S_IFIFO && kind != S_IFSOCK
    }
}
