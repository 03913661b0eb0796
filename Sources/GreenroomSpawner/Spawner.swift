internal import Glibc
public import GreenroomLinux

/// The parent of every instance: a table, one supervisor's connection and no policy.
///
/// The rules it keeps:
/// 1. an instance is in the table from before it runs until it is emptied and released;
/// 2. when its first process ends, the rest of the instance is killed;
/// 3. whatever a supervisor missed, the next one reads in the table;
/// 4. told to end, it ends every instance first.
public final class Spawner {
    let options: SpawnerOptions
    let signals: SignalDescriptor
    let listener: UnixSocket
    let subtree: Subtree
    let openFiles: ResourceLimit
    /// Tells when a cgroup.events file changed.
    let emptiness: Inotify
    var instances: [UInt64: Instance] = [:]
    /// Orders whose process has not executed its program yet, or never will and has not ended.
    var pending: [UInt64: PendingSpawn] = [:]
    var pendingByWaiter: [pid_t: UInt64] = [:]
    /// Cgroups of processes that never became instances, to be removed when they have ended.
    var departing: [pid_t: String] = [:]
    /// What is done when no spawn is under way any more. Nothing else is begun before that.
    var afterSpawns: [AfterSpawns] = []
    var numbersByPid: [pid_t: UInt64] = [:]
    var numbersByWatch: [CInt: UInt64] = [:]
    var supervisor: Supervisor?
    var state: SharedMemory?
    var kept: [String: FileDescriptor] = [:]
    var graceMilliseconds = SpawnerLimits.graceMilliseconds
    var ending: Ending = .no
    /// Since when no supervisor is connected (``MonotonicClock``, nanoseconds).
    var aloneSince: UInt64
    /// Nobody could be accepted; not to be tried again at once.
    var isDeaf = false
    /// The cgroups that are to be removed.
    var litter: [Litter] = []
    /// Since the latest event: the rest follows without another pause.
    var hasBegunTidying = false
    /// Those that are to be used.
    var reserve = CgroupReserve()
    /// The limit of open files when it was last asked for.
    var knownOpenFiles = 0
    /// Nil where the runtime directory takes no file: then nothing outlives us but processes.
    var ledger: Ledger?
    /// The state file is of this boot, and what it says may be true.
    var keepsState = false
    let exits: ProcessExits
    /// Adopted instances whose parent has not waited for them yet, and until when we wait for that.
    var unreaped: [UInt64: UInt64] = [:]
    /// Instances whose first process has ended and others may not have.
    var dying: Set<UInt64> = []
    /// There may be cgroups of nobody's, for a supervisor to look at first.
    var strays = false
    /// Adopted instances of whose last processes nothing tells us.
    var lingering: Set<UInt64> = []
    /// Instances on their way to the pause, which are traced.
    var guarded: Set<UInt64> = []
    /// Of threads that are nobody's yet.
    var unclaimedStops: [pid_t: Tracee.Stop] = [:]
    /// Why none can be: errno.
    var guardRefusal: CInt?
    /// There is something to tidy up when it becomes quiet; at first, what start-up left.
    var hasWorked = true

    struct Supervisor {
        let stream: PacketStream
        /// Its process, where children may take descriptors out of its table.
        var owner: ProcessDescriptor?
        var saidHello = false
        /// Nothing we could send has failed yet.
        var listens = true
    }

    enum AfterSpawns {
        /// A supervisor said hello: the table is to tell it everything.
        case welcome(stateByteCount: UInt32)
        case upgrade
    }

    struct Litter {
        let cgroup: String
        var tries = 0
    }

    enum Ending: Equatable {
        case no
        /// SIGTERM was sent; SIGKILL follows at this time.
        case asked(deadline: UInt64)
        case killed
    }

    /// Takes its place: signals blocked, cgroups prepared, socket listening.
    public init(_ options: SpawnerOptions) throws(SystemError) {
        self.options = options
        // Blocked through our own exec too, so that none of them is lost there.
        signals = try SignalDescriptor([SIGCHLD, SIGTERM, SIGINT, SIGUSR1])
        try Children.adoptOrphans()
        emptiness = try Inotify()
        exits = try ProcessExits()
        aloneSince = MonotonicClock.nanoseconds
        if let succession = try Self.succession(options) {
            openFiles = succession.openFiles
            knownOpenFiles = Int(clamping: ResourceLimit.current(.openFiles).soft)
            subtree = succession.subtree
            listener = UnixSocket(succession.listener)
            ledger = try? Ledger(path: options.ledgerPath)
            ledger?.begin(subtree)
            resume(succession)
            ledger?.commit()
        } else {
            openFiles = ResourceLimit.current(.openFiles)
            // Three descriptors per instance exceed the customary 1024; apps get the old limit back.
            openFiles.raiseSoft()
            knownOpenFiles = Int(clamping: ResourceLimit.current(.openFiles).soft)
            let left = Ledger.left(at: options.ledgerPath)
            subtree =
                options.avoidsCgroups
                ? .degraded(reason: "cgroups were declined")
                : left.flatMap(Self.subtree)
                    ?? .prepare(
                        isManaged: options.isManaged, unit: options.cgroup)
            listener = try Self.listen(options)
            ledger = try? Ledger(path: options.ledgerPath)
            ledger?.begin(subtree)
            if let left {
                keepsState = true
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
