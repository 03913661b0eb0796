internal import GreenroomControl
internal import GreenroomLifecycle
internal import GreenroomLinux
internal import Systemd

/// Tells the journal, the watchers and the service manager what happened.
@LoopActor
final class Reporter {
    private let journal: Journal
    let events: EventStream
    private var saidOnce: Set<String> = []
    /// Counts for the status text; called after a change, at most once a second.
    var statusText: (() -> String)?
    private var statusTimer: EventSource?
    private var isStatusDue = false

    init(journal: Journal, events: EventStream) throws(SystemdError) {
        self.journal = journal
        self.events = events
        statusTimer = try LoopActor.timer(accuracy: .milliseconds(500)) { [unowned self] in
            isStatusDue = false
            if let statusText { Notify.status(statusText()) }
        }
    }

    // MARK: What the core records

    func note(_ record: Record) {
        switch record {
        case .stateChanged(let instance, let app, let from, let to):
            journal.log(
                .debug, "\(app) \(Control.ExecutionState(to).rawValue)", fields(app, instance))
            publish(.stateChanged, app, instance) {
                $0.from = .known(.init(from))
                $0.to = .known(.init(to))
            }
            scheduleStatus()
        case .launched(_, let launch, let app, let outcome):
            journal.log(
                .info, "launched \(app): \(describe(outcome))",
                [
                    "app": app.rawValue, "instance": outcome.instance.description,
                    "launch": launch.rawValue,
                ], as: .launched(Control.LaunchKind(outcome.kind)))
            publish(.launched, app, outcome.instance) {
                $0.launchIdentifier = launch.rawValue
                $0.launchKind = .known(.init(outcome.kind))
                $0.coldReason = outcome.coldReason.map { .known(.init($0)) }
            }
        case .exited(let ended): exited(ended)
        case .reclaimed(let instance, let app, let bytes, let pressure, let state):
            journal.log(
                .notice,
                "reclaimed \(bytes >> 10) KiB from \(app), which was \(state): memory pressure is "
                    + "\(pressure)",
                [
                    "app": app.rawValue, "instance": instance.description,
                    "pressure": "\(pressure)", "bytes": "\(bytes)", "state": "\(state)",
                ], as: .reclaiming)
            publish(.reclaimed, app, instance) {
                $0.byteCount = bytes
                $0.pressure = Control.MemoryPressure(pressure)
                $0.from = .known(Control.ExecutionState(state))
            }
        case .pressureChanged(let pressure):
            journal.log(
                pressure > .none ? .notice : .info, "memory pressure is \(pressure)",
                ["pressure": "\(pressure)"], as: .pressureChanged)
            publish(.pressureChanged) { $0.pressure = Control.MemoryPressure(pressure) }
        case .prewarmFailed(let app, let reason, let retryAt):
            journal.log(
                .warning,
                "prewarming \(app) failed: \(Control.ExitReason(reason).rawValue); the next try is "
                    + "delayed, see greenroomctl explain \(app)", ["app": app.rawValue],
                as: .prewarmingFailed)
            publish(.prewarmFailed, app, nil) { $0.retryAfterUSec = Self.microseconds(to: retryAt) }
        case .crashLooped(let app, let until):
            journal.log(
                .error, "\(app) crashes in a loop: no prewarming and no background launches",
                ["app": app.rawValue], as: .crashLooped)
            publish(.crashLooped, app, nil) { $0.retryAfterUSec = Self.microseconds(to: until) }
        case .restartScheduled(let app, let at):
            journal.log(.notice, "\(app) is started again", ["app": app.rawValue])
            publish(.restartScheduled, app, nil) {
                $0.retryAfterUSec = Self.microseconds(to: at)
            }
        case .failed(let app, let failure):
            journal.log(
                .error, "\(app) \(failure.words); end that with greenroomctl reset-failed \(app)",
                ["app": app.rawValue, "failure": failure.code])
            publish(.failed, app, nil) { $0.text = failure.words }
        case .sceneChanged(let instance, let app, let scene, let activation):
            publish(.sceneChanged, app, instance) {
                $0.session = scene.description
                $0.activation = .known(.init(activation))
            }
        case .slowStep(let instance, let app, let step, let scene):
            say(step, of: app, instance, .warning, "has not returned after half its time")
            publish(.slowStep, app, instance) {
                $0.session = scene.description
                $0.step = step.name
            }
        // `ShownScreens` tells of them, which knows the file.
        case .launchScreenShown, .launchScreenDropped: break
        case .instanceStalled(let instance, let app, let level):
            journal.log(
                .notice, "\(app) is short of memory within its own limit (\(level))",
                fields(app, instance), as: .pressureChanged)
            publish(.pressureChanged, app, instance) {
                $0.pressure = Control.MemoryPressure(level)
            }
        case .pagedOut(let instance, let app, let byteCount):
            journal.log(
                .info, "\(byteCount >> 10) KiB of \(app), which is suspended, left memory",
                fields(app, instance))
            publish(.pagedOut, app, instance) { $0.byteCount = byteCount }
        case .triggersLeftAlone(let app, let count):
            journal.log(
                .error,
                "\(app): its paths launched it \(count) times in a row, and are left alone; an app "
                    + "takes away what PathExists= or DirectoryNotEmpty= found before it ends "
                    + "(\"greenroomctl reload\" tries again)", ["app": app.rawValue])
        case .missedStep(let instance, let app, let step, let scene):
            say(
                step, of: app, instance, .error, "did not return in time; the watchdog ends the app"
            )
            publish(.missedStep, app, instance) {
                $0.session = scene.description
                $0.step = step.name
            }
        case .stateKept(let instance, let app, let scene):
            publish(.stateKept, app, instance) { $0.session = scene.description }
        case .stateRefused(let instance, let app, let scene, let refusal):
            journal.log(
                .warning, "the state of \(app) is not kept: \(refusal.words)", fields(app, instance)
            )
            publish(.stateRefused, app, instance) {
                $0.session = scene.description
                $0.text = refusal.words
            }
        case .stateDeleted(let app, let scene, let reason):
            journal.log(
                .info, "the state that was kept of \(app) is deleted: \(reason.words)",
                ["app": app.rawValue])
            publish(.stateDeleted, app, nil) {
                $0.session = scene.description
                $0.text = reason.words
            }
        case .backgroundTimeExpiring(let instance, let app):
            journal.log(
                .info, "\(app): its background time is about to end", fields(app, instance))
            publish(.backgroundTimeExpiring, app, instance) { _ in }
        case .taskBegan(let instance, let app, let task):
            journal.log(.info, "\(app) runs \(task)", fields(app, instance))
            publish(.taskBegan, app, instance) { $0.task = task }
        case .taskEnded(let instance, let app, let task, let outcome):
            let outcome = Control.TaskOutcome(outcome)
            journal.log(
                outcome == .succeeded ? .info : .notice,
                "\(app): \(task) \(outcome.rawValue)", fields(app, instance))
            publish(.taskEnded, app, instance) {
                $0.task = task
                $0.outcome = .known(outcome)
            }
        }
    }

    private func say(
        _ step: LifecycleStep, of app: AppIdentifier, _ instance: InstanceIdentifier,
        _ level: LogLevel, _ words: String
    ) {
        journal.log(level, "\(app): \(step.name) \(words)", fields(app, instance))
    }

    /// What every line about an instance has.
    private func fields(
        _ app: AppIdentifier, _ instance: InstanceIdentifier
    ) -> KeyValuePairs<String, String> {
        guard let launch = launchIdentifier?(instance) else {
            return ["app": app.rawValue, "instance": instance.description]
        }
        return [
            "app": app.rawValue, "instance": instance.description, "launch": launch.rawValue,
        ]
    }

    /// The launch that an instance served.
    var launchIdentifier: ((InstanceIdentifier) -> LaunchIdentifier?)?

    /// A step of a launch, with its time since the request.
    func launchStep(
        _ step: String, of app: AppIdentifier, _ instance: InstanceIdentifier, elapsedUSec: Int64
    ) {
        publish(.launchStep, app, instance) {
            $0.step = step
            $0.elapsedUSec = elapsedUSec
        }
    }

    /// Shown or dropped, with the time since the request.
    func launchScreen(
        _ kind: Control.EventKind, of app: AppIdentifier, _ instance: InstanceIdentifier,
        _ screen: Control.LaunchScreen, step: String?, elapsedUSec: Int64
    ) {
        publish(kind, app, instance) {
            $0.launchScreen = screen
            $0.step = step
            $0.elapsedUSec = elapsedUSec
        }
    }

    private func exited(_ record: InstanceRecord) {
        let end = record.endReason.map(Control.ExitReason.init) ?? .unknown
        let reason = end.rawValue
        let level: LogLevel
        switch record.endReason {
        case .suspendedWithLockedFile?, .outOfMemory?, .probablyOutOfMemory?,
            .backgroundTaskTimeout?:
            level = .warning
        case .crashed?, .launchWatchdog?, .watchdog?, .terminateTimeout?, .unknown?:
            level = .warning
        case .conflict?, .dependencyEnded?: level = .info
        case .exitedSelf?, .terminated?, .forceQuit?, .prewarmFailed?, .prewarmExpired?, .stale?,
            .reclaimed?, .poolTrimmed?, .resumeFailed?, .shutdown?, .spawnFailed?, nil:
            level = .info
        }
        journal.log(
            level, "\(record.app) ended: \(reason)\(describe(record.exitStatus))",
            [
                "app": record.app.rawValue, "instance": record.instance.description,
                "launch": record.launchIdentifier?.rawValue ?? "", "reason": reason,
            ], as: .ended(end))
        publish(.exited, record.app, record.instance) { $0.exit = Control.ExitRecord(record) }
    }

    func appsChanged(_ count: Int) {
        publish(.appsChanged) { $0.text = "\(count) apps" }
        scheduleStatus()
    }

    private func publish(
        _ kind: Control.EventKind, _ app: AppIdentifier? = nil,
        _ instance: InstanceIdentifier? = nil, _ fill: (inout Control.Event) -> Void
    ) {
        var event = Control.Event(
            sequence: 0, timestampUSec: WallClock.nowMicroseconds, kind: kind,
            app: app?.rawValue, instance: instance?.rawValue)
        fill(&event)
        events.publish(event)
    }

    private func describe(_ outcome: LaunchOutcome) -> String {
        let reason = outcome.coldReason.map { " (\(Control.ColdReason($0).rawValue))" } ?? ""
        return Control.LaunchKind(outcome.kind).rawValue + reason
    }

    private func describe(_ status: ExitStatus?) -> String {
        switch status {
        case .exited(let code)?: ", status \(code)"
        case .signaled(let signal, let dumped)?:
            ", signal \(signal)\(dumped ? " (core dumped)" : "")"
        case .unknown?, nil: ""
        }
    }

    private static func microseconds(to instant: Instant) -> Int64 {
        max(0, WallClock.microseconds(at: instant) - WallClock.nowMicroseconds)
    }

    // MARK: What the shell meets

    func spawnFailed(_ record: InstanceRecord?, _ failure: SpawnFailure) {
        journal.log(
            .warning,
            "starting \(record?.app.rawValue ?? "an app") failed: \(failure.stage): "
                + SystemError.text(of: failure.errno),
            [
                "app": record?.app.rawValue ?? "",
                "instance": record?.instance.description ?? "",
                "launch": record?.launchIdentifier?.rawValue ?? "",
                "stage": failure.stage, "errno": SystemError.name(of: failure.errno),
            ], as: .spawnFault)
    }

    func say(_ level: LogLevel, _ message: String) { journal.log(level, message) }

    /// About one instance.
    func say(
        _ level: LogLevel, _ message: String, of app: AppIdentifier, _ instance: InstanceIdentifier
    ) {
        journal.log(level, message, fields(app, instance))
    }

    /// About an app, with or without a process.
    func say(_ level: LogLevel, _ message: String, of app: String) {
        journal.log(level, message, ["app": app])
    }

    func failed(_ deed: String, _ error: any Error) {
        journal.log(.error, "\(deed): \(error)")
    }

    /// For what is missing on this machine: worth a line, not a line each time.
    func sayOnce(_ message: String) {
        if saidOnce.insert(message).inserted { journal.log(.notice, message) }
    }

    func runtimeStateIsFull(_ app: AppIdentifier) {
        sayOnce(
            "the runtime state is full: failures and pools of \(app) and of other apps will not "
                + "survive a restart")
    }

    func runtimeStateIsFull(_ record: InstanceRecord) {
        sayOnce("the runtime state is full: newer instances will not survive a restart")
    }

    private func scheduleStatus() {
        guard statusText != nil, !isStatusDue else { return }
        isStatusDue = true
        try? statusTimer?.setDeadline(after: .seconds(1))
    }
}
