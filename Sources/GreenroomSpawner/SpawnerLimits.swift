/// Every limit of the spawner's protocol and table.
public enum SpawnerLimits {
    /// A packet of this size fits into a Unix socket's default buffer (212,992 bytes), with room
    /// for a second one. Longer bodies travel in a sealed memfd.
    static let packetByteCount = 65_536
    /// The kernel's own limit on argv and environment together is 6 MiB.
    public static let bodyByteCount = 6 << 20
    /// Bytes of a body for everything but strings and groups: limits, descriptors, numbers and
    /// flags.
    static let fixedByteCount = 4096
    /// System call filters in one spawn; a supervisor makes two.
    static let filterCount = 8
    /// Bytes of a body for a confinement: the paths of its mounts, and its filters.
    static let confinementByteCount = 1 << 20
    /// Arguments, or environment variables, in one spawn.
    public static let stringCount = 65_536
    /// Descriptors in one spawn: standard ones and inherited sockets; far below the kernel's 253.
    public static let descriptorCount = 64
    /// The fixed size of what a launch inherits from its caller besides strings and descriptors.
    static let inheritedByteCount = 424
    /// Descriptors that are kept for long do not have numbers below this, so that the descriptors
    /// for a child are lower than all of those.
    static let descriptorsForChildren = 256
    /// Descriptor numbers that stay free below the limit on open files, for a packet and an
    /// instance.
    static let descriptorReserve: UInt64 = 96
    /// Supplementary groups in one spawn; the kernel's own limit.
    static let groupCount = 65_536
    /// Instances in the table, including ended ones.
    public static let instanceCount = 4096
    /// The descriptors that an instance holds: process, channel, cgroup. If the limit on open files
    /// allows it, the instance holds one more, which only its end needs.
    static let instanceDescriptorCount = 3
    /// Packets queued for a supervisor that does not read. Beyond that, the connection is dropped.
    /// The next connection begins with the whole table, so nothing is lost.
    static let queuedPacketCount = 16_384
    /// Bytes of the mapping that successive supervisors share.
    public static let stateByteCount = 64 << 20
    /// The time between SIGTERM and SIGKILL when the spawner ends, unless the supervisor said
    /// otherwise.
    public static let graceMilliseconds: UInt32 = 5_000
    /// A process that has not executed its program after this time is killed. The time is longer
    /// than a disk takes to spin up, and shorter than a supervisor waits for an answer (20 s).
    static let spawnMilliseconds: UInt64 = 10_000
    /// The same time while a new supervisor or an upgrade waits until no spawn is under way.
    static let hurriedSpawnMilliseconds: UInt64 = 3_000
    /// A killed process that has not ended after this time is stuck in a file system that does not
    /// answer, and is left alone.
    static let killedSpawnMilliseconds: UInt64 = 1_000
    /// Processes of one user that could not be killed. Each costs us its descriptors and 32 KiB. A
    /// user who has this many can start nothing until one of them ends.
    static let stuckSpawnCount = 8
    /// Requests about an instance that is not in the table yet: a supervisor sends one or two.
    static let deferredCount = 16
    /// After this much idle time the spawner tidies up: one wake-up after work, and none after
    /// that.
    static let restMilliseconds: CInt = 1_000
    /// Cgroups of ended instances wait this long for a quiet moment in which they are removed, so
    /// that no spawn is delayed.
    static let discardedMilliseconds: CInt = 5
    /// At most this many cgroups are removed at a time, before the spawner checks whether anybody
    /// waits.
    static let discardedAtOnce = 16
    /// If this many cgroups wait for a quiet moment, some of them are removed without it.
    static let discardedCount = 1024
    /// A cgroup that is not empty yet is tried this many times: processes that keep a failed
    /// spawn's terminal end a moment after it.
    static let discardedTries = 20
    /// A spawner that is out of descriptors waits this long before it tries again to accept a
    /// supervisor.
    static let deafMilliseconds: CInt = 100
    /// The new parent of an adopted instance, usually process 1, may take this long to reap it. The
    /// kernel tells no exit status before that.
    static let reapMilliseconds: UInt64 = 3_000
    /// The time between two checks whether an adopted instance has been reaped.
    static let unreapedMilliseconds: CInt = 100
    /// A spawner that a supervisor started for itself ends after this time without a supervisor.
    static let solitudeMilliseconds: UInt64 = 60_000
}
