import GreenroomLifecycle

// Apps that acknowledge their states: compares the steps that they are told with the known states
// of their scenes.

/// The legal changes of a scene's state, deliberately written a second time.
private let legal: [ActivationState: Set<ActivationState>] = [
    .unattached: [.foregroundInactive, .background],
    .foregroundInactive: [.foregroundActive, .background],
    .foregroundActive: [.foregroundInactive],
    .background: [.foregroundInactive, .unattached],
]

extension Checker {
    mutating func restoreScenes(_ record: InstanceRecord) {
        scenes[record.instance] = nil
        for scene in record.conversation?.scenes ?? [] {
            scenes[record.instance, default: [:]][scene.scene] = scene.activation
        }
    }

    mutating func checkTold(
        _ id: InstanceIdentifier, _ step: PendingStep, _ world: World
    ) throws(Violation) {
        guard let record = saved[id], let pending = record.conversation?.pending else {
            throw Violation("told \(id) a step that is not saved")
        }
        try require(pending.cookie == step.cookie, "told \(id) another step than saved")
        try require(world.processes[id]?.isFrozen == false, "told frozen \(id)")
        if step.step == .connect || step.step == .connectInBackground {
            let isLocked = installed[record.app].map { locked.contains($0.user) } ?? false
            noteSeen(id, step.scene, world, isGiven: !isLocked)
        }
        switch step.step {
        case .willTerminate:
            try require(record.endReason != nil, "\(id) is told its end but is not being ended")
        case .connect, .willEnterForeground, .didBecomeActive:
            try require(record.state.isRunning, "told \(id) in \(record.state)")
            // Told again after a restart, as below.
            try require(
                step.step != .didBecomeActive || !isCovered(record) || step.cookie <= told[id] ?? 0,
                "told interrupted \(id) to become active")
            // A step that was under way when the goal changed is told again after a restart. A step
            // that lets a blocked launch continue may itself be displaced by that launch.
            try require(
                !record.inBackground || step.cookie <= told[id] ?? 0 || displaced.contains(id),
                "told \(id) in the background to enter the foreground")
        case .connectInBackground, .willResignActive, .didEnterBackground, .disconnect:
            try require(record.state.isRunning, "told \(id) in \(record.state)")
        }
        told[id] = step.cookie
    }

    /// Notes when an app agrees to end. It then exits by itself.
    mutating func noteAgreement(_ id: InstanceIdentifier, _ cookie: UInt64, _ now: Instant) {
        guard let record = saved[id], record.state == .terminating,
            record.conversation?.pending?.cookie == cookie
        else { return }
        agreedAt[id] = now
    }

    func checkOwnEnd(_ id: InstanceIdentifier, _ now: Instant) throws(Violation) {
        guard saved[id]?.exitStatus == nil, let agreed = agreedAt[id] else { return }
        try require(
            agreed.advanced(by: policy.exitGrace) <= now, "\(id) agreed to end, got no time")
    }

    mutating func checkScene(
        _ id: InstanceIdentifier, _ scene: SceneIdentifier, _ to: ActivationState
    ) throws(Violation) {
        let from = scenes[id]?[scene] ?? .unattached
        let isLaunch = scene == .application && from == .unattached
        try require(
            legal[from]!.contains(to) || isLaunch, "scene \(scene) of \(id): \(from) to \(to)")
        scenes[id, default: [:]][scene] = to
    }

    /// Whether something covers the instance, as far as the conditions of its user are known.
    private func isCovered(_ record: InstanceRecord) -> Bool {
        let user = installed[record.app]?.user
        return record.isInterrupted || user.map { locked.contains($0) } ?? false
    }

    /// Checks that an instance in front is active if and only if nothing covers it.
    func checkInterruption(_ record: InstanceRecord) throws(Violation) {
        // The user of an app that was removed is not known.
        guard !isRestoring, record.state.isForeground, installed[record.app] != nil else { return }
        let isCovered = isCovered(record)
        guard let conversation = record.conversation else {
            return try require(
                (record.state == .active) != isCovered,
                "program \(record.instance) is \(record.state), covered: \(isCovered)")
        }
        guard conversation.pending == nil else { return }
        try require(
            record.state != .active || !isCovered, "\(record.instance) is active, and covered")
    }

    /// Checks that the state of an app follows from its scenes.
    func checkConversation(
        _ record: InstanceRecord, _ nextDeadline: Instant?
    ) throws(Violation) {
        guard let conversation = record.conversation, record.state.isRunning else { return }
        let id = record.instance
        try require(
            conversation.scenes.count <= Conversation.sceneLimit, "\(id) has too many scenes")
        let sessions = Set(conversation.scenes.map(\.scene))
        try require(sessions.count == conversation.scenes.count, "\(id) has a scene twice")
        let states = Set(conversation.scenes.map(\.activation))
        switch record.state {
        case .active: try require(states.contains(.foregroundActive), "\(id) is not active")
        case .inactive:
            try require(
                states.contains(.foregroundInactive) && !states.contains(.foregroundActive),
                "\(id) is not inactive")
        case .background, .suspended:
            try require(
                states.isDisjoint(with: [.foregroundActive, .foregroundInactive]),
                "\(id) is in front, not in the background")
        case .launching, .notRunning, .prewarming, .prewarmed, .terminating: break
        }
        if record.state == .suspended {
            try require(conversation.pending == nil, "\(id) was suspended in the middle of a step")
            try require(record.inBackground, "\(id) was suspended on its way to the front")
        }
        guard !isRestoring, let pending = conversation.pending else { return }
        try require(
            nextDeadline.map { $0 <= pending.deadline } ?? false, "a step of \(id) has no deadline")
    }
}

extension Checker {
    mutating func checkScreenShown(_ id: InstanceIdentifier) throws(Violation) {
        try require(screens.insert(id).inserted, "showed the launch screen of \(id) twice")
        try require(states[id] == .launching, "showed a launch screen of running \(id)")
        guard let record = saved[id] else { throw Violation("a launch screen of unknown \(id)") }
        try require(!record.isAttached, "showed a launch screen of attached \(id)")
        try require(!record.inBackground, "showed a launch screen of \(id) in the background")
    }

    /// Checks that a launch screen is shown only for an app that is in front or on its way there.
    func checkScreen(_ record: InstanceRecord) throws(Violation) {
        let isShown = screens.contains(record.instance)
        if isRestoring { return }
        try require(isShown == record.showsLaunchScreen, "screen of \(record.instance) not saved")
        guard isShown else { return }
        try require(
            [.launching, .inactive, .active].contains(record.state),
            "a launch screen of \(record.instance) in \(record.state)")
    }
}
