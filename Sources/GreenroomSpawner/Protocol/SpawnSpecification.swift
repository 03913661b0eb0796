internal import Glibc
public import GreenroomLinux

/// One instance to be started, as the supervisor describes it.
public struct SpawnSpecification: Sendable {
    /// A descriptor of the supervisor, and its number in the app. If none is passed for 0, 1 or 2,
    /// the app has /dev/null there, or nothing (`closedDescriptors`).
    public struct PassedDescriptor: Sendable {
        /// Nil in the spawner if the child takes ``number`` from the supervisor's table, because
        /// descriptors that strangers sent never come into the spawner's table.
        public var descriptor: FileDescriptor?
        var number: CInt
        public var target: CInt

        public init(_ descriptor: FileDescriptor, at target: CInt) {
            self.descriptor = descriptor
            number = descriptor.rawValue
            self.target = target
        }

        init(fetching number: CInt, at target: CInt) {
            self.number = number
            self.target = target
        }
    }

    /// The supervisor's number for the instance. It is not reused while the instance is in the
    /// table.
    public var instance: UInt64
    /// The app, for the name of the cgroup.
    public var app: String
    public var path: String
    public var arguments: StringBlock
    public var environment: StringBlock
    public var workingDirectory: String?
    /// Used instead of ``workingDirectory``; an O_PATH descriptor (open(2)) suffices.
    public var workingDirectoryDescriptor: FileDescriptor?
    public var fileModeMask: UInt32?
    /// The user and groups of the app; nil means the spawner's own.
    public var identity: SpawnRequest.Identity?
    public var noNewPrivileges = false
    public var confinement: Confinement?
    /// Settings of the cgroup, written before the process is made. If the cgroup or the controller
    /// is missing, the instance is not started.
    public var cgroupSettings: [CgroupSetting] = []
    public var resourceLimits: [ResourceLimit] = []
    public var oomScoreAdjustment: Int?
    /// Whether to make the app channel. The app finds its end through GREENROOM_CHANNEL in its
    /// environment.
    public var wantsChannel = false
    /// How many programs the instance executes before its pause: the one that pauses and, for a
    /// script, each `env` before it. Until ``SpawnerRequest/unguard`` the instance is traced, and
    /// killed if it executes another program or makes a process. 0 means that it is not traced.
    public var guardedExecutions: UInt32 = 0
    /// Whether the first of descriptors 0, 1 and 2 that is a terminal becomes the app's controlling
    /// terminal.
    public var takesControllingTerminal = false
    public var descriptors: [PassedDescriptor] = []
    /// Whether the child fetches what strangers sent (``Welcome/fetches``).
    public var fetches = false
    /// One bit for each of the descriptors 0, 1 and 2: set if the descriptor is closed in the app.
    public var closedDescriptors: UInt8 = 0
    /// The bytes of an ``InheritedState``; empty if nothing is inherited from a caller.
    public var inherited: [UInt8] = []

    public init(
        instance: UInt64, app: String, path: String, arguments: StringBlock,
        environment: StringBlock
    ) {
        self.instance = instance
        self.app = app
        self.path = path
        self.arguments = arguments
        self.environment = environment
    }
}

extension SpawnSpecification {
    /// The number of the app's end of its channel, unless the app's limit on open files is lower.
    public static let channelNumber: CInt = 1023

    /// The number for an app with this limit on open files; nil if the app has no limit of its own.
    public static func channelNumber(openFiles soft: UInt64?) -> CInt {
        min(CInt(clamping: soft ?? 1024) - 1, channelNumber)
    }

    /// The name of an instance's cgroup in ``Welcome/cgroup``, known before the cgroup is made.
    public static func cgroupName(app: String, instance: UInt64) -> String {
        Subtree.name(app: app, instance: instance)
    }

    /// False if the spawner would refuse this and end the connection, because a client may bring
    /// more arguments than any program may have. Check this before sending.
    public var isWithinLimits: Bool {
        guard arguments.count <= SpawnerLimits.stringCount,
            environment.count <= SpawnerLimits.stringCount,
            descriptors.count <= SpawnerLimits.descriptorCount,
            (identity?.supplementaryGroups.count ?? 0) <= SpawnerLimits.groupCount
        else { return false }
        let byteCount =
            arguments.bytes.count + environment.bytes.count + app.utf8.count + path.utf8.count
            + (workingDirectory?.utf8.count ?? 0)
        return byteCount + SpawnerLimits.fixedByteCount
            + (confinement == nil ? 0 : SpawnerLimits.confinementByteCount)
            + MemoryLayout<gid_t>.size * (identity?.supplementaryGroups.count ?? 0)
            <= SpawnerLimits.bodyByteCount
    }

    /// The descriptors that go with the packet; the directory's is the last.
    var allDescriptors: [FileDescriptor] {
        descriptors.filter { !isFetched($0) }.compactMap(\.descriptor)
            + (workingDirectoryDescriptor.map { [$0] } ?? [])
    }

    private func isFetched(_ passed: PassedDescriptor) -> Bool {
        guard let descriptor = passed.descriptor else { return true }
        return fetches && descriptor.isStrangers
    }

    func encode(into writer: inout WireWriter) {
        writer.put(instance)
        writer.put(app)
        writer.put(path)
        writer.put(arguments)
        writer.put(environment)
        writer.put(workingDirectory)
        writer.put(fileModeMask ?? Self.inherited)
        writer.put(identity != nil)
        if let identity {
            writer.put(identity.user)
            writer.put(identity.group)
            writer.put(UInt32(identity.supplementaryGroups.count))
            for group in identity.supplementaryGroups { writer.put(group) }
        }
        writer.put(noNewPrivileges)
        writer.put(confinement)
        writer.put(UInt32(cgroupSettings.count))
        for setting in cgroupSettings { writer.put(setting) }
        writer.put(UInt32(resourceLimits.count))
        for limit in resourceLimits {
            writer.put(limit.resource.rawValue)
            writer.put(limit.soft)
            writer.put(limit.hard)
        }
        writer.put(oomScoreAdjustment != nil)
        writer.put(Int32(oomScoreAdjustment ?? 0))
        writer.put(wantsChannel)
        writer.put(guardedExecutions)
        writer.put(takesControllingTerminal)
        writer.put(UInt32(descriptors.count))
        for descriptor in descriptors {
            writer.put(descriptor.target)
            writer.put(isFetched(descriptor) ? descriptor.number : -1)
        }
        writer.put(workingDirectoryDescriptor != nil)
        writer.put(closedDescriptors)
        writer.put(bytes: inherited)
    }

    init(_ reader: inout WireReader, _ passed: [FileDescriptor]) throws(SpawnerWireError) {
        instance = try reader.take()
        app = try reader.takeString()
        path = try reader.takeString()
        arguments = try reader.takeStrings()
        environment = try reader.takeStrings()
        workingDirectory = try reader.takeOptionalString()
        let mask: UInt32 = try reader.take()
        fileModeMask = mask == Self.inherited ? nil : mask
        if let mask = fileModeMask, mask > 0o777 { throw .badValue }
        identity = try Self.takeIdentity(&reader)
        noNewPrivileges = try reader.takeBool()
        confinement = try reader.takeConfinement()
        cgroupSettings = try reader.takeList(atMost: CgroupSetting.files.count) {
            reader throws(SpawnerWireError) in try reader.takeSetting()
        }
        resourceLimits = try reader.takeList(atMost: ResourceLimit.Resource.allCases.count) {
            reader throws(SpawnerWireError) in try Self.takeLimit(&reader)
        }
        let hasScore = try reader.takeBool()
        let score = Int(try reader.take(Int32.self))
        guard (-1000...1000).contains(score) else { throw .badValue }
        oomScoreAdjustment = hasScore ? score : nil
        wantsChannel = try reader.takeBool()
        guardedExecutions = try reader.take()
        takesControllingTerminal = try reader.takeBool()
        let targets = try reader.takeList(atMost: SpawnerLimits.descriptorCount) {
            reader throws(SpawnerWireError) in
            (try reader.take(CInt.self), try reader.take(CInt.self))
        }
        var passed = passed[...]
        if try reader.takeBool() {
            guard let directory = passed.popLast() else { throw .badDescriptors }
            workingDirectoryDescriptor = directory
        }
        closedDescriptors = try reader.take()
        inherited = try reader.takeBytes(atMost: SpawnerLimits.inheritedByteCount)
        for (target, number) in targets {
            if number >= 0 {
                descriptors.append(PassedDescriptor(fetching: number, at: target))
            } else {
                guard let descriptor = passed.popFirst() else { throw .badDescriptors }
                descriptors.append(PassedDescriptor(descriptor, at: target))
            }
        }
        guard passed.isEmpty else { throw .badDescriptors }
    }

    private static func takeIdentity(
        _ reader: inout WireReader
    ) throws(SpawnerWireError) -> SpawnRequest.Identity? {
        guard try reader.takeBool() else { return nil }
        let user: uid_t = try reader.take()
        let group: gid_t = try reader.take()
        let groups = try reader.takeList(atMost: SpawnerLimits.groupCount) {
            reader throws(SpawnerWireError) in try reader.take(gid_t.self)
        }
        return .init(user: user, group: group, supplementaryGroups: groups)
    }

    private static func takeLimit(
        _ reader: inout WireReader
    ) throws(SpawnerWireError) -> ResourceLimit {
        guard let resource = ResourceLimit.Resource(rawValue: try reader.take()) else {
            throw .badValue
        }
        return ResourceLimit(resource, soft: try reader.take(), hard: try reader.take())
    }

    /// The value on the wire that leaves the file mode mask as it is.
    private static let inherited = UInt32.max
}
