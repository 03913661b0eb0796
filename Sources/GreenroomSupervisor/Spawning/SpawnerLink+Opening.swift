internal import Glibc
internal import GreenroomLinux
internal import GreenroomSpawner
internal import Systemd

/// How a link comes to be: the spawner is found or started, and greeted. All of it waits, before the loop
/// runs or while nothing could be done without a spawner, and only so long.
extension SpawnerLink {
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
        var instances: [TableEntry]
        /// What an earlier supervisor had kept there, by name.
        var kept: [String: FileDescriptor] = [:]
    }

    /// Milliseconds that the spawner may take to start and to say hello: it works for a few.
    static let patience: Int32 = 10_000
    /// The same while clients wait for us as well: it is tried again.
    static let shortPatience: Int32 = 2_000

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
                    fetches = welcome.fetches
                    greeting = Greeting(welcome: welcome, instances: [], kept: kept)
                    expected = Int(welcome.instanceCount)
                case .instance(let entry): greeting?.instances.append(entry)
                case .kept(let name, let descriptor): kept[name] = descriptor
                case .spawned, .spawnFailed, .exited, .emptied, .failed, .ending, .stopped,
                    .unguarded, .misfired, .cannotGuard:
                    early.append(message)
                }
            }
        }
        return greeting!
    }
}
