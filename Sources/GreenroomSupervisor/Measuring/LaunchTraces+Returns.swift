internal import GreenroomLifecycle

// Returns to the foreground. These times of a return are measured from its request: the thaw
// (`resume`), `willEnterForeground` and `active` when the app acknowledges them, and the app's
// first draw if the app reports it. Apps do not report the steps of a return, so that these times
// mean the same in all languages.

extension LaunchTraces {
    /// A client launched an app that runs already. If the app is in the foreground, this is not a
    /// return.
    func noteReturn(_ instance: InstanceIdentifier, _ requestedAt: Instant) {
        guard isReturning(instance) else { return }
        beginReturn(of: instance, requestedAt)
    }

    /// The app is told to take a step. The first step of a return is sent in the same turn of the
    /// loop in which a shell or a client asks for the return, so the return was requested now.
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

    /// Whether the instance is in the background and is wanted in the foreground.
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
