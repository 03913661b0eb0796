internal import GreenroomLifecycle

// Returns to the foreground, with their times since the request: thawed (`resume`), `willEnterForeground`
// and `active`, as the app acknowledges them, and its first draw if it says so. An app reports the steps of
// its launch alone, so that they mean the same in all languages.

extension LaunchTraces {
    /// A client's launch of an app that runs already. One that stands in front stays where it is.
    func noteReturn(_ instance: InstanceIdentifier, _ requestedAt: Instant) {
        guard isReturning(instance) else { return }
        beginReturn(of: instance, requestedAt)
    }

    /// It is told a step: the first on its way is the shell's or a client's wish, in this very turn.
    func noteReturn(_ instance: InstanceIdentifier, _ step: LifecycleStep) {
        switch step {
        case .willEnterForeground, .connect: noteReturn(instance, core.now)
        case .didBecomeActive, .willResignActive, .didEnterBackground, .willTerminate,
            .connectInBackground, .disconnect:
            break
        }
    }

    func moved(
        _ instance: InstanceIdentifier, _ app: AppIdentifier, from old: ExecutionState,
        to state: ExecutionState
    ) {
        switch state {
        case .background where old == .suspended && isReturning(instance):
            beginReturn(of: instance, core.now)
            noteReturn("resume", of: instance, app)
        case .inactive: noteReturn("willEnterForeground", of: instance, app)
        case .active:
            noteReturn("active", of: instance, app)
            instances.known(Traced.self, of: instance)?.trace?.isReturning = false
        case .background, .suspended:
            instances.known(Traced.self, of: instance)?.trace?.isReturning = false
        case .launching, .prewarming, .prewarmed, .terminating, .notRunning: break
        }
    }

    /// It is in the background and shall not be.
    private func isReturning(_ instance: InstanceIdentifier) -> Bool {
        guard let record = core.lifecycle.instance(instance), record.conversation != nil
        else { return false }
        return record.state == .background && !record.inBackground
    }

    private func beginReturn(of instance: InstanceIdentifier, _ requestedAt: Instant) {
        if let traced = instances.known(Traced.self, of: instance),
            traced.trace?.isReturning == true
        {
            traced.trace?.wasRequested(at: requestedAt)
        } else {
            set(LaunchTrace(requestedAt: requestedAt, isReturn: true), of: instance)
        }
    }

    private func noteReturn(_ step: String, of instance: InstanceIdentifier, _ app: AppIdentifier) {
        guard trace(of: instance)?.isReturning == true else { return }
        note(step, core.now, app, instance)
    }
}
