internal import Glibc
public import GreenroomLinux

/// The parent of every instance: a table, one supervisor's connection and no policy.
///
/// The rules that it follows:
/// 1. An instance is in the table from before it runs until it is emptied and released.
/// 2. When its first process ends, the supervisor is told; the other processes are killed only if
///    the instance was released or has misfired, or if the spawner ends.
/// 3. Whatever one supervisor missed, the next one reads from the table.
/// 4. When the spawner is told to end, it ends every instance first.
public final class Spawner {
    let options: SpawnerOptions
    let signals: SignalDescriptor
    let connection: SupervisorConnection
    let exits: ProcessExits
    /// Reports that a cgroup.events file changed.
    let emptiness: Inotify
    var cgroups: CgroupTree
    var openFiles: OpenFiles

    var instances: [UInt64: SpawnedInstance] = [:]
    var numbersByPid: [pid_t: UInt64] = [:]
    var numbersByWatch: [CInt: UInt64] = [:]
    let waiters: SpawnWaiters
    var spawns = Spawns()
    var guards = Guards()
    var awaited = AwaitedEnds()

    var legacy = Legacy()
    /// Nil if no file can be made in the runtime directory. Then processes outlive the spawner, but
    /// the table does not.
    var ledger: Ledger?

    var graceMilliseconds = SpawnerLimits.graceMilliseconds
    var ending: Ending = .no
    /// Whether to tidy up when the spawner becomes idle. True at first, because start-up leaves
    /// something.
    var hasWorked = true

    enum Ending: Equatable {
        case no
        /// SIGTERM was sent; SIGKILL follows at this time.
        case asked(deadline: UInt64)
        case killed
    }

    /// Sets the spawner up: signals blocked, cgroups prepared, socket listening.
    public init(_ options: SpawnerOptions) throws(SystemError) {
        self.options = options
        // These signals stay blocked while the spawner executes itself, so that none is lost.
        signals = try SignalDescriptor([SIGCHLD, SIGTERM, SIGINT, SIGUSR1])
        try Children.becomeSubreaper()
        emptiness = try Inotify()
        exits = try ProcessExits()
        waiters = try SpawnWaiters()
        if let succession = try Self.succession(options) {
            openFiles = OpenFiles(original: succession.openFiles)
            cgroups = CgroupTree(succession.subtree)
            connection = SupervisorConnection(UnixSocket(succession.listener))
            ledger = try? Ledger(path: options.ledgerPath)
            ledger?.begin(cgroups.subtree)
            takeUp(succession)
            ledger?.commit()
        } else {
            openFiles = OpenFiles(original: nil)
            let left = Ledger.left(at: options.ledgerPath)
            cgroups = CgroupTree(
                options.avoidsCgroups
                    ? .degraded(reason: "cgroups were declined")
                    : left.flatMap(Self.subtree)
                        ?? .prepare(isManaged: options.isManaged, unit: options.cgroup))
            connection = SupervisorConnection(try Self.listen(options))
            ledger = try? Ledger(path: options.ledgerPath)
            ledger?.begin(cgroups.subtree)
            if let left {
                legacy.keepsState = true
                adopt(left.entries)
            }
            ledger?.commit()
        }
    }

    private static func succession(_ options: SpawnerOptions) throws(SystemError) -> Succession? {
        guard let number = options.succession else { return nil }
        let file = FileDescriptor(owning: number)
        try file.setCloseOnExec(true)
        let bytes = try file.readBytes(atMost: SpawnerLimits.bodyByteCount)
        do {
            return try Succession(bytes)
        } catch {
            throw SystemError(code: EPROTO, call: "upgrade", subject: "\(error)")
        }
    }

    private static func listen(_ options: SpawnerOptions) throws(SystemError) -> UnixSocket {
        let directory = options.runtimeDirectory
        if unsafe mkdir(directory, 0o755) != 0, errno != EEXIST {
            throw SystemError(code: errno, call: "mkdir", subject: directory)
        }
        return try UnixSocket.listen(at: options.socketPath, .seqpacket, mode: 0o600)
    }
}
