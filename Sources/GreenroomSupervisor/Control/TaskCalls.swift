internal import GreenroomControl
internal import GreenroomLifecycle
internal import Systemd

// Calls about scheduled tasks: which are pending, why they are not run yet, and how to run one at
// once.

@LoopActor
struct TaskCalls {
    let core: Core
    let catalog: AppCatalog
    let requests: Requests
    let authorization: Authorization
    let work: BackgroundWork

    func perform(
        _ call: Control.TaskCall, _ connection: ControlConnection
    ) throws(ControlError) {
        switch call {
        case .list(let name?):
            let app = try authorization.find(name, .observe, connection.peer)
            connection.reply(ControlReply.tasks(tasks(of: app, work.conditions)))
        case .list(nil):
            let visible = catalog.apps.filter {
                authorization.mayDo(.observe, owner: $0.account, connection.peer)
            }
            let conditions = work.conditions
            connection.reply(ControlReply.tasks(visible.flatMap { tasks(of: $0, conditions) }))
        case .run(let name, let identifier):
            try authorization.require(.administer, owner: nil, connection.peer)
            let app = try authorization.find(name, .control, connection.peer)
            requests.ask(
                .runTask(app.identifier, identifier: identifier),
                for: .client(.plain(connection)))
        case .expire(let name):
            try authorization.require(.administer, owner: nil, connection.peer)
            let app = try authorization.find(name, .control, connection.peer)
            requests.ask(.expireTask(app.identifier), for: .client(.plain(connection)))
        }
    }

    private func tasks(
        of app: InstalledApp, _ conditions: TaskConditions
    ) -> [Control.ScheduledTask] {
        let tasks = core.lifecycle.tasks(of: app.identifier)
        let running = tasks.run.map { runningTask($0, of: app.identifier) }
        return (running.map { [$0] } ?? [])
            + tasks.requests.map { pendingTask($0, of: app.identifier, conditions) }
    }

    private func runningTask(
        _ run: ScheduledRun, of app: AppIdentifier
    ) -> Control.ScheduledTask {
        var task = Control.ScheduledTask(
            app: app.rawValue, identifier: run.identifier, kind: .init(run.kind), state: .running)
        guard let instance = core.lifecycle.taskInstance(of: app) else { return task }
        task.instance = instance.rawValue
        task.remainingUSec = core.lifecycle.instance(instance)?.background.value?.run.map {
            max(0, core.now.duration(to: $0.end).microseconds)
        }
        return task
    }

    private func pendingTask(
        _ request: ScheduledTask, of app: AppIdentifier, _ conditions: TaskConditions
    ) -> Control.ScheduledTask {
        var task = Control.ScheduledTask(
            app: app.rawValue, identifier: request.identifier, kind: .init(request.kind),
            state: .pending)
        task.earliestTimestampUSec = request.earliestBegin
        task.requiresExternalPower = request.requiresExternalPower
        task.requiresNetwork = request.requiresNetworkConnectivity
        let obstacle = core.lifecycle.obstacle(to: request, app, conditions)
        if obstacle == .due, core.lifecycle.isLaunchedForTask(app) {
            task.state = .known(.launching)
        } else {
            task.hold = clientNote(obstacle)
        }
        return task
    }

    private func clientNote(_ obstacle: TaskObstacle) -> Control.Note {
        func seconds(until instant: Instant) -> Int64 {
            max(1, core.now.duration(to: instant).components.seconds)
        }
        return switch obstacle {
        case .earliestBegin: .init(code: "earliest_begin", text: "its earliest time has not come")
        case .noExternalPower:
            .init(code: "no_external_power", text: "the machine runs on battery")
        case .noNetwork: .init(code: "no_network", text: "there is no default route")
        case .inUse(let until):
            .init(
                code: "in_use",
                text: "an app was used a moment ago; TaskIdleSec= ends in "
                    + "\(seconds(until: until)) s")
        case .highLoad: .init(code: "high_load", text: "the load is above TaskMaxLoad=")
        case .memoryPressure:
            .init(
                code: "memory_pressure",
                text: "memory is short (\(core.lifecycle.pressure))")
        case .asleep: .init(code: "asleep", text: "the machine sleeps or shuts down")
        case .otherRun(let app): .init(code: "other_run", text: "a task of \(app) is run first")
        case .failing(let until):
            .init(
                code: "back_off",
                text: "the app could not be launched, or was launched too often; next try in "
                    + "\(seconds(until: until)) s")
        case .failed:
            .init(
                code: "failed",
                text: "the app has failed; \"greenroomctl reset-failed\" ends that")
        case .forceQuit:
            .init(
                code: "force_quit",
                text: "the user force-quit the app and has not launched it since")
        case .due: .init(code: "due", text: "it is run in a moment")
        }
    }
}
