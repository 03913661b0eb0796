internal import Glibc
internal import GreenroomLinux

/// Traces a program from its exec to its pause (ptrace(2)), so that nothing that it starts takes effect.
///
/// A constructor of a library may execute a program, or make a process. Neither knows of the pause: they
/// would run for real, at each prewarm. Traced, a program stops before the first instruction of what it
/// starts, and is killed there. A system call filter would do the same and could never be removed again;
/// the trace is gone at the pause, before the supervisor may launch the instance.
///
/// Allowed are as many executions as lead to the program that pauses, and threads, and none of a program that
/// will not load the library that pauses it (AT_SECURE in getauxval(3)): its main would run. Signals are passed on,
/// but those that stop a process: it stops at its pause.
///
/// exec → watching → ending (each thread is stopped once, and let go) → over.
struct PrewarmGuard {
    enum Finding: Equatable {
        case nothing
        /// It is to be killed: it would have run the program, or made a process.
        case misfire(program: String?)
        /// It is to be killed: it would run and not pause.
        case secureExecution
        /// No thread is traced any more.
        case over
    }

    private enum Phase {
        /// Its first stop is still to come.
        case born
        case running
        /// It was sent the SIGSTOP that it is let go at.
        case stopping
    }

    /// As many stops as a program of a thousand threads needs. One that goes on beyond that would keep
    /// the spawner from everything else.
    private static let stopLimit = 8192
    private static let stopSignals: Set<CInt> = [SIGSTOP, SIGTSTP, SIGTTIN, SIGTTOU]

    private let process: pid_t
    /// The app's end of its channel. An exec closes the app's own; the supervisor, finding the channel at its
    /// end, would kill the app before anybody saw what it did.
    private let channel: UnixSocket?
    private var executions: UInt32
    private var threads: [pid_t: Phase]
    /// Threads that stopped before the one that made them said so.
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

    /// One that has just been made is, before anybody announced it.
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
        // Of the first exec, before anything else was asked for.
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
        // Its maker may announce it still: `unannounced` keeps it.
        return isEnding && threads.isEmpty ? .over : .nothing
    }

    /// It has paused.
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

    /// False if it is no thread of this process.
    private mutating func announced(_ child: pid_t) -> Bool {
        if unannounced.remove(child) != nil { return true }
        guard isOwn(child) else { return false }
        threads[child] = .born
        return true
    }

    /// A process, which is traced as its maker is and would outlive it.
    private mutating func made(_ child: pid_t?) -> Finding {
        if let child { _ = kill(child, SIGKILL) }
        return misfired()
    }

    /// Once: what its other threads do until they are dead adds nothing.
    private mutating func misfired(running program: String? = nil) -> Finding {
        if hasMisfired { return .nothing }
        hasMisfired = true
        return .misfire(program: program)
    }

    private mutating func letGo(_ tracee: Tracee) -> Finding {
        tracee.detach(with: tracee.thread == process ? heldStop : 0)
        return ended(tracee.thread)
    }

    /// What it executes now, for people.
    private var program: String? { ProcessTable.program(of: process) }
}
