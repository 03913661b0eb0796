internal import Glibc
internal import GreenroomLinux
internal import GreenroomSpawner
internal import Systemd

/// The limit of open files that we were started with. The first to ask raises ours: a client and an
/// instance take several each, and the customary 1024 are soon used up.
enum OpenFiles {
    static let initial: ResourceLimit = {
        let limit = ResourceLimit.current(.openFiles)
        limit.raiseSoft()
        return limit
    }()
}

/// The supervisor's way to the spawner: finds it or starts it, and carries messages. What they
/// mean is the caller's business.
@LoopActor
final class SpawnerLink {
    /// Why there is no spawner; says what to do.
    struct Unavailable: Error, CustomStringConvertible {
        let description: String
    }

    /// One that we started is no more: killed, and worth another try, or unable to start.
    struct EndedEarly: Error, CustomStringConvertible {
        let description: String
    }

    /// What the spawner said on connecting.
    struct Greeting {
        var welcome: Welcome
        var instances: [InstanceRecord]
        /// What an earlier supervisor had kept there, by name.
        var kept: [String: FileDescriptor] = [:]
    }

    var onMessage: ((SpawnerMessage) -> Void)?
    /// It is gone; the link is unusable.
    var onLost: (() -> Void)?

    /// Orders that the spawner has neither carried out nor refused yet, as far as we know.
    private(set) var openOrders: [UInt64: SpawnSpecification] = [:]

    /// The order that the message being handed out answers.
    private(set) var answered: SpawnSpecification?

    private let connection: SpawnerConnection
    private var source: EventSource?
    private var wantsWritable = false

    /// How long the spawner may take to start and to say hello: it works for a few milliseconds.
    static let patience: Int32 = 10_000
    /// The same while clients wait for us as well: it is tried again.
    static let shortPatience: Int32 = 2_000

    let process: pid_t?

    private init(_ connection: SpawnerConnection) {
        self.connection = connection
        process = try? connection.spawnerProcess()
    }

    /// Connects to the spawner of this runtime directory, starting one where there is none and
    /// systemd does not provide it. Waits, so long; one that dies meanwhile is replaced.
    static func open(
        runtimeDirectory: String, spawnerPath: String, mayStart: Bool, grace: Duration,
        patience: Int32 = patience
    ) throws -> (SpawnerLink, Greeting) {
        for _ in 1..<tries {
            do {
                return try openOnce(runtimeDirectory, spawnerPath, mayStart, grace, patience)
            } catch ConnectionError.closed {
                continue
            } catch is EndedEarly {
                continue
            } catch let error as SystemError where error.isDisconnection && mayStart {
                continue
            }
        }
        return try openOnce(runtimeDirectory, spawnerPath, mayStart, grace, patience)
    }

    /// Of spawners that die while they are greeted. More is no bad luck.
    private static let tries = 4

    private static func openOnce(
        _ runtimeDirectory: String, _ spawnerPath: String, _ mayStart: Bool, _ grace: Duration,
        _ patience: Int32
    ) throws -> (SpawnerLink, Greeting) {
        let path = runtimeDirectory + "/spawner"
        let connection: SpawnerConnection
        do throws(SystemError) {
            connection = try SpawnerConnection.connect(to: path)
        } catch {
            guard error.code == ENOENT || error.isDisconnection else { throw error }
            guard mayStart else {
                throw Unavailable(
                    description: "\(path): nobody listens; start greenroom-spawner.service")
            }
            try start(spawnerPath, in: runtimeDirectory, patience)
            connection = try SpawnerConnection.connect(to: path)
        }
        let link = SpawnerLink(connection)
        return (link, try link.greet(grace: grace, patience))
    }

    /// Starts a spawner of our own, which outlives us, and waits until it listens (sd_notify(3)).
    private static func start(
        _ spawnerPath: String, in runtimeDirectory: String, _ patience: Int32
    ) throws {
        // Nobody waits for it: what it was tells its socket. (We have no other children.)
        signal(SIGCHLD, SIG_IGN)
        let address = runtimeDirectory + "/spawner-ready"
        let ready = try DatagramSocket(boundAt: address, mode: 0o600)
        defer { unsafe unlink(address) }
        guard
            let arguments = StringBlock([
                spawnerPath, "--runtime-directory", runtimeDirectory, "--private",
            ]),
            let environment = StringBlock([
                "NOTIFY_SOCKET=\(address)", "SWIFT_BACKTRACE=enable=no",
            ])
        else { throw Unavailable(description: "a path with a NUL cannot be used") }
        var request = SpawnRequest(
            path: spawnerPath, arguments: arguments, environment: environment)
        request.workingDirectory = "/"
        // It passes on to apps what it was started with.
        request.resourceLimits = [OpenFiles.initial]
        let null = try FileDescriptor.open("/dev/null", O_RDWR)
        request.descriptors = [
            .init(null.rawValue, at: 0), .init(null.rawValue, at: 1), .init(2, at: 2),
        ]
        let child: Spawned
        do throws(SpawnError) {
            child = try request.spawn()
        } catch {
            throw Unavailable(description: "starting \(spawnerPath): \(error)")
        }
        var entries = [
            PollEntry(ready.descriptor.rawValue, CInt(POLLIN)),
            PollEntry(child.process.descriptor.rawValue, CInt(POLLIN)),
        ]
        guard try PollEntry.wait(&entries, milliseconds: patience) > 0, entries[0].isReady else {
            // Two of them at work are worse than none.
            _ = try? child.process.send(signal: SIGKILL)
            _ = try? child.process.wait()
            guard entries[1].isReady else {
                throw Unavailable(description: "\(spawnerPath) does not become ready")
            }
            throw EndedEarly(description: "\(spawnerPath) ended at once; its message is above")
        }
    }

    private func greet(grace: Duration, _ patience: Int32) throws -> Greeting {
        try connection.send(
            .hello(
                stateByteCount: UInt32(RuntimeState.byteCount + EventRing.byteCount),
                graceMilliseconds: UInt32(clamping: grace.microseconds / 1000)))
        var greeting: Greeting?
        var kept: [String: FileDescriptor] = [:]
        var expected = 0
        while greeting == nil || greeting!.instances.count < expected {
            var entry = [PollEntry(connection.fileDescriptor, CInt(POLLIN))]
            guard try PollEntry.wait(&entry, milliseconds: patience) > 0 else {
                throw Unavailable(description: "the spawner does not answer")
            }
            for message in try connection.receive() {
                switch message {
                case .welcome(let welcome):
                    greeting = Greeting(welcome: welcome, instances: [], kept: kept)
                    expected = Int(welcome.instanceCount)
                case .instance(let record): greeting?.instances.append(record)
                case .kept(let name, let descriptor): kept[name] = descriptor
                case .spawned, .spawnFailed, .exited, .emptied, .failed, .ending, .stopped:
                    early.append(message)
                }
            }
        }
        return greeting!
    }

    /// What arrived behind the table before anybody listened.
    private var early: [SpawnerMessage] = []

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
            try connection.send(request)
            if case .spawn(let order) = request { openOrders[order.instance] = order }
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

    /// What was read and not handed out yet. It outlasts the turn that read it: handing one out may
    /// find the spawner gone, and the others are true all the same.
    private var arrived: [SpawnerMessage] = []

    private func deliverArrived() {
        while !arrived.isEmpty { deliver(arrived.removeFirst()) }
    }

    private func deliver(_ message: SpawnerMessage) {
        switch message {
        case .spawned(let record):
            answered = openOrders.removeValue(forKey: record.instance)
        case .spawnFailed(let instance, _): openOrders[instance] = nil
        case .welcome, .instance, .exited, .emptied, .failed, .kept, .ending, .stopped: break
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
