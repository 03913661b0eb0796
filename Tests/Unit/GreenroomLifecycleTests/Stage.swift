import GreenroomLifecycle
import Testing

/// A core under test: sends it events, lets time pass, and keeps its effects.
struct Stage {
    var core: Lifecycle
    var now = Instant(nanoseconds: 1_000_000_000)
    var effects: [Effect] = []
    var saved: [InstanceIdentifier: InstanceRecord] = [:]
    var savedApps: [AppIdentifier: AppRecord] = [:]
    var requestCount: UInt64 = 0
    var allTold: [LifecycleStep] = []

    static let app = AppIdentifier("org.example.app")
    static let key = EnvironmentKey(0)

    init(policy: Policy = Policy(), _ apps: AppDescription...) {
        core = Lifecycle(policy: policy, seed: 1)
        for app in apps { send(.appInstalled(app)) }
    }

    /// The effects of the last event alone.
    @discardableResult
    mutating func send(_ event: Event) -> [Effect] {
        effects = core.handle(event, at: now)
        allTold += told
        for effect in effects {
            switch effect {
            case .save(let record): saved[record.instance] = record
            case .erase(let id): saved[id] = nil
            case .saveApp(let record): savedApps[record.app] = record
            case .eraseApp(let app): savedApps[app] = nil
            default: break
            }
        }
        return effects
    }

    /// Lets time pass, deadline by deadline, and returns the effects of all of them.
    @discardableResult
    mutating func wait(_ duration: Duration) -> [Effect] {
        let end = now.advanced(by: duration)
        var all: [Effect] = []
        while let next = core.nextDeadline, next <= end {
            now = max(now, next)
            all += send(.deadlineReached)
        }
        now = end
        effects = all
        return all
    }

    mutating func request() -> RequestIdentifier {
        requestCount += 1
        return RequestIdentifier(requestCount)
    }

    var last: RequestIdentifier { RequestIdentifier(requestCount) }
    /// The origin of a launch by the last request.
    var origin: LaunchOrigin { .request(last) }

    /// The instance that the last launch was given, which is the newest one.
    @discardableResult
    mutating func launch(
        _ app: AppIdentifier = Stage.app, name: String? = nil, key: EnvironmentKey = Stage.key,
        inBackground: Bool = false, isAttached: Bool = false, takesOutput: Bool = false,
        work: UInt64 = 0
    ) -> [Effect] {
        let request = request()
        let name = LaunchIdentifier(name ?? "launch-\(request.rawValue)")
        var launch = LaunchRequest(
            app: app, launchIdentifier: name, environmentKey: key, inBackground: inBackground,
            isAttached: isAttached, takesOutput: takesOutput)
        launch.work = work
        return send(.requested(request, .launch(launch)))
    }

    /// Launches an app cold, up to the answer.
    mutating func run(
        _ app: AppIdentifier = Stage.app, name: String? = nil, inBackground: Bool = false,
        isAttached: Bool = false
    ) -> InstanceIdentifier {
        let id = core.nextInstance
        launch(app, name: name, inBackground: inBackground, isAttached: isAttached)
        send(.spawned(id))
        return id
    }

    @discardableResult
    mutating func ask(_ transition: Transition, _ id: InstanceIdentifier) -> [Effect] {
        let request = request()
        return send(.requested(request, .transition(.instance(id), transition)))
    }

    mutating func die(
        _ id: InstanceIdentifier, _ status: GreenroomLifecycle.ExitStatus = .exited(0)
    ) {
        send(.exited(id, status))
        send(.emptied(id))
    }

    // MARK: Apps that acknowledge their states

    func pending(_ id: InstanceIdentifier) -> PendingStep? {
        core.instance(id)?.conversation?.pending
    }

    /// Acknowledges the step that the app was told last.
    @discardableResult
    mutating func acknowledge(_ id: InstanceIdentifier) -> [Effect] {
        guard let pending = pending(id) else { return [] }
        return send(.acknowledged(id, cookie: pending.cookie))
    }

    mutating func acknowledgeAll(_ id: InstanceIdentifier) {
        while pending(id) != nil { acknowledge(id) }
    }

    /// Launches an app cold, up to its active state.
    mutating func activate(_ app: AppIdentifier) -> InstanceIdentifier {
        let id = run(app)
        send(.becameReady(id))
        acknowledgeAll(id)
        return id
    }

    /// Replaces the core with that of the next supervisor, restored from what was saved.
    mutating func restart(_ apps: AppDescription..., faulty: [AppIdentifier] = []) {
        core = Lifecycle(
            restoring: Array(saved.values), apps: Array(savedApps.values),
            nextInstance: core.nextInstance, policy: core.policy, seed: 2, at: now)
        for app in apps { send(.appInstalled(app)) }
        for app in faulty { send(.appRemoved(app, isGone: false)) }
        send(.restored)
    }

    /// The steps that the last event told an app (`allTold` has those of all events).
    var told: [LifecycleStep] { Self.steps(effects) }
    var deliveries: [DeliveryAddress] {
        effects.compactMap { if case .deliver(_, _, let address) = $0 { address } else { nil } }
    }
    var notices: [Notice] {
        effects.compactMap { if case .notify(_, let notice) = $0 { notice } else { nil } }
    }

    private static func steps(_ effects: [Effect]) -> [LifecycleStep] {
        effects.compactMap { if case .tell(_, let pending, _) = $0 { pending.step } else { nil } }
    }

    func state(_ id: InstanceIdentifier) -> ExecutionState? { core.instance(id)?.state }

    var answers: [Answer] {
        effects.compactMap { if case .answer(_, let answer) = $0 { answer } else { nil } }
    }
    var refusals: [Refusal] {
        answers.compactMap { if case .refused(let refusal) = $0 { refusal } else { nil } }
    }
    var outcomes: [LaunchOutcome] {
        answers.compactMap { if case .launched(let outcome, _) = $0 { outcome } else { nil } }
    }
    /// Prewarms that were started by the last event.
    var prewarms: [InstanceIdentifier] {
        effects.compactMap {
            if case .spawn(let id, _, .prewarm) = $0 { id } else { nil }
        }
    }
    func has(_ effect: Effect) -> Bool { effects.contains(effect) }
}

extension Stage: CustomTestStringConvertible {
    /// Effects only: the whole core fills a screen.
    var testDescription: String { effects.map { "\n→ \($0)" }.joined() }
}

extension AppDescription {
    /// A plain program without a pool, unless `change` says otherwise.
    static func plain(
        _ identifier: AppIdentifier = Stage.app, _ change: (inout AppDescription) -> Void = { _ in }
    ) -> AppDescription {
        var app = AppDescription(
            identifier: identifier, prewarmCount: 0, prewarmOccasion: .never)
        app.scheduledTasks = ["r", "p", "sync"]
        change(&app)
        return app
    }

    static func prewarmed(
        _ identifier: AppIdentifier = Stage.app, count: Int = 1,
        _ change: (inout AppDescription) -> Void = { _ in }
    ) -> AppDescription {
        var app = AppDescription(identifier: identifier, prewarmCount: count)
        change(&app)
        return app
    }

    /// An app made with the SDK, without a pool.
    static func application(
        _ identifier: AppIdentifier = Stage.app, _ change: (inout AppDescription) -> Void = { _ in }
    ) -> AppDescription {
        plain(identifier) {
            $0.acknowledges = true
            $0.readyCondition = .finishedLaunching
            $0.suspendsInBackground = true
            $0.foregroundGroup = "seat"
            change(&$0)
        }
    }
}
