internal import CGreenroomLinux
public import Glibc

/// A process that was made and has not executed its program yet. It may take as long as its user likes:
/// he can stop it, and his are the files that it waits for.
///
/// It keeps the descriptors of the request open. Dropped before ``end()``, it leaves its memory to the
/// process, which may still use it.
@safe public final class SpawnUnderWay {
    /// The process that waits for the exec, a child of ours. Its end is the end of this; wait for it.
    public let waiter: pid_t
    private let request: SpawnRequest
    /// Nil after the end.
    private var handle: OpaquePointer?

    /// How long ``SpawnRequest/spawn()`` waits: longer than a disk takes to spin up…
    static let patienceMilliseconds: CInt = 10_000
    /// …and for the end of what has failed, or was killed.
    static let endMilliseconds: CInt = 1_000

    init(_ handle: OpaquePointer, _ request: SpawnRequest) {
        unsafe self.handle = handle
        self.request = request
        waiter = unsafe gr_spawn_waiter(handle)
    }

    /// The process that is to run the program, a child of ours; nil until it is made.
    public var pid: pid_t? {
        let pid = unsafe gr_spawn_pid(handle!)
        return pid > 0 ? pid : nil
    }

    /// What it does now, or did last.
    public var stage: SpawnError.Stage { unsafe SpawnError.Stage(gr_spawn_stage(handle!)) }

    /// SIGKILL to the process that is to run the program; one that is not made yet ends as it begins. One
    /// that waits for a file system that does not answer may not end for a long time.
    public func kill() { unsafe gr_spawn_kill(handle!) }

    /// Why it has failed, though its process may not have ended: errno; else 0.
    public var failure: CInt { unsafe gr_spawn_error(handle!) }

    /// How it ended.
    public struct End: Sendable {
        /// Nil where there never was a process. One that failed is, or soon will be, a zombie of ours.
        public let spawned: Spawned?
        public let error: SpawnError?
        /// The last step: ``SpawnError/Stage/execute`` where the program runs.
        public let stage: SpawnError.Stage
        /// Why it is not traced, though it should be: errno; else 0.
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

    /// Call it once, when the waiter has exited with status 0, or both it and the process have ended.
    public func end() -> End {
        let result = unsafe gr_spawn_end(handle!)
        unsafe handle = nil
        let spawned =
            result.pid > 0
            ? Spawned(
                pid: result.pid,
                process: ProcessDescriptor(FileDescriptor(owning: result.pidfd))) : nil
        return End(
            spawned: spawned, error: request.error(result), stage: SpawnError.Stage(result.stage),
            traceError: result.trace_error)
    }

    /// Waits for the waiter, and kills what does not get there in time.
    ///
    /// - Returns: false if it was killed, and this is over as far as it can be.
    func wait(milliseconds: CInt) -> Bool {
        // Gone, somebody else has waited for it.
        let waiter: ProcessDescriptor
        do throws(SystemError) {
            waiter = try ProcessDescriptor(pid: self.waiter)
        } catch {
            // Gone, somebody else has waited for it. Else there is no descriptor to wait by, and its
            // memory is in use until it has ended.
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
