internal import GreenroomControl
internal import GreenroomLifecycle
internal import GreenroomLinux
internal import Systemd

/// Turns the core's answers into replies, and its refusals into errors. Each error says what would
/// help.
@LoopActor
struct Replies {
    let core: Core
    let catalog: AppCatalog
    let instances: InstanceTable
    let authorization: Authorization
    let objections: PrewarmObjections
    let conditions: ConditionInspector

    /// Replies to a call with the core's answer. Each call gets exactly one.
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
        Control.Launched(
            instance: outcome.instance.rawValue,
            processId: instances.pid(of: outcome.instance),
            launchIdentifier: identifier.rawValue,
            kind: Control.LaunchKind(outcome.kind),
            coldReason: outcome.coldReason.map(Control.ColdReason.init),
            anewReason: outcome.anewReason.map(Control.AnewReason.init),
            isRepeated: outcome.isRepeated,
            elapsedUSec: requestedAt.duration(to: core.now).microseconds)
    }

    private func collect(_ answer: Answer, for call: WaitingCall.Prewarm) {
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

    /// The error of a refusal. Some errors say more than the refusal alone: what this client may
    /// see, and what the daemon knows at this moment.
    func error(for refusal: Refusal, _ peer: Peer) -> ControlError {
        switch refusal {
        case .noSuchApp(let app): authorization.noSuchApp(app.rawValue, peer)
        case .ineligible(let app):
            .ineligible(
                app: app.rawValue, reason: catalog[app].flatMap(objections.objection)?.text)
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
        case .spawnFailed(_, let failure) where failure.stage == SpawnError.Stage.session.activity:
            .spawnFailed(
                stage: failure.stage, errno: failure.errno, reason: ControlError.foreignTerminal)
        case .dependencyFailed(let app, let other, let refusal):
            .dependencyFailed(app, on: other, because: error(for: refusal, peer))
        case .held(let app, let hold):
            .refused(
                code: hold.code,
                reason: "\(app) is not prewarmed: "
                    + (conditions.notes.map(\.text).first ?? hold.code))
        case .notRunning, .illegalTransition, .overBudget, .tooManyInstances,
            .tooManyInstancesOfUser, .spawnFailed, .ended, .shuttingDown, .freezeFailed, .failed,
            .requiredEnded, .conflict, .noScenes, .singleScene, .noSuchScene, .tooManyScenes,
            .cancelled, .tooManyTasks, .noSuchTask, .scheduledWorkIsOff, .undeclaredTask,
            .runUnderWay, .notTriggered, .holdsFileLock, .forceQuit:
            ControlError(refusal)
        }
    }

    private func microseconds(until instant: Instant) -> Int64 {
        max(0, core.now.duration(to: instant).microseconds)
    }
}
