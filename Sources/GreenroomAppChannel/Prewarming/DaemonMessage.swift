/// A message of the daemon to a prewarmed process.
public enum DaemonMessage: Equatable, Sendable {
    /// Go on as this launch.
    case go(GoMessage)
    /// Answer with a pong, which a paused process does.
    case ping(cookie: UInt64)
    /// Exit without running main.
    case quit
    /// The name that the process wants is watched, so the process may own it.
    case nameIsWatched
    /// An event for an app that is made with an SDK.
    case event(AppEvent)

    /// A message ready to be sent.
    public struct Encoded: Equatable, Sendable {
        public var datagram: [UInt8]
        /// If not nil, the sender puts these bytes into a sealed memfd and sends it as the **last**
        /// descriptor, after those of the message's roles. The datagram already contains its role.
        public var descriptorStrings: [UInt8]?
    }

    /// - Throws: ``WireError`` if the message exceeds a limit or contradicts itself.
    public func encoded() throws(WireError) -> Encoded {
        switch self {
        case .go(let go): try go.encoded()
        case .ping(let cookie):
            Encoded(
                datagram: Header(type: WireFormat.MessageType.ping.rawValue, cookie: cookie)
                    .datagram())
        case .quit:
            Encoded(datagram: Header(type: WireFormat.MessageType.quit.rawValue).datagram())
        case .nameIsWatched:
            Encoded(
                datagram: Header(type: WireFormat.MessageType.nameIsWatched.rawValue).datagram())
        case .event(let event): Encoded(datagram: try event.encoded())
        }
    }
}

extension GoMessage {
    /// Encodes the message with one allocation for the datagram, apart from strings that need a
    /// descriptor.
    func encoded() throws(WireError) -> DaemonMessage.Encoded {
        var rawRoles = roles.map(\.rawValue)
        if needsStringDescriptor { rawRoles.append(WireFormat.stringsRole) }
        try Self.check(roles: rawRoles)
        guard arguments.count > 0 else { throw .noArguments }
        guard stringByteCount <= WireFormat.stringLimit else {
            throw .tooManyStringBytes(stringByteCount)
        }
        if let umask, umask > 0o777 { throw .invalidUmask(umask) }
        guard flags.isSubset(of: .all) else { throw .unknownFlags(flags.rawValue) }

        let header = Header(
            type: WireFormat.MessageType.go.rawValue,
            flags: flags.rawValue
                | (needsStringDescriptor ? WireFormat.stringsInDescriptor : 0),
            argumentCount: UInt32(arguments.count), environmentCount: UInt32(environment.count),
            stringByteCount: UInt32(stringByteCount), umask: umask ?? WireFormat.umaskUnchanged,
            descriptorCount: UInt32(rawRoles.count), cookie: cookie, roles: rawRoles)
        guard needsStringDescriptor else {
            var datagram = header.datagram(reserving: stringByteCount)
            datagram.append(contentsOf: arguments.bytes)
            datagram.append(contentsOf: environment.bytes)
            return DaemonMessage.Encoded(datagram: datagram)
        }
        return DaemonMessage.Encoded(
            datagram: header.datagram(), descriptorStrings: arguments.bytes + environment.bytes)
    }

    static func check(roles: [Int32]) throws(WireError) {
        guard roles.count <= WireFormat.descriptorLimit else {
            throw .tooManyDescriptors(roles.count)
        }
        for (index, role) in roles.enumerated() {
            if role < 0, role != WireFormat.workingDirectoryRole, role != WireFormat.stringsRole {
                throw .unknownRole(role)
            }
            if roles[..<index].contains(role) { throw .duplicateRole(role) }
        }
    }
}

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

        /// Somebody has called a held program by its name, and only this process can serve the
        /// call: it goes on even if files of settings have changed.
        public static let isCalled = Flags(rawValue: 32)

        static let all: Flags = [
            .setCommandLine, .newSession, .controllingTerminal, .directoryByName, .isCalled,
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

/// Arguments or environment entries in the form in which the channel carries them: NUL-terminated,
/// one after the other. They are bytes, because Linux does not guarantee UTF-8.
///
/// Building a list copies its strings, so a list that many launches share (an app's environment) is
/// built once.
public struct StringList: Equatable, Sendable {
    /// The strings, each followed by its NUL.
    public private(set) var bytes: [UInt8] = []
    public private(set) var count = 0

    public init() {}

    /// - Throws: ``WireError/stringContainsNUL(index:)``.
    public init(_ strings: [String]) throws(WireError) {
        for string in strings { try append(string) }
    }

    /// Creates a list of the strings in `bytes`, each of which must end with a NUL.
    init(terminated bytes: [UInt8], count: Int) {
        self.bytes = bytes
        self.count = count
    }

    /// - Throws: ``WireError/stringContainsNUL(index:)``; the list is unchanged then.
    public mutating func append(_ string: String) throws(WireError) {
        var string = string
        let isClean = string.withUTF8 { utf8 in
            // Every launch comes here, so the string is scanned once and copied once, not character
            // by character.
            guard unsafe !utf8.contains(0) else { return false }
            unsafe bytes.append(contentsOf: utf8)
            return true
        }
        guard isClean else { throw .stringContainsNUL(index: count) }
        bytes.append(0)
        count += 1
    }

    /// - Throws: ``WireError/stringContainsNUL(index:)``; the list is unchanged then.
    public mutating func append(bytes string: some Collection<UInt8>) throws(WireError) {
        if string.contains(0) { throw .stringContainsNUL(index: count) }
        bytes.append(contentsOf: string)
        bytes.append(0)
        count += 1
    }

    public mutating func append(contentsOf other: StringList) {
        bytes.append(contentsOf: other.bytes)
        count += other.count
    }

    /// The strings as text, with U+FFFD for bytes that are not UTF-8.
    public var strings: [String] {
        var strings: [String] = []
        var rest = bytes[...]
        while let end = rest.firstIndex(of: 0) {
            strings.append(String(decoding: rest[..<end], as: UTF8.self))
            rest = rest[(end + 1)...]
        }
        return strings
    }
}
