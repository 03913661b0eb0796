internal import Glibc
internal import GreenroomControl
internal import GreenroomLifecycle
internal import GreenroomLinux
internal import GreenroomSpawner
internal import Systemd

/// The shell's half of an instance: the descriptors by which it is watched and acted on.
///
/// Closing: each descriptor is a duplicate of the spawner's and is closed with this object; an
/// event source is always dropped before its descriptor.
@LoopActor
final class Instance {
    let identifier: InstanceIdentifier
    let app: AppIdentifier
    let pid: Int32
    let process: ProcessDescriptor
    /// What rooms keep of the instance.
    let parts: InstanceParts
    /// Nil in degraded mode: the spawner then acts on the whole session. Opened when it is first
    /// needed: no launch waits for that.
    private(set) lazy var cgroup: Cgroup? = cgroupName.flatMap { try? cgroupParent?.child($0) }
    /// The cgroup's name in the directory of the instances' cgroups.
    let cgroupName: String?
    /// The directory that the cgroup is in.
    private let cgroupParent: Cgroup?
    /// The daemon's end of the app channel, until the app has started; for an app made with the
    /// SDK, until it ends.
    private(set) var channel: UnixSocket?
    private var channelSource: EventSource?
    /// True while the spawner traces the instance, until it has paused: before that it must not be
    /// launched.
    var isGuarded: Bool
    /// Set if the instance's spawner died.
    var orphan: Orphan?
    /// Set if the instance was told to go, and has no channel to say STARTED on.
    var startLook: RepeatedLook?
    /// The file oom_score_adj, opened while there is time, so that a launch pays one write(2) for
    /// it.
    private var oomScore: FileDescriptor?
    private var priority: Priority?

    init(
        identifier: InstanceIdentifier, app: AppIdentifier, pid: Int32,
        process: ProcessDescriptor, cgroupName: String?, in cgroupParent: Cgroup?,
        channel: UnixSocket?, isGuarded: Bool, parts: InstanceParts
    ) {
        self.identifier = identifier
        self.app = app
        self.pid = pid
        self.process = process
        self.cgroupName = cgroupName
        self.cgroupParent = cgroupParent
        self.channel = channel
        self.isGuarded = isGuarded
        self.parts = parts
    }

    /// Calls back whenever the channel has something to read or is at its end.
    func watchChannel(_ body: @escaping (Instance) -> Void) throws(SystemdError) {
        guard let channel else { return }
        channelSource = try LoopActor.io(channel.descriptor.rawValue, .readable) {
            [unowned self] _ in body(self)
        }
    }

    /// The path of the process's root directory (proc_pid_root(5)).
    static func rootPath(of pid: Int32) -> String { "/proc/\(pid)/root" }

    /// False once the process has been reaped. Its number may then mean another process.
    var isAlive: Bool { (try? process.send(signal: 0)) != false }

    /// True once the main process is ending, or has ended. Its descriptors may be closed then.
    var isEnding: Bool { !isAlive || ProcessTable.entry(of: pid)?.isEnding == true }

    /// True if the process runs and has closed its end of the channel, which had this number. A
    /// process that is ending has no descriptor at all any more.
    func hasClosedChannel(_ number: CInt) -> Bool {
        !hasOpen(number) && (0...2).contains(where: hasOpen)
    }

    /// Looks at the link itself: it may lead to a file whose server does not answer (fuse(4)).
    private func hasOpen(_ number: CInt) -> Bool {
        var status = stat()
        return unsafe lstat("/proc/\(pid)/fd/\(number)", &status) == 0
    }

    func closeChannel() {
        channelSource = nil
        channel = nil
    }

    /// Removes the cgroup of an instance that no spawner knows, once it is empty.
    ///
    /// - Parameter current: the directory of the present spawner, which goes on using it. The
    ///   former spawner may have had the same one.
    func removeCgroup(besides current: String?) {
        guard let cgroupName, let cgroupParent else { return }
        // A cgroup that cannot be removed (the app made one below it) does no harm.
        _ = try? cgroupParent.removeChild(cgroupName)
        removeIfAbandoned(cgroupParent, besides: current)
    }

    /// Removes the directory of a spawner that ran without systemd, which is named after that
    /// spawner. The kernel refuses while another instance is in the directory. systemd removes its
    /// own directories.
    private func removeIfAbandoned(_ parent: Cgroup, besides current: String?) {
        guard let path = unsafe realpath("/proc/self/fd/\(parent.directory.rawValue)", nil) else {
            return
        }
        defer { unsafe free(path) }
        let text = unsafe String(cString: path)
        guard text.split(separator: "/").last?.hasPrefix("greenroom-") == true,
            !text.hasSuffix(".service"), text != current
        else { return }
        _ = unsafe rmdir(path)
    }

    /// The memory of all the instance's processes together.
    var byteCount: UInt64 {
        cgroup?.ownMemoryByteCount ?? memory.reduce(0) { $0 + $1.own }
    }

    /// Bytes that are resident; a file's pages count once for each process.
    var residentByteCount: UInt64 { memory.reduce(0) { $0 + $1.resident } }

    private var memory: [ProcessMemory] {
        let processes = (try? cgroup?.processes()) ?? [pid]
        return processes.prefix(Self.measuredProcessLimit).compactMap { ProcessMemory(of: $0) }
    }

    /// At most this many processes are measured: an app that forks without end has many.
    private static let measuredProcessLimit = 64

    // MARK: Signals and the freezer

    /// Sends the signal to the main process (pidfd_send_signal(2)). Returns false if that has
    /// ended.
    @discardableResult
    func signal(_ number: Int32) throws(SystemError) -> Bool { try process.send(signal: number) }

    // MARK: Priority

    /// `oom_score_adj` by state, as Android and lomiri-app-launch publish theirs (proc(5)).
    static func oomScoreAdjustment(for priority: Priority) -> Int {
        switch priority {
        case .foreground: 100
        case .background: 500
        case .suspended: 900
        case .prewarmed, .preparing: 950
        }
    }

    /// The process was started with this score, which need not be written again.
    func wasSpawned(scored score: Int?) {
        priority = [Priority.foreground, .background, .prewarmed].first {
            Self.oomScoreAdjustment(for: $0) == score
        }
    }

    func prepareForLaunch() {
        if oomScore == nil { oomScore = try? openOOMScore() }
        _ = cgroup
    }

    /// Sets the score by which the kernel prefers to end the process. If the kernel refuses (to
    /// lower a score takes CAP_SYS_RESOURCE), that is ignored: the score is a preference.
    func apply(_ wanted: Priority) {
        let score = Self.oomScoreAdjustment(for: wanted)
        guard priority.map(Self.oomScoreAdjustment) != score else { return }
        priority = wanted
        let file = (try? oomScore ?? openOOMScore())
        oomScore = nil
        try? file?.writeText(String(score))
    }

    private func openOOMScore() throws(SystemError) -> FileDescriptor {
        try FileDescriptor.open("/proc/\(pid)/oom_score_adj", O_WRONLY)
    }
}
