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

    /// It takes connections and does not answer: it was stopped, or waits in the kernel.
    struct Silence: Error, CustomStringConvertible {
        let process: ProcessDescriptor?
        var description: String { "the spawner does not answer" }

        /// - Returns: false if we may not, or do not know which process it is.
        func kill() -> Bool { (try? process?.send(signal: SIGKILL)) == true }

        @LoopActor func say(_ log: Log) {
            log.say(
                .error, "the spawner does not answer: it is killed, and another takes its place")
        }
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
    /// One that was not heard in so many of these tries is ended.
    static let shortTries = 4
    /// Milliseconds. The kernel needs a few to end what was killed, unless that waits for something else.
    static let endPatience: Int32 = 2_000

    /// Connects to the spawner of this runtime directory, starting one where there is none and
    /// systemd does not provide it. Waits, so long; one that dies meanwhile is replaced.
    ///
    /// - Parameter log: is told of one that does not answer and is killed; nil: it is not killed.
    static func open(
        runtimeDirectory: String, spawnerPath: String, mayStart: Bool, grace: Duration,
        patience: Int32 = patience, log: Log? = nil
    ) throws -> (SpawnerLink, Greeting) {
        var pause: Int32 = 10
        for _ in 1..<(log == nil ? tries : startTries) {
            do {
                return try openOnce(runtimeDirectory, spawnerPath, mayStart, grace, patience)
            } catch ConnectionError.closed {
                // The supervisor before this one may have been killed, and its end not be seen yet.
                guard log != nil else { continue }
                _ = poll(nil, 0, pause)
                pause *= 2
            } catch is EndedEarly {
                continue
            } catch let silence as Silence {
                guard let log, silence.kill() else { throw silence }
                silence.say(log)
                _ = try silence.process?.descriptor.waitUntilReadable(milliseconds: endPatience)
            } catch let error as SystemError where error.isDisconnection && mayStart {
                continue
            }
        }
        return try openOnce(runtimeDirectory, spawnerPath, mayStart, grace, patience)
    }

    /// At most this many tries with spawners that end while they are greeted: more is no coincidence.
    private static let tries = 4
    /// The same before the loop runs, when the pauses between them keep nobody waiting: 1.3 s in all.
    private static let startTries = 8

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
                    .unguarded, .misfired, .cannotGuard, .executedSecurely:
                    early.append(message)
                }
            }
        }
        return greeting!
    }
}
