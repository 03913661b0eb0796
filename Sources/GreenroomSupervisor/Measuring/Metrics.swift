internal import GreenroomAppChannel
internal import GreenroomLifecycle
internal import GreenroomLinux
internal import GreenroomManifest
internal import Systemd

/// Counts launches, ends, hangs and times of apps, in MetricKit's categories. It only observes what
/// the core has reported. It does nothing on the path of a launch: it counts after the answer, and
/// the counts are written when there is nothing else to do.
@LoopActor
final class Metrics {
    private let core: Core
    private let catalog: AppCatalog
    private let instances: InstanceTable
    private let books: MetricBooks
    private let times: InstanceTimes
    private let deliveries: MetricDeliveries

    init(
        core: Core, catalog: AppCatalog, instances: InstanceTable, books: MetricBooks,
        times: InstanceTimes, deliveries: MetricDeliveries
    ) {
        self.core = core
        self.catalog = catalog
        self.instances = instances
        self.books = books
        self.times = times
        self.deliveries = deliveries
    }

    /// Applies new settings.
    func reconfigure(_ configuration: DaemonConfiguration) {
        let interval = configuration.metricsIntervalMicroseconds
        guard interval != times.interval else { return }
        times.interval = interval
        deliveries.reviewAll()
    }

    /// Continues the clocks of the instances that a former supervisor left running.
    func adopt(_ records: [InstanceRecord]) {
        books.prune { self.catalog[$0] != nil }
        for record in records where record.state != .notRunning {
            times.begin(
                record.instance, record.app, record.state, inBackground: record.inBackground,
                since: record.since)
        }
    }

    // MARK: Books

    private func count(
        _ instance: InstanceIdentifier, _ count: @escaping (inout MetricReport) -> Void
    ) {
        if let key = times[instance]?.key { times.count(key, count) }
    }

    private func diagnose(_ instance: InstanceIdentifier, _ diagnostic: DiagnosticReport) {
        guard let key = times[instance]?.key else { return }
        books.change(key) { $0.add(diagnostic) }
        deliveries.review(key)
    }

    /// Writes at once what has not been written yet.
    func write() { books.write() }

    /// Everything that was counted until now, including the times that still run. This also writes
    /// the counts.
    func settled(_ app: AppIdentifier) -> AppMetrics? {
        guard let key = times.key(of: app) else { return nil }
        times.settle(key)
        defer { write() }
        return books[key]
    }

    // MARK: What happened

    func note(_ occurrence: Occurrence) {
        if case .stateChanged(let instance, let app, _, let state, let inBackground) = occurrence {
            moved(instance, app, to: state, inBackground: inBackground)
        } else if case .exited(let record) = occurrence {
            ended(record)
        } else if case .launched(_, _, let app, let outcome) = occurrence {
            if outcome.kind == .prewarmed { countSaving(outcome.instance, app) }
        } else if case .missedStep(let instance, _, let step, _) = occurrence {
            diagnose(
                instance,
                DiagnosticReport(
                    .hang, time: WallClock.nowMicroseconds, wasInForeground: isInFront(instance),
                    reason: step.name,
                    duration: core.lifecycle.policy.limit(of: step).microseconds))
        }
    }

    private func moved(
        _ instance: InstanceIdentifier, _ app: AppIdentifier, to state: ExecutionState,
        inBackground: Bool
    ) {
        guard let counted = times[instance] else {
            return times.begin(
                instance, app, state, inBackground: inBackground, since: core.now)
        }
        times.move(instance, to: state, inBackground: inBackground)
        if counted.state == .suspended { countSuspension(instance) }
        if state == .active { drew(instance, at: core.now, isSaid: false) }
        if counted.state == .suspended { deliveries.review(counted.key) }
    }

    /// Counts what a launch from the pool has saved: the time that preparing takes, which a cold
    /// launch would have spent. It is not known for an instance that another daemon has prepared.
    private func countSaving(_ instance: InstanceIdentifier, _ app: AppIdentifier) {
        guard let record = core.lifecycle.instance(instance) else { return }
        let time = core.lifecycle.prewarmTime(of: app)?.microseconds ?? 0
        count(instance) {
            $0.savings[MetricDepth(record.depth), default: .init()].launches &+= 1
            $0.savings[MetricDepth(record.depth), default: .init()].time &+= UInt64(max(0, time))
        }
    }

    private func isInFront(_ instance: InstanceIdentifier) -> Bool {
        times[instance]?.isInFront ?? false
    }

    /// Counts the memory that was measured when the instance was suspended.
    private func countSuspension(_ instance: InstanceIdentifier) {
        guard let byteCount = core.lifecycle.instance(instance)?.byteCount, byteCount > 0
        else { return }
        count(instance) {
            $0.suspendedMemory &+= byteCount
            $0.suspensions &+= 1
            $0.peakMemory = max($0.peakMemory, byteCount)
        }
    }

    private func ended(_ record: InstanceRecord) {
        defer { times.end(record.instance) }
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
        guard let reason = record.endReason, reason.row.isDiagnosed else { return }
        var signal: Int32?
        if reason == .crashed, case .signaled(let number, _)? = record.exitStatus {
            signal = Int32(number)
        }
        diagnose(
            record.instance,
            DiagnosticReport(
                .crash, time: WallClock.nowMicroseconds, wasInForeground: wasInFront,
                reason: reason.row.word, signal: signal))
    }
}

extension MetricDepth {
    fileprivate init(_ depth: PrewarmDepth) {
        switch depth {
        case .main: self = .main
        case .runtime: self = .runtime
        case .libraries: self = .libraries
        case .window: self = .window
        }
    }
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

extension DaemonConfiguration {
    /// The time between two payloads of one app.
    var metricsIntervalMicroseconds: Int64 { max(1, metricsInterval.microseconds) }
}

/// How long launches, returns to the foreground and callbacks take.
extension Metrics {
    /// A client's launch was answered.
    func launched(_ outcome: LaunchOutcome, inBackground: Bool, requestedAt: Instant) {
        let instance = outcome.instance
        guard !outcome.isRepeated, !inBackground else { return }
        switch outcome.kind {
        case .cold, .startedAnew: begin(instance, .firstDraw, requestedAt)
        case .prewarmed: begin(instance, .optimizedFirstDraw, requestedAt)
        case .resume: begin(instance, .resume, requestedAt)
        case .foreground:
            guard let state = times[instance]?.state, state == .background else { return }
            begin(instance, .resume, requestedAt)
        }
    }

    private func begin(
        _ instance: InstanceIdentifier, _ metric: LaunchMetric, _ requestedAt: Instant
    ) {
        instances.part(Measured.self, of: instance)?.meter = LaunchMeter(
            metric, requestedAt: requestedAt)
    }

    /// The app was asked to come to the foreground, perhaps by its shell.
    func answered(_ answer: Answer, foregroundRequestedAt: Instant?) {
        guard let requestedAt = foregroundRequestedAt, case .done(let instance, .active) = answer,
            // The app came to the front because of this request and was not there before.
            let counted = times[instance], counted.state == .active,
            counted.since >= requestedAt
        else { return }
        begin(instance, .resume, requestedAt)
        drew(instance, at: counted.since, isSaid: false)
    }

    func drew(_ instance: InstanceIdentifier, at instant: Instant, isSaid: Bool) {
        guard let measured = instances.known(Measured.self, of: instance),
            var meter = measured.meter
        else { return }
        let length = meter.drew(at: instant, isSaid: isSaid) { count(instance, $0) }
        measured.meter = meter
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
        guard let measured = instances.known(Measured.self, of: instance),
            var meter = measured.meter
        else { return }
        if isFinished {
            meter.finish(name, at: instant) { count(instance, $0) }
        } else {
            meter.begin(name)
        }
        measured.meter = meter
    }

    // MARK: Hangs

    /// Whether the instance was awake all the time: a callback that was frozen in the meantime has
    /// not hung.
    func wasAwake(_ instance: InstanceIdentifier, for duration: Duration) -> Bool {
        guard let counted = times[instance] else { return false }
        return counted.awakeSince.advanced(by: duration) <= core.now
    }

    /// - Parameter isNews: whether the hang is worth a diagnostic; an app that hangs all the time
    ///   gets no more of them.
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
}
