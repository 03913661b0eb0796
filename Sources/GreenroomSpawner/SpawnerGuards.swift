internal import Glibc
internal import GreenroomLinux

/// Instances that are watched on their way to the pause (``PrewarmGuard``).
extension Spawner {
    /// A traced thread stands still. One that belongs to nobody is a process that a guarded one has made and not
    /// told of yet, or that is not in the table yet: it stands still until then.
    func stopped(_ thread: pid_t, _ stop: Tracee.Stop) {
        guard let number = guarded.first(where: { instances[$0]?.guarding?.isOwn(thread) == true }),
            let finding = instances[number]?.guarding?.stopped(thread, stop)
        else {
            // Of one that has not executed its program yet nothing is known but signals.
            if case .signal(let number) = stop, number != SIGTRAP, isPending(thread) {
                Tracee(thread).proceed(with: number)
            } else {
                unclaimedStops[thread] = stop
            }
            return
        }
        act(on: finding, of: number)
    }

    /// It is in the table now. Its exec may have been seen before.
    func beginGuard(of number: UInt64) {
        guard let instance = instances[number], instance.guarding != nil else { return }
        guarded.insert(number)
        if let stop = unclaimedStops.removeValue(forKey: instance.pid) {
            stopped(instance.pid, stop)
        }
    }

    /// The kernel did not let one be traced.
    func noteUnguarded(_ code: CInt) {
        guard guardRefusal == nil else { return }
        guardRefusal = code
        tell(.cannotGuard(code: code))
    }

    /// A traced thread has ended, or a process.
    func endedTraced(_ thread: pid_t) {
        unclaimedStops[thread] = nil
        for number in guarded {
            guard let finding = instances[number]?.guarding?.ended(thread) else { continue }
            if instances[number]?.pid == thread {
                endGuard(of: number)
            } else {
                act(on: finding, of: number)
            }
        }
    }

    /// The supervisor has heard of its pause.
    func unguard(_ number: UInt64) {
        if guarded.contains(number) {
            instances[number]?.guarding?.end()
        } else if instances[number] != nil {
            tell(.unguarded(instance: number))
        }
    }

    /// The next execution of us would not know what their threads stop for.
    func killGuarded() {
        for number in guarded { try? instances[number]?.group.kill() }
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
        // That first, for it cannot fail: the rest of the group may be looked up by name.
        _ = try? instance.process.send(signal: SIGKILL)
        try? instance.group.kill()
    }

    private func endGuard(of number: UInt64) {
        guarded.remove(number)
        instances[number]?.guarding = nil
    }
}
