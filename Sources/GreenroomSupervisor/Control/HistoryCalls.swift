internal import GreenroomControl
internal import GreenroomLifecycle
internal import GreenroomLinux
internal import Systemd

/// The calls about the history of launches. A user's history is for that user, root and the daemon's
/// user only: members of the groups of greenroom.conf may observe what apps do now, but not what
/// their users did in the past, or what that says about their habits.
@LoopActor
struct HistoryCalls {
    let authorization: Authorization
    let catalog: AppCatalog
    let history: LaunchHistory

    /// The launches of the client's apps, and those that the client's user asked for; every launch
    /// for root and the daemon's user.
    func find(
        _ query: Control.HistoryQuery, _ connection: ControlConnection
    ) throws(ControlError) {
        let peer = connection.peer
        try history.find(query, for: peer.user, of: visibleUser(peer)) { answer in
            switch answer {
            case .success(.found(var page)):
                page.isOff = history.isOff(peer.user)
                connection.reply(ControlReply.history(page))
            case .success: break
            case .failure(let error): connection.fail(Self.unavailable(error))
            }
        }
    }

    /// The paused instances of the client's apps; every one for root and the daemon's user.
    func findPauses(
        _ query: Control.HistoryQuery, _ connection: ControlConnection
    ) throws(ControlError) {
        let peer = connection.peer
        try history.findPauses(query, for: peer.user, of: visibleUser(peer)) { answer in
            switch answer {
            case .success(.foundPauses(var page)):
                page.isOff = history.isOff(peer.user)
                connection.reply(ControlReply.pauseHistory(page))
            case .success: break
            case .failure(let error): connection.fail(Self.unavailable(error))
            }
        }
    }

    /// Tells which of the client's apps are kept warm, or whether one of them is.
    func plan(_ app: String?, _ connection: ControlConnection) throws(ControlError) {
        let peer = connection.peer
        let name = try app.map { name throws(ControlError) in
            let app = try authorization.find(name, .observe, peer)
            guard maySeeHistory(of: app.identifier, peer) else {
                throw .permissionDenied(needed: "user \(app.account.name) or root")
            }
            return app.identifier.rawValue
        }
        try history.rank(name, for: peer.user, of: visibleUser(peer)) { answer in
            switch answer {
            case .success(.ranked(let report)): connection.reply(ControlReply.planned(report))
            case .success: break
            case .failure(let error): connection.fail(Self.unavailable(error))
            }
        }
    }

    /// Answers `Explain`, with the app's rank if past launches decide whether it is kept warm. If
    /// the app has no rank, or the client may not see it, the reply has the reasons alone.
    func explain(
        _ explanation: Control.Explanation, isPlannable: Bool, _ connection: ControlConnection
    ) {
        var explanation = explanation
        func reply(_ rank: Control.PlannedApp? = nil) {
            explanation.rank = rank
            connection.reply(ControlReply.explained(explanation))
        }
        let (peer, app) = (connection.peer, AppIdentifier(explanation.app))
        guard isPlannable, maySeeHistory(of: app, peer) else { return reply() }
        if let owner = catalog.owner(of: app), history.isOff(owner.user) {
            explanation.say("its user has turned the history off (greenroomctl history --off)")
            return reply()
        }
        do throws(ControlError) {
            try history.rank(explanation.app, for: peer.user, of: visibleUser(peer)) { answer in
                guard case .success(.ranked(let report)) = answer else { return reply() }
                explanation.specify(by: report.apps.first)
                reply(report.apps.first)
            }
        } catch { reply() }
    }

    /// The user whose history the client may see and forget; nil means every user's.
    private func visibleUser(_ peer: Peer) -> UInt32? {
        authorization.isTrusted(peer) ? nil : peer.user
    }

    private func maySeeHistory(of app: AppIdentifier, _ peer: Peer) -> Bool {
        visibleUser(peer).map { $0 == catalog.owner(of: app)?.user } ?? true
    }

    func forget(_ app: String?, _ connection: ControlConnection) throws(ControlError) {
        let peer = connection.peer
        try history.forget(app, for: peer.user, of: visibleUser(peer)) { answer in
            switch answer {
            case .success(.forgotten(let count)):
                connection.reply(ControlReply.forgotten(count: count))
            case .success: break
            case .failure(let error): connection.fail(Self.unavailable(error))
            }
        }
    }

    /// At most this many users without an app here may have turned their history off, because
    /// all of them are written down at each change (see `ApplicationCalls.lockLimit`).
    private static let offLimit = 1024

    /// Turns the history of the client's user off or on. Root and the daemon's user may do this for
    /// another user, to make room for others.
    func keep(
        _ isOn: Bool, of user: UInt32?, _ connection: ControlConnection
    ) throws(ControlError) {
        let peer = connection.peer
        let user = user ?? peer.user
        guard user == peer.user || authorization.isTrusted(peer) else {
            throw .permissionDenied(needed: "root")
        }
        if user == peer.user, !isOn, !history.isOff(user),
            history.usersWithoutHistory.count >= Self.offLimit,
            !SharedLimit.isTrusted(user), !catalog.hasApp(of: user)
        {
            throw .limitExceeded(
                what: "users without an app who have turned the history off", limit: Self.offLimit)
        }
        do throws(SystemError) { try history.keep(isOn, of: user) } catch {
            throw .refused(code: "no_history", reason: "this cannot be kept: \(error)")
        }
        connection.reply(ControlReply.done)
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
        guard let rank else {
            return say(
                "no launch by its user is on record; launches decide whether it is kept warm")
        }
        switch rank.verdict.known {
        case .keep?, .prepare?:
            say("by its user's past launches, it is worth its memory, and the next plan has it")
        case .noRoom?, .notWorthIt?, nil: break
        }
    }

    /// Replaces the text of the reason that no plan has the app, if that is among the reasons.
    fileprivate mutating func say(_ text: String) {
        guard let index = reasons.firstIndex(where: { $0.code == Explanations.notPlanned }) else {
            return
        }
        reasons[index].text = text
    }
}
