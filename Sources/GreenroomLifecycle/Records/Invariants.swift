// What always holds after an event. The running daemon checks whatever costs nothing to check: a
// supervisor that finds a fault in itself ends, and the next one starts from the records. Debug
// builds check the rest.

extension Lifecycle {
    func checkEvent(_ event: Event) {
        precondition(
            isRestoring || prewarmedBytes <= policy.prewarmByteBudget,
            "\(prewarmedBytes) bytes are prewarmed, at most \(policy.prewarmByteBudget) may be")
        precondition(
            liveCount >= 0 && underway.count >= 0,
            "counted \(liveCount) instances, \(underway.count) launches")
        if event == .deadlineReached, let next = deadlines.soonest {
            precondition(next > now, "a deadline that has come was left over")
        }
        assert(indexFault == nil, indexFault!)
    }

    /// Describes an index that disagrees with the records; nil if none does. This visits all
    /// instances, so nothing is checked if there are many.
    private var indexFault: String? {
        guard table.count <= 100 else { return nil }
        let records = table.values.map(\.record)
        if records.count(where: { $0.state != .notRunning }) != liveCount { return "liveCount" }
        if Set(records.filter { $0.state == .prewarming }.map(\.instance)) != filling {
            return "filling"
        }
        if records.count(where: \.isUndecided) != underway.count { return "underway" }
        let bytes = records.filter(\.state.isPrewarm).reduce(0) { $0 + $1.byteCount }
        if bytes != prewarmedBytes { return "prewarmedBytes" }
        for (group, ids) in fronts {
            for id in ids where table[id]?.record.isInFront != true {
                return "\(id) is not in front of \(group)"
            }
        }
        let shown = records.filter { $0.state.isRunning && $0.shellUser != nil }
        if Set(shown.map(\.instance)) != self.shown { return "shown" }
        for record in records where self[record.app].members.contains(record.instance) == false {
            return "\(record.instance) is not among its app's instances"
        }
        return nil
    }
}
