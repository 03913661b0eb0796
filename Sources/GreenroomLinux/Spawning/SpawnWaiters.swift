internal import CGreenroomLinux
public import Glibc

/// The processes that wait for execs on behalf of a program with a loop (spawn.c). If one is ready,
/// a launch need not wait until it is made.
///
/// They are children of ours. Call ``ended(_:)`` when one of them has ended, because somebody may
/// kill it.
@safe public final class SpawnWaiters {
    /// Becomes readable whenever a spawn is over.
    public let reports: FileDescriptor
    /// The other end of the pipe.
    private let reporting: FileDescriptor

    private var waiters: [pid_t: OpaquePointer] = unsafe [:]
    /// The waiter that has nothing to do. Further idle waiters are ended.
    private var spare: pid_t?

    public init() throws(SystemError) {
        (reports, reporting) = try FileDescriptor.pipe()
        try reports.setNonblocking(true)
    }

    /// Consumes the reports so far, so that ``reports`` becomes readable only at the next one.
    public func takeReports() {
        var bytes: UInt64 = 0
        let count = MemoryLayout.size(ofValue: bytes)
        while unsafe Glibc.read(reports.rawValue, &bytes, count) == count {}
    }

    public func contains(_ process: pid_t) -> Bool { unsafe waiters[process] != nil }

    /// Forgets a waiter that has ended and was reaped.
    public func ended(_ process: pid_t) {
        if spare == process { spare = nil }
        if let waiter = unsafe waiters.removeValue(forKey: process) {
            unsafe gr_waiter_free(waiter)
        }
    }

    /// Kills all waiters, which share our memory, because our program ends. On return, the idle
    /// waiter is gone.
    public func kill() {
        let processes = unsafe Array(waiters.keys)
        for process in processes { _ = Glibc.kill(process, SIGKILL) }
        if let spare {
            while waitpid(spare, nil, 0) < 0, errno == EINTR {}
            ended(spare)
        }
    }

    /// The number of the pipe's end that waiters write to.
    var reportNumber: CInt { reporting.rawValue }

    /// The waiter that has nothing to do; nil if there is none.
    func take() -> OpaquePointer? {
        defer { spare = nil }
        return unsafe spare.flatMap { unsafe waiters[$0] }
    }

    func add(_ waiter: OpaquePointer) {
        unsafe waiters[gr_waiter_pid(waiter)] = waiter
    }

    /// Ends a waiter that does not report: somebody may have stopped it.
    func giveUp(_ process: pid_t) {
        if contains(process) { _ = Glibc.kill(process, SIGKILL) }
    }

    /// Takes back a waiter whose spawn is over, or that was not used.
    func giveBack(_ process: pid_t) {
        guard contains(process) else { return }
        if spare == nil {
            spare = process
        } else {
            _ = Glibc.kill(process, SIGKILL)
        }
    }
}
