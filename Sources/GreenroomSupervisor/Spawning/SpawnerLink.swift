internal import Glibc
internal import GreenroomLifecycle
internal import GreenroomLinux
internal import GreenroomSpawner
internal import Systemd

/// Hears what a spawner says.
@LoopActor
protocol SpawnerListener: AnyObject {
    func received(_ message: SpawnerMessage)
    /// It is gone; the link is unusable.
    func lost()
    /// It lives and does nothing any more.
    func wasSilent()
}

/// The supervisor's way to the spawner: carries messages, by the loop and never waiting. What they
/// mean is the caller's business.
@LoopActor
final class SpawnerLink {
    /// Who hears what the spawner says; nil before anybody wants to, and once it is gone.
    private weak var listener: (any SpawnerListener)?

    /// Orders that the spawner has neither carried out nor refused yet, as far as we know.
    private var openOrders: [UInt64: SpawnSpecification] = [:]
    /// Those of them that found it gone: it has not heard of them.
    private var unheardOrders: Set<UInt64> = []
    var orderedApps: [AppIdentifier] { openOrders.values.map { AppIdentifier($0.app) } }

    /// The order that the message being handed out answers.
    private(set) var answered: SpawnSpecification?

    let connection: SpawnerConnection
    private var source: EventSource?
    private var wantsWritable = false
    /// Nil while it owes us nothing: then nobody looks.
    private var attention: SpawnerAttention?
    private var lookTimer: EventSource?
    /// What arrived behind the table before anybody listened.
    var early: [SpawnerMessage] = []
    /// What was read and not handed out yet. It outlasts the turn that read it: handing one out may
    /// find the spawner gone, and the others are true all the same.
    private var arrived: [SpawnerMessage] = []

    let process: pid_t?
    /// Nil where the kernel does not tell which process it is.
    let processDescriptor: ProcessDescriptor?
    private(set) var isLost = false
    /// What strangers sent stays with us.
    var fetches = false

    /// By a connection that is greeted next (`open`).
    init(_ connection: SpawnerConnection) {
        self.connection = connection
        process = try? connection.spawnerProcess()
        processDescriptor = connection.process()
    }

    /// The orders that another link's spawner is told, where they are not in its table.
    ///
    /// The same process has executed itself anew: what is not in its table was not done. Another one gets
    /// what nobody has heard of; the rest may have been done.
    func ordersToRepeat(by next: SpawnerLink) -> [SpawnSpecification] {
        let isSame = process != nil && process == next.process
        return openOrders.values.filter { isSame || unheardOrders.contains($0.instance) }
    }

    /// Whoever sends before that may find that the spawner is gone.
    func tell(_ listener: any SpawnerListener) { self.listener = listener }

    /// From now on messages are handed out by the loop.
    func activate() throws(SystemdError) {
        source = try LoopActor.io(connection.fileDescriptor, .readable, priority: -5) {
            [unowned self] events in
            if events.contains(.writable) { flush() }
            if !events.isDisjoint(with: [.readable, .hangUp, .error]) { receive() }
        }
        lookTimer = try LoopActor.timer(accuracy: .milliseconds(100)) { [unowned self] in look() }
        // What was sent before could only be queued.
        wantsWritable = false
        listen()
        let early = early
        self.early = []
        for message in early { deliver(message) }
    }

    /// False if the spawner is gone; the listener hears of it, or has heard.
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

    /// A spawner that is gone does not refuse an order: the next one gets it (`ordersToRepeat`), or the
    /// core hears that there is none.
    ///
    /// - Returns: false if it cannot be sent to any.
    func send(_ specification: SpawnSpecification) -> Bool {
        var order = specification
        order.fetches = fetches
        // What its child takes out of our table is open until it is answered.
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
        switch message {
        case .spawned(let entry):
            answered = openOrders.removeValue(forKey: entry.instance)
        case .spawnFailed(let instance, _): openOrders[instance] = nil
        case .welcome, .instance, .exited, .emptied, .failed, .kept, .ending, .stopped,
            .unguarded, .misfired, .cannotGuard, .executedSecurely:
            break
        }
        listener?.received(message)
        answered = nil
    }

    private func flush() {
        do throws(ConnectionError) {
            try connection.flush()
            listen()
        } catch {
            lost()
        }
    }

    /// Something was sent.
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
        switch attention?.look(
            unreadByteCount: connection.unreadByteCount, hasOpenOrders: !openOrders.isEmpty)
        {
        case .owesNothing, nil: attention = nil
        case .mayStill: lookAgain()
        case .isSilent:
            attention = nil
            listener?.wasSilent()
        }
    }

    /// We end. The processes that close for us keep our table of descriptors a moment longer, and the
    /// next supervisor could not connect as long as this connection is open.
    func leave() { shutdown(connection.fileDescriptor, CInt(SHUT_RDWR)) }

    /// It will do nothing any more, though the connection may still be open.
    func abandon() { lost() }

    private func lost() {
        isLost = true
        // What it said before it went is true: exits above all.
        deliverArrived()
        while listener != nil, let messages = try? connection.receive(), !messages.isEmpty {
            arrived += messages
            deliverArrived()
        }
        source = nil
        lookTimer = nil
        // It may live: we were out of descriptors, say. As long as this connection is open to it, it
        // takes no other.
        shutdown(connection.fileDescriptor, CInt(SHUT_RDWR))
        let former = listener
        listener = nil
        former?.lost()
    }
}
