internal import Systemd

/// Decides what a client's connection does next, from the events of its socket and from what its
/// protocol waits for. It does no I/O.
///
///     attentive ── calls are left when a turn is spent ──> awaiting a turn ── the turn comes ──> attentive
///         │
///         └── the client writes no more ──> at the end of input ── it has its replies ──> closed
///
/// Events are edge-triggered. Otherwise epoll would examine every client with waiting calls each
/// time that sd-event asks it, which is before each event that sd-event dispatches. So data that a
/// read left in the socket must be asked for again.
struct ClientReadiness {
    /// What the protocol waits for.
    struct Line: Equatable {
        var isCalling: Bool
        var wantsInput: Bool
        var hasInput: Bool
        var hasOutput: Bool
    }

    /// What to do about events of the socket.
    enum Reaction: Equatable {
        /// The connection awaits its turn: until then only its replies are sent. The socket of a
        /// client that has left is ignored in the meantime; its calls are served all the same.
        case flush(hasLeft: Bool)
        case read
        case serve
        case listen(IOEvents)
        case close
    }

    /// What to do after calls were served.
    enum Outcome: Equatable {
        case awaitTurn(IOEvents)
        case listen(IOEvents)
        case close
    }

    /// Few calls are larger than `largeByteCount`. A larger call is read in portions of
    /// `portionByteCount`, one in each turn: a portion takes about as long as a small call.
    static let largeByteCount = 32 << 10
    static let portionByteCount = 8 << 10

    /// True if more calls have arrived than one turn serves. Nothing is read until they are served.
    private(set) var awaitsTurn = false
    private(set) var interest: IOEvents = .readable
    /// True if the socket may hold data that the last read left there. The kernel does not report
    /// such data again unless asked.
    private var mayHoldMore = false
    /// True if the client will write no more. It may still read.
    private var inputHasEnded = false

    // MARK: Reading

    func reaction(to events: IOEvents, _ line: Line) -> Reaction {
        // A read ends before urgent data (MSG_OOB), so descriptors could wait unseen after it.
        if events.contains(.priority) { return .close }
        let hasLeft = !events.isDisjoint(with: [.hangUp, .error])
        if awaitsTurn { return .flush(hasLeft: hasLeft) }
        if events.contains(.readable) {
            if line.wantsInput { return .read }
            // A call is being served, or replies wait for the client to read them: data is read
            // when that is over. If the client has closed its socket altogether, that is still
            // reported as a hang-up.
            return events.contains(.hangUp) ? .close : .listen(interest.subtracting(.readable))
        }
        return hasLeft ? .close : .serve
    }

    /// True if the client has left or will send no more, and the socket must be asked for events
    /// again: the end of the input comes after the calls.
    func mustLookAgain(after events: IOEvents) -> Bool {
        interest.contains(.readable) && !events.isDisjoint(with: [.hangUp, .readHangUp])
    }

    /// How many bytes may be read. A large call is read in small portions, so that calls of other
    /// clients do not wait for it.
    static func room(incompleteByteCount: Int, of whole: Int) -> Int {
        incompleteByteCount > largeByteCount ? portionByteCount : whole
    }

    /// Notes what a read returned. A read ends after descriptors even if more data follows
    /// (unix(7)). Any other read that did not fill its room has emptied the socket (epoll(7)).
    mutating func read(byteCount: Int, of room: Int, descriptorCount: Int) {
        guard byteCount > 0 else { return inputHasEnded = true }
        mayHoldMore = byteCount == room || descriptorCount > 0
    }

    /// What the client sends now stays in the socket: a call is served, or replies wait to be read.
    var leavesInputUnread: Bool {
        !inputHasEnded && !awaitsTurn && !interest.contains(.readable)
    }

    // MARK: Serving

    /// - Parameters:
    ///   - isSpent: as many calls were served as one turn serves.
    ///   - wasHeldUp: too many replies waited for the client to read them. If it has read enough of
    ///     them in the meantime, calls that have arrived are served.
    mutating func served(_ line: Line, isSpent: Bool, wasHeldUp: Bool) -> Outcome {
        let mayServeMore = isSpent || wasHeldUp && line.wantsInput
        var wanted: IOEvents = line.hasOutput ? .writable : []
        if mayServeMore, line.hasInput, !line.isCalling {
            awaitsTurn = true
            return .awaitTurn(wanted)
        }
        if inputHasEnded { return wanted.isEmpty && !line.isCalling ? .close : .listen(wanted) }
        // Reading stays enabled while a call is served: most calls are answered before more data
        // arrives.
        if line.wantsInput || interest.contains(.readable) && line.isCalling {
            wanted.insert(.readable)
        }
        return .listen(wanted)
    }

    mutating func turnCame() { awaitsTurn = false }

    // MARK: Listening

    /// - Returns: the events to ask the kernel for; nil if it was asked for them already.
    mutating func listen(for events: IOEvents, isCalling: Bool) -> IOEvents? {
        // While a call is served, data that arrived after it can wait.
        let asksAgain = mayHoldMore && events.contains(.readable) && !isCalling
        guard events != interest || asksAgain else { return nil }
        interest = events
        return lookAgain()
    }

    /// The events to ask the kernel for, so that it also reports data that has arrived already.
    mutating func lookAgain() -> IOEvents {
        mayHoldMore = false
        return watched
    }

    var watched: IOEvents {
        let events = interest.union([.edgeTriggered, .priority])
        return events.contains(.readable) ? events.union(.readHangUp) : events
    }
}

/// Limits how many calls of one client are served in one event or one turn.
struct CallBudget {
    /// At most this many calls are served in a turn. A synchronous client has one call at a time.
    private static let callsPerTurn = 4
    /// A message that is longer than this awaits a turn of its own, and calls of other clients are
    /// served between two such turns. The memory that it took is returned to the kernel.
    static let longByteCount = 64 << 10

    private let isTurn: Bool
    private var left = callsPerTurn

    /// - Parameter isTurn: true if the client has awaited this turn.
    init(isTurn: Bool) { self.isTurn = isTurn }

    var isSpent: Bool { left == 0 }

    /// Whether the next call may be served now. If it was served, call `count` next.
    mutating func admits(isLong: Bool) -> Bool {
        guard isLong else { return !isSpent }
        let mayServe = isTurn && left == Self.callsPerTurn
        left = mayServe ? 1 : 0
        return mayServe
    }

    mutating func count() { left -= 1 }
}
