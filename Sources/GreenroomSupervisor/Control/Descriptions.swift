internal import Glibc
internal import GreenroomControl
internal import GreenroomLifecycle
internal import GreenroomLinux

// What the daemon says about itself, its apps and their instances.

extension ControlHandler {
    var description: Control.Description {
        var description = Control.Description(
            version: Options.version, processId: getpid(),
            features: ["prewarm.main", "watch.after"],
            degraded: degraded)
        description.surroundings = surroundings()
        description.appDirectories = installer.loader.directories
        description.desktopDirectories = installer.loader.desktop.paths
        description.environment = installer.loader.readingEnvironment
        return description
    }

    /// The apps that the client may observe, by identifier.
    func summaries(for peer: Peer) -> [Control.AppSummary] {
        catalog.apps.filter { mayDo(.observe, owner: $0.account, peer) }.map { app in
            let records = supervisor.lifecycle.instances(of: app.identifier)
            let running = records.filter(\.isRunning)
            var summary = Control.AppSummary(
                identifier: app.identifier.rawValue, name: app.name,
                isEligible: app.ineligibility == nil,
                prewarmedCount: records.count { $0.state == .prewarmed },
                prewarmTarget: app.description.prewarmCount, runningCount: running.count,
                state: Control.ExecutionState(
                    running.max { $0.state.prominence < $1.state.prominence }?.state
                        ?? (records.contains { $0.state == .prewarmed } ? .prewarmed : .notRunning))
            )
            summary.program = app.executablePath
            summary.manifestFile = app.isDesktopOnly ? nil : app.manifestPath
            summary.desktop = app.desktop?.facts
            return summary
        }
    }

    /// Instances with a process, and the remembered ends where one was asked for.
    func statuses(
        of target: Control.Target?, _ peer: Peer
    ) throws(ControlError) -> [Control.InstanceStatus] {
        switch target {
        case nil:
            supervisor.lifecycle.instances
                .filter { $0.state != .notRunning }
                .filter { mayDo(.observe, owner: catalog.owner(of: $0.app), peer) }
                .map(status)
        case .app(let name)?:
            supervisor.lifecycle.instances(of: try find(name, .observe, peer).identifier).map(
                status)
        case .instance(let number)?:
            try {
                () throws(ControlError) in
                try require(.observe, of: .instance(number), peer)
                return supervisor.lifecycle.instance(InstanceIdentifier(number)).map {
                    [status($0)]
                } ?? []
            }()
        }
    }

    private func status(_ record: InstanceRecord) -> Control.InstanceStatus {
        var status = Control.InstanceStatus(
            instance: record.instance.rawValue, app: record.app.rawValue,
            state: Control.ExecutionState(record.state),
            sinceTimestampUSec: WallClock.microseconds(at: record.since))
        status.processId = supervisor.instances.pid(of: record.instance)
        status.launchIdentifier = record.launchIdentifier?.rawValue
        status.kind = record.launchKind.map { .known(.init($0)) }
        status.coldReason = record.coldReason.map { .known(.init($0)) }
        status.isAttached = record.isAttached
        let restarts = supervisor.lifecycle.app(record.app)?.restartCount ?? 0
        status.restartCount = restarts > 0 ? Int64(restarts) : nil
        status.byteCount = record.byteCount > 0 ? record.byteCount : nil
        status.exit = record.exitStatus == nil ? nil : Control.ExitRecord(record)
        let scenes = record.conversation?.scenes.filter { $0.scene != .application }
        status.scenes = scenes.flatMap { $0.isEmpty ? nil : $0 }?.map {
            Control.Scene(
                session: $0.scene.description, activation: Control.ActivationState($0.activation))
        }
        let steps = supervisor.applications.traces.steps(of: record.instance)
        if !steps.isEmpty {
            status.steps = steps.map { .init(step: $0.name, elapsedUSec: $0.elapsedUSec) }
        }
        status.launchScreen = supervisor.screens.current(of: record)
        if let time = record.background.value, time.taskCount > 0 {
            status.backgroundTasks = supervisor.work.openTasks(of: record.instance)
            status.backgroundRemainingUSec = time.end.map {
                max(0, supervisor.now.duration(to: $0).microseconds)
            }
        }
        return status
    }

    /// Why it is not prewarmed again before its time.
    private static func pause(_ record: AppRecord) -> Control.Note {
        if record.isReclaimed {
            return .init(
                code: "reclaimed",
                text: "its memory was taken back; it is not prewarmed again at once")
        }
        let failures = record.prewarmFailures
        return .init(
            code: "back_off",
            text: "\(failures) prewarm\(failures == 1 ? "" : "s") failed; the next is tried later")
    }

    /// Why the app is or is not prewarmed, and how its latest launch was served.
    func explanation(of app: InstalledApp) -> Control.Explanation {
        var explanation = Control.Explanation(
            app: app.identifier.rawValue, isEligible: app.ineligibility == nil)
        let lifecycle = supervisor.lifecycle
        let paused = lifecycle.instances(of: app.identifier).filter { $0.state == .prewarmed }
        let record = lifecycle.app(app.identifier)
        explanation.prewarmedCount = paused.count
        explanation.prewarmTarget = app.description.prewarmCount
        explanation.prewarmByteCount = record.flatMap {
            $0.measuredByteCount > 0 ? $0.measuredByteCount : nil
        }
        explanation.reasons =
            manifestReasons(app, record) + failureReasons(record) + machineReasons(app, record)
        // A crash loop is waited for when there is a back-off, too.
        let waits = [record?.prewarmRetryAt, record?.crashLoopUntil].compactMap(\.self)
        if let last = waits.last(where: { $0 > supervisor.now }) {
            explanation.retryAfterUSec = supervisor.now.duration(to: last).microseconds
        }
        explanation.confinement = app.confinementKeys.isEmpty ? nil : app.confinementKeys
        explanation.supervision = supervisionStatus(of: app.identifier)
        explanation.lastLaunch = lastLaunch(of: app.identifier)
        return explanation
    }

    /// What its program and its manifest say.
    private func manifestReasons(_ app: InstalledApp, _ record: AppRecord?) -> [Control.Note] {
        var reasons: [Control.Note] = []
        if let ineligibility = app.ineligibility, let text = app.whyNeverPrewarmed {
            reasons.append(.init(code: ineligibility.code, text: text))
        } else if !app.isPrewarmingWanted {
            reasons.append(.init(code: "disabled", text: "the manifest asks for no prewarming"))
        }
        if app.description.prewarmOccasion == .demand, record?.isPoolWanted != true,
            app.ineligibility == nil
        {
            reasons.append(
                .init(
                    code: "on_demand", text: "prewarmed once `greenroomctl prewarm` asks for it"))
        }
        return reasons
    }

    private func failureReasons(_ record: AppRecord?) -> [Control.Note] {
        var reasons: [Control.Note] = []
        if let record, let retryAt = record.prewarmRetryAt, retryAt > supervisor.now {
            reasons.append(Self.pause(record))
        }
        if let until = record?.crashLoopUntil, until > supervisor.now {
            reasons.append(
                .init(code: "crash_loop", text: "it crashed repeatedly; no prewarming meanwhile"))
        }
        return reasons
    }

    /// What the machine and the latest launches make of it.
    private func machineReasons(_ app: InstalledApp, _ record: AppRecord?) -> [Control.Note] {
        var reasons: [Control.Note] = []
        if app.isPrewarmingWanted, app.ineligibility == nil {
            reasons += supervisor.reclaimer.holds
        }
        let pressure = supervisor.lifecycle.pressure
        if pressure > .none {
            reasons.append(
                .init(
                    code: "memory_pressure",
                    text: "memory is short (\(pressure)); no prewarming meanwhile"))
        }
        if let key = record?.poolKey, key != app.poolEnvironment.key {
            reasons.append(
                .init(
                    code: "caller_environment",
                    text: "the pool follows the environment of the latest launch, which differs "
                        + "from the session's"))
        }
        return reasons
    }

    private func lastLaunch(of app: AppIdentifier) -> Control.LaunchSummary? {
        guard let served = catalog.lastLaunch(of: app) else { return recordedLaunch(of: app) }
        guard let recorded = recordedLaunch(of: app), recorded.instance != served.instance,
            recorded.timestampUSec > served.timestampUSec
        else { return served }
        return recorded
    }

    /// What the records know of the latest launch that no client of this supervisor asked for: a former
    /// one served it, or a timer, a path or a socket did.
    private func recordedLaunch(of app: AppIdentifier) -> Control.LaunchSummary? {
        let launched = supervisor.lifecycle.instances(of: app).filter { $0.launchedAt != nil }
        guard let latest = launched.max(by: { $0.launchedAt! < $1.launchedAt! }),
            let kind = latest.launchKind
        else { return nil }
        var summary = Control.LaunchSummary(
            instance: latest.instance.rawValue, kind: Control.LaunchKind(kind), elapsedUSec: 0,
            timestampUSec: WallClock.microseconds(at: latest.launchedAt!))
        summary.coldReason = latest.coldReason.map { .known(.init($0)) }
        return summary
    }
}

extension InstanceRecord {
    /// Launched and not yet ended.
    var isRunning: Bool {
        switch state {
        case .launching, .inactive, .active, .background, .suspended, .terminating: true
        case .notRunning, .prewarming, .prewarmed: false
        }
    }
}

extension ExecutionState {
    /// Of several instances of an app, the one that people mean by its state.
    fileprivate var prominence: Int {
        switch self {
        case .notRunning: 0
        case .prewarming: 1
        case .prewarmed: 2
        case .terminating: 3
        case .suspended: 4
        case .background: 5
        case .launching: 6
        case .inactive: 7
        case .active: 8
        }
    }
}

extension Control.ExitRecord {
    init(_ record: InstanceRecord) {
        self.init(
            reason: Control.ExitReason(record.endReason ?? .unknown),
            timestampUSec: WallClock.microseconds(at: record.endedAt ?? record.since))
        lastState = record.lastState.map { .known(.init($0)) }
        switch record.exitStatus {
        case .exited(let status)?: self.status = status
        case .signaled(let signal, let coreDumped)?:
            self.signal = Int32(signal)
            self.coreDumped = coreDumped
        case .unknown?, nil: break
        }
    }
}
