import GreenroomLifecycle

/// Names on a bus that held programs own.
extension Checker {
    /// A call that starts a program never stays with a held program, which shows nothing. No held
    /// program owns a name that only a former supervisor had watched.
    mutating func checkNames(after event: Event) throws(Violation) {
        switch event {
        case .called(let id, isLaunch: true):
            guard let record = saved[id], record.wantsName else { return }
            try require(record.state != .prewarmed, "\(id) was called but shows nothing")
            if record.phase == .toldToGo { tally.calledLaunches += 1 }
        case .paused(let id, _, _, _):
            guard called.contains(id), let record = saved[id] else { return }
            try require(record.state != .prewarmed, "\(id) was called early but shows nothing")
            if record.phase == .toldToGo { tally.calledLaunches += 1 }
        case .restored:
            let unwatched = saved.values.first { $0.state.isPrewarm && $0.wantsName }
            try require(unwatched == nil, "nobody watches the names of \(unwatched!.instance)")
        case _: break
        }
    }

    /// A program that stays held is thawed only for a moment, and not by each of many hints.
    mutating func noteThaw(
        _ id: InstanceIdentifier, _ event: Event, _ now: Instant
    ) throws(Violation) {
        guard let record = saved[id], record.state == .prewarmed, record.depth == .window else {
            return
        }
        if case .requested(_, .prepare(let app)) = event {
            try require(record.app == app, "a hint for \(app) airs \(id)")
            tally.hintedAirings += 1
            let isRare = lastAired[id].map { $0.advanced(by: .seconds(5)) <= now } ?? true
            try require(isRare, "hints air \(id) again and again")
        }
        aired[id] = now
        lastAired[id] = now
    }

    func checkAiring(at now: Instant) throws(Violation) {
        for (id, since) in aired where saved[id]?.state == .prewarmed {
            try require(
                now <= since.advanced(by: .milliseconds(200)), "\(id) is aired for too long")
        }
    }

    /// Notes a call before the core handles it.
    mutating func noteCall(_ id: InstanceIdentifier) {
        if let record = saved[id], record.wantsName, record.state == .prewarming {
            called.insert(id)
        }
    }
}
