// Interruptions. The user cannot reach the app that is in front, because something covers it: the
// lock screen, a call, a dialog of the system, the app switcher. The app stays in front and is
// inactive until the interruption is over (applicationWillResignActive(_:)).
//
//   begins                                    ends
//   the user's session is locked              it is unlocked
//   a client says so about one instance       a client says so; the instance goes to the
//   (`Transition.interrupt`)                  background; or somebody asks for it to come to the
//                                             front
//
// An app that comes to the front while the session is locked is inactive.

extension Lifecycle {
    func isInterrupted(_ id: InstanceIdentifier) -> Bool {
        if self[id].record.isInterrupted { return true }
        return !lockedUsers.isEmpty && userOfApp(of: id).map(lockedUsers.contains) ?? false
    }

    mutating func interruptionRequested(
        _ request: RequestIdentifier, _ transition: Transition, _ id: InstanceIdentifier
    ) {
        let record = self[id].record
        if transition == .interrupt {
            let isInFront = record.state.isForeground
            guard isInFront || record.state == .launching && !record.inBackground else {
                return refuse(request, .illegalTransition(id, from: record.state, transition))
            }
            update(id) { $0.isInterrupted = true }
        } else if record.isInterrupted {
            update(id) { $0.isInterrupted = false }
        }
        if record.state == .background || record.state == .suspended {
            return answer(request, .done(id, record.state))
        }
        waitForGoal(request, of: id)
        reviewInterruption(of: id)
        if record.manner == .program, record.state != .launching {
            answerGoal(of: id, .done(id, self[id].record.state))
        }
    }

    /// An interruption of the instance may have begun or ended.
    mutating func reviewInterruption(of id: InstanceIdentifier) {
        let record = self[id].record
        guard record.state == .active || record.state == .inactive else { return }
        switch record.manner {
        case .acknowledging: proceed(id)
        case .program:
            let state: ExecutionState = isInterrupted(id) ? .inactive : .active
            if state != record.state { move(id, to: state) }
        }
    }

    mutating func reviewInterruptions(of app: AppIdentifier) {
        // If the manifest is gone, the app's user is unknown.
        guard self[app].description != nil else { return }
        for id in self[app].running.union(self[app].attached).sorted() {
            reviewInterruption(of: id)
        }
    }
}
