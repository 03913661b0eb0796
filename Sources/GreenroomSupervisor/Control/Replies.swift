internal import GreenroomControl
internal import GreenroomLifecycle
internal import GreenroomLinux
internal import Systemd

/// Replies to calls with the core's answers. `AnswerWords.swift` makes a reply or an error from the
/// answer alone; this file adds what the answer does not contain.
@LoopActor
struct Replies {
    let core: Core
    let catalog: AppCatalog
    let instances: InstanceTable
    let authorization: Authorization
    let objections: PrewarmObjections
    let conditions: ConditionInspector

    /// Replies to a call with the core's answer. Each call gets exactly one.
    ///
    /// - Parameter context: what the call brought, if it is a launch.
    func answer(_ call: WaitingCall, with answer: Answer, _ context: LaunchContext?) {
        switch (call, answer) {
        case (.prewarm(let prewarm), _): collect(answer, for: prewarm)
        case (_, .refused(let refusal)):
            call.connection.fail(error(for: refusal, call.connection.peer))
        case (.launch(let launch), .launched(let outcome, _)):
            let launched = launched(
                outcome, launch.identifier, context?.requestedAt ?? core.now)
            call.connection.reply(
                launch.handler.map { ControlReply.handled(app: $0.rawValue, launched) }
                    ?? .launched(launched))
        case (.launch, _), (.plain, _): call.connection.reply(ControlReply(answer))
        }
    }

    private func launched(
        _ outcome: LaunchOutcome, _ identifier: LaunchIdentifier, _ requestedAt: Instant
    ) -> Control.Launched {
        Control.Launched(
            instance: outcome.instance.rawValue,
            processId: instances.pid(of: outcome.instance),
            // A client that sees the process end must not go on before the rest is ended.
            processInode: core.lifecycle.endsWithMainProcess(outcome.instance)
                ? instances.processInode(of: outcome.instance) : nil,
            launchIdentifier: identifier.rawValue,
            kind: Control.LaunchKind(outcome.kind),
            coldReason: outcome.coldReason.map(Control.ColdReason.init),
            anewReason: outcome.anewReason.map(Control.AnewReason.init),
            isRepeated: outcome.isRepeated,
            elapsedUSec: requestedAt.duration(to: core.now).microseconds)
    }

    private func collect(_ answer: Answer, for call: WaitingCall.Prewarm) {
        call.missing -= 1
        if case .prewarmed(let instance) = answer {
            call.instances.append(instance.rawValue)
        } else if case .refused(let refusal) = answer {
            call.error = error(for: refusal, call.connection.peer)
        } else {
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

    /// The error of a refusal. Where the refusal alone says too little, this adds what the daemon
    /// knows now and the client may see.
    private func error(for refusal: Refusal, _ peer: Peer) -> ControlError {
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
        case .obstructed(let app, let obstacle):
            .refused(
                code: obstacle.code,
                reason: "\(app) is not prewarmed: "
                    + (conditions.notes.map(\.text).first ?? obstacle.code))
        case _: ControlError(refusal)
        }
    }

    private func microseconds(until instant: Instant) -> Int64 {
        max(0, core.now.duration(to: instant).microseconds)
    }
}
