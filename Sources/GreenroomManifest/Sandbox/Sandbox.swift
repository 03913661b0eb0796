/// `[Sandbox]`: the restrictions of an app. The keys have the names and meanings of
/// systemd.exec(5).
public struct Sandbox: Hashable, Sendable {
    /// `ProtectSystem=`
    public enum System: String, CaseIterable, Sendable {
        case no
        /// /usr and the boot loader's directories are read-only.
        case yes
        /// /etc as well.
        case full
        /// Everything except /dev, /proc and /sys.
        case strict
    }

    /// `ProtectHome=`: /home, /root and /run/user.
    public enum Home: String, CaseIterable, Sendable {
        case no
        /// The three directories cannot be entered.
        case yes
        case readOnly = "read-only"
        /// The three directories are replaced by empty ones.
        case tmpfs
    }

    /// An absolute path in a list. With the prefix `-`, the path is ignored if it does not exist.
    public struct Path: Hashable, Sendable {
        public var path: String
        public var isOptional: Bool
    }

    /// `BindPaths=SOURCE:DESTINATION`
    public struct Bind: Hashable, Sendable {
        public var source: String
        public var destination: String
        public var isOptional: Bool
        public var isReadOnly: Bool

        init(source: String, destination: String, isOptional: Bool, isReadOnly: Bool) {
            self.source = source
            self.destination = destination
            self.isOptional = isOptional
            self.isReadOnly = isReadOnly
        }

        /// A folder that the app may write to, whatever else is read-only.
        public init(ownFolder path: String) {
            self.init(source: path, destination: path, isOptional: true, isReadOnly: false)
        }
    }

    public var noNewPrivileges = false
    public var protectsSystem = System.no
    public var protectsHome = Home.no
    public var hasPrivateTmp = false
    public var hasPrivateNetwork = false
    public var hasPrivateDevices = false
    public var protectsHostname = false
    public var protectsKernelTunables = false
    public var protectsKernelModules = false
    public var protectsKernelLogs = false
    public var protectsClock = false
    public var protectsControlGroups = false
    /// `ControlSocket=`: whether the app may use the control socket like its user.
    public var mayControl = false
    /// Whether the app may not use the control socket. Otherwise a confined app could launch an
    /// unconfined one.
    public var closesControl: Bool { !settings.isEmpty && !mayControl }
    public var readOnlyPaths: [Path] = []
    public var readWritePaths: [Path] = []
    public var inaccessiblePaths: [Path] = []
    public var temporaryFileSystems: [Path] = []
    public var binds: [Bind] = []
    /// One bit for each capability that the app may have; nil means all that the daemon has.
    public var capabilityBoundingSet: UInt64?
    public var ambientCapabilities: UInt64 = 0
    public var calls = CallRules()
    /// The keys that were set, as `Key=value` in the manifest's order, for humans.
    public var settings: [String] = []

    /// The keys that become a filter of system calls.
    public struct CallRules: Hashable, Sendable {
        public var filter: CallFilter?
        /// `SystemCallErrorNumber=`: the error of a call that is not allowed; nil means that the
        /// app is killed.
        public var errorNumber: Int32?
        /// `SystemCallArchitectures=`, in addition to the machine's own; nil means only that.
        public var architectures: [String]?
        /// `RestrictAddressFamilies=`
        public var addressFamilies: AddressFamilies?
        /// `RestrictNamespaces=`: the CLONE_NEW* that may be created or entered; nil means all.
        public var allowedNamespaces: UInt64?
        public var restrictsRealtime = false
        public var restrictsSetuid = false
        public var locksPersonality = false
        public var deniesWriteExecute = false

        public init() {}
    }

    /// `SystemCallFilter=`
    public struct CallFilter: Hashable, Sendable {
        public struct Action: Hashable, Sendable {
            /// Whether the manifest names the call itself and not only a group, so that the call
            /// must exist.
            public var isExplicit: Bool
            /// `name:EPERM`; nil means `SystemCallErrorNumber=`.
            public var errorNumber: Int32?
            /// `name:kill`
            public var kills = false
        }

        /// True if only the listed calls are allowed; false if only the listed calls are forbidden.
        public var isAllowList: Bool
        public var calls: [String: Action] = [:]
    }

    public struct AddressFamilies: Hashable, Sendable {
        public var isAllowList: Bool
        /// AF_* numbers.
        public var families: Set<Int32> = []
    }

    public init() {}
}

/// `[Resources]`: limits of an instance's cgroup. The keys have the names and meanings of
/// systemd.resource-control(5). Nil means the kernel's default.
public struct Resources: Hashable, Sendable {
    /// In bytes; `.max` is infinity.
    public var memoryMax: UInt64?
    public var memoryHigh: UInt64?
    /// The number of processes and threads; `.max` is infinity.
    public var tasksMax: UInt64?
    /// 1 to 10,000; 100 is the default.
    public var cpuWeight: Int?
    /// The keys that were set, as `Key=value` in the manifest's order, for humans.
    public var settings: [String] = []

    public init() {}
}
