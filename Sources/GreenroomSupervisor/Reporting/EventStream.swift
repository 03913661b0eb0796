internal import GreenroomControl
internal import GreenroomLifecycle
internal import GreenroomLinux
internal import Systemd
internal import Varlink

/// Tells every watcher what happens, in a later round of the loop, after a client that launches an
/// app has its answer. The latest events are kept (`EventRing`), so that a watcher can continue
/// where it was, even with the next supervisor. A watcher that does not read is dropped by its
/// connection's output limit; nobody else notices.
@LoopActor
final class EventStream {
    /// The user of an app, by its identifier.
    private let owner: (String) -> UInt32?

    private final class Watcher {
        let connection: ControlConnection
        /// The users whose events the watcher may see.
        let allowed: EventRing.Audience
        /// The users whose events the watcher is told.
        let audience: EventRing.Audience
        /// The number of the event that the watcher was told last.
        var number: UInt64
        /// The watcher's position among the past events; nil once it has heard them all.
        var position: UInt64?

        init(
            _ connection: ControlConnection, _ allowed: EventRing.Audience,
            _ audience: EventRing.Audience, after: UInt64
        ) {
            self.connection = connection
            self.allowed = allowed
            self.audience = audience
            number = after
        }
    }

    private struct Pending {
        let event: Control.Event
        let owner: UInt32?
    }

    private var watchers: [UInt64: Watcher] = [:]
    /// Watchers that have not heard all past events, the next one first.
    private var behind = Fifo<UInt64>()
    private var pending = Fifo<Pending>()
    private var ring: EventRing
    /// Keeps `ring` mapped.
    private var memory: SharedMemory
    private lazy var rounds = Rounds(priority: LoopPriority.eventStream) { [unowned self] in
        round()
    }
    private var isInTurn = false

    /// A round ends after this many events, or after watchers were told of events this many times:
    /// an event costs a few microseconds, and as much again for each watcher that is told.
    private static let eventsPerRound = 64
    private static let tellingsPerRound = 512
    /// In one round, at most this many past events, which have to be read again, are told to one
    /// watcher, and at most this many such watchers are served.
    private static let pastPerRound = 16
    private static let pastWatchersPerRound = 16
    /// Each watcher costs time whenever something happens to its user's apps; one program needs one
    /// watcher.
    private static let watchersPerUser = 128
    /// At most this many events wait. If the loop has no time for them, some are told at once.
    private static let pendingLimit = 4096

    /// Keeps events in the memory from `offset` on, where the runtime state ends. If there is no
    /// room, because a spawner of an older version made the memory smaller or the file system is
    /// full, the events end with this supervisor.
    init(
        in memory: SharedMemory, at offset: Int, owner: @escaping (String) -> UInt32?
    ) throws(SystemError) {
        self.owner = owner
        let hasRoom = Self.hasRoom(memory, at: offset)
        self.memory =
            hasRoom
            ? memory
            : try SharedMemory.create(byteCount: EventRing.byteCount, name: "greenroom-events")
        ring = unsafe EventRing(mapping: self.memory.baseAddress + (hasRoom ? offset : 0))
        ring.isTurnOpen = false
    }

    private static func hasRoom(_ memory: SharedMemory, at offset: Int) -> Bool {
        memory.byteCount >= offset + EventRing.byteCount
            && (try? memory.reserve(offset..<offset + EventRing.byteCount)) != nil
    }

    /// Continues in other memory, if there is room.
    func move(to memory: SharedMemory, at offset: Int) {
        guard Self.hasRoom(memory, at: offset) else { return }
        ring = unsafe ring.move(to: memory.baseAddress + offset)
        self.memory = memory
        ring.isTurnOpen = isInTurn || !pending.isEmpty
    }

    // MARK: Watching

    /// - Parameters:
    ///   - allowed: whose events the watcher may see.
    ///   - after: the events after this number are told first; nil for no past events.
    ///   - own: whether the watcher is told only events of its user.
    func add(
        _ connection: ControlConnection, _ allowed: EventRing.Audience, after: UInt64?, own: Bool
    ) throws(ControlError) {
        let user = connection.user.number
        let count = watchers.values.count { $0.connection.user.number == user }
        guard count < Self.watchersPerUser else {
            throw .limitExceeded(what: "watchers of one user", limit: Self.watchersPerUser)
        }
        // The events that are pending are older than this watcher.
        tell(atMost: .max)
        let audience = own ? .user(connection.peer.user) : allowed
        let latest = ring.latest(for: audience)
        let watcher = Watcher(connection, allowed, audience, after: after ?? latest)
        watchers[connection.identifier] = watcher
        connection.whenClosed { [weak self] in self?.watchers[$0.identifier] = nil }
        connection.update(ControlReply.watching(latest: latest))
        guard let after, after != latest else { return }
        if after > latest {
            watcher.number = latest
            return tellLost(
                watcher, upTo: latest, "there is no event \(after) yet: was it another daemon's?")
        }
        watcher.position = ring.beginning
        behind.append(connection.identifier)
        try? rounds.ask()
    }

    /// Closes the connections of watchers whose rights have changed. Whoever would be told too much
    /// or too little must ask again.
    func drop(where isWrong: (ControlConnection, EventRing.Audience) -> Bool) {
        for watcher in watchers.values where isWrong(watcher.connection, watcher.allowed) {
            watcher.connection.close()
        }
    }

    // MARK: Events

    /// The core is deciding, and watchers have not been told about what follows from it.
    func beganTurn() {
        isInTurn = true
        ring.isTurnOpen = true
    }

    func endedTurn() {
        isInTurn = false
        if pending.isEmpty { ring.isTurnOpen = false }
    }

    func publish(_ event: Control.Event) {
        pending.append(Pending(event: event, owner: event.app.flatMap(owner)))
        if pending.count >= Self.pendingLimit { tell(atMost: Self.eventsPerRound) }
        try? rounds.ask()
    }

    /// Tells everything that is pending.
    func flush() { tell(atMost: .max) }

    private func round() {
        tell(atMost: Self.eventsPerRound)
        for _ in 0..<Self.pastWatchersPerRound {
            guard let next = behind.popFirst() else { break }
            guard let watcher = watchers[next] else { continue }
            tellPast(watcher)
            if watcher.position != nil { behind.append(next) }
        }
        if !pending.isEmpty || !behind.isEmpty { try? rounds.ask() }
    }

    private func tell(atMost limit: Int) {
        guard !pending.isEmpty else { return }
        var told = 0
        var tellings = 0
        while told < limit, limit == .max || tellings < Self.tellingsPerRound,
            let entry = pending.popFirst()
        {
            told += 1
            tellings += watchers.count
            var writer = JSONWriter()
            writer.beginObject()
            entry.event.encodeMembers(to: &writer)
            writer.endObject()
            let numbers = ring.append(writer.bytes, owner: entry.owner)
            var event = entry.event
            for watcher in watchers.values where watcher.position == nil {
                switch watcher.audience {
                case .all: event.sequence = numbers.all
                case .user(let user):
                    guard user == entry.owner, let owned = numbers.owned else { continue }
                    event.sequence = owned
                }
                tell(watcher, event)
            }
        }
        if pending.isEmpty, !isInTurn { ring.isTurnOpen = false }
    }

    private func tell(_ watcher: Watcher, _ event: Control.Event) {
        watcher.number = event.sequence
        watcher.connection.update(ControlReply.watched(event))
    }

    // MARK: The past

    private func tellPast(_ watcher: Watcher) {
        var position = watcher.position ?? ring.end
        for _ in 0..<Self.pastPerRound {
            guard let entry = ring.event(at: position, for: watcher.audience) else {
                watcher.position = nil
                let latest = ring.latest(for: watcher.audience)
                return latest > watcher.number ? tellLost(watcher, upTo: latest) : ()
            }
            position = entry.next
            guard let number = entry.number, number > watcher.number,
                var event = Self.event(entry.bytes)
            else { continue }
            if number > watcher.number + 1 { tellLost(watcher, upTo: number - 1) }
            event.sequence = number
            tell(watcher, event)
        }
        watcher.position = position
    }

    private func tellLost(_ watcher: Watcher, upTo number: UInt64, _ reason: String? = nil) {
        var event = Control.Event(
            sequence: number, timestampUSec: WallClock.nowMicroseconds, kind: .eventsLost)
        let first = watcher.number + 1
        event.text =
            reason ?? (first == number ? "event \(first) is" : "events \(first) to \(number) are")
            + " no longer known: ask again for the state"
        tell(watcher, event)
    }

    private static func event(_ bytes: [UInt8]) -> Control.Event? {
        guard let value = try? JSONValue(parsing: bytes.span),
            case .watched(let event?)? = try? ControlReply(
                ["event": value], to: .watch(after: nil))
        else { return nil }
        return event
    }
}
