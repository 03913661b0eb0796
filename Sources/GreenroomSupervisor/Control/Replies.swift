internal import GreenroomControl
internal import GreenroomLifecycle
internal import GreenroomLinux
internal import Systemd

/// Turns the core's answers into replies.
@LoopActor
struct Replies {
    let core: Core
    let catalog: AppCatalog
    let instances: InstanceTable
    let refusals: Refusals

    /// Replies to a call with the core's answer, of which there is exactly one.
    func answer(_ waiter: ControlCallWaiting, with answer: Answer) {
        switch (waiter, answer) {
        case (.prewarm(let call), _): collect(answer, for: call)
        case (_, .refused(let refusal)):
            waiter.connection.fail(refusals.error(for: refusal, waiter.connection.peer))
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
        let elapsed = requestedAt.duration(to: core.now).microseconds
        catalog.noteLaunch(
            of: outcome, elapsedMicroseconds: elapsed, at: core.now,
            app: core.lifecycle.instance(outcome.instance)?.app)
        return Control.Launched(
            instance: outcome.instance.rawValue,
            processId: instances.pid(of: outcome.instance),
            launchIdentifier: identifier.rawValue,
            kind: Control.LaunchKind(outcome.kind),
            coldReason: outcome.coldReason.map(Control.ColdReason.init),
            isRepeated: outcome.isRepeated, elapsedUSec: elapsed)
    }

    private func collect(_ answer: Answer, for call: ControlCallWaiting.PrewarmCall) {
        call.missing -= 1
        switch answer {
        case .prewarmed(let instance): call.instances.append(instance.rawValue)
        case .refused(let refusal): call.error = refusals.error(for: refusal, call.connection.peer)
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
}
