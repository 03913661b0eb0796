internal import CGreenroomLinux
public import Glibc

/// A pseudo-terminal (pty(7)): what is written to the controller can be read from the terminal, and
/// the other way round.
public struct PseudoTerminal: Sendable {
    /// The descriptor is nonblocking.
    public let controller: FileDescriptor
    /// Nil once we have closed it.
    public private(set) var terminal: FileDescriptor?

    public init() throws(SystemError) {
        var controller: CInt = -1
        var terminal: CInt = -1
        try systemCall("open", on: "/dev/ptmx") { unsafe gr_open_pty(&controller, &terminal) }
        self.controller = FileDescriptor(owning: controller)
        self.terminal = FileDescriptor(owning: terminal)
    }

    /// Closes our descriptor of the terminal. When nobody has it open, the controller reports the
    /// end.
    public mutating func closeTerminal() { terminal = nil }
}

/// Calls on terminals, by the descriptor of a terminal or of its controller (ioctl_tty(2),
/// termios(3)). A call fails if there is no terminal, or if it was hung up.
public enum Terminal {
    public static func isTerminal(_ descriptor: CInt) -> Bool { isatty(descriptor) == 1 }

    public static func attributes(of descriptor: CInt) -> termios? {
        var attributes = termios()
        return unsafe tcgetattr(descriptor, &attributes) == 0 ? attributes : nil
    }

    /// Sets the attributes after all output was written (TCSADRAIN).
    @discardableResult
    public static func setAttributes(_ attributes: termios, of descriptor: CInt) -> Bool {
        var attributes = attributes
        while unsafe tcsetattr(descriptor, TCSADRAIN, &attributes) != 0 {
            guard errno == EINTR else { return false }
        }
        return true
    }

    /// Copies the window size to a controller; the terminal's foreground group is told about a
    /// change (SIGWINCH).
    public static func copyWindowSize(from: CInt, to: CInt) { _ = gr_copy_window_size(from, to) }

    /// The foreground process group; 0 if none is known.
    public static func foregroundGroup(of descriptor: CInt) -> pid_t {
        max(0, tcgetpgrp(descriptor))
    }

    /// Sends SIGINT, SIGQUIT or SIGTSTP to the foreground group of a controller's terminal
    /// (TIOCSIG).
    public static func signalForeground(of controller: CInt, _ signal: CInt) {
        _ = gr_pty_signal(controller, signal)
    }

    /// Restores these attributes of the terminal if a signal ends this process; nil turns that off.
    /// Works for one terminal at a time.
    public static func restoreOnCrash(_ descriptor: CInt, _ attributes: termios?) {
        guard var attributes else { return gr_restore_on_crash(-1, nil) }
        unsafe gr_restore_on_crash(descriptor, &attributes)
    }

    /// The character that means end of input to a program that reads lines; nil if the terminal is
    /// not in line mode.
    public static func endOfInput(of descriptor: CInt) -> UInt8? {
        guard let attributes = attributes(of: descriptor),
            attributes.c_lflag & tcflag_t(ICANON) != 0
        else { return nil }
        return attributes.c_cc.4  // VEOF
    }

    /// Whether one of the bytes is a key that the terminal turns into a signal (VINTR, VQUIT or
    /// VSUSP of termios(3)).
    public static func hasSignalKey(
        of descriptor: CInt, in bytes: some Sequence<UInt8>
    ) -> Bool {
        guard let attributes = attributes(of: descriptor),
            attributes.c_lflag & tcflag_t(ISIG) != 0
        else { return false }
        let keys = [attributes.c_cc.0, attributes.c_cc.1, attributes.c_cc.10]
        // A key that is turned off is 0 (_POSIX_VDISABLE).
        return bytes.contains { $0 != 0 && keys.contains($0) }
    }

    /// The identity of the open terminal: equal for two descriptors of the same terminal.
    public static func device(of descriptor: CInt) -> UInt64? {
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFCHR else {
            return nil
        }
        return UInt64(status.st_rdev)
    }
}
