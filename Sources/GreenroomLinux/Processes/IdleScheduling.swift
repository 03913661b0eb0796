internal import Glibc

/// Processes that run only when a processor would otherwise be idle (SCHED_IDLE, sched(7)).
public enum IdleScheduling {
    private static let idle: CInt = 5

    /// At most this many passes. In a process that makes threads faster than they are found, some
    /// stay idle.
    private static let passLimit = 16
    private static let threadLimit = 4096

    /// Whether this process may undo what ``begin(_:)`` did, for any process.
    ///
    /// That takes CAP_SYS_NICE in the initial user namespace, and no call tells in which namespace
    /// a capability is valid. Lowering a nice value takes the same capability, so this process
    /// lowers its own for a moment (setpriority(2)). RLIMIT_NICE would permit that too, but later
    /// the limit of the other process applies, which may be lower.
    public static func mayBeEnded() -> Bool {
        let own = __priority_which_t(PRIO_PROCESS.rawValue)
        let nice = getpriority(own, 0)
        let permitted = 20 - Int(clamping: ResourceLimit.current(.nice).soft)
        guard nice > -20, permitted > nice, setpriority(own, 0, nice - 1) == 0 else {
            return false
        }
        // Every process may raise its nice value again.
        _ = setpriority(own, 0, nice)
        return true
    }

    /// Lets the main thread of a process, and whatever it makes from now on, run only when a
    /// processor would otherwise be idle (sched_setscheduler(2)). Does nothing if the process does
    /// not have the ordinary policy.
    ///
    /// - Returns: whether it did so.
    public static func begin(_ pid: Int32) -> Bool {
        sched_getscheduler(pid) == SCHED_OTHER && choose(idle, for: pid)
    }

    /// Gives every thread of the process the ordinary policy again. Nice values were not changed.
    public static func end(_ pid: Int32) {
        guard isIdle(pid) || hasOthers(pid) else { return }
        // A new thread gets the policy of the thread that made it, so passes are repeated until one
        // finds no idle thread.
        for _ in 0..<passLimit {
            let names = try? FolderContents.names(in: "/proc/\(pid)/task", atMost: threadLimit)
            let left = (names ?? []).compactMap { Int32($0) }.filter(isIdle)
            if left.isEmpty { return }
            for thread in left { _ = choose(0, for: thread) }
        }
    }

    public static func isIdle(_ pid: Int32) -> Bool { sched_getscheduler(pid) == idle }

    private static func hasOthers(_ pid: Int32) -> Bool {
        var status = stat()
        // A folder has two links, and one more for each folder in it.
        return unsafe stat("/proc/\(pid)/task", &status) == 0 && status.st_nlink > 3
    }

    private static func choose(_ policy: CInt, for pid: Int32) -> Bool {
        var parameters = sched_param()
        return unsafe sched_setscheduler(pid, policy, &parameters) == 0
    }
}
