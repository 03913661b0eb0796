import GreenroomLifecycle

// The reports of shells, and what must follow from them.

extension Checker {
    mutating func noteReport(_ shell: ShellIdentifier, _ report: ForegroundReport?) {
        reports[shell] = report
        // The core compares the fronts of groups again.
        frontsMayDiffer = true
    }

    /// Checks the effects of the event on the instances that shells name.
    func checkReports(_ event: Event, _ core: Lifecycle) throws(Violation) {
        switch event {
        case .foregroundReported(_, nil):
            // Any event may refill the pools, and end a paused instance whose place is wanted.
            let moved = touched.filter {
                saved[$0]?.state.isPrewarm == false && saved[$0]?.endReason != .poolTrimmed
            }
            try require(moved.isEmpty, "the end of a shell has changed \(moved)")
        case .foregroundReported(_, let report?): try checkReport(report, core)
        // Of these events, only a client's request may send away the app that the user has in
        // front.
        case .becameReady, .started, .spawned, .acknowledged, .requested(_, .launch),
            .requested(_, .transition(_, .foreground)), .deadlineReached:
            // An instance that is only being launched into the background was not in front.
            for id in displaced where isNamed(id) && saved[id]?.state == .background {
                throw Violation("\(id) has the foreground and was sent away by \(event)")
            }
        default: break
        }
    }

    private func checkReport(_ report: ForegroundReport, _ core: Lifecycle) throws(Violation) {
        for record in core.instances where record.state.isRunning && !record.isAttached {
            let id = record.instance
            let isComing = record.state == .launching && !record.inBackground
            if isNamed(record, by: report) {
                try require(
                    record.isInFront || isComing, "\(id) has the foreground and is \(record.state)")
                try require(record.shellUser == report.user, "\(id) was shown to another user")
            } else if record.shellUser == report.user, isOwn(record, of: report), !isNamed(id) {
                try require(
                    !record.isInFront && !isComing, "\(id) has lost the foreground and is in front")
            }
        }
    }

    /// Whether a shell says that the instance has the foreground.
    func isNamed(_ id: InstanceIdentifier) -> Bool {
        guard let record = saved[id] else { return false }
        return reports.values.contains { isNamed(record, by: $0) }
    }

    private func isNamed(_ record: InstanceRecord, by report: ForegroundReport) -> Bool {
        guard isOwn(record, of: report) else { return false }
        return report.front == .instance(record.instance) || report.front == .app(record.app)
    }

    private func isOwn(_ record: InstanceRecord, of report: ForegroundReport) -> Bool {
        (installed[record.app]?.user ?? record.shellUser) == report.user
    }
}
