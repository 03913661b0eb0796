internal import GreenroomControl
internal import GreenroomLifecycle
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
        try history.find(query, for: peer.user, of: visibleUser(peer)) { answer in
            switch answer {
            case .success(.found(let page)): connection.reply(ControlReply.history(page))
            case .success: break
            case .failure(let error): connection.fail(Self.unavailable(error))
            }
        }
    }

    /// The paused instances of the client's apps; every one for whoever may observe all apps.
    func findPauses(
        _ query: Control.HistoryQuery, _ connection: ControlConnection
    ) throws(ControlError) {
        let peer = connection.peer
        try history.findPauses(query, for: peer.user, of: visibleUser(peer)) { answer in
            switch answer {
            case .success(.foundPauses(let page)):
                connection.reply(ControlReply.pauseHistory(page))
            case .success: break
            case .failure(let error): connection.fail(Self.unavailable(error))
            }
        }
    }

    /// Tells which of the apps that the client may observe are kept warm, or whether one of them
    /// is.
    func plan(_ app: String?, _ connection: ControlConnection) throws(ControlError) {
        let peer = connection.peer
        let name = try app.map { app throws(ControlError) in
            try authorization.find(app, .observe, peer).identifier.rawValue
        }
        // An app that the client may observe is its own user's, unless the client may observe all
        // apps.
        try history.rank(name, for: peer.user, of: visibleUser(peer)) { answer in
            switch answer {
            case .success(.ranked(let report)): connection.reply(ControlReply.planned(report))
            case .success: break
            case .failure(let error): connection.fail(Self.unavailable(error))
            }
        }
    }

    /// Answers `Explain`, with the app's rank if past launches decide whether it is kept warm. If
    /// the app has no rank, the reply has the reasons alone.
    func explain(
        _ explanation: Control.Explanation, isPlannable: Bool, _ connection: ControlConnection
    ) {
        var explanation = explanation
        func reply(_ rank: Control.PlannedApp? = nil) {
            explanation.rank = rank
            connection.reply(ControlReply.explained(explanation))
        }
        guard isPlannable else { return reply() }
        let peer = connection.peer
        do throws(ControlError) {
            try history.rank(explanation.app, for: peer.user, of: visibleUser(peer)) { answer in
                guard case .success(.ranked(let report)) = answer else { return reply() }
                explanation.specify(by: report.apps.first)
                reply(report.apps.first)
            }
        } catch { reply() }
    }

    /// The user whose apps the client may see; nil means every user's.
    private func visibleUser(_ peer: Peer) -> UInt32? {
        switch authorization.audience(of: peer) {
        case .all: nil
        case .user(let user): user
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

extension Control.Explanation {
    /// Says why no plan has the app, as exactly as the app's rank tells. The rank is nil if the
    /// app's user has not launched it.
    fileprivate mutating func specify(by rank: Control.PlannedApp?) {
        guard let index = reasons.firstIndex(where: { $0.code == Explanations.notPlanned }) else {
            return
        }
        guard let rank else {
            reasons[index].text =
                "no launch by its user is on record; launches decide whether it is kept warm"
            return
        }
        switch rank.verdict.known {
        case .keep?, .prepare?:
            reasons[index].text =
                "by its user's past launches, it is worth its memory, and the next plan has it"
        case .noRoom?, .notWorthIt?, nil: break
        }
    }
}
