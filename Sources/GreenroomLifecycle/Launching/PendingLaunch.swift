/// One client's request for a launch that is not decided yet.
struct LaunchWaiter: Hashable, Sendable {
    var request: RequestIdentifier
    /// The launch name that the client gave. It differs from the launch's own name if the client
    /// joined a running launch.
    var launchIdentifier: LaunchIdentifier
    /// The client repeated the name of a launch that is under way.
    var isRepeated = false
    /// The client joined an instance that another launch had asked for before.
    var isJoining = false
    /// The client is gone. Its request is answered all the same.
    var hasLeft = false
}

/// A launch from its request to its answer. It is not kept across a restart of the supervisor,
/// because the connections of its clients are lost then.
struct PendingLaunch: Hashable, Sendable {
    /// The request whose arguments, environment and descriptors are used.
    var request: RequestIdentifier
    var launch: LaunchRequest
    var waiters: [LaunchWaiter]
    /// Names of launches that joined this one. The instance that serves it remembers them.
    var joined: [LaunchIdentifier] = []
    /// The number of paused instances tried so far.
    var goAttempts = 0
    /// The launch has already waited for a prewarm that was under way, and does not do so again.
    var hasClaimed = false
    /// A paused instance was ended to make a place for this launch (`Sharing`), which is done once.
    var hasMadePlace = false
    /// The launch has taken the place of a start that the daemon wanted, so it goes on without its
    /// client.
    var replacesStart = false
    /// The daemon wants this app to run for its own sake, and tries again if the launch is refused.
    /// A launch for another app that requires it, or for a task, is not tried again: it is
    /// requested anew if it is still needed.
    var isTriedAgain = false
    /// A connection to the app's sockets caused the launch.
    var isForConnection = false
    /// Somebody has called the held instance by its name (`HeldNames`). No client waits, but the
    /// daemon has not started the app by itself either.
    var isCall = false
}

extension PendingLaunch {
    /// Whether nobody waits for the launch any more, neither a client nor the daemon.
    var isForsaken: Bool {
        request != .automatic && !replacesStart && waiters.allSatisfy(\.hasLeft)
    }

    func waits(for request: RequestIdentifier) -> Bool {
        waiters.contains { $0.request == request }
    }

    mutating func noteLeft(_ request: RequestIdentifier) {
        for index in waiters.indices where waiters[index].request == request {
            waiters[index].hasLeft = true
        }
    }
}
