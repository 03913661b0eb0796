internal import GreenroomControl
internal import GreenroomLifecycle
internal import GreenroomLinux
internal import Systemd

/// Tells the journal, the watchers and the service manager what happened.
@LoopActor
final class Reporter {
    let log: Log
    let events: EventStream
    let core: Core
    let catalog: AppCatalog
    private let degradations: Degradations
    private let tellsStatus: Bool
    private var statusTimer: EventSource?
    private var isStatusDue = false
    /// What `runtimeStateLacks` was told last.
    private var unsaved = RecordMemory.Lack()

    /// - Parameter tellsStatus: whether the service manager wants to know how many apps run
    ///   (sd_notify(3)).
    init(
        log: Log, events: EventStream, core: Core, catalog: AppCatalog,
        degradations: Degradations, tellsStatus: Bool
    ) throws(SystemdError) {
        self.log = log
        self.events = events
        self.core = core
        self.catalog = catalog
        self.degradations = degradations
        self.tellsStatus = tellsStatus
        statusTimer = try LoopActor.timer(accuracy: .milliseconds(500)) { [unowned self] in
            isStatusDue = false
            Notify.status(statusText)
        }
    }

    // MARK: Status

    /// How many apps are in which state, for the service manager.
    var statusText: String {
        let states = core.lifecycle.instances.map(\.state)
        let running = states.count {
            [.launching, .inactive, .active, .background].contains($0)
        }
        return "\(catalog.count) apps, \(running) running, "
            + "\(states.count { $0 == .suspended }) suspended, "
            + "\(states.count { $0 == .prewarmed }) prewarmed"
    }

    /// The counts have changed. The service manager is told at most once a second.
    func scheduleStatus() {
        guard tellsStatus, !isStatusDue else { return }
        isStatusDue = true
        try? statusTimer?.setDeadline(after: .seconds(1))
    }

    // MARK: Events that the shell knows more about

    /// A step of a launch, with its time since the request.
    func launchStep(
        _ step: String, of app: AppIdentifier, _ instance: InstanceIdentifier, elapsedUSec: Int64
    ) {
        publish(.launchStep, app, instance) {
            $0.step = step
            $0.elapsedUSec = elapsedUSec
        }
    }

    /// A launch screen was shown or dropped, with the time since the request.
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

    func say(_ level: LogLevel, _ message: String) { log.say(level, message) }
    func say(_ level: LogLevel, _ message: String, of app: String) {
        log.say(level, message, of: app)
    }
    func sayOnce(_ message: String) { log.sayOnce(message) }
    func failed(_ activity: String, _ error: any Error) { log.failed(activity, error) }

    /// Logs a line about one instance.
    func say(
        _ level: LogLevel, _ message: String, of app: AppIdentifier, _ instance: InstanceIdentifier
    ) {
        log.line(app, level, message, fields(app, instance))
    }

    /// The fields that every line about an instance has.
    func fields(
        _ app: AppIdentifier, _ instance: InstanceIdentifier
    ) -> KeyValuePairs<String, String> {
        guard let launch = core.lifecycle.instance(instance)?.launchIdentifier else {
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

    // MARK: Failures of the shell

    func spawnFailed(_ record: InstanceRecord?, _ failure: SpawnFailure) {
        log.line(
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

    /// The runtime state has no room for these records, or has room for them again.
    func runtimeStateLacks(_ lack: RecordMemory.Lack) {
        guard lack != unsaved else { return }
        unsaved = lack
        mark(
            Control.Note(
                code: "full_app_state",
                text: "the runtime state, or its file system, is full: failures and pools of "
                    + "some apps will not survive a restart"), isTrue: lack.apps)
        mark(
            Control.Note(
                code: "full_instance_state",
                text: "the runtime state, or its file system, is full: newer instances will not "
                    + "survive a restart"), isTrue: lack.instances)
    }

    private func mark(_ note: Control.Note, isTrue: Bool) {
        if isTrue { degradations.note(note) } else { degradations.forget(note.code) }
    }
}

/// Message identifiers (sd-journal(3), MESSAGE_ID=): one for every kind of start and end, so that
/// programs can find them in the journal. `systemd/greenroom.catalog` explains each of them to
/// people.
extension MessageIdentifier {
    static func launched(_ kind: Control.LaunchKind) -> MessageIdentifier {
        switch kind {
        case .cold: "018b15e9baf744c9b0ff94e30060f0d4"
        case .prewarmed: "683f52c372af4e578575210bc56f32ff"
        case .resume: "7b6741d5ecb340f29e39e951c7414969"
        case .foreground: "c5aedeaafae4410eb869fa89d0084190"
        case .startedAnew: "3c1f6f2e9d6b4f0db6a0a0c57e1f8a42"
        }
    }

    static func ended(_ reason: ExitReason) -> MessageIdentifier {
        MessageIdentifier(stringLiteral: reason.row.message)
    }

    static let prewarmingFailed: MessageIdentifier = "92dae633038d4a8fba01a29086ea7806"
    static let crashLooped: MessageIdentifier = "a594514f44d34ef09c59070dc02774e8"
    static let reclaiming: MessageIdentifier = "4b70b89d5a4742c08cfc72ee9e944d62"
    static let pressureChanged: MessageIdentifier = "7bf537716e5b4169b20e8e564bf72336"
    static let spawnFault: MessageIdentifier = "27590558e760467d929592bf744e0f50"

    static var all: [MessageIdentifier] {
        Control.LaunchKind.allCases.map(launched) + ExitReason.allCases.map(ended)
            + [prewarmingFailed, crashLooped, reclaiming, spawnFault, pressureChanged]
    }
}
