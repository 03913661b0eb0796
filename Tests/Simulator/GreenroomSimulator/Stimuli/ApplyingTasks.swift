import GreenroomLifecycle

/// Actions of apps and administrators on background tasks and scheduled work. As in `Stimulus`, a
/// number is resolved to an instance or app when the stimulus happens.
enum TaskStimulus: Sendable {
    case begin(instance: Int)
    case end(instance: Int, isStray: Bool)
    case submit(app: Int, variation: Int)
    case cancel(app: Int, number: Int?)
    case runNow(app: Int, number: Int)
    case expireNow(app: Int)

    /// The tasks that the manifests of all versions of an app name.
    static let identifiers = (0..<14).map { "task\($0)" }

    static func random(_ dice: inout Dice) -> TaskStimulus {
        let pick = dice.below(1 << 20)
        switch dice.below(20) {
        case 0..<6: return .begin(instance: pick)
        case 6..<9: return .end(instance: pick, isStray: pick % 4 == 0)
        case 9..<15: return .submit(app: pick, variation: dice.below(1 << 20))
        case 15: return .cancel(app: pick, number: dice.percent(70) ? dice.below(14) : nil)
        case 16..<19: return .runNow(app: pick, number: dice.below(14))
        default: return .expireNow(app: pick)
        }
    }
}

extension Simulation {
    /// Applies an action of an app or an administrator.
    mutating func applyTask(_ stimulus: TaskStimulus) throws(Violation) {
        switch stimulus {
        case .begin(let pick):
            guard let id = live(pick), let event = world.beginTask(id) else { return }
            try feed(event)
        case .end(let pick, let isStray):
            // The end of a task that is not open does harm only if another task is open.
            let busy = isStray ? world.firstWithTasks : nil
            guard let id = busy ?? live(pick), let event = world.endTask(id, isStray: isStray)
            else { return }
            try feed(event)
        case .submit(let app, let variation): try submit(app, variation)
        case .cancel(let app, let number):
            let identifiers = number.map { ["task\($0)"] }
            try feed(.tasksCancelled(identifier(app), identifiers))
        case .runNow(let app, let number):
            try feed(
                .requested(nextRequest(), .runTask(identifier(app), identifier: "task\(number)")))
        case .expireNow(let app): try feed(.requested(nextRequest(), .expireTask(identifier(app))))
        }
    }

    private mutating func submit(_ app: Int, _ variation: Int) throws(Violation) {
        var dice = Dice(seed: UInt64(variation))
        var task = ScheduledTask(
            identifier: "task\(dice.below(14))",
            kind: dice.percent(40) ? .appRefresh : .processing)
        if dice.percent(60) {
            task.earliestBegin =
                World.wallClock(at: now) + Int64(dice.below(600) - 60) * 1_000_000
        }
        task.requiresExternalPower = dice.percent(30)
        task.requiresNetworkConnectivity = dice.percent(30)
        guard checker.installed[identifier(app)] != nil else { return }
        try feed(.requested(nextRequest(), .submitTask(identifier(app), task)))
    }
}
