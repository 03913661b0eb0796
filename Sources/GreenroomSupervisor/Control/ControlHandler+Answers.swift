internal import GreenroomControl
internal import GreenroomLifecycle
internal import GreenroomLinux

extension ControlHandler {
    /// The core's answer to a request, of which there is exactly one.
    func answer(_ request: RequestIdentifier, with answer: Answer) {
        guard let waiter = takeWaiting(request) else { return }
        switch (waiter, answer) {
        case (.prewarm(let call), _): collect(answer, for: call)
        case (_, .refused(let refusal)):
            waiter.connection.fail(error(for: refusal, waiter.connection.peer))
        case (.launch(let connection, let identifier, let requestedAt, _), .launched(let outcome)):
            connection.reply(ControlReply.launched(launched(outcome, identifier, requestedAt)))
        case (
            .handling(let connection, let app, let identifier, let requestedAt),
            .launched(let outcome)
        ):
            connection.reply(
                ControlReply.handled(
                    app: app.rawValue, launched(outcome, identifier, requestedAt)))
        case (_, .exited(let record)):
            waiter.connection.reply(
                ControlReply.exited(
                    Control.Exited(
                        instance: record.instance.rawValue, app: record.app.rawValue,
                        exit: Control.ExitRecord(record))))
        case (_, .done(let instance, let state)):
            waiter.connection.reply(
                ControlReply.changed(
                    Control.Changed(
                        instance: instance.rawValue, state: Control.ExecutionState(state))))
        case (_, .reset): waiter.connection.reply(ControlReply.resetFailed)
        case (_, .discarded): waiter.connection.reply(ControlReply.done)
        case (_, .prepared(_, let isReady)):
            waiter.connection.reply(ControlReply.prepared(isReady: isReady))
        case (_, .launched), (_, .prewarmed), (_, .scheduled):
            preconditionFailure("the core answered another question")
        }
    }

    private func launched(
        _ outcome: LaunchOutcome, _ identifier: LaunchIdentifier, _ requestedAt: Instant
    ) -> Control.Launched {
        let elapsed = requestedAt.duration(to: supervisor.now).microseconds
        catalog.noteLaunch(
            of: outcome, elapsedMicroseconds: elapsed, at: supervisor.now,
            app: supervisor.lifecycle.instance(outcome.instance)?.app)
        return Control.Launched(
            instance: outcome.instance.rawValue,
            processId: supervisor.instances.pid(of: outcome.instance),
            launchIdentifier: identifier.rawValue,
            kind: Control.LaunchKind(outcome.kind),
            coldReason: outcome.coldReason.map(Control.ColdReason.init),
            isRepeated: outcome.isRepeated, elapsedUSec: elapsed)
    }

    private func collect(_ answer: Answer, for call: PrewarmCall) {
        call.missing -= 1
        switch answer {
        case .prewarmed(let instance): call.instances.append(instance.rawValue)
        case .refused(let refusal): call.error = error(for: refusal, call.connection.peer)
        case .launched, .done, .exited, .reset, .discarded, .prepared, .scheduled:
            preconditionFailure("the core answered another question")
        }
        guard call.missing == 0 else { return }
        if let error = call.error {
            call.connection.fail(error)
        } else {
            call.connection.reply(ControlReply.prewarmed(call.instances))
        }
    }

    private func error(for refusal: Refusal, _ peer: Peer) -> ControlError {
        switch refusal {
        case .noSuchApp(let app): noSuchApp(app.rawValue, peer)
        case .notRunning(let target): .notRunning(Control.Target(target))
        case .illegalTransition(let instance, let from, let transition):
            .illegalTransition(
                instance: instance.rawValue, from: .known(.init(from)),
                to: .known(transition.destination))
        case .ineligible(let app):
            .ineligible(app: app.rawValue, reason: catalog[app]?.whyNeverPrewarmed)
        case .backOff(let app, let until):
            .backOff(
                app: app.rawValue, retryAfterUSec: microseconds(until: until),
                isCrashLooping: false,
                wasReclaimed: supervisor.lifecycle.isPausedByReclaim(app, until: until))
        case .crashLoop(let app, let until):
            .backOff(
                app: app.rawValue, retryAfterUSec: microseconds(until: until), isCrashLooping: true)
        case .overBudget(let app) where supervisor.lifecycle.pressure >= .warning:
            .refused(
                code: "memory_pressure",
                reason: "\(app) is not prewarmed while memory is short; try again when it is not")
        case .overBudget(let app):
            .refused(
                code: "over_budget",
                reason: "\(app) does not fit into PrewarmBudget= beside what is prewarmed now")
        case .tooManyInstances(let limit): .limitExceeded(what: "instances", limit: limit)
        case .spawnFailed(_, let failure):
            .spawnFailed(
                stage: failure.stage, errno: failure.errno,
                reason: SystemError.text(of: failure.errno))
        case .ended(let instance, let reason):
            .refused(
                code: "ended",
                reason: "instance \(instance) ended first: "
                    + Control.ExitReason(reason).rawValue)
        case .shuttingDown: .shuttingDown
        case .freezeFailed(let instance):
            .refused(
                code: "freeze_failed", reason: "the kernel could not freeze instance \(instance)")
        case .failed(let app, let failure):
            .refused(
                code: "failed",
                reason: "\(app) \(failure.words); end that with "
                    + "\"greenroomctl reset-failed \(app)\" or launch it in the foreground")
        case .dependencyFailed(let app, let other, let refusal):
            .refused(
                code: "dependency",
                reason: "\(app) requires \(other), which could not be started: "
                    + error(for: refusal, peer).description)
        case .requiredEnded(let app, let reason):
            .refused(
                code: "ended",
                reason: "\(app) ended before it was ready: "
                    + Control.ExitReason(reason).rawValue)
        case .conflict(let app, let other):
            .refused(
                code: "conflict", reason: "\(other), which conflicts with \(app), was launched")
        case .noScenes(let app):
            .refused(
                code: "no_scenes", reason: "\(app) has no scenes; its manifest says Scenes=no")
        case .singleScene(let app):
            .refused(
                code: "single_scene",
                reason: "\(app) has one scene; MultipleScenes=yes in its manifest allows more")
        case .noSuchScene(let app, let scene):
            .refused(
                code: "no_such_scene",
                reason: "\(app) has no scene session \(scene); \"greenroomctl status \(app)\" "
                    + "shows those that are connected")
        case .tooManyScenes(_, let limit): .limitExceeded(what: "scenes", limit: limit)
        case .cancelled(let app):
            .refused(
                code: "cancelled",
                reason: "\(app) was ended by a client while its launch waited for other apps")
        case .tooManyTasks(_, let limit): .limitExceeded(what: "pending tasks", limit: limit)
        case .noSuchTask(let app):
            .refused(
                code: "no_such_task",
                reason: "nothing of that name is pending or running; \"greenroomctl tasks \(app)\" "
                    + "shows what is")
        case .taskRuns(let app):
            .refused(
                code: "task_runs",
                reason: "a task of \(app) is being run, and there is one at a time; "
                    + "\"greenroomctl debug expire-task \(app)\" ends its time")
        case .held(let app, let hold):
            .refused(
                code: hold.code,
                reason: "\(app) is not prewarmed: "
                    + (supervisor.reclaimer.conditions.notes.map(\.text).first ?? hold.code))
        case .notTriggered(let app):
            .refused(
                code: "not_triggered",
                reason: "\(app) runs, or its paths launched it too often")
        case .holdsLock(let instance):
            .refused(
                code: "holds_lock",
                reason: "instance \(instance) holds a file lock (see /proc/locks); suspended, it "
                    + "would make others wait for it")
        }
    }

    private func microseconds(until instant: Instant) -> Int64 {
        max(0, supervisor.now.duration(to: instant).microseconds)
    }
}

extension Duration {
    /// Whole microseconds, saturating.
    var microseconds: Int64 {
        let (seconds, attoseconds) = components
        let (scaled, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000)
        return overflow ? (seconds < 0 ? .min : .max) : scaled + attoseconds / 1_000_000_000_000
    }
}
