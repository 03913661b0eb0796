/// `[Sandbox]`: what an app is kept from. Keys are named and meant as in systemd.exec(5).
public struct Sandbox: Hashable, Sendable {
    /// `ProtectSystem=`
    public enum System: String, CaseIterable, Sendable {
        case no
        /// /usr and the boot loader's directories are read-only.
        case yes
        /// And /etc.
        case full
        /// Everything is, but /dev, /proc and /sys.
        case strict
    }

    /// `ProtectHome=`: /home, /root and /run/user.
    public enum Home: String, CaseIterable, Sendable {
        case no
        /// Nobody gets at them.
        case yes
        case readOnly = "read-only"
        /// Empty ones are seen instead.
        case tmpfs
    }

    /// A path of a list, absolute; `-` before it: passed over where it is missing.
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

        /// What the app may write to, wherever it lies.
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
    /// `ControlSocket=`: it may ask the daemon for what its user may ask for.
    public var mayControl = false
    /// Whoever is kept from anything would have it done by an app that is not.
    public var closesControl: Bool { !settings.isEmpty && !mayControl }
    public var readOnlyPaths: [Path] = []
    public var readWritePaths: [Path] = []
    public var inaccessiblePaths: [Path] = []
    public var temporaryFileSystems: [Path] = []
    public var binds: [Bind] = []
    /// A bit for each capability that may be had; nil: all that the daemon has.
    public var capabilityBoundingSet: UInt64?
    public var ambientCapabilities: UInt64 = 0
    public var calls = CallRules()
    /// What was set, `Key=value` in the manifest's order, for people.
    public var settings: [String] = []

    /// What becomes a filter of system calls.
    public struct CallRules: Hashable, Sendable {
        public var filter: CallFilter?
        /// `SystemCallErrorNumber=`: what a call that is not allowed gets; nil: the app is killed.
        public var errorNumber: Int32?
        /// `SystemCallArchitectures=`, beside the machine's own; nil: that alone.
        public var architectures: [String]?
        /// `RestrictAddressFamilies=`
        public var addressFamilies: AddressFamilies?
        /// `RestrictNamespaces=`: CLONE_NEW* that may be made or entered; nil: all.
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
            /// Stands in the manifest itself, not in a group: it must exist.
            public var isExplicit: Bool
            /// `name:EPERM`, else `SystemCallErrorNumber=`.
            public var errorNumber: Int32?
            /// `name:kill`
            public var kills = false
        }

        /// Only the listed calls are allowed; else only they are forbidden.
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

/// `[Resources]`: limits of an instance's cgroup, named and meant as in systemd.resource-control(5).
/// nil is the kernel's default.
public struct Resources: Hashable, Sendable {
    /// Bytes; `.max` is infinity.
    public var memoryMax: UInt64?
    public var memoryHigh: UInt64?
    /// Processes and threads; `.max` is infinity.
    public var tasksMax: UInt64?
    /// 1 to 10,000; 100 is the default.
    public var cpuWeight: Int?
    /// What was set, `Key=value` in the manifest's order, for people.
    public var settings: [String] = []

    public init() {}
}
