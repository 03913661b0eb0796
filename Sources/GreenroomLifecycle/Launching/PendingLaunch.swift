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

/// Who wants a launch, and so what its process begins with.
public enum LaunchOrigin: Hashable, Sendable {
    /// A client, an app, or a timer or a path of the daemon: the process begins with what this
    /// request has brought.
    case request(RequestIdentifier)
    /// The daemon starts the app by itself: at boot or login, after its end, for its scheduled
    /// work, or because another app requires it. Here and in the next two cases, the process begins
    /// only with what the manifest says.
    case daemon
    /// Somebody has connected to the app's sockets.
    case connection
    /// Somebody has called the held instance by its name (`HeldNames`). No client waits, but the
    /// daemon has not started the app by itself either.
    case call

    /// Whether the daemon starts the app by itself.
    var isAutomatic: Bool {
        switch self {
        case .daemon, .connection: true
        case .request, .call: false
        }
    }
}

/// A launch from its request to its answer. It is not kept across a restart of the supervisor,
/// because the connections of its clients are lost then.
struct PendingLaunch: Hashable, Sendable {
    var origin: LaunchOrigin
    var launch: LaunchRequest
    var waiters: [LaunchWaiter]
    /// Names of launches that joined this one. The instance that serves it remembers them.
    var joined: [LaunchIdentifier] = []
    /// The number of paused instances tried so far.
    var goAttempts = 0
    /// After this many attempts the launch is cold.
    static let goAttemptLimit = 2
    /// The launch has already waited for a prewarm that was under way, and does not do so again.
    var hasClaimed = false
    /// A paused instance was ended to make a place for this launch (`Sharing`), which is done once.
    var hasMadePlace = false
    /// Why the launch is cold, if that was decided before it waited for the end of a held instance
    /// (`awaitNameHolders`).
    var coldReason: ColdReason?
    /// The launch has taken the place of a start that the daemon wanted, so it goes on without its
    /// client.
    var replacesStart = false
    /// The daemon wants this app to run for its own sake, and tries again if the launch is refused.
    /// A launch for another app that requires it, or for a task, is not tried again: it is
    /// requested anew if it is still needed.
    var isTriedAgain = false
}

extension PendingLaunch {
    /// Whether a request asks for the launch. Otherwise it goes on even if nobody waits for it.
    var isRequested: Bool {
        if case .request = origin { true } else { false }
    }

    /// Whether nobody waits for the launch any more, neither a client nor the daemon.
    var isForsaken: Bool { isRequested && !replacesStart && waiters.allSatisfy(\.hasLeft) }

    /// Whether the launch is one of the daemon's own, and no client has joined it.
    var isOnlyOwn: Bool { !isRequested && waiters.isEmpty }

    /// The request that the launch began with may have been answered. From now on the launch uses
    /// what the first request that still waits has brought.
    mutating func takeFirstWaiter() {
        if isRequested { origin = .request(waiters[0].request) }
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
