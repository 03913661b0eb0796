internal import GreenroomControl
internal import Systemd

/// The calls about the history of launches.
@LoopActor
struct HistoryCalls {
    let authorization: Authorization
    let history: LaunchHistory

    /// The launches of the client's apps, and those that the client's user asked for; every launch
    /// for whoever may observe all apps.
    func find(
        _ query: Control.HistoryQuery, _ connection: ControlConnection
    ) throws(ControlError) {
        let peer = connection.peer
        let user: UInt32? =
            switch authorization.audience(of: peer) {
            case .all: nil
            case .user(let user): user
            }
        try history.find(query, for: peer.user, of: user) { answer in
            switch answer {
            case .success(.found(let page)): connection.reply(ControlReply.history(page))
            case .success: break
            case .failure(let error): connection.fail(Self.unavailable(error))
            }
        }
    }

    /// Only root and the daemon's user may make the daemon forget launches of others.
    func forget(_ app: String?, _ connection: ControlConnection) throws(ControlError) {
        let peer = connection.peer
        let user = authorization.isTrusted(peer) ? nil : peer.user
        try history.forget(app, for: peer.user, of: user) { answer in
            switch answer {
            case .success(.forgotten(let count)):
                connection.reply(ControlReply.forgotten(count: count))
            case .success: break
            case .failure(let error): connection.fail(Self.unavailable(error))
            }
        }
    }

    private static func unavailable(_ error: HistoryError) -> ControlError {
        .refused(
            code: "no_history", reason: "the history cannot be used: \(error.reason)")
    }
}
