internal import GreenroomControl
internal import GreenroomLifecycle
internal import GreenroomLinux
internal import Systemd

/// An account of each launch: who asked for it, how it was served, how long it took, how it ended.
///
/// A launch is noted three times: when it has begun, when its app is ready, and when its instance
/// ends. A launch that a running instance serves has an account of its own, which ends with the
/// instance.
@LoopActor
final class LaunchAccounts {
    private let core: Core
    private let catalog: AppCatalog
    private let instances: InstanceTable
    private let history: LaunchHistory

    /// The launch that an instance was started for.
    private final class LaunchAccount: InstancePart {
        var launch: Control.LaunchRecord?
        var requestedAt = Instant(nanoseconds: 0)
    }

    /// Who asked, when, and in what the launch differed from paused instances.
    private struct AnsweredRequest {
        let identifier: RequestIdentifier
        let caller: Control.Caller?
        let requestedAt: Instant
        let differences: AppCatalog.LaunchDifferences
    }
    /// Requests that were answered in this turn. The core then reports the launch, under one of
    /// them; it reports nothing if the answer repeats that of an earlier call.
    private var answered: [AnsweredRequest] = []
    /// The latest launch that was served by a running instance, and its request.
    private var joined: (request: RequestIdentifier, launch: Control.LaunchRecord)?

    init(core: Core, catalog: AppCatalog, instances: InstanceTable, history: LaunchHistory) {
        self.core = core
        self.catalog = catalog
        self.instances = instances
        self.history = history
    }

    // MARK: Requests

    /// A launch was answered. This is called before the core reports the launch.
    func answered(
        _ identifier: RequestIdentifier, _ entry: Requests.Entry, _ outcome: LaunchOutcome
    ) {
        guard let context = entry.context else { return }
        let request = AnsweredRequest(
            identifier: identifier, caller: caller(entry.origin), requestedAt: context.requestedAt,
            differences: .init(
                variables: context.differingVariables, state: context.callerDifferences.names))
        switch outcome.kind {
        case .cold, .prewarmed, .startedAnew:
            if outcome.isRepeated { answered = [] }
            answered.append(request)
        case .resume, .foreground:
            guard !outcome.isRepeated,
                let app = core.lifecycle.instance(outcome.instance)?.app
            else { return }
            let launch = begun(app, entry.launchIdentifier, outcome, request)
            joined = (identifier, launch)
        }
    }

    private func caller(_ origin: Requests.Origin) -> Control.Caller? {
        switch origin {
        case .client(let call):
            let connection = call.connection
            return Control.Caller(
                userId: connection.peer.user, processId: connection.peer.pid,
                program: connection.program)
        case .app(let instance, _):
            guard let record = core.lifecycle.instance(instance) else { return nil }
            return Control.Caller(
                userId: owner(of: record.app), processId: instances.pid(of: instance) ?? 0,
                program: record.app.rawValue)
        case .daemon: return nil
        }
    }

    private func owner(of app: AppIdentifier) -> UInt32 { catalog.owner(of: app)?.user ?? .max }

    // MARK: What happened

    /// Notes what happened.
    /// - Returns: the launch that it belongs to, if this says something new about one.
    func note(_ occurrence: Occurrence) -> Control.LaunchRecord? {
        switch occurrence {
        case .launched(let origin, let name, let app, let outcome):
            launched(origin, name, app, outcome)
        case .stateChanged(let instance, let app, .launching, let state, _) where state.isReady:
            becameReady(instance, of: app)
        case .exited(let record): ended(record)
        case _: nil
        }
    }

    private func launched(
        _ origin: LaunchOrigin, _ name: LaunchIdentifier, _ app: AppIdentifier,
        _ outcome: LaunchOutcome
    ) -> Control.LaunchRecord {
        defer {
            answered = []
            joined = nil
        }
        if let joined, origin == .request(joined.request) { return joined.launch }
        let request = answered.first { origin == .request($0.identifier) }
        let launch = begun(app, name, outcome, request)
        if let account = instances.part(LaunchAccount.self, of: outcome.instance), let request {
            account.launch = launch
            account.requestedAt = request.requestedAt
        }
        return launch
    }

    /// - Parameter request: nil if the daemon launched the app by itself.
    private func begun(
        _ app: AppIdentifier, _ name: LaunchIdentifier?, _ outcome: LaunchOutcome,
        _ request: AnsweredRequest?
    ) -> Control.LaunchRecord {
        var launch = Control.LaunchRecord(
            app: app.rawValue, userId: owner(of: app), instance: outcome.instance.rawValue,
            launchIdentifier: name?.rawValue ?? "", kind: Control.LaunchKind(outcome.kind),
            requestTimestampUSec: WallClock.microseconds(at: request?.requestedAt ?? core.now))
        launch.coldReason = outcome.coldReason.map { .known(.init($0)) }
        launch.anewReason = outcome.anewReason.map { .known(.init($0)) }
        launch.caller = request?.caller
        launch.elapsedUSec = request.map { $0.requestedAt.duration(to: core.now).microseconds }
        catalog.note(launch, of: app, request?.differences ?? .init())
        history.began(launch)
        return launch
    }

    private func becameReady(
        _ instance: InstanceIdentifier, of app: AppIdentifier
    ) -> Control.LaunchRecord? {
        guard let account = instances.known(LaunchAccount.self, of: instance) else { return nil }
        account.launch?.readyUSec = account.requestedAt.duration(to: core.now).microseconds
        if let launch = account.launch {
            catalog.noteProgress(launch, of: app)
            history.becameReady(launch)
        }
        return account.launch
    }

    private func ended(_ record: InstanceRecord) -> Control.LaunchRecord? {
        // A paused instance that nobody launched has no account.
        guard let name = record.launchIdentifier, let kind = record.launchKind else { return nil }
        let account = instances.known(LaunchAccount.self, of: record.instance)
        var launch =
            account?.launch
            ?? Control.LaunchRecord(
                app: record.app.rawValue, userId: owner(of: record.app),
                instance: record.instance.rawValue, launchIdentifier: name.rawValue,
                kind: Control.LaunchKind(kind),
                requestTimestampUSec: WallClock.microseconds(
                    at: record.launchedAt ?? record.endedAt ?? core.now))
        launch.coldReason = record.coldReason.map { .known(.init($0)) }
        launch.anewReason = record.anewReason.map { .known(.init($0)) }
        launch.exit = Control.ExitRecord(record)
        launch.ranUSec = record.launchedAt.map {
            $0.duration(to: record.endedAt ?? core.now).microseconds
        }
        catalog.noteProgress(launch, of: record.app)
        account?.launch = nil
        history.ended(launch)
        return launch
    }
}

extension ExecutionState {
    /// Whether an app that leaves `launching` for this state is ready.
    fileprivate var isReady: Bool {
        switch self {
        case .inactive, .active, .background, .suspended: true
        case .launching, .prewarming, .prewarmed, .terminating, .notRunning: false
        }
    }
}

extension Requests.Entry {
    /// The name of the launch; nil if no client gave it one.
    fileprivate var launchIdentifier: LaunchIdentifier? {
        if case .client(.launch(let launch)) = origin { launch.identifier } else { nil }
    }
}
