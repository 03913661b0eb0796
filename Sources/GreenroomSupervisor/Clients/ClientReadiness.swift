internal import Systemd

/// What a client's connection does next, decided from what its socket reports and from what its protocol
/// waits for. It does no I/O.
///
///     attentive ── calls are left when a turn is spent ──> awaiting a turn ── the turn comes ──> attentive
///         │
///         └── the client writes no more ──> at the end of input ── it has its replies ──> closed
///
/// Events are reported once (edge-triggered): sd-event asks epoll before each event that it hands out, and a
/// hundred clients whose calls wait would be looked at each time. So what a read left in the socket is asked
/// for again.
struct ClientReadiness {
    /// What the protocol waits for.
    struct Line: Equatable {
        var isCalling: Bool
        var wantsInput: Bool
        var hasInput: Bool
        var hasOutput: Bool
    }

    /// What is to be done about events of the socket.
    enum Reaction: Equatable {
        /// It awaits its turn: only its replies go on. A client that has left is muted until then: its calls
        /// are served all the same.
        case flush(hasLeft: Bool)
        case read
        case serve
        case listen(IOEvents)
        case close
    }

    /// What comes after calls were served.
    enum Outcome: Equatable {
        case awaitTurn(IOEvents)
        case listen(IOEvents)
        case close
    }

    /// No call is as large as a rule; of one that is, this much is read in one turn: about as long as a small
    /// call takes.
    static let largeByteCount = 32 << 10
    static let portionByteCount = 8 << 10

    /// More calls than one turn serves have come; nothing is read until they are served.
    private(set) var awaitsTurn = false
    private(set) var interest: IOEvents = .readable
    /// The socket may hold what the last read left there, which is not reported again unasked.
    private var mayHoldMore = false
    /// The client writes no more; it still reads.
    private var inputHasEnded = false

    // MARK: Reading

    func reaction(to events: IOEvents, _ line: Line) -> Reaction {
        let hasLeft = !events.isDisjoint(with: [.hangUp, .error])
        if awaitsTurn { return .flush(hasLeft: hasLeft) }
        if events.contains(.readable) {
            if line.wantsInput { return .read }
            // A call is being served or replies wait: look again when that is over. A client that has left
            // altogether shows as a hang-up all the same.
            return events.contains(.hangUp) ? .close : .listen(interest.subtracting(.readable))
        }
        return hasLeft ? .close : .serve
    }

    /// A client that sent its calls and then left, or will send no more: that comes after its calls, and is
    /// asked for again.
    func mustLookAgain(after events: IOEvents) -> Bool {
        interest.contains(.readable) && !events.isDisjoint(with: [.hangUp, .readHangUp])
    }

    /// How much may be read: what is large comes in small portions, so that others' calls do not wait for it.
    static func room(incompleteByteCount: Int, of whole: Int) -> Int {
        incompleteByteCount > largeByteCount ? portionByteCount : whole
    }

    /// A read ends after descriptors, whatever follows them (unix(7)); else one that did not fill its room has
    /// emptied the socket (epoll(7)).
    mutating func read(byteCount: Int, of room: Int, descriptorCount: Int) {
        guard byteCount > 0 else { return inputHasEnded = true }
        mayHoldMore = byteCount == room || descriptorCount > 0
    }

    // MARK: Serving

    /// - Parameters:
    ///   - isSpent: as many calls were served as one turn serves.
    ///   - wasHeldUp: the client had let too much wait. With what it has read meanwhile, calls that are here
    ///     go on.
    mutating func served(_ line: Line, isSpent: Bool, wasHeldUp: Bool) -> Outcome {
        let mayServeMore = isSpent || wasHeldUp && line.wantsInput
        var wanted: IOEvents = line.hasOutput ? .writable : []
        if mayServeMore, line.hasInput, !line.isCalling {
            awaitsTurn = true
            return .awaitTurn(wanted)
        }
        if inputHasEnded { return wanted.isEmpty && !line.isCalling ? .close : .listen(wanted) }
        // Reading stays armed while a call is served: most are answered before anything comes.
        if line.wantsInput || interest.contains(.readable) && line.isCalling {
            wanted.insert(.readable)
        }
        return .listen(wanted)
    }

    mutating func turnCame() { awaitsTurn = false }

    // MARK: Listening

    /// - Returns: what to ask the kernel for; nil if it is asked for that already.
    mutating func listen(for events: IOEvents, isCalling: Bool) -> IOEvents? {
        // While a call is served, what has come after it can wait.
        let asksAgain = mayHoldMore && events.contains(.readable) && !isCalling
        guard events != interest || asksAgain else { return nil }
        interest = events
        return lookAgain()
    }

    /// What to ask the kernel for, so that it reports what is there already, too.
    mutating func lookAgain() -> IOEvents {
        mayHoldMore = false
        return watched
    }

    var watched: IOEvents {
        let events = interest.union(.edgeTriggered)
        return events.contains(.readable) ? events.union(.readHangUp) : events
    }
}

/// How many calls of one client one event or one turn serves.
struct CallBudget {
    /// A synchronous client has one.
    private static let callsPerTurn = 4
    /// A message that is longer awaits a turn of its own, of which others are served between any two, and
    /// what it took is given back to the kernel.
    static let longByteCount = 64 << 10

    private let isTurn: Bool
    private var left = callsPerTurn

    /// - Parameter isTurn: the client has awaited it.
    init(isTurn: Bool) { self.isTurn = isTurn }

    var isSpent: Bool { left == 0 }

    /// Whether the next call may be served now; `count` follows when it was.
    mutating func admits(isLong: Bool) -> Bool {
        guard isLong else { return !isSpent }
        let mayServe = isTurn && left == Self.callsPerTurn
        left = mayServe ? 1 : 0
        return mayServe
    }

    mutating func count() { left -= 1 }
}
