internal import GreenroomControl
internal import GreenroomLifecycle
internal import GreenroomLinux
internal import Systemd

/// Turns the core's answers into replies, and its refusals into errors. Each error says what would help.
@LoopActor
struct Replies {
    let core: Core
    let catalog: AppCatalog
    let instances: InstanceTable
    let authorization: Authorization
    let eligibility: Eligibility
    let conditions: ConditionInspector

    /// Replies to a call with the core's answer, of which there is exactly one.
    func answer(_ call: WaitingCall, with answer: Answer) {
        switch (call, answer) {
        case (.prewarm(let prewarm), _): collect(answer, for: prewarm)
        case (_, .refused(let refusal)):
            call.connection.fail(error(for: refusal, call.connection.peer))
        case (.launch(let launch), .launched(let outcome, _)):
            let launched = launched(outcome, launch.identifier, launch.requestedAt)
            call.connection.reply(
                launch.handler.map { ControlReply.handled(app: $0.rawValue, launched) }
                    ?? .launched(launched))
        case (_, .exited(let record)):
            call.connection.reply(
                ControlReply.exited(
                    Control.Exited(
                        instance: record.instance.rawValue, app: record.app.rawValue,
                        exit: Control.ExitRecord(record))))
        case (_, .done(let instance, let state)):
            call.connection.reply(
                ControlReply.changed(
                    Control.Changed(
                        instance: instance.rawValue, state: Control.ExecutionState(state))))
        case (_, .accepted), (_, .discarded): call.connection.reply(ControlReply.done)
        case (_, .prepared(_, let isReady)):
            call.connection.reply(ControlReply.prepared(isReady: isReady))
        case (_, .launched), (_, .prewarmed):
            preconditionFailure("the core answered another question")
        }
    }

    private func launched(
        _ outcome: LaunchOutcome, _ identifier: LaunchIdentifier, _ requestedAt: Instant
    ) -> Control.Launched {
        let elapsed = requestedAt.duration(to: core.now).microseconds
        catalog.noteLaunch(
            of: outcome, elapsedMicroseconds: elapsed, at: core.now,
            app: instances[outcome.instance]?.app)
        return Control.Launched(
            instance: outcome.instance.rawValue,
            processId: instances.pid(of: outcome.instance),
            launchIdentifier: identifier.rawValue,
            kind: Control.LaunchKind(outcome.kind),
            coldReason: outcome.coldReason.map(Control.ColdReason.init),
            isRepeated: outcome.isRepeated, elapsedUSec: elapsed)
    }

    private func collect(_ answer: Answer, for call: WaitingCall.PrewarmCall) {
        call.missing -= 1
        switch answer {
        case .prewarmed(let instance): call.instances.append(instance.rawValue)
        case .refused(let refusal): call.error = error(for: refusal, call.connection.peer)
        case .launched, .done, .exited, .discarded, .prepared, .accepted:
            preconditionFailure("the core answered another question")
        }
        guard call.missing == 0 else { return }
        if let error = call.error {
            call.connection.fail(error)
        } else {
            call.connection.reply(ControlReply.prewarmed(call.instances))
        }
    }

    // MARK: Refusals

    func error(for refusal: Refusal, _ peer: Peer) -> ControlError {
        switch refusal {
        case .noSuchApp(let app): authorization.noSuchApp(app.rawValue, peer)
        case .notRunning(let target): .notRunning(Control.Target(target))
        case .illegalTransition(let instance, let from, let transition):
            .illegalTransition(
                instance: instance.rawValue, from: .known(.init(from)),
                to: .known(transition.destination))
        case .ineligible(let app):
            .ineligible(
                app: app.rawValue, reason: catalog[app].flatMap(eligibility.objection)?.text)
        case .backOff(let app, let until):
            .backOff(
                app: app.rawValue, retryAfterUSec: microseconds(until: until),
                isCrashLooping: false,
                wasReclaimed: core.lifecycle.isPausedByReclaim(app, until: until))
        case .crashLoop(let app, let until):
            .backOff(
                app: app.rawValue, retryAfterUSec: microseconds(until: until), isCrashLooping: true)
        case .overBudget(let app) where core.lifecycle.pressure >= .warning:
            .refused(
                code: "memory_pressure",
                reason: "\(app) is not prewarmed while memory is short; try again when it is not")
        case .overBudget(let app):
            .refused(
                code: "over_budget",
                reason: "\(app) does not fit into PrewarmBudget= beside what is prewarmed now")
        case .tooManyInstances(let limit): .limitExceeded(what: "instances", limit: limit)
        case .tooManyInstancesOfUser(let limit):
            .limitExceeded(
                what: "instances of one user, beside others' "
                    + "(InstancesPerUser= and InstanceLimit= in greenroom.conf)", limit: limit)
        case .spawnFailed(_, let failure):
            .spawnFailed(
                stage: failure.stage, errno: failure.errno,
                reason: failure.stage == SpawnError.Stage.session.deed
                    ? ControlError.foreignTerminal : SystemError.text(of: failure.errno))
        case .ended(let instance, let reason):
            .refused(
                code: "ended",
                reason: "instance \(instance) ended first: "
                    + reason.row.word)
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
                    + reason.row.word)
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
        case .runUnderWay(let app):
            .refused(
                code: "task_runs",
                reason: "a task of \(app) is being run, and there is one at a time; "
                    + "\"greenroomctl debug expire-task \(app)\" ends its time")
        case .held(let app, let hold):
            .refused(
                code: hold.code,
                reason: "\(app) is not prewarmed: "
                    + (conditions.notes.map(\.text).first ?? hold.code))
        case .notTriggered(let app):
            .refused(
                code: "not_triggered",
                reason: "\(app) runs, or its paths launched it too often")
        case .holdsFileLock(let instance):
            .refused(
                code: "holds_lock",
                reason: "instance \(instance) holds a file lock (see /proc/locks); suspended, it "
                    + "would make others wait for it")
        }
    }

    private func microseconds(until instant: Instant) -> Int64 {
        max(0, core.now.duration(to: instant).microseconds)
    }
}
