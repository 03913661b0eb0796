internal import GreenroomControl
internal import GreenroomLifecycle
internal import GreenroomLinux
internal import Systemd

// Why an app is or is not prewarmed, in words for people and codes for programs.

@LoopActor
struct Explanations {
    let core: Core
    let catalog: AppCatalog
    let inspections: Inspections
    let objections: PrewarmObjections
    let depths: ReportedDepths
    let importLists: ImportLists
    let learner: LibraryLearner

    /// Why the app is or is not prewarmed, and how its latest launch was served.
    func explanation(of app: InstalledApp) -> Control.Explanation {
        var explanation = Control.Explanation(
            app: app.identifier.rawValue, isEligible: objections.objection(to: app) == nil)
        let lifecycle = core.lifecycle
        let paused = lifecycle.instances(of: app.identifier).filter { $0.state == .prewarmed }
        let record = lifecycle.app(app.identifier)
        explanation.prewarmedCount = paused.count
        explanation.prewarmTarget =
            app.description.prewarmCount + lifecycle.spareCount(of: app.identifier)
        explanation.prewarmByteCount = lifecycle.measuredByteCount(of: app.identifier)
        explanation.reasons =
            manifestReasons(app, record) + depthReasons(app, record) + failureReasons(app, record)
            + machineReasons(app, record)
        // If there is both a back-off and a crash loop, both must be over.
        let waits = [record?.prewarmRetryAt, record?.crashLoopUntil].compactMap(\.self)
        if let last = waits.max(), last > core.now {
            explanation.retryAfterUSec = core.now.duration(to: last).microseconds
        }
        explanation.confinement = app.restrictions.keys.isEmpty ? nil : app.restrictions.keys
        explanation.supervision = supervisionStatus(of: app.identifier)
        explanation.lastLaunch = lastLaunch(of: app.identifier)
        explanation.depth = depths.depth(of: app)
        if let count = record?.depth.anewCount, count > 0 {
            explanation.startedAnewCount = Int(count)
        }
        return explanation
    }

    /// The code of the reason that the plan leaves out an app that it could have.
    nonisolated static let notPlanned = "not_planned"

    /// Whether past launches decide whether the app is kept warm now.
    func isPlannable(_ app: InstalledApp) -> Bool {
        app.description.prewarmOccasion == .auto
            && core.lifecycle.plannable.contains { $0.app == app.identifier }
    }

    /// Reasons that lie in the app's program and manifest.
    private func manifestReasons(_ app: InstalledApp, _ record: AppRecord?) -> [Control.Note] {
        var reasons: [Control.Note] = []
        if let ineligibility = objections.objection(to: app) {
            reasons.append(.init(code: ineligibility.code, text: ineligibility.text))
        } else if !app.isPrewarmingWanted {
            reasons.append(.init(code: "disabled", text: "the manifest asks for no prewarming"))
        }
        if app.description.prewarmOccasion == .demand, record?.isPoolWanted != true,
            objections.objection(to: app) == nil
        {
            reasons.append(
                .init(
                    code: "on_demand", text: "prewarmed once `greenroomctl prewarm` asks for it"))
        }
        if app.description.prewarmOccasion == .auto, record?.isPoolWanted != true,
            objections.objection(to: app) == nil, !core.lifecycle.isPlanned(app.identifier)
        {
            reasons.append(
                .init(
                    code: Self.notPlanned,
                    text: isPlannable(app)
                        ? "by its user's past launches, it is not worth its memory now"
                        : "its user has no login session, so nothing is kept warm for the user"))
        }
        return reasons
    }

    /// Why the app is not prewarmed deeper, and why launches were started anew.
    private func depthReasons(_ app: InstalledApp, _ record: AppRecord?) -> [Control.Note] {
        guard objections.objection(to: app) == nil else { return [] }
        var reasons: [Control.Note] = []
        if let objection = app.program.depth.objection {
            reasons.append(.init(code: objection.code, text: objection.text))
        }
        if let profile = app.program.depth.profile {
            reasons.append(
                .init(
                    code: "profile",
                    text: "its depth is chosen by the profile \(profile); Depth= in its manifest "
                        + "overrides that"))
        }
        if let learning = app.program.depth.learning {
            let abandonment = importLists.abandonment(of: app.identifier, learning.basis)
            let notes = [
                learning.learned?.clientNote(isPreparing: core.hasBooted(app.identifier)),
                abandonment?.note,
            ].compactMap(\.self)
            reasons += learning.learned == nil && notes.isEmpty ? [.unlearned] : notes
            if let profile = learning.profile {
                reasons.append(.profile(profile, learning.learned?.version, learning.vouching))
            }
        }
        if let demotion = core.lifecycle.demotion(of: app.identifier) {
            let name = app.identifier.rawValue
            let words = demotion.fault.words(at: demotion.depth(of: app.description))
            let place =
                demotion.isOfWindow
                ? "its first window is not prepared"
                : demotion.sparesWindow
                    ? "it pauses before main if its first window is not prepared"
                    : "it pauses before main"
            let range =
                demotion.environmentKey == nil
                ? place : "with the environment of one caller, \(place)"
            reasons.append(
                .init(
                    code: demotion.fault.code,
                    text: "\(range), because \(words), until its files change "
                        + "(greenroomctl reset-failed \(name) tries again)"))
        }
        let key = record?.poolKey ?? app.description.environmentKey
        if core.lifecycle.depth(of: app.identifier, key) == .libraries {
            let libraries = core.lifecycle.libraryCount(of: app.identifier, key)
            reasons.append(
                .init(
                    code: "libraries",
                    text: "\(libraries) librar\(libraries == 1 ? "y" : "ies") that it opens after "
                        + "main are opened before its pause"))
        }
        let lesson = LibraryLesson(
            app: app.identifier, generation: app.description.generation, environmentKey: key)
        for library in learner.dropped(for: lesson) {
            reasons.append(
                .init(
                    code: "library_left_out",
                    text: "\(library.path) is not opened before its pause, because "
                        + library.fault.wordsOfLibrary))
        }
        if let saved = core.lifecycle.depthTimes(of: app.identifier)?.saved, saved > .zero {
            reasons.append(
                .init(
                    code: "saved_time",
                    text: "what launches have taught makes its launches \(saved.milliseconds) "
                        + "shorter than without it"))
        }
        if let refusal = core.lifecycle.reasonNotHeld(of: app.identifier) {
            reasons.append(.init(code: refusal.code, text: refusal.words))
        } else if core.lifecycle.depth(of: app.identifier, key) == .window {
            reasons.append(
                .init(
                    code: "window",
                    text: "its windows are made and withheld; a launch that brings arguments, "
                        + "descriptors, a directory or another environment starts cold"))
        }
        if let depth = record?.depth, let reason = depth.latestAnew {
            reasons.append(
                .init(
                    code: "started_anew",
                    text: "\(depth.anewCount) launch\(depth.anewCount == 1 ? " was" : "es were") "
                        + "started anew, the latest because \(reason.words)"))
        }
        return reasons
    }

    private func failureReasons(_ app: InstalledApp, _ record: AppRecord?) -> [Control.Note] {
        var reasons: [Control.Note] = []
        if let record, let retryAt = record.prewarmRetryAt, retryAt > core.now {
            reasons.append(Self.pause(record))
        }
        if let until = record?.crashLoopUntil, until > core.now {
            reasons.append(
                .init(
                    code: "crash_loop",
                    text: "it crashed repeatedly, so it is not prewarmed for now"))
        }
        return reasons
    }

    /// Reasons that lie in the machine and in the latest launches.
    private func machineReasons(_ app: InstalledApp, _ record: AppRecord?) -> [Control.Note] {
        var reasons: [Control.Note] = []
        if app.isPrewarmingWanted, objections.objection(to: app) == nil {
            reasons += inspections.obstacles
        }
        let pressure = core.lifecycle.pressure
        if pressure > .none {
            reasons.append(
                .init(
                    code: "memory_pressure",
                    text: "memory is short (\(pressure)), so it is not prewarmed for now"))
        }
        if let key = record?.poolKey, key != app.description.environmentKey {
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

    /// The latest launch on record. No client of this supervisor need have asked for it: a former
    /// supervisor may have served it, or a timer, a path or a socket may have caused it.
    private func recordedLaunch(of app: AppIdentifier) -> Control.LaunchSummary? {
        let launched = core.lifecycle.instances(of: app).filter { $0.launchedAt != nil }
        guard let latest = launched.max(by: { $0.launchedAt! < $1.launchedAt! }),
            let kind = latest.launchKind
        else { return nil }
        var summary = Control.LaunchSummary(
            instance: latest.instance.rawValue, kind: Control.LaunchKind(kind), elapsedUSec: 0,
            timestampUSec: WallClock.microseconds(at: latest.launchedAt!))
        summary.coldReason = latest.coldReason.map { .known(.init($0)) }
        summary.anewReason = latest.anewReason.map { .known(.init($0)) }
        return summary
    }

    /// Why the app is not prewarmed again yet.
    private static func pause(_ record: AppRecord) -> Control.Note {
        if record.isReclaimed {
            return .init(
                code: "reclaimed",
                text: "its memory was taken back; it is prewarmed again later")
        }
        let failures = record.prewarmFailures
        return .init(
            code: "back_off",
            text: "\(failures) prewarm\(failures == 1 ? "" : "s") failed; the next is tried later")
    }
}

extension NotHeldReason {
    fileprivate var code: String {
        switch self {
        case .isOff: "window_off"
        case .isInactive: "window_inactive"
        case .isOverBudget: "window_over_budget"
        }
    }

    fileprivate var words: String {
        let reason =
            switch self {
            case .isOff: "WindowBudget= in greenroom.conf is 0"
            case .isInactive: "its user has no active session in front of a display"
            case .isOverBudget: "WindowBudget= in greenroom.conf has no room for it now"
            }
        return "its first window is not prepared, because \(reason)"
    }
}
