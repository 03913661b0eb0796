internal import Glibc
internal import GreenroomLifecycle
internal import GreenroomLinux
internal import GreenroomSpawner
internal import Systemd

/// The supervisor's way to the spawner: carries messages, by the loop and never waiting. What they
/// mean is the caller's business.
@LoopActor
final class SpawnerLink {
    var onMessage: ((SpawnerMessage) -> Void)?
    /// It is gone; the link is unusable.
    var onLost: (() -> Void)?

    /// Orders that the spawner has neither carried out nor refused yet, as far as we know.
    private(set) var openOrders: [UInt64: SpawnSpecification] = [:]
    var orderedApps: [AppIdentifier] { openOrders.values.map { AppIdentifier($0.app) } }

    /// The order that the message being handed out answers.
    private(set) var answered: SpawnSpecification?

    let connection: SpawnerConnection
    private var source: EventSource?
    private var wantsWritable = false
    /// What arrived behind the table before anybody listened.
    var early: [SpawnerMessage] = []
    /// What was read and not handed out yet. It outlasts the turn that read it: handing one out may
    /// find the spawner gone, and the others are true all the same.
    private var arrived: [SpawnerMessage] = []

    let process: pid_t?
    /// What strangers sent stays with us.
    var fetches = false

    /// By a connection that is greeted next (`open`).
    init(_ connection: SpawnerConnection) {
        self.connection = connection
        process = try? connection.spawnerProcess()
    }

    /// True if the other link led to the same process: this is its table after it has executed
    /// itself anew, and what is not in it was not done.
    func isSameSpawner(as other: SpawnerLink) -> Bool {
        process != nil && process == other.process
    }

    /// From now on messages are handed out by the loop.
    func activate() throws(SystemdError) {
        source = try LoopActor.io(connection.fileDescriptor, .readable, priority: -5) {
            [unowned self] events in
            if events.contains(.writable) { flush() }
            if !events.isDisjoint(with: [.readable, .hangUp, .error]) { receive() }
        }
        // What was sent before could only be queued.
        wantsWritable = false
        listen()
        let early = early
        self.early = []
        for message in early { deliver(message) }
    }

    /// False if the spawner is gone; `onLost` follows or has been called.
    @discardableResult
    func send(_ request: SpawnerRequest) -> Bool {
        do throws(ConnectionError) {
            if case .spawn(var order) = request {
                order.fetches = fetches
                try connection.send(.spawn(order))
                // What its child takes out of our table is open until then.
                openOrders[order.instance] = order
            } else {
                try connection.send(request)
            }
            listen()
            return true
        } catch {
            lost()
            return false
        }
    }

    private func receive() {
        do throws(ConnectionError) {
            arrived += try connection.receive()
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
            .unguarded, .misfired, .cannotGuard:
            break
        }
        onMessage?(message)
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

    private func listen() {
        guard source != nil, connection.hasUnsent != wantsWritable else { return }
        wantsWritable = connection.hasUnsent
        try? source?.setEvents(wantsWritable ? [.readable, .writable] : .readable)
    }

    private func lost() {
        // What it said before it went is true: exits above all.
        deliverArrived()
        while onMessage != nil, let messages = try? connection.receive(), !messages.isEmpty {
            arrived += messages
            deliverArrived()
        }
        source = nil
        // It may live: we were out of descriptors, say. As long as this connection is open to it, it
        // takes no other.
        shutdown(connection.fileDescriptor, CInt(SHUT_RDWR))
        let observer = onLost
        onLost = nil
        onMessage = nil
        observer?()
    }
}
