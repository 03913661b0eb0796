/// What a process is kept from, for good, from before its first instruction: namespaces, mounts,
/// capabilities and system call filters (namespaces(7), mount_setattr(2), capabilities(7),
/// seccomp(2)). Everything in it is carried out as it stands, or the process is not started.
public struct Confinement: Hashable, Sendable {
    /// Namespaces that the process gets for itself. The raw values are the kernel's CLONE_NEW*.
    public struct Namespaces: OptionSet, Hashable, Sendable {
        public let rawValue: UInt64
        public init(rawValue: UInt64) { self.rawValue = rawValue }

        public static let mount = Namespaces(rawValue: 0x2_0000)
        public static let hostName = Namespaces(rawValue: 0x400_0000)
        public static let network = Namespaces(rawValue: 0x4000_0000)
        public static let all: Namespaces = [.mount, .hostName, .network]
    }

    /// Flags of a mount (mount_setattr(2)): they can only be added.
    public struct MountAttributes: OptionSet, Hashable, Sendable {
        public let rawValue: UInt64
        public init(rawValue: UInt64) { self.rawValue = rawValue }

        public static let readOnly = MountAttributes(rawValue: 1)
        public static let noSetuid = MountAttributes(rawValue: 2)
        public static let noDevices = MountAttributes(rawValue: 4)
        public static let noExecution = MountAttributes(rawValue: 8)
        public static let all: MountAttributes = [
            .readOnly, .noSetuid, .noDevices, .noExecution,
        ]
    }

    /// One change of what the process sees of the file system.
    public struct Mount: Hashable, Sendable {
        /// Raw values are those of `gr_mount_kind`.
        public enum Kind: UInt8, CaseIterable, Sendable {
            /// `source`, and all that is mounted below it outside, is seen at `target`.
            case bind = 0
            /// The attributes are set on `target` and all that is mounted below it.
            case attributes
            /// An empty file system in memory, whose mode is `source` in octal.
            case temporary
            /// Nobody gets at what is there.
            case hidden
            /// A symbolic link to `source`, in a file system made before.
            case symbolicLink
            /// A directory, in a file system made before.
            case directory
        }

        public var kind: Kind
        public var target: String
        public var source: String
        public var attributes: MountAttributes
        /// Passed over where there is no such path.
        public var isOptional = false
        /// What is bound or hidden is what is there by then in the namespace, not outside;
        /// attributes are set on this mount alone.
        public var isLate = false
        /// The target of a bind is made, in a file system made before.
        public var makesTarget = false

        public init(
            _ kind: Kind, at target: String, source: String = "",
            attributes: MountAttributes = []
        ) {
            self.kind = kind
            self.target = target
            self.source = source
            self.attributes = attributes
        }
    }

    public var namespaces: Namespaces = []
    /// In this order, at most ``mountLimit``: parents before children.
    public var mounts: [Mount] = []
    /// Capabilities that can be had at all, a bit for each number; nil: as the parent's.
    public var capabilityBoundingSet: UInt64?
    /// Capabilities that the program starts with although it is nobody special's.
    public var ambientCapabilities: UInt64 = 0
    /// Programs of classic BPF, 8 bytes an instruction.
    public var filters: [[UInt8]] = []

    public init() {}

    public static let mountLimit = 192
    /// The kernel's bound on one program, BPF_MAXINSNS, in bytes.
    public static let filterByteLimit = 4096 * 8

    /// It sees another file system than we do, so its paths mean nothing here.
    public var hasOwnMounts: Bool { namespaces.contains(.mount) }

    /// Nothing in it would be cut short on its way to the kernel.
    var isValid: Bool {
        mounts.count <= Self.mountLimit
            && !mounts.contains { $0.target.utf8.contains(0) || $0.source.utf8.contains(0) }
            && filters.allSatisfy {
                !$0.isEmpty && $0.count % 8 == 0 && $0.count <= Self.filterByteLimit
            }
    }

    /// What an ordinary user may only do in a user namespace of its own.
    var needsPrivilege: Bool {
        !namespaces.isEmpty || capabilityBoundingSet != nil || ambientCapabilities != 0
    }
}
