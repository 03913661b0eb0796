internal import GreenroomControl
internal import GreenroomLifecycle
internal import Systemd

/// The calls about the daemon itself, which only administrators may make.
@LoopActor
struct AdministrationCalls {
    let authorization: Authorization
    let reload: Reload
    let pressure: PressureWatcher
    let checking: ManifestChecking

    func verify(
        _ drafts: [Control.ManifestDraft], _ connection: ControlConnection
    ) throws(ControlError) {
        try authorization.require(.administer, owner: nil, connection.peer)
        checking.check(drafts) { connection.reply(ControlReply.verified($0)) }
    }

    func reload(_ connection: ControlConnection) throws(ControlError) {
        try authorization.require(.administer, owner: nil, connection.peer)
        reload.begin { connection.reply(ControlReply.reloaded($0)) }
    }

    func reportPressure(
        _ level: Control.MemoryPressure, _ connection: ControlConnection
    ) throws(ControlError) {
        try authorization.require(.administer, owner: nil, connection.peer)
        pressure.report(MemoryPressure(level)) { connection.reply(ControlReply.done) }
    }
}
