import Glibc
import GreenroomLinux

/// Which streams of an app are a terminal of its own, and what that terminal is connected to.
struct TerminalPlan {
    /// The standard streams of the app that are its own terminal.
    var replaced: [CInt]
    /// Where the app's input comes from and where its output goes.
    var input: FileDescriptor
    var output: FileDescriptor
    /// The user's terminal; nil if `--pty` was given and there is none.
    var terminal: FileDescriptor?

    /// - Returns: nil for a launch with the caller's own descriptors.
    init?(_ use: TerminalUse) throws(Failure) {
        switch use {
        case .never: return nil
        case .automatic:
            guard TerminalUse.isInteractive, let first = Self.firstTerminal else { return nil }
            let device = Terminal.device(of: first)
            replaced = [0, 1, 2].filter {
                Terminal.isTerminal($0) && Terminal.device(of: $0) == device
            }
            let own = try Self.reopen(first)
            (input, output, terminal) = (own, own, own)
        case .always:
            replaced = [0, 1, 2]
            let own: FileDescriptor? =
                if let first = Self.firstTerminal { try Self.reopen(first) } else { nil }
            terminal = own
            if let own, Terminal.isTerminal(0) {
                input = own
            } else {
                input = try Self.duplicate(0)
            }
            if let own, Terminal.isTerminal(1) {
                output = own
            } else {
                output = try Self.duplicate(1)
            }
        }
    }

    private static var firstTerminal: CInt? { [1, 0, 2].first { Terminal.isTerminal($0) } }

    /// Opens the same file again, because this process makes its description non-blocking and the
    /// caller's must not change. If that is not permitted (after su(1)), returns the caller's.
    private static func reopen(_ descriptor: CInt) throws(Failure) -> FileDescriptor {
        let path = "/proc/self/fd/\(descriptor)"
        if let own = try? FileDescriptor.open(path, O_RDWR | O_NONBLOCK | O_NOCTTY | O_CLOEXEC) {
            return own
        }
        return try duplicate(descriptor)
    }

    private static func duplicate(_ descriptor: CInt) throws(Failure) -> FileDescriptor {
        let copy = fcntl(descriptor, F_DUPFD_CLOEXEC, 3)
        guard copy >= 0 else { throw .system(SystemError(code: errno, call: "dup")) }
        return FileDescriptor(owning: copy)
    }
}
