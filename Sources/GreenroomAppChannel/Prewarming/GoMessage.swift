/// A launch: everything that a paused process takes over before its main runs.
public struct GoMessage: Equatable, Sendable {
    public struct Flags: OptionSet, Sendable {
        public let rawValue: UInt32
        public init(rawValue: UInt32) { self.rawValue = rawValue }

        /// `/proc/PID/cmdline` and `environ` show the launch, not the prewarm. This takes about 10
        /// µs.
        public static let setCommandLine = Flags(rawValue: 1)
        /// Call setsid(2). Does nothing if the process already leads its session.
        public static let newSession = Flags(rawValue: 2)
        /// The first of descriptors 0, 1 and 2 that is a terminal becomes the session's controlling
        /// terminal, `TIOCSCTTY`.
        public static let controllingTerminal = Flags(rawValue: 4)

        /// Enter the working directory by its path, with the process's own rights. If the process
        /// has its own mounts, a descriptor would lead out of them. (Bit 3 says that the strings
        /// are in a memfd.)
        public static let directoryByName = Flags(rawValue: 16)

        static let all: Flags = [
            .setCommandLine, .newSession, .controllingTerminal, .directoryByName,
        ]
    }

    /// The whole argv; the first is the program's name. For a script, it is what the kernel would
    /// pass: the interpreter, its option, the script, and the launch's own arguments.
    public var arguments: StringList
    /// The whole environment, each entry as `NAME=value`.
    public var environment: StringList
    public var flags: Flags
    /// The file mode creation mask, 0 to 0777; nil leaves that of the prewarm.
    public var umask: UInt32?
    /// What each descriptor of the message is for, in the order of the descriptors.
    public var roles: [DescriptorRole]
    /// The cookie of the answer, which is STARTED or ERROR.
    public var cookie: UInt64

    public init(
        arguments: StringList, environment: StringList, flags: Flags = [.setCommandLine],
        umask: UInt32? = nil, roles: [DescriptorRole] = [], cookie: UInt64 = 0
    ) {
        self.arguments = arguments
        self.environment = environment
        self.flags = flags
        self.umask = umask
        self.roles = roles
        self.cookie = cookie
    }

    /// Whether the strings are too large for the datagram and must be sent in a memfd.
    public var needsStringDescriptor: Bool { stringByteCount > WireFormat.inlineStringLimit }

    var stringByteCount: Int { arguments.bytes.count + environment.bytes.count }
}

/// What a descriptor is for.
public enum DescriptorRole: Equatable, Hashable, Sendable {
    /// The app gets it as the descriptor with this number, 0 or above.
    case place(Int32)
    /// A directory (`O_PATH` is enough) that becomes the working directory.
    case workingDirectory

    var rawValue: Int32 {
        switch self {
        case .place(let number): number
        case .workingDirectory: WireFormat.workingDirectoryRole
        }
    }

    init(rawValue: Int32) throws(WireError) {
        if rawValue >= 0 {
            self = .place(rawValue)
        } else if rawValue == WireFormat.workingDirectoryRole {
            self = .workingDirectory
        } else {
            throw .unknownRole(rawValue)
        }
    }
}
