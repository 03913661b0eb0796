/// Every bound of the spawner's protocol and table.
public enum SpawnerLimits {
    /// A packet fits a Unix socket's default buffer (212,992 bytes) with room for a second one.
    /// Longer bodies travel in a sealed memfd.
    public static let packetByteCount = 65_536
    /// The kernel's own bound on argv and environment together is 6 MiB.
    public static let bodyByteCount = 6 << 20
    /// Of a body, for everything but strings and groups: limits, descriptors, numbers and flags.
    static let fixedByteCount = 4096
    /// Programs of system call filters of one spawn; a supervisor makes two.
    static let filterCount = 8
    /// Of a body, for a confinement: its mounts' paths and its filters.
    static let confinementByteCount = 1 << 20
    /// Arguments, or environment variables, of one spawn.
    public static let stringCount = 65_536
    /// Descriptors of one spawn: standard ones and inherited sockets; far below the kernel's 253.
    public static let descriptorCount = 64
    /// Of what a launch has from its caller beside strings and descriptors: its one size.
    static let inheritedByteCount = 424
    /// Numbers that nothing takes for long, so that what is passed to a child lies below all that is kept.
    static let descriptorsForChildren = 256
    /// What remains free of the limit of open files: a packet's, and an instance's own.
    static let descriptorReserve: UInt64 = 96
    /// Supplementary groups of one spawn, the kernel's own bound.
    public static let groupCount = 65_536
    /// Instances in the table, ended ones included. Each holds up to three descriptors.
    public static let instanceCount = 4096
    /// Packets that wait for a supervisor that does not read. Past it the connection is dropped:
    /// the next one begins with the whole table, so nothing is lost.
    public static let queuedPacketCount = 16_384
    /// Bytes of the mapping that supervisors share through us.
    public static let stateByteCount = 64 << 20
    /// Between SIGTERM and SIGKILL when everything ends, unless the supervisor said otherwise.
    public static let graceMilliseconds: UInt32 = 5_000
    /// A process that has not executed its program after so long is killed: longer than a disk takes to
    /// spin up, and shorter than a supervisor waits for an answer (20 s).
    static let spawnMilliseconds: UInt64 = 10_000
    /// The same while somebody has to wait for every spawn that is under way: a new supervisor, which is
    /// to find it in the table, or an upgrade.
    static let hurriedSpawnMilliseconds: UInt64 = 3_000
    /// A killed process that does not end in this time is waiting for a file system that does not answer,
    /// and is left alone.
    static let killedSpawnMilliseconds: UInt64 = 1_000
    /// Processes of one user that could not be killed, each of which costs us its descriptors and 32 KiB:
    /// beyond that he starts nothing until one of them ends.
    static let stuckSpawnCount = 8
    /// Requests about an instance that is not there yet: a supervisor sends one or two.
    static let deferredCount = 16
    /// Quiet for so long, it tidies up: one wake-up after work, none when idle.
    static let restMilliseconds: CInt = 1_000
    /// Cgroups of ended instances wait so long for a quiet moment to be removed in, so that no spawn
    /// stands behind it…
    static let litterMilliseconds: CInt = 5
    /// …and are removed in groups of so many, between which we look who waits…
    static let litterAtOnce = 16
    /// …and sooner where there are so many of them.
    static let litterCount = 1024
    /// One that is not empty yet is tried so often: those that keep a failed spawn's terminal end a
    /// moment after it.
    static let litterTries = 20
    /// Out of descriptors, it looks so often whether it can accept a supervisor.
    static let deafMilliseconds: CInt = 100
    /// An adopted instance's new parent, mostly process 1, may take so long to wait for it, without
    /// which the kernel tells no status…
    static let reapMilliseconds: UInt64 = 3_000
    /// …and we look so often whether that is over.
    static let unreapedMilliseconds: CInt = 100
    /// A spawner that a supervisor started for itself ends when it was alone for so long.
    public static let solitudeMilliseconds: UInt64 = 60_000
}
