// Launch on the first connection. The daemon watches an app's listening sockets while no instance
// of the app that could accept connections itself is running, and while the daemon may start the
// app. A failed app is not watched: an app that never accepts would otherwise be started in a loop.

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
        return entry.running.isEmpty && entry.attached.isEmpty && entry.record.failure == nil
            && entry.record.startAt == nil && blocked[app] == nil
            && !entry.members.contains { self[$0].record.state == .terminating }
    }

    mutating func connectionArrived(_ app: AppIdentifier) {
        // The shell stops watching after the first connection, until it is told to watch again.
        directory[app]?.isListening = false
        reviewSocket(of: app)
        guard wantsConnections(app) else { return }
        let supervision = self[app].description!.supervision.value ?? Supervision()
        guard mayStart(app, supervision.activationLimit) else { return fail(app, .startLimit) }
        _ = startAutomatically(app, inBackground: startsInBackground(onConnectionTo: app))
        // If the app's dependencies contradict each other, its launch was refused, and the
        // connection still waits.
        let record = self[app].record
        if availability(of: app) == .ended, record.startAt == nil, record.failure == nil {
            fail(app, .dependency)
        }
    }
}
