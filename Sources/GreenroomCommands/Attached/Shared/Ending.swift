import Glibc
import GreenroomControl

/// How this process ends: in the same way as the app.
enum Ending: Equatable {
    case status(Int32)
    case signal(Int32)
    /// Nobody knows how the app ended.
    case unseen

    init(_ exit: Control.ExitRecord) {
        if let signal = exit.signal {
            self = .signal(signal)
        } else if let status = exit.status {
            self = .status(Int32(status))
        } else {
            self = .unseen
        }
    }

    /// Ends this process by the same signal, so that a shell sees what it would have seen if it had
    /// run the app itself. Prevents a second core dump.
    static func die(by signal: Int32) -> Never {
        var none = rlimit(rlim_cur: 0, rlim_max: 0)
        unsafe setrlimit(__rlimit_resource_t(UInt32(RLIMIT_CORE.rawValue)), &none)
        Glibc.signal(signal, SIG_DFL)
        var set = sigset_t()
        unsafe sigemptyset(&set)
        unsafe sigaddset(&set, signal)
        unsafe sigprocmask(SIG_UNBLOCK, &set, nil)
        kill(getpid(), signal)
        // Signals that do not end a process by default (SIGCHLD, SIGSTOP) cannot have ended the
        // app.
        exit(128 + signal)
    }
}
