internal import GreenroomControl
internal import GreenroomLifecycle
internal import Systemd

/// The calls about instances that run: waiting for the end, changing the state, signals.
@LoopActor
struct InstanceCalls {
    let core: Core
    let instances: InstanceTable
    let requests: Requests
    let authorization: Authorization

    func wait(
        _ target: Control.WaitTarget, _ connection: ControlConnection
    ) throws(ControlError) {
        switch target {
        case .instance(let instance):
            try authorization.require(.observe, of: .instance(instance), connection.peer)
            ask(.awaitExit(.instance(InstanceIdentifier(instance))), for: connection)
        case .launch(let name):
            guard
                let instance = authorization.instance(
                    of: LaunchIdentifier(name), for: connection.peer)
            else {
                throw .noSuchLaunch(name.cut)
            }
            ask(.awaitExit(.instance(instance)), for: connection)
        }
    }

    func change(
        _ target: Control.Target, _ transition: Control.Transition, _ connection: ControlConnection
    ) throws(ControlError) {
        try authorization.require(.control, of: target, connection.peer)
        ask(.transition(Target(target), Transition(transition)), for: connection)
    }

    func signal(
        _ instance: UInt64, _ number: Int32, _ connection: ControlConnection
    ) throws(ControlError) {
        try authorization.require(.control, of: .instance(instance), connection.peer)
        guard instances.signal(number, to: InstanceIdentifier(instance)) else {
            throw .notRunning(.instance(instance))
        }
        core.handle(
            .signalSent(InstanceIdentifier(instance), signal: UInt8(truncatingIfNeeded: number)))
        connection.reply(ControlReply.done)
    }

    private func ask(_ request: Request, for connection: ControlConnection) {
        requests.ask(request, for: .client(.plain(connection)))
    }
}
