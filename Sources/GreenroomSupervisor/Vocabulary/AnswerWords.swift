internal import GreenroomControl
internal import GreenroomLifecycle
internal import GreenroomLinux

// The core's answers in the words of the control interface: the reply or the error of each.

extension ControlReply {
    /// The reply that the answer to a call makes by itself.
    init(_ answer: Answer) {
        switch answer {
        case .done(let instance, let state):
            self = .changed(
                Control.Changed(
                    instance: instance.rawValue, state: Control.ExecutionState(state)))
        case .exited(let record):
            self = .exited(
                Control.Exited(
                    instance: record.instance.rawValue, app: record.app.rawValue,
                    exit: Control.ExitRecord(record)))
        case .accepted, .discarded: self = .done
        case .prepared(_, let isReady): self = .prepared(isReady: isReady)
        case .launched, .prewarmed, .refused:
            preconditionFailure("the core answered another question")
        }
    }
}

extension ControlError {
    /// The error of a refusal, as far as the refusal alone says what happened and what would help.
    init(_ refusal: Refusal) {
        self =
            switch refusal {
            case .noSuchApp(let app): .noSuchApp(app.rawValue, suggestion: nil)
            case .notRunning(let target): .notRunning(Control.Target(target))
            case .illegalTransition(let instance, let from, let transition):
                .illegalTransition(
                    instance: instance.rawValue, from: .known(.init(from)),
                    to: .known(transition.destination))
            case .ineligible(let app): .ineligible(app: app.rawValue)
            case .backOff(let app, until: _):
                .refused(code: "back_off", reason: "\(app) failed recently; try again later")
            case .crashLoop(let app, until: _):
                .refused(code: "crash_loop", reason: "\(app) keeps crashing; try again later")
            case .overBudget(let app):
                .refused(
                    code: "over_budget",
                    reason: "\(app) does not fit into PrewarmBudget= with what is prewarmed now")
            case .tooManyInstances(let limit): .limitExceeded(what: "instances", limit: limit)
            case .tooManyInstancesOfUser(let limit):
                .limitExceeded(
                    what: "instances of one user, next to those of others "
                        + "(InstancesPerUser= and InstanceLimit= in greenroom.conf)", limit: limit)
            case .spawnFailed(_, let failure):
                .spawnFailed(
                    stage: failure.stage, errno: failure.errno,
                    reason: SystemError.text(of: failure.errno))
            case .ended(let instance, let reason):
                .refused(
                    code: "ended",
                    reason: "instance \(instance) ended first: \(reason.row.word)")
            case .shuttingDown: .shuttingDown
            case .freezeFailed(let instance):
                .refused(
                    code: "freeze_failed",
                    reason: "the kernel could not freeze instance \(instance)")
            case .failed(let app, let failure):
                .refused(
                    code: "failed",
                    reason: "\(app) \(failure.words); end that with "
                        + "\"greenroomctl reset-failed \(app)\" or launch it in the foreground")
            case .dependencyFailed(let app, let other, let refusal):
                .dependencyFailed(app, on: other, because: Self(refusal))
            case .requiredEnded(let app, let reason):
                .refused(
                    code: "ended", reason: "\(app) ended before it was ready: \(reason.row.word)")
            case .conflict(let app, let other):
                .refused(
                    code: "conflict",
                    reason: "\(other), which conflicts with \(app), was launched")
            case .noScenes(let app):
                .refused(
                    code: "no_scenes", reason: "\(app) has no scenes; its manifest says Scenes=no")
            case .singleScene(let app):
                .refused(
                    code: "single_scene",
                    reason: "\(app) has one scene; MultipleScenes=yes in its manifest allows more")
            case .noSuchScene(let app, let scene):
                .refused(
                    code: "no_such_scene",
                    reason: "\(app) has no scene session \(scene); "
                        + "\"greenroomctl status \(app)\" shows those that are connected")
            case .tooManyScenes(_, let limit): .limitExceeded(what: "scenes", limit: limit)
            case .cancelled(let app):
                .refused(
                    code: "cancelled",
                    reason: "a client ended \(app) while its launch waited, or the launch's client "
                        + "left")
            case .tooManyTasks(_, let limit): .limitExceeded(what: "pending tasks", limit: limit)
            case .noSuchTask(let app):
                .refused(
                    code: "no_such_task",
                    reason: "no task with that name is pending or running; "
                        + "\"greenroomctl tasks \(app)\" shows all tasks")
            case .scheduledWorkIsOff:
                .refused(
                    code: "scheduled_work_off", reason: "greenroom.conf says ScheduledWork=no")
            case .undeclaredTask:
                .refused(
                    code: "undeclared_task",
                    reason: "the app's manifest does not name the task; add it to ScheduledTasks= "
                        + "of [Application]")
            case .runUnderWay(let app):
                .refused(
                    code: "task_runs",
                    reason: "a task of \(app) is being run, and only one can run at a time; "
                        + "\"greenroomctl debug expire-task \(app)\" ends its time")
            case .obstructed(let app, let obstacle):
                .refused(code: obstacle.code, reason: "\(app) is not prewarmed: \(obstacle.code)")
            case .notTriggered(let app):
                .refused(
                    code: "not_triggered",
                    reason: "\(app) runs, or its paths launched it too often")
            case .forceQuit(let app):
                .refused(
                    code: "force_quit",
                    reason: "the user force-quit \(app), and only a launch in the foreground "
                        + "starts it again (ForceQuitLasts=)")
            case .holdsFileLock(let instance):
                .refused(
                    code: "holds_lock",
                    reason: "instance \(instance) holds a file lock (see /proc/locks); suspended, "
                        + "it would make others wait for it")
            }
    }

    static func dependencyFailed(
        _ app: AppIdentifier, on other: AppIdentifier, because error: ControlError
    ) -> Self {
        .refused(
            code: "dependency",
            reason: "\(app) requires \(other), which could not be started: \(error)")
    }
}

extension Refusal {
    /// What happened and what would help, for people.
    var words: String { ControlError(self).description }
}
