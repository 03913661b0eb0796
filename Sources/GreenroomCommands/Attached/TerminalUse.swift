import Glibc
import GreenroomLinux

/// Whether an attached app gets a terminal of its own, as systemd-run(1) names it.
enum TerminalUse: Equatable {
    /// If the caller looks at its output on a terminal, or types into it and keeps its output.
    case automatic
    /// `--pty`: for all three standard streams, whatever the caller's are.
    case always
    /// `--pipe`: the caller's descriptors as they are.
    case never
}

/// What a terminal of the app's own stands between.
struct TerminalPlan {
    /// Those of the app's standard streams that lead to its own terminal.
    var replaced: [CInt]
    /// Where its input comes from and its output goes to.
    var input: FileDescriptor
    var output: FileDescriptor
    /// The user's terminal; nil where `--pty` found none.
    var terminal: FileDescriptor?

    /// - Returns: nil for a launch with the caller's own descriptors.
    init?(_ use: TerminalUse) throws(Failure) {
        switch use {
        case .never: return nil
        case .automatic:
            guard Self.isInteractive, let first = Self.firstTerminal else { return nil }
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

    /// Behind a pipe somebody else may read the terminal's keys (`run x | less`): it stays theirs.
    private static var isInteractive: Bool {
        if Terminal.isTerminal(1) { return true }
        var status = stat()
        guard Terminal.isTerminal(0), unsafe fstat(1, &status) == 0 else { return false }
        let kind = status.st_mode & S_IFMT
        return kind != S_IFIFO && kind != S_IFSOCK
    }

    private static var firstTerminal: CInt? { [1, 0, 2].first { Terminal.isTerminal($0) } }

    /// A description of our own: it may be not blocking, while the caller's must stay as it is. Where
    /// it may not be opened (after su(1)), the caller's.
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
