internal import CGreenroomLinux
public import Glibc

/// A pseudo-terminal (pty(7)): what one writes to the controller, a program reads from the terminal,
/// and the other way round.
public struct PseudoTerminal: Sendable {
    /// Not blocking.
    public let controller: FileDescriptor
    /// Nil once it is closed here.
    public private(set) var terminal: FileDescriptor?

    public init() throws(SystemError) {
        var controller: CInt = -1
        var terminal: CInt = -1
        try systemCall("open", on: "/dev/ptmx") { unsafe gr_open_pty(&controller, &terminal) }
        self.controller = FileDescriptor(owning: controller)
        self.terminal = FileDescriptor(owning: terminal)
    }

    /// Closes our descriptor of it: once nobody has it open, the controller is at its end.
    public mutating func closeTerminal() { terminal = nil }
}

/// Calls on terminals, by the descriptor of one or of its controller (ioctl_tty(2), termios(3)).
/// Those that fail have found no terminal, or one that was hung up.
public enum Terminal {
    public static func isTerminal(_ descriptor: CInt) -> Bool { isatty(descriptor) == 1 }

    public static func attributes(of descriptor: CInt) -> termios? {
        var attributes = termios()
        return unsafe tcgetattr(descriptor, &attributes) == 0 ? attributes : nil
    }

    /// Once what was written has left (TCSADRAIN).
    @discardableResult
    public static func setAttributes(_ attributes: termios, of descriptor: CInt) -> Bool {
        var attributes = attributes
        while unsafe tcsetattr(descriptor, TCSADRAIN, &attributes) != 0 {
            guard errno == EINTR else { return false }
        }
        return true
    }

    /// To a controller: its foreground hears of a change (SIGWINCH).
    public static func copyWindowSize(from: CInt, to: CInt) { _ = gr_copy_window_size(from, to) }

    /// The process group in front, 0 if there is none that is known.
    public static func foregroundGroup(of descriptor: CInt) -> pid_t {
        max(0, tcgetpgrp(descriptor))
    }

    /// SIGINT, SIGQUIT or SIGTSTP to the foreground of a controller's terminal (TIOCSIG).
    public static func signalForeground(of controller: CInt, _ signal: CInt) {
        _ = gr_pty_signal(controller, signal)
    }

    /// Whatever signal ends this process, the terminal has these attributes again; nil: no longer.
    /// One terminal at a time.
    public static func restoreOnCrash(_ descriptor: CInt, _ attributes: termios?) {
        guard var attributes else { return gr_restore_on_crash(-1, nil) }
        unsafe gr_restore_on_crash(descriptor, &attributes)
    }

    /// The character by which a program that reads lines sees the end of its input; nil if it does
    /// not read lines.
    public static func endOfInput(of descriptor: CInt) -> UInt8? {
        guard let attributes = attributes(of: descriptor),
            attributes.c_lflag & tcflag_t(ICANON) != 0
        else { return nil }
        return attributes.c_cc.4  // VEOF
    }

    /// The identity of the terminal that is open: equal for two descriptors of one.
    public static func device(of descriptor: CInt) -> UInt64? {
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFCHR else {
            return nil
        }
        return UInt64(status.st_rdev)
    }
}
