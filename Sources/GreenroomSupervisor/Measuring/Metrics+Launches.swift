internal import GreenroomAppChannel
internal import GreenroomLifecycle
internal import GreenroomLinux

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
            guard let state = presences[instance]?.state, state == .background else { return }
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
            let presence = presences[instance], presence.state == .active,
            presence.since >= requestedAt
        else { return }
        begin(instance, .resume, requestedAt)
        drew(instance, at: presence.since, isSaid: false)
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
        guard let presence = presences[instance] else { return false }
        return presence.awakeSince.advanced(by: duration) <= core.now
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
