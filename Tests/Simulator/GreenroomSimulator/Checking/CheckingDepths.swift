import GreenroomLifecycle

/// How far apps are prewarmed.
extension Checker {
    /// No prewarm goes deeper than the description says, or as deep as one that has failed in the
    /// same environment (in any environment, if the failure is on record). Libraries are opened
    /// only after they have been seen, with the same environment. (A new supervisor has forgotten
    /// them.) A program is held only for a user with an active session, and then whenever there is
    /// room.
    mutating func checkDepth(
        _ depth: PrewarmDepth, of app: AppIdentifier, _ key: EnvironmentKey
    ) throws(Violation) {
        let description = installed[app]!
        let lesson = LibraryLesson(
            app: app, generation: description.generation, environmentKey: key)
        if depth == .libraries {
            try require(learned.contains(lesson), "\(app) opens libraries that nobody has seen")
            tally.libraryPrewarms += 1
        }
        var demotion = savedApps[app]?.depth.demotion
        if demotion?.generation != description.generation { demotion = nil }
        if let own = demotion?.environmentKey, own != key { demotion = nil }
        let mayBeHeld = description.depth == .window && demotion?.sparesWindow ?? true
        if depth == .window {
            tally.windowPrewarms += 1
            try require(
                mayBeHeld, "holds \(app) at \(description.depth) after \(demotion?.fault as Any)")
            return try require(mayHold(description), "holds \(app), whose user is not there")
        }
        let whole = description.depth == .window ? .libraries : description.depth
        let allowed = demotion.map { $0.isOfWindow ? .libraries : .main } ?? whole
        try require(
            depth == allowed || allowed == .libraries && depth == .main,
            "prewarmed \(app) to \(depth), not to \(allowed), after \(demotion?.fault as Any)")
        guard mayBeHeld, mayHold(description) else { return }
        tally.unheldForBytes += 1
        try require(
            held.byteCount + held.largest(app, policy) > policy.windowByteBudget,
            "does not hold \(app), for which there is room")
    }

    /// An app is demoted to a lesser depth only because of an event of a deep instance.
    mutating func checkDemotion(
        _ id: InstanceIdentifier, _ app: AppIdentifier, _ fault: DepthFault, _ event: Event
    ) throws(Violation) {
        tally.demotions[fault, default: 0] += 1
        try require(saved[id]?.depth != .main, "\(app) was demoted for \(id), which is not deep")
        try require(
            savedApps[app]?.depth.demotion?.fault == fault, "\(app) was demoted without a record")
        try require(
            savedApps[app]?.depth.demotion?.sparesWindow != true
                || installed[app]?.depth == .window && saved[id]?.depth != .window,
            "\(app) may be held after \(id) failed")
        let failures = savedApps[app]?.prewarmFailures ?? 0
        let isCause = Self.demotions(by: event, after: failures).contains(fault)
        try require(isCause, "\(app) was demoted as \(fault) by \(event)")
        guard fault == .noWindow else { return }
        let toldAt = (former[id] ?? saved[id])?.since
        let isSecond = windowMissedAt[app].flatMap { at in toldAt.map { at < $0 } } ?? false
        try require(isSecond, "\(app) was demoted for one stall of its display")
    }

    /// The faults of a depth that the event may report, after that many failures in a row. A program
    /// has no fault if nobody knows how it ended, or if it ended with the spawner; nor on its way to
    /// its pause if somebody killed it, unless that happens again and again.
    private static func demotions(by event: Event, after failures: UInt32) -> Set<DepthFault> {
        switch event {
        case .exited(_, .unknown): []
        case .exited(_, .signaled(5, _)) where failures < 2,
            .exited(_, .signaled(9, _)) where failures < 2:
            [.endedHeld]
        case .exited: [.ended, .endedHeld, .savesNothing]
        case .channelLost: [.ended, .endedHeld]
        case .paused: [.pausedElsewhere, .startsThreads]
        case .deadlineReached: [.timedOut, .noWindow]
        case .misfired:
            [.startsPrograms, .changesProcess, .ownsName, .nameTaken, .otherDisplay, .showsNotice]
        case .started: [.startsAnew]
        case .becameReady: [.savesNothing]
        case .freezeFailed: [.notFrozen]
        case _: []
        }
    }

    /// A depth is measured only by launches from the pool of an app of which something is learned,
    /// when they become ready or end.
    mutating func checkTiming(_ app: AppIdentifier, _ event: Event) throws(Violation) {
        let description = installed[app]
        try require(
            description?.depth == .libraries || description?.depth == .window
                || description?.importBasis != nil, "measured \(app), of which nothing is learned")
        let id: InstanceIdentifier? =
            switch event {
            case .becameReady(let id), .exited(let id, .exited(0)): id
            case _: nil
            }
        try require(
            id.flatMap { saved[$0] }?.launchKind == .prewarmed,
            "measured \(app) at \(event), not at a launch from the pool")
        tally.timings += 1
    }

    /// The shell inspects only launches from the pool, of apps that may be prewarmed to that depth.
    func checkLesson(_ id: InstanceIdentifier, _ lesson: LibraryLesson) throws(Violation) {
        guard let record = saved[id] else { throw Violation("nothing to learn from \(id)") }
        try require(
            record.app == lesson.app && record.generation == lesson.generation
                && record.environmentKey == lesson.environmentKey
                && record.launchKind == .prewarmed,
            "learns from \(id), which is another instance or was launched cold")
        let description = installed[lesson.app]
        try require(
            (description?.depth == .libraries || description?.depth == .window)
                && description?.generation == lesson.generation,
            "learns what no prewarm of \(lesson.app) can use")
    }

    /// An instance that is reported to have started anew did so, and was deep.
    func checkDepth(_ outcome: LaunchOutcome, _ process: FakeProcess?) throws(Violation) {
        guard outcome.kind == .startedAnew else {
            return try require(
                outcome.anewReason == nil, "a reason to start anew, but no such start")
        }
        try require(
            outcome.anewReason != nil && outcome.anewReason == process?.anewReason,
            "\(outcome.instance) is said to have started anew")
        try require(process?.isDeep == true, "\(outcome.instance) started anew and is not deep")
    }
}
