internal import GreenroomAppChannel
internal import GreenroomLifecycle
internal import GreenroomLinux
internal import GreenroomManifest
internal import Systemd

/// Counts launches, ends, hangs and times of apps, in MetricKit's categories. An observer: what happened, the
/// core has said before. On the path of a launch it does nothing; after the answer it counts, and what it
/// counted is written once there is nothing else to do.
@LoopActor
final class Metrics {
    unowned let supervisor: Supervisor
    let catalog: AppCatalog
    /// Between two payloads of one app, in microseconds.
    private(set) var interval: Int64
    private let books: MetricBooks
    private var presences: [InstanceIdentifier: Presence] = [:]
    private var meters: [InstanceIdentifier: LaunchMeter] = [:]
    /// When the foreground was asked for, by requests without a launch.
    private var wishes: [RequestIdentifier: Instant] = [:]
    let deliveries: MetricDeliveries

    /// Where an instance is, and since when that is not counted.
    private struct Presence {
        var key: MetricKey
        var state: ExecutionState
        var inBackground: Bool
        var since: Instant
        /// It was last thawed, or began.
        var awakeSince: Instant

        var isInFront: Bool {
            switch state {
            case .active, .inactive: true
            case .launching: !inBackground
            case .background, .suspended, .prewarming, .prewarmed, .terminating, .notRunning:
                false
            }
        }
    }

    init(
        supervisor: Supervisor, catalog: AppCatalog, stateDirectory: String, interval: Duration
    ) {
        self.supervisor = supervisor
        self.catalog = catalog
        self.interval = max(1, interval.microseconds)
        books = MetricBooks(reporter: supervisor.reporter, stateDirectory: stateDirectory)
        deliveries = MetricDeliveries()
        deliveries.metrics = self
        books.inUse = { [unowned self] in present }
    }

    /// Settings that count from now on.
    func reconfigure(_ configuration: DaemonConfiguration) {
        let interval = max(1, configuration.metricsInterval.microseconds)
        guard interval != self.interval else { return }
        self.interval = interval
        deliveries.reviewAll()
    }

    /// What a former supervisor left running: the clocks go on.
    func adopt(_ records: [InstanceRecord]) {
        books.prune { self.catalog[$0] != nil }
        for record in records where record.state != .notRunning {
            guard let key = key(of: record.app) else { continue }
            presences[record.instance] = Presence(
                key: key, state: record.state, inBackground: record.inBackground,
                since: record.since, awakeSince: record.since)
        }
    }

    // MARK: Books

    private func key(of app: AppIdentifier) -> MetricKey? {
        catalog.owner(of: app).map { MetricKey(app: app, user: $0.user) }
    }

    func book(of key: MetricKey) -> AppMetrics { books[key] }

    func change(_ key: MetricKey, _ change: @escaping (inout AppMetrics) -> Void) {
        books.change(key, change)
    }

    private func count(_ key: MetricKey, _ count: @escaping (inout MetricReport) -> Void) {
        let now = WallClock.nowMicroseconds
        change(key) { [interval] book in
            book.close(at: now, interval: interval)
            book.count(at: now, count)
        }
    }

    private func count(
        _ instance: InstanceIdentifier, _ count: @escaping (inout MetricReport) -> Void
    ) {
        if let key = presences[instance]?.key { self.count(key, count) }
    }

    func diagnose(_ instance: InstanceIdentifier, _ diagnostic: DiagnosticReport) {
        guard let key = presences[instance]?.key else { return }
        change(key) { $0.add(diagnostic) }
        deliveries.review(key)
    }

    /// Whatever is not written yet, and now.
    func write() { books.write() }

    /// All that was counted until now, times that still run included, and written.
    func settled(_ app: AppIdentifier) -> AppMetrics? {
        guard let key = key(of: app) else { return nil }
        settle(key)
        defer { write() }
        return book(of: key)
    }

    func settle(_ key: MetricKey) {
        for (instance, presence) in presences where presence.key == key { countTime(instance) }
    }

    // MARK: What happened

    func note(_ record: Record) {
        if case .stateChanged(let instance, let app, _, let state) = record {
            moved(instance, app, to: state)
        } else if case .exited(let record) = record {
            ended(record)
        } else if case .missedStep(let instance, _, let step, _) = record {
            diagnose(
                instance,
                DiagnosticReport(
                    .hang, time: WallClock.nowMicroseconds, wasInForeground: isInFront(instance),
                    reason: step.name,
                    duration: supervisor.lifecycle.policy.stepDeadline.microseconds))
        }
    }

    private func moved(
        _ instance: InstanceIdentifier, _ app: AppIdentifier, to state: ExecutionState
    ) {
        let now = supervisor.now
        guard let presence = presences[instance] else {
            guard let key = key(of: app) else { return }
            presences[instance] = Presence(
                key: key, state: state, inBackground: isInBackground(instance), since: now,
                awakeSince: now)
            return
        }
        countTime(instance)
        if presence.state == .suspended {
            countSuspension(instance)
            presences[instance]!.awakeSince = now
        }
        presences[instance]!.state = state
        presences[instance]!.since = now
        presences[instance]!.inBackground = isInBackground(instance)
        if state == .suspended { supervisor.reclaimer.measurer.measure([instance]) }
        if state == .active { drew(instance, at: now, isSaid: false) }
        if presence.state == .suspended { deliveries.review(presence.key) }
    }

    private func isInBackground(_ instance: InstanceIdentifier) -> Bool {
        supervisor.lifecycle.instance(instance)?.inBackground ?? false
    }

    private func isInFront(_ instance: InstanceIdentifier) -> Bool {
        presences[instance].map { $0.isInFront } ?? false
    }

    private func countTime(_ instance: InstanceIdentifier) {
        guard let presence = presences[instance] else { return }
        let now = supervisor.now
        presences[instance]!.since = now
        let length = UInt64(max(0, presence.since.duration(to: now).microseconds))
        switch presence.state {
        case .launching, .inactive, .active, .background:
            count(presence.key) {
                if presence.isInFront {
                    $0.foregroundTime &+= length
                } else {
                    $0.backgroundTime &+= length
                }
            }
        case .suspended, .prewarming, .prewarmed, .terminating, .notRunning: break
        }
    }

    /// As it was measured when it was suspended.
    private func countSuspension(_ instance: InstanceIdentifier) {
        guard let byteCount = supervisor.lifecycle.instance(instance)?.byteCount, byteCount > 0
        else { return }
        count(instance) {
            $0.suspendedMemory &+= byteCount
            $0.suspensions &+= 1
            $0.peakMemory = max($0.peakMemory, byteCount)
        }
    }

    private func ended(_ record: InstanceRecord) {
        defer {
            presences[record.instance] = nil
            meters[record.instance] = nil
        }
        guard let exit = MetricExit(record) else { return }
        let wasInFront = record.wasInFront
        count(record.instance) {
            if wasInFront {
                $0.foregroundExits[exit, default: 0] &+= 1
            } else {
                $0.backgroundExits[exit, default: 0] &+= 1
            }
            $0.peakMemory = max($0.peakMemory, record.byteCount)
        }
        guard let reason = record.endReason, reason.isDiagnosed else { return }
        var signal: Int32?
        if reason == .crashed, case .signaled(let number, _)? = record.exitStatus {
            signal = Int32(number)
        }
        diagnose(
            record.instance,
            DiagnosticReport(
                .crash, time: WallClock.nowMicroseconds, wasInForeground: wasInFront,
                reason: reason.name, signal: signal))
    }

    // MARK: Launches

    /// A client's launch is answered.
    func launched(_ outcome: LaunchOutcome, requestedAt: Instant) {
        let instance = outcome.instance
        guard !outcome.isRepeated, !isInBackground(instance) else { return }
        switch outcome.kind {
        case .cold: begin(instance, .firstDraw, requestedAt)
        case .prewarmed: begin(instance, .optimizedFirstDraw, requestedAt)
        case .resume: begin(instance, .resume, requestedAt)
        case .foreground:
            guard let state = presences[instance]?.state, state == .background else { return }
            begin(instance, .resume, requestedAt)
        }
    }

    private func begin(
        _ instance: InstanceIdentifier, _ metric: LaunchMetric, _ requestedAt: Instant
    ) { meters[instance] = LaunchMeter(metric, requestedAt: requestedAt) }

    /// It was asked for the foreground, by its shell perhaps.
    func foregroundRequested(_ request: RequestIdentifier) { wishes[request] = supervisor.now }

    func answered(_ request: RequestIdentifier, _ answer: Answer) {
        guard let requestedAt = wishes.removeValue(forKey: request),
            case .done(let instance, .active) = answer,
            // It came to the front because of this, and did not stand there before.
            let presence = presences[instance], presence.state == .active,
            presence.since >= requestedAt
        else { return }
        begin(instance, .resume, requestedAt)
        drew(instance, at: presence.since, isSaid: false)
    }

    func forget(_ request: RequestIdentifier) { wishes[request] = nil }

    func drew(_ instance: InstanceIdentifier, at instant: Instant, isSaid: Bool) {
        guard var meter = meters[instance] else { return }
        let length = meter.drew(at: instant, isSaid: isSaid) { count(instance, $0) }
        meters[instance] = meter
        guard let length, length >= meter.metric.slowLimit else { return }
        diagnose(
            instance,
            DiagnosticReport(
                .launch, time: WallClock.nowMicroseconds, wasInForeground: true,
                reason: meter.metric.rawValue, duration: length.microseconds))
    }

    func task(
        _ name: String, isFinished: Bool, at instant: Instant, of instance: InstanceIdentifier
    ) {
        guard var meter = meters[instance] else { return }
        if isFinished {
            meter.finish(name, at: instant) { count(instance, $0) }
        } else {
            meter.begin(name)
        }
        meters[instance] = meter
    }

    // MARK: Hangs

    /// Whether it was awake all the time: what was frozen in a callback has not kept anything.
    func wasAwake(_ instance: InstanceIdentifier, for duration: Duration) -> Bool {
        guard let presence = presences[instance] else { return false }
        return presence.awakeSince.advanced(by: duration) <= supervisor.now
    }

    /// - Parameter isNews: worth a diagnostic, which an app that hangs all the time is not.
    func hung(
        _ instance: InstanceIdentifier, in callback: String, for duration: Duration, isNews: Bool
    ) {
        count(instance) { $0.hangs.add(microseconds: duration.microseconds) }
        guard isNews else { return }
        diagnose(
            instance,
            DiagnosticReport(
                .hang, time: WallClock.nowMicroseconds, wasInForeground: isInFront(instance),
                reason: callback, duration: duration.microseconds))
    }

    // MARK: For deliveries

    /// Running instances of it that can hear: a program without the SDK has none.
    func listeners(of key: MetricKey) -> [InstanceIdentifier] {
        guard supervisor.lifecycle.description(of: key.app)?.acknowledges == true else { return [] }
        return presences.filter { _, presence in
            presence.key == key && presence.state.isRunning && presence.state != .suspended
        }.map(\.key).sorted()
    }

    /// Whose instances there are.
    var present: Set<MetricKey> { Set(presences.values.map(\.key)) }

    func key(ofInstance instance: InstanceIdentifier) -> MetricKey? { presences[instance]?.key }
}

extension InstanceRecord {
    fileprivate var wasInFront: Bool {
        switch lastState {
        case .active?, .inactive?: true
        case .launching?: !inBackground
        case .background?, .suspended?, .prewarming?, .prewarmed?, .terminating?, .notRunning?, nil:
            false
        }
    }
}
