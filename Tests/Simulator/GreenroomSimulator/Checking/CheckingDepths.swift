import GreenroomLifecycle

/// How far apps are prewarmed.
extension Checker {
    /// No prewarm goes deeper than the description says, and none as deep as one that has failed
    /// in the same environment, or anywhere if that is on record.
    func checkDepth(
        _ depth: PrewarmDepth, of app: AppIdentifier, _ key: EnvironmentKey
    ) throws(Violation) {
        let description = installed[app]!
        try require(depth <= description.depth, "prewarmed \(app) deeper than its description says")
        guard let demotion = savedApps[app]?.depth.demotion,
            demotion.generation == description.generation
        else {
            return try require(
                depth == description.depth, "prewarmed \(app) less deep than it can be")
        }
        let applies = demotion.environmentKey == nil || demotion.environmentKey == key
        try require(
            depth == (applies ? .main : description.depth),
            "prewarmed \(app) to \(depth) after \(demotion.fault)")
    }

    /// An app is prewarmed less deep only for something that happened to a deep instance.
    mutating func checkDemotion(
        _ id: InstanceIdentifier, _ app: AppIdentifier, _ fault: DepthFault, _ event: Event
    ) throws(Violation) {
        tally.demotions[fault, default: 0] += 1
        try require(saved[id]?.depth == .runtime, "\(app) was demoted for \(id), which is not deep")
        try require(
            savedApps[app]?.depth.demotion?.fault == fault, "\(app) was demoted without a record")
        let isCause =
            switch (fault, event) {
            case (.ended, .exited), (.ended, .channelLost), (.ended, .reconciled),
                (.pausedElsewhere, .paused), (.timedOut, .deadlineReached),
                (.startsPrograms, .misfired), (.startsAnew, .started):
                true
            case _: false
            }
        try require(isCause, "\(app) was demoted as \(fault) by \(event)")
    }

    /// What is said to have started anew did so, and was deep.
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
