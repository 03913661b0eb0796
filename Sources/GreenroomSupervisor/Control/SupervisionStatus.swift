internal import GreenroomControl
internal import GreenroomLifecycle

extension ControlHandler {
    /// Whether the daemon keeps the app running; nil where nothing of that is to be said.
    func supervisionStatus(of app: AppIdentifier) -> Control.SupervisionStatus? {
        let lifecycle = supervisor.lifecycle
        guard let record = lifecycle.app(app), let description = lifecycle.description(of: app)
        else { return nil }
        let policy = description.supervision.value?.restart
        guard policy != nil || record.failure != nil || record.startAt != nil else { return nil }
        var status = Control.SupervisionStatus(
            restart: (policy ?? .never).word, restartCount: Int64(record.restartCount))
        if let due = record.startAt {
            status.nextStartUSec = max(0, supervisor.now.duration(to: due).microseconds)
        }
        if let failure = record.failure {
            status.failed = .init(
                code: failure.code, text: "\(failure.words); greenroomctl reset-failed \(app)")
        }
        return status
    }
}

extension RestartPolicy {
    /// As in a manifest.
    var word: String {
        switch self {
        case .never: "no"
        case .onFailure: "on-failure"
        case .onAbnormal: "on-abnormal"
        case .always: "always"
        }
    }
}

extension SupervisionFailure {
    var code: String {
        switch self {
        case .startLimit: "start_limit"
        case .permanentStatus: "permanent_status"
        case .dependency: "dependency"
        }
    }

    /// After the name of the app.
    var words: String {
        switch self {
        case .startLimit:
            "was started too often within StartLimitIntervalSec= and is not started again"
        case .permanentStatus:
            "ended with a status of RestartPreventExitStatus= and is not started again"
        case .dependency: "could not be started without an app that it requires"
        }
    }
}
