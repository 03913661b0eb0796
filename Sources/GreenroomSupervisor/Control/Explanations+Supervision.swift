internal import GreenroomControl
internal import GreenroomLifecycle

extension Explanations {
    /// Whether the daemon keeps the app running; nil if there is nothing to say about it.
    func supervisionStatus(of app: AppIdentifier) -> Control.SupervisionStatus? {
        let lifecycle = core.lifecycle
        guard let record = lifecycle.app(app), let description = lifecycle.description(of: app)
        else { return nil }
        let policy = description.supervision.value?.restart
        let isForceQuit = lifecycle.isForceQuit(app)
        guard policy != nil || record.failure != nil || record.startAt != nil || isForceQuit
        else { return nil }
        var status = Control.SupervisionStatus(
            restart: (policy ?? .never).word, restartCount: Int64(record.restartCount))
        if let due = record.startAt {
            status.nextStartUSec = max(0, core.now.duration(to: due).microseconds)
        }
        if let failure = record.failure {
            status.failed = .init(
                code: failure.code, text: "\(failure.words); greenroomctl reset-failed \(app)")
        }
        if isForceQuit {
            status.forceQuit = .init(
                code: "force_quit",
                text: "no timer, path, socket, push or scheduled work starts it; "
                    + "greenroomctl launch \(app)")
        }
        return status
    }
}
