// Launch on the first connection, and waking. The daemon watches an app's listening sockets while
// no instance of the app can accept connections itself:
//
//   none runs, and the daemon may start the app → a connection launches it
//   all running instances are suspended         → a connection thaws the one used last
//
// A failed app is not watched while none of its instances runs: an app that never accepts would
// otherwise be started in a loop. A suspended app that never accepts is thawed once, and then not
// suspended again while a connection waits (`Connections`).

extension Lifecycle {
    /// Marks the app's sockets for review at the end of this event. Costs nothing for an app
    /// without sockets.
    mutating func reviewSocket(of app: AppIdentifier) {
        guard
            directory[app]?.isListening == true
                || directory[app]?.description?.hasSockets == true
        else { return }
        socketReviews.insert(app)
    }

    mutating func reviewSockets() {
        guard !socketReviews.isEmpty else { return }
        for app in socketReviews.sorted() {
            let isWanted = wantsConnections(app)
            guard let entry = directory[app], entry.isListening != isWanted else { continue }
            self[app].isListening = isWanted
            effects.append(isWanted ? .awaitConnection(app) : .ignoreConnections(app))
        }
        socketReviews = []
    }

    private func wantsConnections(_ app: AppIdentifier) -> Bool {
        guard !isShuttingDown, isRestored, let entry = directory[app],
            entry.description?.hasSockets == true
        else { return false }
        if sleeper(of: app) != nil { return true }
        return entry.running.isEmpty && entry.attached.isEmpty && entry.record.failure == nil
            && entry.record.startAt == nil && blocked[app] == nil && !isForceQuit(app)
            && !hasClaim(app)
            && !entry.members.contains { self[$0].record.state == .terminating }
    }

    /// The instance that a connection thaws: if all running ones are suspended, the one used last.
    private func sleeper(of app: AppIdentifier) -> InstanceIdentifier? {
        guard let entry = directory[app] else { return nil }
        let running = entry.running.union(entry.attached)
        guard running.allSatisfy({ self[$0].record.state == .suspended }) else { return nil }
        return running.max(by: isUsedBefore)
    }

    mutating func connectionArrived(_ app: AppIdentifier) {
        // The shell stops watching after the first connection, until it is told to watch again.
        directory[app]?.isListening = false
        reviewSocket(of: app)
        guard wantsConnections(app) else { return }
        if let id = sleeper(of: app) { return wake(id) }
        let supervision = self[app].description!.supervision.value ?? Supervision()
        guard mayStart(app, supervision.activationLimit) else { return fail(app, .startLimit) }
        _ = startAutomatically(
            app, inBackground: startsInBackground(onConnectionTo: app), isTriedAgain: true,
            for: .connection)
        // If the app's dependencies contradict each other, its launch was refused, and the
        // connection still waits.
        let record = self[app].record
        if availability(of: app) == .ended, record.startAt == nil, record.failure == nil {
            fail(app, .dependency)
        }
    }
}
