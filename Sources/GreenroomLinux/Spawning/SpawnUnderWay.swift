internal import CGreenroomLinux
public import Glibc

/// A process that was made and has not executed its program yet. The app's user can make that take
/// any time, because the user can stop the process and may own the files that it waits for.
///
/// This object keeps the descriptors of the request open. If the object is released before
/// ``end()``, its memory is not freed, because the process may still use it.
@safe public final class SpawnUnderWay {
    /// The child of ours that waits for the exec. If it did not come from a ``SpawnWaiters``, the
    /// spawn is over when it ends.
    public let waiter: pid_t
    private let waiters: SpawnWaiters?
    private let request: SpawnRequest
    /// Nil after the end.
    private var handle: OpaquePointer?

    /// How long ``SpawnRequest/spawn()`` waits, which is longer than a disk takes to spin up.
    static let patienceMilliseconds: CInt = 10_000
    /// How long it then waits until a process that has failed or was killed has ended.
    static let endMilliseconds: CInt = 1_000

    init(_ handle: OpaquePointer, _ request: SpawnRequest, _ waiters: SpawnWaiters?) {
        unsafe self.handle = handle
        self.request = request
        self.waiters = waiters
        waiter = unsafe gr_waiter_pid(gr_spawn_waiter(handle))
    }

    /// Whether the process has executed its program, has ended, or could not be made.
    public var isOver: Bool { unsafe gr_spawn_is_over(handle!) }

    /// The process that is to run the program, a child of ours; nil until it is made.
    public var pid: pid_t? {
        let pid = unsafe gr_spawn_pid(handle!)
        return pid > 0 ? pid : nil
    }

    /// The process's present stage, or the last one that it reached.
    public var stage: SpawnError.Stage { unsafe SpawnError.Stage(gr_spawn_stage(handle!)) }

    /// Sends SIGKILL to the process that is to run the program; if it is not made yet, it ends as
    /// soon as it begins. A process that waits for a file system that does not answer may take long
    /// to end.
    public func kill() { unsafe gr_spawn_kill(handle!) }

    /// The errno of the spawn's failure; 0 if it has not failed. After a failure, the process may
    /// still not have ended.
    public var failure: CInt { unsafe gr_spawn_error(handle!) }

    /// Whether the request's announcement was sent.
    public enum Announced: Sendable {
        case no
        /// The waiter is sending it, or somebody killed the waiter at that time.
        case perhaps
        /// The spawn ``isOver``, too.
        case yes
    }

    /// Whether the request's announcement was sent. Known when the spawn ``isOver``.
    public var announced: Announced {
        switch unsafe gr_announced(rawValue: UInt32(gr_spawn_announced(handle!))) {
        // Somebody may stop the waiter between the two.
        case GR_ANNOUNCED: isOver ? .yes : .perhaps
        case GR_PERHAPS_ANNOUNCED: .perhaps
        default: .no
        }
    }

    /// How the spawn ended.
    public struct End: Sendable {
        /// Nil if no process was made. A process that failed is a zombie child of ours, or soon
        /// will be.
        public let spawned: Spawned?
        public let error: SpawnError?
        /// The last stage: ``SpawnError/Stage/execute`` if the program runs.
        public let stage: SpawnError.Stage
        /// The errno of the failure if the process could not be traced although it should be;
        /// otherwise 0.
        public let traceError: CInt

        public func get() throws(SpawnError) -> Spawned {
            guard let error else { return spawned! }
            if let process = spawned?.process,
                (try? process.descriptor.waitUntilReadable(
                    milliseconds: SpawnUnderWay.endMilliseconds)) == true
            {
                _ = try? process.wait()
            }
            throw error
        }
    }

    /// Collects the result. Call it once, when the spawn ``isOver``, or when both the waiter and the
    /// process have ended.
    ///
    /// - Parameter hasReported: false if the waiter did not report in time. It is ended then, because
    ///   the next spawn would wait for it.
    public func end(hasReported: Bool = true) -> End {
        let result = unsafe gr_spawn_end(handle!)
        unsafe handle = nil
        if hasReported { waiters?.giveBack(waiter) } else { waiters?.giveUp(waiter) }
        let spawned =
            result.pid > 0
            ? Spawned(
                pid: result.pid,
                process: ProcessDescriptor(FileDescriptor(owning: result.pidfd))) : nil
        return End(
            spawned: spawned, error: request.error(result), stage: SpawnError.Stage(result.stage),
            traceError: result.trace_error)
    }

    /// Waits for the waiter. Kills the process if it has not executed its program in time.
    ///
    /// - Returns: false if the process was killed; the spawn then needs nothing more.
    func wait(milliseconds: CInt) -> Bool {
        let waiter: ProcessDescriptor
        do throws(SystemError) {
            waiter = try ProcessDescriptor(pid: self.waiter)
        } catch {
            // If the waiter is gone, somebody else has reaped it. Otherwise there is no descriptor
            // to wait with, and the waiter uses this memory until it has ended.
            if error.code != ESRCH {
                while waitpid(self.waiter, nil, 0) < 0, errno == EINTR {}
            }
            return true
        }
        if !Self.ends(waiter, within: milliseconds) {
            kill()
            guard Self.ends(waiter, within: Self.endMilliseconds) else { return false }
            _ = try? waiter.wait()
            _ = try? end().get()
            return false
        }
        _ = try? waiter.wait()
        return true
    }

    private static func ends(_ process: ProcessDescriptor, within milliseconds: CInt) -> Bool {
        let deadline = MonotonicClock.nanoseconds + UInt64(milliseconds) * 1_000_000
        while true {
            // A signal may end the wait early.
            let now = MonotonicClock.nanoseconds
            let rest = now < deadline ? CInt((deadline - now + 999_999) / 1_000_000) : 0
            if (try? process.descriptor.waitUntilReadable(milliseconds: rest)) == true {
                return true
            }
            if rest == 0 { return false }
        }
    }
}
