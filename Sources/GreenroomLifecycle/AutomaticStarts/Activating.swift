// Launch on first connection. The daemon watches an app's listening sockets while nothing of the
// app runs that would accept itself, and while it may be started: not when it has failed, so that
// one which never accepts does not loop.

extension Lifecycle {
    /// Looked at once the event is decided; costs nothing for an app without sockets.
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
        // The shell watches no more until it is told to.
        directory[app]?.isListening = false
        reviewSocket(of: app)
        guard wantsConnections(app) else { return }
        let supervision = self[app].description!.supervision.value ?? Supervision()
        guard mayStart(app, supervision.activationLimit) else { return fail(app, .startLimit) }
        // Nobody asked to see it: an app that is told its states comes to the front when it is wanted.
        _ = startAutomatically(app, inBackground: self[app].description!.acknowledges)
        // One whose dependencies contradict it gets nowhere, and the connection still waits.
        let record = self[app].record
        if availability(of: app) == .ended, record.startAt == nil, record.failure == nil {
            fail(app, .dependency)
        }
    }
}
