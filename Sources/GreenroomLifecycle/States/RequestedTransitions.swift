// Requests to change the state of a running instance, to end it, or to wait for its end.

extension Lifecycle {
    mutating func transitionRequested(
        _ request: RequestIdentifier, _ target: Target, _ transition: Transition
    ) {
        guard let id = resolve(target) ?? ending(target, transition),
            self[id].record.state != .notRunning
        else {
            return refuseOrCancel(request, target, transition)
        }
        let state = self[id].record.state
        if transition == .foreground { schedule.lastUse = now }
        switch transition {
        case .terminate, .forceQuit:
            update(id) { $0.isEndOrdered = true }
            cancelStart(self[id].record.app, isAll: target == .app(self[id].record.app))
            endRequiring(self[id].record.app)
            wait(request, forEndOf: id, orderedIt: true)
            let isForced = transition == .forceQuit
            if isForced { deleteStates(of: self[id].record.app, .forceQuit) }
            end(id, isForced ? .forceQuit : .terminated, gently: !isForced)
            if isForced, self[id].record.lastState?.isRunning == true {
                noteForceQuit(of: self[id].record.app)
            }
        case .interrupt, .endInterruption:
            guard state.isRunning else {
                return refuse(request, .illegalTransition(id, from: state, transition))
            }
            interruptionRequested(request, transition, id)
        case .foreground, .background, .suspend, .resume:
            guard state.isRunning, state != .launching || transition != .suspend else {
                return refuse(request, .illegalTransition(id, from: state, transition))
            }
            if transition == .background || transition == .suspend { leaveShell(id) }
            apply(transition, to: id, request)
        }
    }

    /// For a force quit, the app's instance that is already being ended, because a force quit does
    /// not wait for the grace.
    private func ending(_ target: Target, _ transition: Transition) -> InstanceIdentifier? {
        guard transition == .forceQuit, case .app(let app) = target else { return nil }
        return directory[app]?.ending.max()
    }

    /// Handles a request when no instance of the app is running. If the app was about to start, the
    /// start is dropped and the request is answered with the app's latest end.
    private mutating func refuseOrCancel(
        _ request: RequestIdentifier, _ target: Target, _ transition: Transition
    ) {
        guard transition == .terminate || transition == .forceQuit, case .app(let app) = target,
            directory[app]?.record.startAt != nil || blocked[app] != nil || hasClaim(app)
        else { return refuse(request, .notRunning(target)) }
        cancelStart(app, isAll: true)
        endRequiring(app)
        if transition == .forceQuit { noteForceQuit(of: app) }
        guard let id = latestEnd(target), self[id].record.state == .notRunning else {
            return refuse(request, .notRunning(target))
        }
        answer(request, .done(id, .notRunning))
    }

    /// Moves a program to another state, at once or, during a launch, when the program is ready. An
    /// app that acknowledges its states is moved in the same way until it has finished launching.
    /// The request is answered after the move.
    mutating func move(
        _ transition: Transition, _ id: InstanceIdentifier, for request: RequestIdentifier
    ) {
        if self[id].record.state == .launching {
            if transition != .resume {
                update(id) { [now] in
                    $0.inBackground = transition == .background
                    $0.lastUsed = now
                }
                self[id].launch?.launch.inBackground = transition == .background
                return waitForGoal(request, of: id)
            }
        } else {
            if self[id].record.state == .suspended { thaw(id) }
            if transition == .foreground { activate(id) }
            if transition == .background && self[id].record.state != .background {
                sendToBackground(id)
            }
        }
        update(id) { [now] in $0.lastUsed = now }
        answer(request, .done(id, self[id].record.state))
    }

    /// Moves an app that acknowledges changes of its state. The request is answered when the app
    /// has acknowledged the state that it asks for.
    mutating func tell(
        _ transition: Transition, _ id: InstanceIdentifier, for request: RequestIdentifier
    ) {
        if self[id].record.state == .suspended { thaw(id) }
        update(id) { [now] in $0.lastUsed = now }
        waitForGoal(request, of: id)
        if transition == .foreground { return activate(id) }
        if transition == .background { return sendToBackground(id) }
        proceed(id)
    }

    /// Freezes the instance. The request is answered once the instance is frozen, or at once if it
    /// is already.
    mutating func freeze(_ id: InstanceIdentifier, for request: RequestIdentifier) {
        if self[id].record.state.isForeground { sendToBackground(id) }
        if self[id].record.state == .background { prepareSuspension(id, isAsked: true) }
        guard self[id].record.phase != .frozen else {
            return answer(request, .done(id, .suspended))
        }
        self[id].suspension.waiters.append(request)
        requests[request] = .freeze(id)
    }

    /// The instance that the request is about. For an app, this is its most recently used running
    /// instance.
    private func resolve(_ target: Target) -> InstanceIdentifier? {
        switch target {
        case .instance(let id): table[id] == nil ? nil : id
        case .app(let app):
            directory[app].flatMap { $0.running.union($0.attached).max(by: isUsedBefore) }
        }
    }

    private mutating func wait(
        _ request: RequestIdentifier, forEndOf id: InstanceIdentifier, orderedIt: Bool
    ) {
        self[id].endWaiters.append(EndWaiter(request: request, orderedIt: orderedIt))
        requests[request] = .end(id)
    }

    mutating func exitAwaited(_ request: RequestIdentifier, _ target: Target) {
        guard let id = resolve(target) ?? latestEnd(target) else {
            return refuse(request, .notRunning(target))
        }
        awaitExit(of: id, request)
    }

    /// For an app without a running instance: the instance that is being ended, or the one that
    /// ended last.
    private func latestEnd(_ target: Target) -> InstanceIdentifier? {
        guard case .app(let app) = target, let members = directory[app]?.members else { return nil }
        let launched = members.filter { self[$0].record.launchedAt != nil }
        return launched.max {
            let (first, second) = (self[$0].record, self[$1].record)
            let never = Instant(nanoseconds: .max)
            return (first.endedAt ?? never, $0) < (second.endedAt ?? never, $1)
        }
    }

    private mutating func awaitExit(of id: InstanceIdentifier, _ request: RequestIdentifier) {
        let record = self[id].record
        let hasLeftRest = record.exitStatus != nil && record.state != .terminating
        if record.state == .notRunning || hasLeftRest { return answer(request, .exited(record)) }
        wait(request, forEndOf: id, orderedIt: false)
    }
}
