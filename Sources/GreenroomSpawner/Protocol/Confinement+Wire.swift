internal import GreenroomLinux

extension SpawnSpecification {
    /// A limit of the instance's cgroup (cgroup-v2): `value` is written to `file`.
    public struct CgroupSetting: Hashable, Sendable {
        public var file: String
        public var value: String

        public init(_ file: String, _ value: String) {
            self.file = file
            self.value = value
        }

        /// The files that a supervisor may have the spawner write, and no others.
        static let files: Set<String> = ["memory.max", "memory.high", "pids.max", "cpu.weight"]
    }
}

extension WireWriter {
    /// The bit for `followsNoLinks`, in the byte that contains the mount's kind.
    fileprivate static let withoutLinks: UInt8 = 0x80

    mutating func put(_ setting: SpawnSpecification.CgroupSetting) {
        put(setting.file)
        put(setting.value)
    }

    mutating func put(_ confinement: Confinement?) {
        put(confinement != nil)
        guard let confinement else { return }
        put(confinement.namespaces.rawValue)
        put(UInt32(confinement.mounts.count))
        for mount in confinement.mounts {
            put(mount.kind.rawValue | (mount.followsNoLinks ? Self.withoutLinks : 0))
            put(mount.target)
            put(mount.source)
            put(mount.attributes.rawValue)
            put(mount.isOptional)
            put(mount.isLate)
            put(mount.makesTarget)
        }
        put(confinement.capabilityBoundingSet != nil)
        put(confinement.capabilityBoundingSet ?? 0)
        put(confinement.ambientCapabilities)
        put(UInt32(confinement.filters.count))
        for filter in confinement.filters { put(bytes: filter) }
    }
}

extension WireReader {
    mutating func takeSetting() throws(SpawnerWireError) -> SpawnSpecification.CgroupSetting {
        let setting = SpawnSpecification.CgroupSetting(try takeString(), try takeString())
        guard SpawnSpecification.CgroupSetting.files.contains(setting.file) else {
            throw .badValue
        }
        return setting
    }

    /// Reads a confinement. Refuses anything that it does not understand completely, because half a
    /// confinement protects nobody.
    mutating func takeConfinement() throws(SpawnerWireError) -> Confinement? {
        guard try takeBool() else { return nil }
        var confinement = Confinement()
        confinement.namespaces = .init(rawValue: try take())
        guard confinement.namespaces.isSubset(of: .all) else { throw .badValue }
        confinement.mounts = try takeList(atMost: Confinement.mountLimit) {
            reader throws(SpawnerWireError) in try reader.takeMount()
        }
        let isBounded = try takeBool()
        let bounding: UInt64 = try take()
        confinement.capabilityBoundingSet = isBounded ? bounding : nil
        confinement.ambientCapabilities = try take()
        confinement.filters = try takeList(atMost: SpawnerLimits.filterCount) {
            reader throws(SpawnerWireError) in
            try reader.takeBytes(atMost: Confinement.filterByteLimit)
        }
        return confinement
    }

    private mutating func takeMount() throws(SpawnerWireError) -> Confinement.Mount {
        let byte: UInt8 = try take()
        guard let kind = Confinement.Mount.Kind(rawValue: byte & ~WireWriter.withoutLinks) else {
            throw .badValue
        }
        var mount = Confinement.Mount(
            kind, at: try takeString(), source: try takeString(),
            attributes: .init(rawValue: try take()))
        guard mount.attributes.isSubset(of: .all) else { throw .badValue }
        mount.followsNoLinks = byte & WireWriter.withoutLinks != 0
        mount.isOptional = try takeBool()
        mount.isLate = try takeBool()
        mount.makesTarget = try takeBool()
        return mount
    }
}
