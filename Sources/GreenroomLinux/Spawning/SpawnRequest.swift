public import Glibc

/// What to run and how. Everything in which the child differs from the parent is here (execve(2)).
///
/// The child has no open descriptors other than those in ``descriptors``. Every signal has its
/// default action, and none is blocked, unless ``inherited`` says otherwise.
public struct SpawnRequest: Sendable {
    /// A descriptor of the parent, and the number that it gets in the child.
    public struct DescriptorMapping: Hashable, Sendable {
        public var source: CInt
        public var target: CInt
        /// Whether `source` is a number in the table of ``SpawnRequest/owner``.
        public var isOwners: Bool

        public init(_ source: CInt, at target: CInt, isOwners: Bool = false) {
            self.source = source
            self.target = target
            self.isOwners = isOwners
        }
    }

    /// The user and groups to run as. Setting them needs privilege (CAP_SETUID, CAP_SETGID), even
    /// if they are the present ones.
    public struct Identity: Hashable, Sendable {
        public var user: uid_t
        public var group: gid_t
        public var supplementaryGroups: [gid_t]

        public init(user: uid_t, group: gid_t, supplementaryGroups: [gid_t]) {
            self.user = user
            self.group = group
            self.supplementaryGroups = supplementaryGroups
        }
    }

    /// The path of the program's file; PATH is not searched.
    public var path: String
    /// The whole of argv, beginning with argv[0].
    public var arguments: StringBlock
    /// The whole environment, each `NAME=value`.
    public var environment: StringBlock
    /// The working directory, entered as the app's user; nil means the parent's.
    public var workingDirectory: String?
    /// Used instead of ``workingDirectory``; an O_PATH descriptor (open(2)) suffices.
    public var workingDirectoryDescriptor: FileDescriptor?
    public var fileModeMask: mode_t?
    public var startsSession = true
    /// Whether the first of descriptors 0, 1 and 2 that is a terminal becomes the session's
    /// controlling terminal (TIOCSCTTY).
    public var takesControllingTerminal = false
    public var identity: Identity?
    public var noNewPrivileges = false
    /// Namespaces, mounts, capabilities and filters; nil means those of the parent.
    public var confinement: Confinement?
    /// Whether the child replaces ``listenPidPlaceholder`` in ``environment`` with its own number
    /// (sd_listen_fds(3)).
    public var tellsListenPid = false
    public static let listenPidPlaceholder = "LISTEN_PID=0000000000"
    /// If the environment of a traced process contains this, the child replaces the zeros with the
    /// number of bytes that it has written.
    public static let writtenPlaceholder = "GREENROOM_WRITTEN=00000000000000000000"
    /// Whether the parent traces the child: the child stops after its exec (``Tracee``), and
    /// whenever it receives a signal.
    public var isTraced = false
    public var resourceLimits: [ResourceLimit] = []
    /// −1000 to 1000 (proc(5)). A value that needs privilege to set is ignored without it.
    public var oomScoreAdjustment: Int?
    /// The process from whose table the child takes descriptors (pidfd_getfd).
    public var owner: ProcessDescriptor?
    /// The child's whole descriptor table, at most 256 entries, each target once. Initially the
    /// parent's 0, 1 and 2.
    public var descriptors = [
        DescriptorMapping(0, at: 0), DescriptorMapping(1, at: 1), DescriptorMapping(2, at: 2),
    ]
    /// The cgroup in which the child is born. It must not be frozen, or the parent waits until it
    /// is thawed.
    public var cgroup: FileDescriptor?
    /// What the child inherits from its caller, as the bytes of an ``InheritedState``; empty if
    /// nothing.
    public var inherited: [UInt8] = []
    /// Sent when the program runs; nil means nothing is. Not for a traced process.
    public var announcement: Announcement?
    /// For tests: spawn as on a kernel without clone3.
    package var avoidsClone3 = false

    public init(path: String, arguments: StringBlock, environment: StringBlock) {
        self.path = path
        self.arguments = arguments
        self.environment = environment
    }
}

extension SpawnRequest {
    /// A message that says that the program runs, with the process's descriptor. The process that waits
    /// for the exec sends it, so its receiver hears of the program even if our loop does not run.
    public struct Announcement: Sendable {
        /// A socket of the kind ``UnixSocket/Kind/seqpacket``.
        public let socket: UnixSocket
        public let message: [UInt8]
        /// Where the process's number is put into the message, in 4 bytes, little-endian.
        public let pidOffset: Int
        /// Sent after the process's descriptor.
        public let channel: FileDescriptor?

        public init(
            to socket: UnixSocket, _ message: [UInt8], pidAt pidOffset: Int,
            channel: FileDescriptor?
        ) {
            precondition(pidOffset + 4 <= message.count, "no room for the process's number")
            self.socket = socket
            self.message = message
            self.pidOffset = pidOffset
            self.channel = channel
        }
    }
}

/// A process that now runs its own program. It is our child, so somebody must reap it.
public struct Spawned: Sendable {
    public let pid: pid_t
    public let process: ProcessDescriptor
}

/// Why a spawn failed: the stage, and the kernel's error. No process is left over.
public struct SpawnError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The stages in order. The raw values are part of the spawner's protocol.
    public enum Stage: UInt8, CaseIterable, Sendable {
        case arguments = 0
        case clone
        case cgroup
        case session
        case oomScore
        case limits
        case userNamespace
        case namespaces
        case mounts
        case descriptors
        case capabilities
        case groups
        case group
        case user
        case privileges
        case directory
        case filter
        case execute
        /// Setting resources of the cgroup. The spawner does this before the process is made.
        case resources
    }

    public let stage: Stage
    public let code: CInt
    /// What the stage was working on, if that varies: a path, or a file.
    public let subject: String?

    public init(stage: Stage, code: CInt, subject: String? = nil) {
        self.stage = stage
        self.code = code
        self.subject = subject
    }

    /// What was being done, for messages: "mounting /usr".
    public var activity: String { subject.map { "\(stage.activity) \($0)" } ?? stage.activity }

    public var description: String {
        "\(activity): \(SystemError.text(of: code)) (\(SystemError.name(of: code)))"
    }
}

extension SpawnError.Stage {
    /// What was being done, for messages: "entering cgroup: permission denied (EACCES)".
    public var activity: String {
        switch self {
        case .arguments: "checking the arguments"
        case .clone: "creating the process"
        case .cgroup: "entering cgroup"
        case .session: "starting a session"
        case .oomScore: "setting the OOM score"
        case .limits: "setting resource limits"
        case .userNamespace: "creating a user namespace"
        case .namespaces: "creating namespaces"
        case .mounts: "mounting"
        case .descriptors: "placing descriptors"
        case .capabilities: "bounding capabilities"
        case .groups: "setting supplementary groups"
        case .group: "setting the group"
        case .user: "setting the user"
        case .privileges: "giving up new privileges"
        case .directory: "entering the working directory"
        case .filter: "installing a system call filter"
        case .execute: "executing the program"
        case .resources: "setting"
        }
    }
}
