internal import GreenroomControl
internal import GreenroomLifecycle
internal import GreenroomLinux
internal import Systemd

/// Turns what the core reports into a line of the journal and an event for watchers.
extension Reporter {
    /// - Parameter launch: the launch that it belongs to, if it says something new about one.
    func note(_ occurrence: Occurrence, _ launch: Control.LaunchRecord? = nil) {
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
        case .depthTimed: break
        case .crashLooped(let app, let until): crashLooped(app, until)
        case .restartScheduled(let app, let at): restartScheduled(app, at)
        case .failed(let app, let failure): gaveUp(app, failure)
        case .triggersLeftAlone(let app, let count): triggersLeftAlone(app, count)
        case .sceneChanged(let instance, let app, let scene, let activation):
            sceneChanged(instance, of: app, scene, activation)
        case .slowStep(let instance, let app, let step, let scene):
            isLate(
                .slowStep, step, of: app, instance, scene, .warning,
                "has not returned after half its time")
        case .missedStep(let instance, let app, let step, let scene):
            isLate(
                .missedStep, step, of: app, instance, scene, .error,
                "did not return in time; the watchdog ends the app")
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
        var names: [String] = []
        if outcome.coldReason == .environmentMismatch {
            names = catalog[app]?.differingVariables ?? []
        }
        let variables = names.joined(separator: ", ")
        let why = names.isEmpty ? "" : ": \(variables)"
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
            $0.text = variables
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

    // MARK: Memory

    private func reclaimed(
        _ instance: InstanceIdentifier, of app: AppIdentifier, _ byteCount: UInt64,
        _ pressure: MemoryPressure, _ state: ExecutionState
    ) {
        log.line(
            app, .notice,
            "reclaimed \(byteCount >> 10) KiB from \(app), which was \(state): memory pressure is "
                + "\(pressure)",
            [
                "app": app.rawValue, "instance": instance.description,
                "pressure": "\(pressure)", "bytes": "\(byteCount)", "state": "\(state)",
            ], as: .reclaiming)
        publish(.reclaimed, app, instance) {
            $0.byteCount = byteCount
            $0.pressure = Control.MemoryPressure(pressure)
            $0.from = .known(Control.ExecutionState(state))
        }
    }

    private func pressureChanged(_ pressure: MemoryPressure) {
        log.journal.log(
            pressure > .none ? .notice : .info, "memory pressure is \(pressure)",
            ["pressure": "\(pressure)"], as: .pressureChanged)
        publish(.pressureChanged) { $0.pressure = Control.MemoryPressure(pressure) }
    }

    private func stalled(
        _ instance: InstanceIdentifier, of app: AppIdentifier, _ level: MemoryPressure
    ) {
        log.line(
            app, .notice, "\(app) is short of memory within its own limit (\(level))",
            fields(app, instance), as: .pressureChanged)
        publish(.pressureChanged, app, instance) { $0.pressure = Control.MemoryPressure(level) }
    }

    private func pagedOut(
        _ instance: InstanceIdentifier, of app: AppIdentifier, _ byteCount: UInt64
    ) {
        log.line(
            app, .info, "\(byteCount >> 10) KiB of \(app), which is suspended, left memory",
            fields(app, instance))
        publish(.pagedOut, app, instance) { $0.byteCount = byteCount }
    }

    // MARK: Failures and pauses

    private func prewarmFailed(_ app: AppIdentifier, _ reason: ExitReason, _ retryAt: Instant) {
        log.line(
            app, .warning,
            "prewarming \(app) failed: \(reason.row.word); the next try is "
                + "delayed, see greenroomctl explain \(app)", ["app": app.rawValue],
            as: .prewarmingFailed)
        publish(.prewarmFailed, app) { $0.retryAfterUSec = Self.microseconds(to: retryAt) }
    }

    private func misfired(
        _ instance: InstanceIdentifier, _ app: AppIdentifier, _ misfire: Misfire
    ) {
        let cause =
            switch misfire {
            case .startsPrograms(let program):
                "a library of \(app) would \(program.map { "run \($0)" } ?? "start a process") at each "
                    + "prewarm, which was stopped"
            case .changesProcess:
                "a library of \(app) writes something when it is loaded, or changes the process, which a "
                    + "launch would lose"
            case .secureExecution:
                "\(app) loads no preload library (AT_SECURE, getauxval(3)) and would run at each prewarm, "
                    + "which was stopped"
            case .ownsName, .nameTaken, .otherDisplay, .showsNotice:
                "\(app) cannot be held at its first window"
            }
        log.line(
            app, .warning,
            "\(cause): it is launched cold until its program or its manifest changes",
            fields(app, instance), as: .prewarmingFailed)
        publish(.prewarmFailed, app, instance) { _ in }
    }

    private func demoted(
        _ instance: InstanceIdentifier, _ app: AppIdentifier, _ fault: DepthFault,
        of depth: PrewarmDepth, _ program: String?, _ isEverywhere: Bool
    ) {
        let name = program.map { " (\($0))" } ?? ""
        let range = isEverywhere ? "" : "with that caller's environment "
        let isOfImports =
            depth == .runtime && core.lifecycle.description(of: app)?.importsLearned == true
        let rest =
            depth == .window
            ? "its first window is not prepared"
            : isOfImports ? "it imports nothing before its pause" : "it pauses before main"
        log.line(
            app, .notice,
            "\(app): \(fault.words(at: depth))\(name), so \(range)\(rest) until its files change",
            fields(app, instance), as: .prewarmingFailed)
    }

    private func librariesLearned(_ app: AppIdentifier, _ count: Int) {
        log.line(
            app, .debug,
            "\(app) opens \(count) libraries after main: they are opened before its next pauses",
            ["app": app.rawValue])
    }

    private func crashLooped(_ app: AppIdentifier, _ until: Instant) {
        log.line(
            app, .error, "\(app) crashes in a loop: no prewarming and no background launches",
            ["app": app.rawValue], as: .crashLooped)
        publish(.crashLooped, app) { $0.retryAfterUSec = Self.microseconds(to: until) }
    }

    private func restartScheduled(_ app: AppIdentifier, _ time: Instant) {
        log.line(app, .notice, "\(app) is started again", ["app": app.rawValue])
        publish(.restartScheduled, app) { $0.retryAfterUSec = Self.microseconds(to: time) }
    }

    private func gaveUp(_ app: AppIdentifier, _ failure: SupervisionFailure) {
        log.line(
            app, .error, "\(app) \(failure.words); end that with greenroomctl reset-failed \(app)",
            ["app": app.rawValue, "failure": failure.code])
        publish(.failed, app) { $0.text = failure.words }
    }

    private func triggersLeftAlone(_ app: AppIdentifier, _ count: Int) {
        log.line(
            app, .error,
            "\(app): its paths launched it \(count) times in a row, and are ignored from now on; an "
                + "app must remove what PathExists= or DirectoryNotEmpty= found before it ends "
                + "(\"greenroomctl reload\" tries again)", ["app": app.rawValue])
    }

    private static func microseconds(to instant: Instant) -> Int64 {
        max(0, WallClock.microseconds(at: instant) - WallClock.nowMicroseconds)
    }

    // MARK: Apps made with the SDK

    private func sceneChanged(
        _ instance: InstanceIdentifier, of app: AppIdentifier, _ scene: SceneIdentifier,
        _ activation: ActivationState
    ) {
        publish(.sceneChanged, app, instance) {
            $0.session = scene.description
            $0.activation = .known(.init(activation))
        }
    }

    private func isLate(
        _ kind: Control.EventKind, _ step: LifecycleStep, of app: AppIdentifier,
        _ instance: InstanceIdentifier, _ scene: SceneIdentifier, _ level: LogLevel,
        _ words: String
    ) {
        log.line(app, level, "\(app): \(step.name) \(words)", fields(app, instance))
        publish(kind, app, instance) {
            $0.session = scene.description
            $0.step = step.name
        }
    }

    private func stateRefused(
        _ instance: InstanceIdentifier, of app: AppIdentifier, _ scene: SceneIdentifier,
        _ refusal: StateRefusal
    ) {
        log.line(
            app, .warning, "the state of \(app) is not kept: \(refusal.words)",
            fields(app, instance))
        publish(.stateRefused, app, instance) {
            $0.session = scene.description
            $0.text = refusal.words
        }
    }

    private func stateDeleted(
        _ app: AppIdentifier, _ scene: SceneIdentifier, _ reason: StateDeletion
    ) {
        log.line(
            app, .info, "the saved state of \(app) is deleted: \(reason.words)",
            ["app": app.rawValue])
        publish(.stateDeleted, app) {
            $0.session = scene.description
            $0.text = reason.words
        }
    }

    private func backgroundTimeExpiring(_ instance: InstanceIdentifier, of app: AppIdentifier) {
        log.line(app, .info, "\(app): its background time is about to end", fields(app, instance))
        publish(.backgroundTimeExpiring, app, instance) { _ in }
    }

    private func taskBegan(
        _ task: String, of app: AppIdentifier, _ instance: InstanceIdentifier
    ) {
        log.line(app, .info, "\(app) runs \(task)", fields(app, instance))
        publish(.taskBegan, app, instance) { $0.task = task }
    }

    private func taskEnded(
        _ task: String, of app: AppIdentifier, _ instance: InstanceIdentifier,
        _ outcome: Control.TaskOutcome
    ) {
        log.line(
            app, outcome == .succeeded ? .info : .notice, "\(app): \(task) \(outcome.rawValue)",
            fields(app, instance))
        publish(.taskEnded, app, instance) {
            $0.task = task
            $0.outcome = .known(outcome)
        }
    }
}
