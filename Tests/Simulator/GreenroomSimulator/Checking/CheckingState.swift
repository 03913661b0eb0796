import GreenroomLifecycle

/// What the checker knows of saved state, in addition to the files of the world.
struct StateBooks: Sendable {
    /// The archives that each instance may replace, because there was none when it began, it was
    /// given the archive, or it saved the archive itself.
    var seen: [InstanceIdentifier: Set<SceneIdentifier>] = [:]
    /// Instances whose state is on trial as far as the checker can tell: it was given to them, and
    /// their launch is not over.
    var onTrial: Set<InstanceIdentifier> = []
}

extension Checker {
    mutating func checkKept(
        _ id: InstanceIdentifier, _ app: AppIdentifier, _ scene: SceneIdentifier, _ event: Event,
        _ world: World
    ) throws(Violation) {
        guard case .stateReported(id, scene, .keep(let byteCount)) = event else {
            throw Violation("kept a state of \(id) that it did not report")
        }
        try require(byteCount <= policy.stateByteLimit, "kept \(byteCount) bytes of \(id)")
        let record = saved[id]!
        let pending = record.conversation?.pending
        let isLeaving = pending?.step == .didEnterBackground && pending?.scene == scene
        try require(
            isLeaving || pending?.step == .willTerminate, "\(id) saved, but was told no step")
        try require(record.endReason != .forceQuit, "\(id) saved after it was force-quit")
        let hasScenes = installed[app]?.scenes != .unsupported
        try require(
            hasScenes
                ? savedApps[app]?.sessions.contains(scene) == true : scene == .application,
            "\(id) saved scene \(scene), which it does not have")
        try require(
            kept.seen[id]?.contains(scene) ?? true || !isThere(scene, for: id, world),
            "\(id) replaced a state that it was not given")
        kept.seen[id]?.insert(scene)
    }

    func checkDeleted(
        _ app: AppIdentifier, _ scene: SceneIdentifier, _ world: World
    ) throws(Violation) {
        try require(
            world.states[app]?[scene] != nil, "deleted the state of \(app) which is not there")
    }

    mutating func checkHandedOver(
        _ id: InstanceIdentifier, _ scene: SceneIdentifier, _ world: World
    ) throws(Violation) {
        let record = saved[id]!
        guard let description = installed[record.app] else {
            throw Violation("gave \(id) the state of an app that is gone")
        }
        try require(
            world.states[record.app]?[scene] == description.stateVersion,
            "gave \(id) a state that is not there, or of another version")
        try require(!locked.contains(description.user), "gave \(id) protected data while locked")
        try require(record.launchedAt != nil, "gave \(id) its state before it ran")
        kept.seen[id]?.insert(scene)
        if record.conversation == nil { kept.onTrial.insert(id) }
    }

    /// When a launch is decided or a scene is connected, notes what the instance may replace later.
    mutating func noteSeen(
        _ id: InstanceIdentifier, _ scene: SceneIdentifier, _ world: World, isGiven: Bool
    ) {
        // For an instance of a former supervisor, this is known less precisely.
        if scene == .application { kept.seen[id] = [] }
        if isGiven || !isThere(scene, for: id, world) {
            kept.seen[id]?.insert(scene)
        } else {
            kept.seen[id]?.remove(scene)
        }
    }

    /// Notes that the instance was told that no archive will come.
    mutating func noteAbsent(
        _ id: InstanceIdentifier, _ scene: SceneIdentifier, _ world: World
    ) {
        if !isThere(scene, for: id, world) { kept.seen[id]?.insert(scene) }
    }

    /// Whether there is an archive of the app's state version. Others do not count.
    private func isThere(
        _ scene: SceneIdentifier, for id: InstanceIdentifier, _ world: World
    ) -> Bool {
        let app = saved[id]!.app
        return world.states[app]?[scene] == installed[app]?.stateVersion
    }

    /// Checks saved state after all effects of an event have been performed.
    mutating func checkStates(
        _ event: Event, _ core: Lifecycle, _ world: World
    ) throws(Violation) {
        switch event {
        case .requested(_, .transition(let target, .forceQuit)): try checkForceQuit(target, world)
        case .exited(let id, let status) where kept.onTrial.contains(id):
            kept.onTrial.remove(id)
            try checkFailure(id, status, world)
        default: break
        }
        for id in touched where saved[id]?.conversation != nil { kept.onTrial.remove(id) }
        // The archives of an app are reported right after it is installed.
        if isRestoring { return }
        try checkStill(core, world)
        try checkReports(event, core)
        if case .appInstalled = event { return }
        for (app, files) in world.states where installed[app] != nil {
            try require(
                core.keptStates(of: app) == files, "the core has wrong states of \(app)")
        }
    }

    /// The threads of a paused instance are frozen, if they can be and it is not aired.
    private func checkStill(_ core: Lifecycle, _ world: World) throws(Violation) {
        for (id, process) in world.processes
        where process.isAlive && !process.isLost && process.hasOtherThreads {
            guard let record = core.instance(id), record.state == .prewarmed else { continue }
            if case .fails = process.behavior.freeze { continue }
            if aired[id] != nil { continue }
            try require(
                process.isFrozen || process.isFreezing, "\(id) is paused and its threads run")
        }
    }

    private func checkForceQuit(_ target: Target, _ world: World) throws(Violation) {
        let app: AppIdentifier? =
            switch target {
            case .instance(let id): saved[id]?.app
            case .app(let app): app
            }
        guard let app, installed[app] != nil else { return }
        let isQuit = saved.values.contains {
            $0.app == app && $0.state == .terminating && $0.endReason == .forceQuit
                && ending.contains($0.instance)
        }
        guard isQuit else { return }
        try require(world.states[app]?.isEmpty ?? true, "\(app) was force-quit and its state kept")
    }

    private func checkFailure(
        _ id: InstanceIdentifier, _ status: ExitStatus, _ world: World
    ) throws(Violation) {
        guard let record = saved[id], case .signaled = status,
            record.endReason == .crashed || record.endReason == .launchWatchdog,
            installed[record.app] != nil
        else { return }
        try require(
            world.states[record.app]?[.application] == nil,
            "\(id) crashed with its state, which was not deleted")
    }
}
