internal import Glibc
internal import GreenroomLifecycle
internal import GreenroomLinux
internal import GreenroomSpawner
internal import Systemd

/// Receives what a spawner says.
@LoopActor
protocol SpawnerListener: AnyObject {
    /// - Parameter order: the order that the message answers; nil if it answers none.
    func received(_ message: SpawnerMessage, answering order: SpawnSpecification?)
    /// The spawner is gone; the link cannot be used any more.
    func lost()
    /// The spawner is alive and does nothing any more.
    func wasSilent()
}

/// The supervisor's connection to the spawner. It carries messages by the loop and never waits;
/// what they mean is the caller's business.
@LoopActor
final class SpawnerLink {
    /// Receives what the spawner says; nil before anybody does, and once the spawner is gone.
    private weak var listener: (any SpawnerListener)?

    /// Orders that the spawner has neither carried out nor refused yet, as far as the supervisor
    /// knows.
    private var openOrders: [UInt64: SpawnSpecification] = [:]
    /// The numbers of open orders that could not be sent, and which the spawner does not know.
    private var unheardOrders: Set<UInt64> = []
    var orderedApps: [AppIdentifier] { openOrders.values.map { AppIdentifier($0.app) } }

    let connection: SpawnerConnection
    private var source: EventSource?
    private var wantsWritable = false
    /// Nil while the spawner owes nothing. Nobody looks at it then.
    private var attention: SpawnerAttention?
    private var lookTimer: EventSource?
    /// Messages that arrived after the table, before anybody listened.
    var early: [SpawnerMessage] = []
    /// Messages that were read and not handed out yet. They outlast the turn that read them:
    /// handing one out may reveal that the spawner is gone, and the others are true all the same.
    private var arrived: [SpawnerMessage] = []

    let process: pid_t?
    /// Nil if the kernel does not tell which process it is.
    let processDescriptor: ProcessDescriptor?
    private(set) var isLost = false
    /// Whether the spawner's children fetch descriptors from the supervisor's table, so that what
    /// strangers sent never enters the spawner's own.
    var fetches = false

    /// Makes a link of a connection that is greeted next (`open`).
    init(_ connection: SpawnerConnection) {
        self.connection = connection
        process = try? connection.spawnerProcess()
        processDescriptor = connection.process()
    }

    /// The orders that the next link's spawner is told again if its table lacks them.
    ///
    /// If it is the same process, it has executed itself again, and what is not in its table was
    /// not done. Another process gets only the orders that no spawner has heard of; the others may
    /// have been done.
    func ordersToRepeat(by next: SpawnerLink) -> [SpawnSpecification] {
        let isSame = process != nil && process == next.process
        return openOrders.values.filter { isSame || unheardOrders.contains($0.instance) }
    }

    /// Sets the listener. If a message that is sent before that finds the spawner gone, the
    /// listener is not told.
    func tell(_ listener: any SpawnerListener) { self.listener = listener }

    /// Whether the loop hands out messages.
    var isActive: Bool { source != nil }

    /// Hands out messages by the loop from now on.
    func activate() throws(SystemdError) {
        source = try LoopActor.io(
            connection.fileDescriptor, .readable, priority: LoopPriority.spawner
        ) { [unowned self] events in
            if events.contains(.writable) { flush() }
            if !events.isDisjoint(with: [.readable, .hangUp, .error]) { receive() }
        }
        lookTimer = try LoopActor.timer(accuracy: .milliseconds(100)) { [unowned self] in look() }
        // Messages that were sent before could only be queued.
        wantsWritable = false
        listen()
        let early = early
        self.early = []
        for message in early { deliver(message) }
    }

    /// Returns false if the spawner is gone. The listener is told, or was told before.
    @discardableResult
    func send(_ request: SpawnerRequest) -> Bool {
        do throws(ConnectionError) {
            try connection.send(request)
            listen()
            return true
        } catch {
            lost()
            return false
        }
    }

    /// A spawner that is gone does not refuse an order: the next one gets it (`ordersToRepeat`), or
    /// the core is told that there is none.
    ///
    /// - Returns: false if the order cannot be sent to any spawner.
    func send(_ specification: SpawnSpecification) -> Bool {
        var order = specification
        order.fetches = fetches
        // The descriptors that the child takes out of this process's table stay open until the
        // order is answered.
        openOrders[order.instance] = order
        do throws(ConnectionError) {
            try connection.send(.spawn(order))
            listen()
            return true
        } catch {
            if case .closed = error {
                unheardOrders.insert(order.instance)
            } else {
                openOrders[order.instance] = nil
            }
            lost()
            return openOrders[order.instance] != nil
        }
    }

    private func receive() {
        do throws(ConnectionError) {
            arrived += try connection.receive()
            attention?.heard()
            deliverArrived()
        } catch {
            lost()
        }
    }

    private func deliverArrived() {
        while !arrived.isEmpty { deliver(arrived.removeFirst()) }
    }

    private func deliver(_ message: SpawnerMessage) {
        let order: SpawnSpecification? =
            switch message {
            case .spawned(let entry): openOrders.removeValue(forKey: entry.instance)
            case .spawnFailed(let instance, _): openOrders.removeValue(forKey: instance)
            case .welcome, .instance, .exited, .emptied, .failed, .kept, .ending, .stopped,
                .unguarded, .misfired, .cannotGuard, .executedSecurely, .listening, .cannotListen:
                nil
            }
        listener?.received(message, answering: order)
    }

    private func flush() {
        do throws(ConnectionError) {
            try connection.flush()
            listen()
        } catch {
            lost()
        }
    }

    /// Something was sent, so an answer is expected.
    private func listen() {
        guard source != nil else { return }
        if attention == nil {
            attention = SpawnerAttention()
            lookAgain()
        }
        guard connection.hasUnsent != wantsWritable else { return }
        wantsWritable = connection.hasUnsent
        try? source?.setEvents(wantsWritable ? [.readable, .writable] : .readable)
    }

    private func lookAgain() { try? lookTimer?.setDeadline(after: SpawnerAttention.interval) }

    private func look() {
        switch attention?.judge(
            unreadByteCount: connection.unreadByteCount, hasOpenOrders: !openOrders.isEmpty)
        {
        case .owesNothing, nil: attention = nil
        case .mayStill: lookAgain()
        case .isSilent:
            attention = nil
            listener?.wasSilent()
        }
    }

    /// The supervisor ends. The processes that close descriptors for it keep its table a moment
    /// longer, and the next supervisor could not connect as long as this connection is open.
    func leave() { shutdown(connection.fileDescriptor, CInt(SHUT_RDWR)) }

    /// The spawner will do nothing any more, though the connection may still be open.
    func abandon() { lost() }

    private func lost() {
        isLost = true
        // What the spawner said before it ended is still true, above all about exits.
        deliverArrived()
        while listener != nil, let messages = try? connection.receive(), !messages.isEmpty {
            arrived += messages
            deliverArrived()
        }
        source = nil
        lookTimer = nil
        // The spawner may be alive, for example if the supervisor was out of descriptors. It takes
        // no other connection as long as this one is open.
        shutdown(connection.fileDescriptor, CInt(SHUT_RDWR))
        let former = listener
        listener = nil
        former?.lost()
    }
}

/// Whether the spawner does what it is told, judged once a second by what can be seen of it. A
/// spawner that was stopped, or that waits in the kernel for something that does not come, reads
/// nothing and says nothing.
///
/// Looks are counted, not time, because the supervisor may have been stopped together with the
/// spawner.
struct SpawnerAttention {
    enum Finding {
        /// The spawner has read all that it was sent, and has answered every order.
        case owesNothing
        case mayStill
        case isSilent
    }

    static let interval: Duration = .seconds(1)
    /// A spawner that gave no sign at this many looks is silent. A sound spawner reads nothing for
    /// at most 4 s, while it settles for an upgrade or a new supervisor. It says nothing for at
    /// most 11 s: it ends a program that takes 10 s to execute, and awaits that end. The rest is in
    /// reserve for a busy machine; launches are answered by their own deadline.
    static let patience = 20

    private var unreadByteCount = 0
    private var hasSpoken = false
    private var silentLooks = 0

    /// The spawner has said something.
    mutating func heard() { hasSpoken = true }

    mutating func judge(unreadByteCount: Int, hasOpenOrders: Bool) -> Finding {
        let isAlive = hasSpoken || unreadByteCount < self.unreadByteCount
        silentLooks = isAlive ? 0 : silentLooks + 1
        hasSpoken = false
        self.unreadByteCount = unreadByteCount
        if unreadByteCount == 0, !hasOpenOrders { return .owesNothing }
        return silentLooks < Self.patience ? .mayStill : .isSilent
    }
}
