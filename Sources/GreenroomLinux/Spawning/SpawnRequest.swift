public import Glibc

/// What to run and how: everything that differs from the parent is said here (execve(2)).
///
/// Always: no descriptor is open but those of ``descriptors``. Every signal has its default action and
/// none is blocked, where ``inherited`` does not say otherwise.
public struct SpawnRequest: Sendable {
    /// A descriptor of the parent at a number of the child.
    public struct DescriptorMapping: Hashable, Sendable {
        public var source: CInt
        public var target: CInt
        /// `source` is a number of ``SpawnRequest/owner``.
        public var isOwners: Bool

        public init(_ source: CInt, at target: CInt, isOwners: Bool = false) {
            self.source = source
            self.target = target
            self.isOwners = isOwners
        }
    }

    /// Whom to run as; setting it needs privilege (CAP_SETUID, CAP_SETGID), even for one's own.
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

    /// The program's file; no search of PATH.
    public var path: String
    /// The whole of argv, beginning with the program's name for itself.
    public var arguments: StringBlock
    /// The whole environment, each `NAME=value`.
    public var environment: StringBlock
    /// Entered as the app's user; nil: the parent's.
    public var workingDirectory: String?
    /// Instead of ``workingDirectory``; O_PATH (open(2)) suffices.
    public var workingDirectoryDescriptor: FileDescriptor?
    public var fileModeMask: mode_t?
    public var startsSession = true
    /// The first of descriptors 0, 1 and 2 that is a terminal becomes the session's (TIOCSCTTY).
    public var takesControllingTerminal = false
    public var identity: Identity?
    public var noNewPrivileges = false
    /// Namespaces, mounts, capabilities and filters; nil: as the parent.
    public var confinement: Confinement?
    /// The child replaces ``listenPidPlaceholder`` in ``environment`` by its own
    /// (sd_listen_fds(3)).
    public var tellsListenPid = false
    public static let listenPidPlaceholder = "LISTEN_PID=0000000000"
    /// The child lets us trace it: it stops behind its exec (``Tracee``), and whenever it receives a signal.
    public var isTraced = false
    public var resourceLimits: [ResourceLimit] = []
    /// −1000 to 1000 (proc(5)). Lowering it without privilege is passed over.
    public var oomScoreAdjustment: Int?
    /// A process out of whose table the child takes descriptors (pidfd_getfd).
    public var owner: ProcessDescriptor?
    /// The child's whole table, at most 256, each target once. Initially the parent's 0, 1 and 2.
    public var descriptors = [
        DescriptorMapping(0, at: 0), DescriptorMapping(1, at: 1), DescriptorMapping(2, at: 2),
    ]
    /// Where the child is born; it must not be frozen, or the parent waits until it is thawed.
    public var cgroup: FileDescriptor?
    /// What it has from its caller, an ``InheritedState`` in bytes; none: nothing.
    public var inherited: [UInt8] = []
    /// For tests: spawn as on a kernel without clone3.
    package var avoidsClone3 = false

    public init(path: String, arguments: StringBlock, environment: StringBlock) {
        self.path = path
        self.arguments = arguments
        self.environment = environment
    }
}

/// A process that runs its own program now. It is a child: somebody has to wait for it.
public struct Spawned: Sendable {
    public let pid: pid_t
    public let process: ProcessDescriptor
}

/// Why a spawn failed: at which step, and what the kernel said. No process is left over.
public struct SpawnError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The steps in their order; raw values go over the spawner's wire.
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
        /// Of the cgroup: the spawner's, before the process is made.
        case resources
    }

    public let stage: Stage
    public let code: CInt
    /// What the step was about, where that is not the same each time: a path, a file.
    public let subject: String?

    public init(stage: Stage, code: CInt, subject: String? = nil) {
        self.stage = stage
        self.code = code
        self.subject = subject
    }

    /// What was being done, for messages: "mounting /usr".
    public var deed: String { subject.map { "\(stage.deed) \($0)" } ?? stage.deed }

    public var description: String {
        "\(deed): \(SystemError.text(of: code)) (\(SystemError.name(of: code)))"
    }
}

extension SpawnError.Stage {
    /// What was being done, for messages: "entering cgroup: permission denied (EACCES)".
    public var deed: String {
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
