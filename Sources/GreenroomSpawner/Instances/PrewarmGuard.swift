internal import Glibc
internal import GreenroomLinux

/// Traces a program from its exec to its pause (ptrace(2)), so that nothing that it starts takes
/// effect.
///
/// A constructor of a library may execute a program or make a process. These would not pause, but
/// run at each prewarm. When the program is traced, whatever it starts stops before its first
/// instruction and is killed there. A system call filter could do the same, but could never be
/// removed. The trace ends after the pause, before the supervisor may launch the instance.
///
/// The guard allows threads, and as many executions as lead to the program that pauses. It does not
/// allow a program that will not load the library that pauses it (AT_SECURE in getauxval(3)),
/// because its main would run. Signals are passed on, except those that stop a process, which take
/// effect after the pause.
///
/// exec → watching → ending (each thread is stopped once, and detached) → over.
struct PrewarmGuard {
    enum Finding: Equatable {
        case nothing
        /// Kill the instance, because it would have run a program or has made a process.
        case misfire(program: String?)
        /// Kill the instance, because it would run instead of pausing.
        case secureExecution
        /// The guard traces no thread any more.
        case over
    }

    private enum Phase {
        /// The thread has not stopped yet.
        case born
        case running
        /// The thread was sent SIGSTOP, and is detached when it stops.
        case stopping
    }

    /// Enough stops for a program with a thousand threads. A program that stops more often would
    /// keep the spawner busy.
    private static let stopLimit = 8192
    private static let stopSignals: Set<CInt> = [SIGSTOP, SIGTSTP, SIGTTIN, SIGTTOU]

    private let process: pid_t
    /// The app's end of its channel, which the guard holds open. An exec closes the app's own copy.
    /// If the supervisor then found the channel closed, it would kill the app before anybody saw
    /// what the app did.
    private let channel: UnixSocket?
    private var executions: UInt32
    private var threads: [pid_t: Phase]
    /// Threads that stopped before the thread that made them had reported them.
    private var unannounced: Set<pid_t> = []
    private var hasExecuted = false
    private var isEnding = false
    private var hasMisfired = false
    private var heldStop: CInt = 0
    private var stopCount = 0

    init(_ process: pid_t, executions: UInt32, channel: UnixSocket?) {
        self.process = process
        self.executions = executions
        self.channel = channel
        threads = [process: .running]
    }

    /// Whether a thread belongs to this process. This includes a thread that was made but has not
    /// been reported yet.
    func isOwn(_ thread: pid_t) -> Bool {
        if threads[thread] != nil { return true }
        return unsafe access("/proc/\(process)/task/\(thread)", F_OK) == 0
    }

    mutating func stopped(_ thread: pid_t, _ stop: Tracee.Stop) -> Finding {
        stopCount += 1
        if stopCount > Self.stopLimit { return misfired() }
        if threads[thread] == nil {
            threads[thread] = .born
            unannounced.insert(thread)
        }
        let tracee = Tracee(thread)
        switch stop {
        case .executed: return executed(tracee)
        case .forked: return made(tracee.child)
        case .cloned:
            if let child = tracee.child, !announced(child) { return made(child) }
            tracee.proceed()
        // The first exec is reported like this, because the other reports are requested only after
        // it.
        case .signal(SIGTRAP) where !hasExecuted:
            hasExecuted = true
            tracee.reportStarts()
            return executed(tracee)
        case .signal(SIGSTOP) where threads[thread] == .stopping: return letGo(tracee)
        case .signal(SIGSTOP) where threads[thread] == .born:
            if isEnding { return letGo(tracee) }
            threads[thread] = .running
            tracee.proceed()
        case .signal(let number) where Self.stopSignals.contains(number):
            heldStop = number
            tracee.proceed()
        case .signal(let number):
            if number == SIGCONT { heldStop = 0 }
            tracee.proceed(with: number)
        case .other: tracee.proceed()
        }
        return .nothing
    }

    mutating func ended(_ thread: pid_t) -> Finding {
        threads[thread] = nil
        // The thread stays in `unannounced`, because the thread that made it may still report it.
        return isEnding && threads.isEmpty ? .over : .nothing
    }

    /// Ends the guard, because the instance has paused.
    mutating func end() {
        guard !isEnding else { return }
        isEnding = true
        for (thread, phase) in threads where phase == .running {
            threads[thread] = .stopping
            Tracee(thread).stop(of: process)
        }
    }

    private mutating func executed(_ tracee: Tracee) -> Finding {
        guard executions > 0 else { return misfired(running: program) }
        executions -= 1
        if tracee.isSecurelyExecuted(by: process) {
            hasMisfired = true
            return .secureExecution
        }
        tracee.proceed()
        return .nothing
    }

    /// Records a new thread. Returns false if it is not a thread of this process.
    private mutating func announced(_ child: pid_t) -> Bool {
        if unannounced.remove(child) != nil { return true }
        guard isOwn(child) else { return false }
        threads[child] = .born
        return true
    }

    /// Kills a new process. It is traced like the process that made it, and would outlive that
    /// process.
    private mutating func made(_ child: pid_t?) -> Finding {
        if let child { _ = kill(child, SIGKILL) }
        return misfired()
    }

    /// Reports a misfire only once. What other threads do before they are dead does not matter.
    private mutating func misfired(running program: String? = nil) -> Finding {
        if hasMisfired { return .nothing }
        hasMisfired = true
        return .misfire(program: program)
    }

    private mutating func letGo(_ tracee: Tracee) -> Finding {
        tracee.detach(with: tracee.thread == process ? heldStop : 0)
        return ended(tracee.thread)
    }

    /// The program that the process executes now, for messages.
    private var program: String? { ProcessTable.program(of: process) }
}
