import GreenroomControl

extension Report {
    static func tasks(
        _ tasks: [Control.ScheduledTask], now: Int64, _ appearance: Appearance = .plain
    ) -> String {
        if tasks.isEmpty { return "No work is scheduled.\n" }
        var table = Table("APP", "TASK", "KIND", "NOT BEFORE", "NEEDS", "STATE")
        for task in tasks {
            table.add(
                [
                    task.app, task.identifier, task.kind.words, task.earliest(now), task.needs,
                    task.progress,
                ],
                styles: task.state == .running ? [5: .good] : [:])
        }
        return table.text(appearance)
    }
}

extension Control.ScheduledTask {
    fileprivate func earliest(_ now: Int64) -> String {
        guard let earliestTimestampUSec else { return "-" }
        let wait = earliestTimestampUSec - now
        return wait > 0 ? "in " + Phrase.age(uSec: wait) : "now"
    }

    fileprivate var needs: String {
        let needs = [
            requiresExternalPower ? "power" : nil, requiresNetwork ? "network" : nil,
            kind == .processing ? "idle" : nil,
        ].compactMap(\.self)
        return needs.isEmpty ? "-" : needs.joined(separator: ", ")
    }

    fileprivate var progress: String {
        switch state.known {
        case .running:
            "runs" + (instance.map { " on \($0)" } ?? "")
                + (remainingUSec.map { ", \(Phrase.age(uSec: $0)) left" } ?? "")
        case .launching: "the app is launched"
        case .pending: hold.map { "waits: \($0.text)" } ?? "waits"
        case nil: state.rawValue
        }
    }
}

extension Control.Word<Control.TaskKind> {
    var words: String {
        switch known {
        case .appRefresh: "refresh"
        case .processing, nil: rawValue
        }
    }
}

extension Control.Word<Control.TaskOutcome> {
    var words: String {
        switch known {
        case .succeeded: "succeeded"
        case .failed: "failed"
        case .unhandled: "the app has no handler for it"
        case .expired: "its time was over"
        case .ended: "the app ended"
        case nil: rawValue
        }
    }
}
