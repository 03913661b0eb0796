internal import GreenroomLinux

/// The spawner's limit of open files. It is raised, because the descriptors of instances exceed
/// the customary 1024; apps get the original limit.
struct OpenFiles {
    /// The limit before it was raised.
    let original: ResourceLimit
    /// The limit when the kernel was last asked for it.
    private var known: Int

    /// - Parameter original: nil if the limit has not been raised yet; then it is raised.
    init(original: ResourceLimit?) {
        self.original = original ?? .current(.openFiles)
        if original == nil { self.original.raiseSoft() }
        known = Int(clamping: ResourceLimit.current(.openFiles).soft)
    }

    /// Descriptors that are kept for long get this number or a higher one, above those that
    /// children are given. If the limit is low, they are not kept apart.
    var firstAside: CInt {
        known > 2 * SpawnerLimits.descriptorsForChildren
            ? CInt(SpawnerLimits.descriptorsForChildren) : 0
    }

    /// Whether every instance of a full table may hold one descriptor that it could do without.
    var areAmple: Bool {
        known > (SpawnerLimits.instanceDescriptorCount + 1) * SpawnerLimits.instanceCount
    }

    /// Whether there is room to receive the next packet and start its instance. If a message lost
    /// descriptors for lack of room, that would look like a broken connection. The kernel always
    /// gives the lowest free number.
    ///
    /// - Parameters:
    ///   - used: the largest number of descriptors that may be in use.
    ///   - any: a descriptor to duplicate, which shows the lowest free number.
    mutating func haveRoom(besides used: Int, tryingWith any: FileDescriptor) -> Bool {
        // Far below the limit, the kernel need not be asked.
        if Int(firstAside) + used + 2 * Int(SpawnerLimits.descriptorReserve) < known { return true }
        let limit = ResourceLimit.current(.openFiles).soft
        known = Int(clamping: limit)
        let reserve = min(SpawnerLimits.descriptorReserve, limit / 2)
        let next = try? any.duplicate(atLeast: firstAside)
        return next.map { UInt64($0.rawValue) < limit - reserve } ?? false
    }
}
