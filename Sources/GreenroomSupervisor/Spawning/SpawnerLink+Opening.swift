internal import Glibc
internal import GreenroomLinux
internal import GreenroomSpawner
internal import Systemd

/// Where the daemon's spawner is found, and how one is started.
struct SpawnerSource: Sendable {
    let runtimeDirectory: String
    /// The spawner's program.
    let program: String
    /// Whether the daemon starts a spawner if there is none. Otherwise systemd does.
    let mayStart: Bool
}

/// The limit of open files with which the daemon was started, and which apps are to have.
enum DescriptorLimit {
    static let initial = ResourceLimit.current(.openFiles)

    /// A client and an instance take several descriptors each, and the customary 1024 are soon used
    /// up.
    static func raise() { initial.raiseSoft() }
}

/// Opens a link: finds or starts the spawner, and greets it. All of this blocks for a limited time,
/// because the loop does not run yet, or because nothing can be done without a spawner.
extension SpawnerLink {
    /// Why there is no spawner, and what to do about it.
    struct Unavailable: Error, CustomStringConvertible {
        let description: String
    }

    /// A spawner that the supervisor started has ended. Either it was killed, and another try is
    /// worthwhile, or it cannot start.
    struct EndedEarly: Error, CustomStringConvertible {
        let description: String
    }

    /// The spawner accepts connections but does not answer: it was stopped, or it is blocked in the
    /// kernel.
    struct Silence: Error, CustomStringConvertible {
        let process: ProcessDescriptor?
        var description: String { "the spawner does not answer" }

        /// - Returns: false if the supervisor may not kill the spawner, or does not know its
        ///   process.
        func kill() -> Bool { (try? process?.send(signal: SIGKILL)) == true }

        @LoopActor func say(_ log: Log) {
            log.say(
                .error, "the spawner does not answer: it is killed, and another takes its place")
        }
    }

    /// What the spawner says when the supervisor connects.
    struct Greeting {
        var welcome: Welcome
        var instances: [TableEntry]
        /// The descriptors that an earlier supervisor left with the spawner, by name.
        var kept: [String: FileDescriptor] = [:]
    }

    /// How many milliseconds the spawner may take to start and to greet; it needs only a few.
    static let patience: Int32 = 10_000
    /// The patience while clients wait for the supervisor. A try that fails is repeated.
    static let shortPatience: Int32 = 2_000
    /// A spawner that is silent in this many short tries is ended.
    static let shortTries = 4
    /// How many milliseconds to wait for the end of a killed spawner. The kernel needs only a few,
    /// unless the spawner is blocked in the kernel.
    static let endPatience: Int32 = 2_000

    /// Connects to the spawner. Starts one if there is none and systemd does not provide it. Waits
    /// at most `patience` in each try; a spawner that dies in the meantime is replaced.
    ///
    /// - Parameter log: where to report that a spawner that does not answer is killed. If it is
    ///   nil, such a spawner is not killed.
    static func open(
        from source: SpawnerSource, grace: Duration, patience: Int32 = patience, log: Log? = nil
    ) throws -> (SpawnerLink, Greeting) {
        var pause: Int32 = 10
        for _ in 1..<(log == nil ? tries : startTries) {
            do {
                return try openOnce(source, grace, patience)
            } catch ConnectionError.closed {
                // The former supervisor may have been killed, and the spawner may not have seen its
                // end yet.
                guard log != nil else { continue }
                _ = poll(nil, 0, pause)
                pause *= 2
            } catch is EndedEarly {
                continue
            } catch let silence as Silence {
                guard let log, silence.kill() else { throw silence }
                silence.say(log)
                _ = try silence.process?.descriptor.waitUntilReadable(milliseconds: endPatience)
            } catch let error as SystemError where error.isDisconnection && source.mayStart {
                continue
            }
        }
        return try openOnce(source, grace, patience)
    }

    /// At most this many tries if spawners end while they are greeted. More such ends are not a
    /// coincidence.
    private static let tries = 4
    /// The number of tries before the loop runs. The pauses between them, 1.3 s in all, keep nobody
    /// waiting then.
    private static let startTries = 8

    private static func openOnce(
        _ source: SpawnerSource, _ grace: Duration, _ patience: Int32
    ) throws -> (SpawnerLink, Greeting) {
        let path = source.runtimeDirectory + "/spawner"
        let connection: SpawnerConnection
        do throws(SystemError) {
            connection = try SpawnerConnection.connect(to: path)
        } catch {
            guard error.code == ENOENT || error.isDisconnection else { throw error }
            guard source.mayStart else {
                throw Unavailable(
                    description: "\(path): nobody listens; start greenroom-spawner.service")
            }
            try start(source.program, in: source.runtimeDirectory, patience)
            connection = try SpawnerConnection.connect(to: path)
        }
        let link = SpawnerLink(connection)
        return (link, try link.greet(grace: grace, patience))
    }

    /// Starts a spawner that outlives the supervisor, and waits until it listens (sd_notify(3)).
    private static func start(
        _ spawnerPath: String, in runtimeDirectory: String, _ patience: Int32
    ) throws {
        // The supervisor does not wait(2) for this child: the spawner's socket shows when it ends.
        // (The supervisor has no other children.)
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
        // Apps inherit the limits with which the spawner is started.
        request.resourceLimits = [DescriptorLimit.initial]
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
            // Two running spawners would be worse than none.
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
            guard
                try PollEntry.wait(
                    for: connection.fileDescriptor, CInt(POLLIN), milliseconds: patience)
            else {
                throw Silence(process: processDescriptor)
            }
            for message in try connection.receive() {
                switch message {
                case .welcome(let welcome):
                    fetches = welcome.fetches
                    greeting = Greeting(welcome: welcome, instances: [], kept: kept)
                    expected = Int(welcome.instanceCount)
                case .instance(let entry): greeting?.instances.append(entry)
                case .kept(let name, let descriptor): kept[name] = descriptor
                case .spawned, .spawnFailed, .exited, .emptied, .failed, .ending, .stopped,
                    .unguarded, .misfired, .cannotGuard, .executedSecurely, .listening,
                    .cannotListen:
                    early.append(message)
                }
            }
        }
        return greeting!
    }

    /// Has sockets opened, and waits for them, before the loop runs.
    ///
    /// - Returns: the sockets that the spawner answered for in time, by their names. None once the
    ///   loop hands out messages: then nothing may wait.
    func listenAtOnce(_ orders: [SocketOrder]) -> [String: Result<FileDescriptor, SystemError>] {
        var results: [String: Result<FileDescriptor, SystemError>] = [:]
        guard !isActive else { return results }
        do {
            for order in orders { try connection.send(.listen(order)) }
            while results.count < Set(orders.map(\.name)).count {
                guard
                    try PollEntry.wait(
                        for: connection.fileDescriptor, CInt(POLLIN),
                        milliseconds: Self.shortPatience)
                else { break }
                for message in try connection.receive() {
                    switch message {
                    case .listening(let name, let socket): results[name] = .success(socket)
                    case .cannotListen(let name, let error): results[name] = .failure(error)
                    case .welcome, .instance, .spawned, .spawnFailed, .exited, .emptied, .failed,
                        .kept, .ending, .stopped, .unguarded, .misfired, .cannotGuard,
                        .executedSecurely:
                        early.append(message)
                    }
                }
            }
        } catch {
            // The loop finds out that the spawner is gone.
        }
        return results
    }
}
