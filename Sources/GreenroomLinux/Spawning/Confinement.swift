/// Permanent restrictions on a process, set before its first instruction: namespaces, mounts,
/// capabilities and system call filters (namespaces(7), mount_setattr(2), capabilities(7),
/// seccomp(2)). Either all of them are applied exactly, or the process is not started.
public struct Confinement: Hashable, Sendable {
    /// Namespaces of which the process gets its own. The raw values are the kernel's CLONE_NEW*.
    public struct Namespaces: OptionSet, Hashable, Sendable {
        public let rawValue: UInt64
        public init(rawValue: UInt64) { self.rawValue = rawValue }

        public static let mount = Namespaces(rawValue: 0x2_0000)
        public static let hostName = Namespaces(rawValue: 0x400_0000)
        public static let network = Namespaces(rawValue: 0x4000_0000)
        public static let all: Namespaces = [.mount, .hostName, .network]
    }

    /// Flags of a mount (mount_setattr(2)), which can only be added.
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

    /// One change to the file system as the process sees it.
    public struct Mount: Hashable, Sendable {
        /// The raw values are those of `gr_mount_kind`.
        public enum Kind: UInt8, CaseIterable, Sendable {
            /// Shows `source`, and everything mounted below it outside, at `target`.
            case bind = 0
            /// Sets the attributes on `target` and on everything mounted below it.
            case attributes
            /// Mounts an empty file system in memory. `source` is its mode in octal.
            case temporary
            /// Makes what is at `target` inaccessible.
            case hidden
            /// Makes a symbolic link to `source`, in a file system made before.
            case symbolicLink
            /// Makes a directory, in a file system made before.
            case directory
        }

        public var kind: Kind
        public var target: String
        public var source: String
        public var attributes: MountAttributes
        /// Whether to skip the mount if its path does not exist.
        public var isOptional = false
        /// Whether to bind or hide what is at the path inside the namespace at that moment, instead
        /// of what is outside. Attributes are then set on this mount alone.
        public var isLate = false
        /// Whether to make the target of a bind, in a file system made before.
        public var makesTarget = false
        /// Whether the mount fails if either path contains a symbolic link. Neither path had a link
        /// when it was checked, but since then somebody could have put one there to gain rights
        /// through the app.
        public var followsNoLinks = false

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
    /// Applied in this order, at most ``mountLimit``: parents before children.
    public var mounts: [Mount] = []
    /// The capabilities that the process can ever have, one bit for each number; nil means those of
    /// the parent.
    public var capabilityBoundingSet: UInt64?
    /// The capabilities that the program starts with even if its user is not privileged.
    public var ambientCapabilities: UInt64 = 0
    /// System call filters: programs of classic BPF, 8 bytes per instruction.
    public var filters: [[UInt8]] = []

    public init() {}

    public static let mountLimit = 192
    /// The kernel's limit on one filter, BPF_MAXINSNS, in bytes.
    public static let filterByteLimit = 4096 * 8

    /// Whether the process sees another file system than we do, so that its paths are not ours.
    public var hasOwnMounts: Bool { namespaces.contains(.mount) }

    /// Whether everything can be passed to the kernel without truncation.
    var isValid: Bool {
        mounts.count <= Self.mountLimit
            && !mounts.contains { $0.target.utf8.contains(0) || $0.source.utf8.contains(0) }
            && filters.allSatisfy {
                !$0.isEmpty && $0.count % 8 == 0 && $0.count <= Self.filterByteLimit
            }
    }

    /// Whether an ordinary user may do this only in a user namespace of its own.
    var needsPrivilege: Bool {
        !namespaces.isEmpty || capabilityBoundingSet != nil || ambientCapabilities != 0
    }
}
