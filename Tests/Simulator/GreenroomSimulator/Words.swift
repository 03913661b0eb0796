import GreenroomLifecycle

/// A short text for a trace, without module names and unchanged values.
func words(_ effect: Effect) -> String {
    guard case .save(let record) = effect else { return shortened("\(effect)") }
    var parts = ["save \(record.instance) \(record.app) \(record.state)"]
    if record.phase == .toldToGo { parts.append("told to go") }
    if record.isAttached { parts.append("attached") }
    if record.inBackground { parts.append("in background") }
    if let deadline = record.deadline {
        parts.append("until \(deadline.nanoseconds / 1_000_000) ms")
    }
    if let reason = record.endReason { parts.append("because \(reason)") }
    if let status = record.exitStatus { parts.append("\(status)") }
    return shortened(parts.joined(separator: ", "))
}

func shortened(_ text: String) -> String {
    let noise = [
        "GreenroomLifecycle.", "GreenroomSimulator.", "rawValue: ", "RequestIdentifier",
        "ExecutionState.", "org.example.",
    ]
    return noise.reduce(text) { $0.leaving(out: $1) }
}

extension String {
    fileprivate func leaving(out noise: String) -> String {
        split(separator: noise, omittingEmptySubsequences: false).joined()
    }
}
