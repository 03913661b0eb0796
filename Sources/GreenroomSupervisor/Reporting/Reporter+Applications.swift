internal import GreenroomControl
internal import GreenroomLifecycle
internal import GreenroomLinux
internal import Systemd

/// Reports what apps made with the SDK do, and what they fail to do in time.
extension Reporter {
    func sceneChanged(
        _ instance: InstanceIdentifier, of app: AppIdentifier, _ scene: SceneIdentifier,
        _ activation: ActivationState
    ) {
        publish(.sceneChanged, app, instance) {
            $0.session = scene.description
            $0.activation = .known(.init(activation))
        }
    }

    func isLate(
        _ kind: Control.EventKind, _ step: LifecycleStep, of app: AppIdentifier,
        _ instance: InstanceIdentifier, scene: SceneIdentifier, level: LogLevel,
        saying words: String
    ) {
        log.line(app, level, "\(app): \(step.name) \(words)", fields(app, instance))
        publish(kind, app, instance) {
            $0.session = scene.description
            $0.step = step.name
        }
    }

    func stateRefused(
        _ instance: InstanceIdentifier, of app: AppIdentifier, _ scene: SceneIdentifier,
        _ refusal: StateRefusal
    ) {
        log.line(
            app, .warning, "the state of \(app) is not kept: \(refusal.words)",
            fields(app, instance))
        publish(.stateRefused, app, instance) {
            $0.session = scene.description
            $0.text = refusal.words
        }
    }

    func stateDeleted(
        _ app: AppIdentifier, _ scene: SceneIdentifier, _ reason: StateDeletion
    ) {
        log.line(
            app, .info, "the saved state of \(app) is deleted: \(reason.words)",
            ["app": app.rawValue])
        publish(.stateDeleted, app) {
            $0.session = scene.description
            $0.text = reason.words
        }
    }

    func backgroundTimeExpiring(_ instance: InstanceIdentifier, of app: AppIdentifier) {
        log.line(app, .info, "\(app): its background time is about to end", fields(app, instance))
        publish(.backgroundTimeExpiring, app, instance) { _ in }
    }

    func taskBegan(
        _ task: String, of app: AppIdentifier, _ instance: InstanceIdentifier
    ) {
        log.line(app, .info, "\(app) runs \(task)", fields(app, instance))
        publish(.taskBegan, app, instance) { $0.task = task }
    }

    func taskEnded(
        _ task: String, of app: AppIdentifier, _ instance: InstanceIdentifier,
        _ outcome: Control.TaskOutcome
    ) {
        log.line(
            app, outcome == .succeeded ? .info : .notice, "\(app): \(task) \(outcome.rawValue)",
            fields(app, instance))
        publish(.taskEnded, app, instance) {
            $0.task = task
            $0.outcome = .known(outcome)
        }
    }
}
