internal import Glibc
internal import GreenroomLinux

/// Instances that are guarded on their way to the pause (``PrewarmGuard``).
extension Spawner {
    /// Handles a traced thread that has stopped. A thread that belongs to no known instance may be
    /// a process that a guarded one has made and not reported yet, or that of an instance that is
    /// not in the table yet. It stays stopped until that is known.
    func stopped(_ thread: pid_t, _ stop: Tracee.Stop) {
        guard
            let number = guards.guarded.first(where: {
                instances[$0]?.guarding?.isOwn(thread) == true
            }),
            let finding = instances[number]?.guarding?.stopped(thread, stop)
        else {
            // Before a process has executed its program, it stops only for signals, which are
            // passed on.
            if case .signal(let number) = stop, number != SIGTRAP, spawns.isPending(thread) {
                Tracee(thread).proceed(with: number)
            } else {
                guards.unclaimedStops[thread] = stop
            }
            return
        }
        act(on: finding, of: number)
    }

    /// Begins the guard of an instance that is now in the table. Its exec may have been reported
    /// already.
    func beginGuard(of number: UInt64) {
        guard let instance = instances[number], instance.guarding != nil else { return }
        guards.guarded.insert(number)
        if let stop = guards.unclaimedStops.removeValue(forKey: instance.pid) {
            stopped(instance.pid, stop)
        }
    }

    /// Records that the kernel did not allow a process to be traced, and tells the supervisor once.
    func noteUnguarded(_ code: CInt) {
        guard guards.refusal == nil else { return }
        guards.refusal = code
        tell(.cannotGuard(code: code))
    }

    /// Handles the end of a traced thread or process.
    func endedTraced(_ thread: pid_t) {
        guards.unclaimedStops[thread] = nil
        for number in guards.guarded {
            guard let finding = instances[number]?.guarding?.ended(thread) else { continue }
            if instances[number]?.pid == thread {
                endGuard(of: number)
            } else {
                act(on: finding, of: number)
            }
        }
    }

    /// Ends the guard, because the supervisor knows that the instance has paused.
    func unguard(_ number: UInt64) {
        if guards.guarded.contains(number) {
            instances[number]?.guarding?.end()
        } else if instances[number] != nil {
            tell(.unguarded(instance: number))
        }
    }

    /// Kills guarded instances, because the next execution of the spawner would not know why their
    /// threads stop.
    func killGuarded() {
        for number in guards.guarded { try? instances[number]?.group.kill() }
    }

    private func act(on finding: PrewarmGuard.Finding, of number: UInt64) {
        switch finding {
        case .nothing: break
        case .misfire(let program):
            tell(.misfired(instance: number, program: program))
            killMisfired(number)
        case .secureExecution:
            tell(.executedSecurely(instance: number))
            killMisfired(number)
        case .over:
            endGuard(of: number)
            tell(.unguarded(instance: number))
        }
    }

    private func killMisfired(_ number: UInt64) {
        instances[number]?.hasMisfired = true
        guard let instance = instances[number] else { return }
        // The first process is killed first, because that cannot fail, while the rest of the group
        // may have to be looked up by name.
        _ = try? instance.process.send(signal: SIGKILL)
        try? instance.group.kill()
    }

    private func endGuard(of number: UInt64) {
        guards.guarded.remove(number)
        instances[number]?.guarding = nil
    }
}

/// The instances that are traced on the way to their pause (``PrewarmGuard``).
struct Guards {
    var guarded: Set<UInt64> = []
    /// Stopped threads that are not yet known to belong to an instance.
    var unclaimedStops: [pid_t: Tracee.Stop] = [:]
    /// The errno of the failure if no instance can be traced.
    var refusal: CInt?
}
