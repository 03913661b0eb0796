internal import GreenroomControl
internal import GreenroomLifecycle
internal import GreenroomLinux
internal import Systemd

/// Tells the journal, the watchers and the service manager what happened.
@LoopActor
final class Reporter {
    let journal: Journal
    let events: EventStream
    private var saidOnce: Set<String> = []
    private let budgets: LineBudgets
    /// The launch that an instance served.
    var launchIdentifier: ((InstanceIdentifier) -> LaunchIdentifier?)?
    /// Counts for the status text; called after a change, at most once a second.
    var statusText: (() -> String)?
    private var statusTimer: EventSource?
    private var isStatusDue = false

    init(journal: Journal, events: EventStream) throws(SystemdError) {
        self.journal = journal
        self.events = events
        budgets = try LineBudgets(journal)
        statusTimer = try LoopActor.timer(accuracy: .milliseconds(500)) { [unowned self] in
            isStatusDue = false
            if let statusText { Notify.status(statusText()) }
        }
    }

    // MARK: What the shell knows more of

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

    func appsChanged(_ count: Int) {
        publish(.appsChanged) { $0.text = "\(count) apps" }
        scheduleStatus()
    }

    // MARK: Lines and events

    /// A line about an app, unless there were too many lately.
    func line(
        _ app: AppIdentifier, _ level: LogLevel, _ message: @autoclosure () -> String,
        _ fields: @autoclosure () -> KeyValuePairs<String, String> = [:],
        as identity: @autoclosure () -> MessageIdentifier? = nil,
        _ occasion: LineBudgets.Occasion = .word
    ) {
        guard level.rawValue <= journal.level.rawValue, budgets.allow(app, occasion) else { return }
        journal.log(level, message(), fields(), as: identity())
    }

    /// What every line about an instance has.
    func fields(
        _ app: AppIdentifier, _ instance: InstanceIdentifier
    ) -> KeyValuePairs<String, String> {
        guard let launch = launchIdentifier?(instance) else {
            return ["app": app.rawValue, "instance": instance.description]
        }
        return [
            "app": app.rawValue, "instance": instance.description, "launch": launch.rawValue,
        ]
    }

    func publish(
        _ kind: Control.EventKind, _ app: AppIdentifier? = nil,
        _ instance: InstanceIdentifier? = nil, _ fill: (inout Control.Event) -> Void
    ) {
        var event = Control.Event(
            sequence: 0, timestampUSec: WallClock.nowMicroseconds, kind: kind,
            app: app?.rawValue, instance: instance?.rawValue)
        fill(&event)
        events.publish(event)
    }

    // MARK: What the shell meets

    func spawnFailed(_ record: InstanceRecord?, _ failure: SpawnFailure) {
        line(
            record?.app ?? AppIdentifier(""), .warning,
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
        line(app, level, message, fields(app, instance))
    }

    /// About an app, with or without a process.
    func say(_ level: LogLevel, _ message: String, of app: String) {
        line(AppIdentifier(app), level, message, ["app": app])
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

    func scheduleStatus() {
        guard statusText != nil, !isStatusDue else { return }
        isStatusDue = true
        try? statusTimer?.setDeadline(after: .seconds(1))
    }
}
