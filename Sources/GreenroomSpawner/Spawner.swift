internal import Glibc
public import GreenroomLinux

/// The parent of every instance: a table, one supervisor's connection and no policy.
///
/// The rules that it follows:
/// 1. An instance is in the table from before it runs until it is emptied and released.
/// 2. When its first process ends, the supervisor is told; the other processes are killed if the
///    instance was released or has misfired, or if everything ends.
/// 3. Whatever one supervisor missed, the next one reads in the table.
/// 4. When the spawner is told to end, it ends every instance first.
public final class Spawner {
    let options: SpawnerOptions
    let signals: SignalDescriptor
    let listener: UnixSocket
    let subtree: Subtree
    let openFiles: ResourceLimit
    /// Reports that a cgroup.events file changed.
    let emptiness: Inotify
    var instances: [UInt64: Instance] = [:]
    /// Spawns whose process has not executed its program yet, or never will and has not ended.
    var pending: [UInt64: PendingSpawn] = [:]
    var pendingByWaiter: [pid_t: UInt64] = [:]
    /// Cgroups of processes that never became instances; they are removed when the processes have
    /// ended.
    var departing: [pid_t: String] = [:]
    /// What to do when no spawn is under way any more. Nothing else is begun before that.
    var afterSpawns: [AfterSpawns] = []
    var numbersByPid: [pid_t: UInt64] = [:]
    var numbersByWatch: [CInt: UInt64] = [:]
    var supervisor: Supervisor?
    var state: SharedMemory?
    var kept: [String: FileDescriptor] = [:]
    var graceMilliseconds = SpawnerLimits.graceMilliseconds
    var ending: Ending = .no
    /// Since when no supervisor has been connected (``MonotonicClock``, nanoseconds).
    var aloneSince: UInt64
    /// Whether a connection could not be accepted; then the next attempt waits.
    var isDeaf = false
    /// The cgroups that are to be removed.
    var litter: [Litter] = []
    /// Whether removing them has begun since the latest event: the rest follows without another
    /// pause.
    var hasBegunTidying = false
    /// The cgroups that were made in advance.
    var reserve = CgroupReserve()
    /// The limit on open files when it was last read.
    var knownOpenFiles = 0
    /// Nil if no file can be made in the runtime directory: then only processes outlive the
    /// spawner.
    var ledger: Ledger?
    /// Whether the state file is of this boot, so that what it contains may be true.
    var keepsState = false
    let exits: ProcessExits
    /// Adopted instances whose parent has not waited for them yet, and until when we wait for that.
    var unreaped: [UInt64: UInt64] = [:]
    /// Instances whose first process has ended, while others may not have.
    var dying: Set<UInt64> = []
    /// Whether there may be cgroups that belong to no instance. A supervisor looks at them first.
    var strays = false
    /// Adopted instances whose last processes end without a report to us.
    var lingering: Set<UInt64> = []
    /// Instances on their way to the pause, which are traced.
    var guarded: Set<UInt64> = []
    /// Stops of threads that are not known to belong to an instance yet.
    var unclaimedStops: [pid_t: Tracee.Stop] = [:]
    /// The errno for which no instance can be traced.
    var guardRefusal: CInt?
    /// Whether there is something to tidy up when it becomes quiet; at first, what start-up left.
    var hasWorked = true

    struct Supervisor {
        let stream: PacketStream
        /// The supervisor's process, if children may take descriptors from its table.
        var owner: ProcessDescriptor?
        var saidHello = false
        /// Whether all messages so far could be sent.
        var listens = true
    }

    enum AfterSpawns {
        /// A supervisor said hello, and the table must be complete before it is answered.
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

    /// Sets the spawner up: signals blocked, cgroups prepared, socket listening.
    public init(_ options: SpawnerOptions) throws(SystemError) {
        self.options = options
        // They stay blocked through our own exec, so that none is lost there.
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
            // Three descriptors per instance exceed the usual 1024. Apps get the old limit back.
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
