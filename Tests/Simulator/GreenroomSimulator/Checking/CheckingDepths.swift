import GreenroomLifecycle

/// How far apps are prewarmed.
extension Checker {
    /// No prewarm goes deeper than the description says, or as deep as one that has failed in the
    /// same environment (in any environment, if the failure is on record). Libraries are opened
    /// only after they have been seen, with the same environment. (A new supervisor has forgotten
    /// them.)
    mutating func checkDepth(
        _ depth: PrewarmDepth, of app: AppIdentifier, _ key: EnvironmentKey
    ) throws(Violation) {
        let description = installed[app]!
        let isFallback = description.depth == .window && depth == .libraries
        try require(
            depth == .main || depth == description.depth || isFallback,
            "prewarmed \(app) deeper than its description says")
        let lesson = LibraryLesson(
            app: app, generation: description.generation, environmentKey: key)
        if depth == .window { tally.windowPrewarms += 1 }
        func isRight(_ allowed: PrewarmDepth) -> Bool {
            depth == allowed || allowed == .libraries && depth == .main
        }
        if depth == .libraries {
            try require(learned.contains(lesson), "\(app) opens libraries that nobody has seen")
            tally.libraryPrewarms += 1
        }
        guard let demotion = savedApps[app]?.depth.demotion,
            demotion.generation == description.generation
        else {
            return try require(
                isRight(description.depth), "prewarmed \(app) less deep than it can be")
        }
        let applies = demotion.environmentKey == nil || demotion.environmentKey == key
        try require(
            isRight(
                applies ? demotion.isOfWindow ? .libraries : .main : description.depth),
            "prewarmed \(app) to \(depth) after \(demotion.fault)")
    }

    /// An app is demoted to a lesser depth only because of an event of a deep instance.
    mutating func checkDemotion(
        _ id: InstanceIdentifier, _ app: AppIdentifier, _ fault: DepthFault, _ event: Event
    ) throws(Violation) {
        tally.demotions[fault, default: 0] += 1
        try require(saved[id]?.depth != .main, "\(app) was demoted for \(id), which is not deep")
        try require(
            savedApps[app]?.depth.demotion?.fault == fault, "\(app) was demoted without a record")
        let isCause = Self.demotions(by: event).contains(fault)
        try require(isCause, "\(app) was demoted as \(fault) by \(event)")
    }

    /// The faults of a depth that the event may report.
    private static func demotions(by event: Event) -> Set<DepthFault> {
        switch event {
        case .exited: [.ended, .endedHeld, .savesNothing]
        case .channelLost: [.ended, .endedHeld]
        case .reconciled: [.ended]
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
