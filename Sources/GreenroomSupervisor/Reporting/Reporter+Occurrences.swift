internal import GreenroomControl
internal import GreenroomLifecycle
internal import GreenroomLinux
internal import Systemd

/// Turns what the core reports into a line of the journal and an event for watchers.
extension Reporter {
    /// - Parameter launch: the launch that the occurrence belongs to, if it says something new
    ///   about one.
    func report(_ occurrence: Occurrence, _ launch: Control.LaunchRecord? = nil) {
        switch occurrence {
        case .stateChanged(let instance, let app, let from, let to, _):
            stateChanged(instance, of: app, from, to, launch)
        case .launched(_, let name, let app, let outcome): launched(app, name, outcome, launch)
        case .exited(let ended): exited(ended, launch)
        case .reclaimed(let instance, let app, let bytes, let pressure, let state):
            reclaimed(instance, of: app, bytes, pressure, state)
        case .pressureChanged(let pressure): pressureChanged(pressure)
        case .instanceStalled(let instance, let app, let level): stalled(instance, of: app, level)
        case .pagedOut(let instance, let app, let bytes): pagedOut(instance, of: app, bytes)
        case .pausedWithThreads(let instance, let app, let areFrozen):
            pausedWithThreads(instance, of: app, areFrozen)
        case .prewarmFailed(let app, let reason, let retryAt): prewarmFailed(app, reason, retryAt)
        case .misfired(let instance, let app, let misfire): misfired(instance, app, misfire)
        case .demoted(let instance, let app, let fault, let depth, let program, let isEverywhere):
            demoted(instance, app, fault, of: depth, program, isEverywhere)
        case .librariesLearned(let app, let count): librariesLearned(app, count)
        case .libraryDropped(let instance, let lesson, _, let fault):
            libraryDropped(instance, of: lesson.app, fault)
        case .depthTimed: break
        case .crashLooped(let app, let until): crashLooped(app, until)
        case .restartScheduled(let app, let at): restartScheduled(app, at)
        case .failed(let app, let failure): gaveUp(app, failure)
        case .triggersLeftAlone(let app, let count): triggersLeftAlone(app, count)
        case .sceneChanged(let instance, let app, let scene, let activation):
            sceneChanged(instance, of: app, scene, activation)
        case .slowStep(let instance, let app, let step, let scene):
            isLate(
                .slowStep, step, of: app, instance, scene: scene, level: .warning,
                saying: "has not returned after half its time")
        case .missedStep(let instance, let app, let step, let scene):
            isLate(
                .missedStep, step, of: app, instance, scene: scene, level: .error,
                saying: "did not return in time; the watchdog ends the app")
        case .stateKept(let instance, let app, let scene):
            publish(.stateKept, app, instance) { $0.session = scene.description }
        case .stateRefused(let instance, let app, let scene, let refusal):
            stateRefused(instance, of: app, scene, refusal)
        case .stateDeleted(let app, let scene, let reason): stateDeleted(app, scene, reason)
        case .backgroundTimeExpiring(let instance, let app):
            backgroundTimeExpiring(instance, of: app)
        case .runBegan(let instance, let app, let task): taskBegan(task, of: app, instance)
        case .runEnded(let instance, let app, let task, let outcome):
            taskEnded(task, of: app, instance, Control.TaskOutcome(outcome))
        // `ShownScreens` reports these, because it knows the file.
        case .launchScreenShown, .launchScreenDropped: break
        }
    }

    // MARK: From the launch to the end

    private func stateChanged(
        _ instance: InstanceIdentifier, of app: AppIdentifier, _ from: ExecutionState,
        _ to: ExecutionState, _ launch: Control.LaunchRecord?
    ) {
        log.line(
            app, .debug, "\(app) \(Control.ExecutionState(to).rawValue)", fields(app, instance))
        publish(.stateChanged, app, instance) {
            $0.from = .known(.init(from))
            $0.to = .known(.init(to))
            $0.elapsedUSec = launch?.readyUSec
        }
        scheduleStatus()
    }

    private func launched(
        _ app: AppIdentifier, _ name: LaunchIdentifier, _ outcome: LaunchOutcome,
        _ launch: Control.LaunchRecord?
    ) {
        let kind = Control.LaunchKind(outcome.kind)
        let reason = outcome.coldReason.map(Control.ColdReason.init)
        // The account of this launch has noted in what it differs.
        let last = catalog.lastLaunch(of: app)
        let names = last?.differingVariables ?? last?.differingState ?? []
        let differences = names.joined(separator: ", ")
        let why = names.isEmpty ? "" : ": \(differences)"
        let anew = outcome.anewReason.map(Control.AnewReason.init)
        let word = reason?.rawValue ?? anew?.rawValue
        let words = kind.rawValue + (word.map { " (\($0)\(why))" } ?? "")
        log.line(
            app, .info, "launched \(app): \(words)",
            launchFields(app, outcome.instance, name, launch), as: .launched(kind), .life)
        publish(.launched, app, outcome.instance) {
            $0.launchIdentifier = name.rawValue
            $0.caller = launch?.caller
            $0.elapsedUSec = launch?.elapsedUSec
            $0.launchKind = .known(kind)
            $0.coldReason = reason.map { .known($0) }
            $0.anewReason = anew.map { .known($0) }
            $0.text = differences
        }
    }

    /// The fields of a launch, with its caller if there is one.
    private func launchFields(
        _ app: AppIdentifier, _ instance: InstanceIdentifier, _ name: LaunchIdentifier,
        _ launch: Control.LaunchRecord?
    ) -> KeyValuePairs<String, String> {
        guard let launch, let caller = launch.caller else {
            return [
                "app": app.rawValue, "instance": instance.description, "launch": name.rawValue,
            ]
        }
        return [
            "app": app.rawValue, "instance": instance.description, "launch": name.rawValue,
            "caller": caller.program ?? "?", "caller_uid": "\(caller.userId)",
            "caller_pid": "\(caller.processId)", "elapsed_usec": "\(launch.elapsedUSec ?? 0)",
        ]
    }

    private func pausedWithThreads(
        _ instance: InstanceIdentifier, of app: AppIdentifier, _ areFrozen: Bool
    ) {
        log.line(
            app, areFrozen ? .debug : .notice,
            "\(app) has started threads before its pause: "
                + (areFrozen
                    ? "they are frozen until its launch"
                    : "they run on, because it has no cgroup in which they could be frozen"),
            fields(app, instance))
    }

    private func exited(_ record: InstanceRecord, _ launch: Control.LaunchRecord?) {
        let reason = record.endReason ?? .unknown
        log.line(
            record.app, Self.level(record, reason),
            "\(record.app) ended: \(reason.row.word)\(Self.words(record.exitStatus))",
            endFields(record, reason, launch), as: .ended(reason), .life)
        publish(.exited, record.app, record.instance) {
            $0.exit = Control.ExitRecord(record)
            $0.ranUSec = launch?.ranUSec
        }
    }

    /// How urgent an end is. Paused instances that nobody launched come and go all the time.
    private static func level(_ record: InstanceRecord, _ reason: ExitReason) -> LogLevel {
        if reason.row.level == .warning { return .warning }
        return record.launchIdentifier == nil ? .debug : .info
    }

    /// The fields of an end, with the time since the launch if there was one.
    private func endFields(
        _ record: InstanceRecord, _ reason: ExitReason, _ launch: Control.LaunchRecord?
    ) -> KeyValuePairs<String, String> {
        let (app, instance) = (record.app.rawValue, record.instance.description)
        let name = record.launchIdentifier?.rawValue ?? ""
        guard let ran = launch?.ranUSec else {
            return ["app": app, "instance": instance, "launch": name, "reason": reason.row.word]
        }
        return [
            "app": app, "instance": instance, "launch": name, "reason": reason.row.word,
            "ran_usec": "\(ran)",
        ]
    }

    private static func words(_ status: ExitStatus?) -> String {
        switch status {
        case .exited(let code)?: ", status \(code)"
        case .signaled(let signal, let dumped)?:
            ", signal \(signal)\(dumped ? " (core dumped)" : "")"
        case .unknown?, nil: ""
        }
    }
}
