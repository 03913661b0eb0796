internal import Glibc
internal import GreenroomLinux

/// The cgroups of instances: their place in the cgroup tree, the cgroups that were made in advance,
/// and those that are to be removed.
struct CgroupTree {
    let subtree: Subtree
    /// The cgroups that were made in advance.
    private var reserve = CgroupReserve()
    /// The cgroups that are to be removed, the oldest first.
    private var litter: [Litter] = []
    /// Whether their removal has begun since the latest event. The rest is then removed without
    /// another pause.
    private var hasBegunTidying = false
    /// Whether there may be cgroups that belong to no instance. They are removed only after a
    /// supervisor has looked at them.
    var hasStrays = false

    private struct Litter {
        let name: String
        var tries = 0
    }

    init(_ subtree: Subtree) { self.subtree = subtree }

    /// The cgroup above those of the instances; nil without cgroups.
    var base: Cgroup? { subtree.cgroup }

    // MARK: Making

    /// Not used for an instance that is to pause: nobody waits for it, and it has a channel.
    mutating func takeFromReserve(
        for specification: SpawnSpecification
    ) -> (cgroup: Cgroup, name: String)? {
        guard !specification.wantsChannel, base != nil else { return nil }
        return reserve.take(app: specification.app, instance: specification.instance)
    }

    mutating func make(
        for specification: SpawnSpecification
    ) throws(SpawnError) -> (cgroup: Cgroup, name: String)? {
        guard let base else { return nil }
        let name = Subtree.name(app: specification.app, instance: specification.instance)
        do throws(SystemError) {
            do throws(SystemError) {
                return (try base.createChild(name), name)
            } catch {
                switch error.code {
                // A dead spawner may have left it. It can be removed only if it is empty.
                case EEXIST: try base.removeChild(name)
                // The limit on cgroups may be reached (cgroup.max.descendants): removing those of
                // ended instances makes room.
                case EAGAIN where hasLitter, ENOSPC where hasLitter: removeLitter()
                case _: throw error
                }
                return (try base.createChild(name), name)
            }
        } catch {
            throw SpawnError(stage: .cgroup, code: error.code)
        }
    }

    /// Fills the reserve. Call this while nobody waits, so that the next launch need not wait for
    /// its cgroup.
    mutating func refillReserve() {
        guard let base else { return }
        if let name = reserve.refill(in: base) { discard(name) }
    }

    mutating func emptyReserve() {
        for name in reserve.empty() { discard(name) }
    }

    // MARK: Removing

    /// Removes the cgroup of a spawn that failed. The failed process may still be in it.
    mutating func remove(_ name: String) {
        if (try? base?.removeChild(name)) != true { discard(name) }
    }

    /// Marks an empty cgroup for removal, which happens when nobody waits for anything else.
    mutating func discard(_ name: String) {
        litter.append(Litter(name: name))
        if litter.count >= SpawnerLimits.litterCount {
            removeLitter(atMost: SpawnerLimits.litterAtOnce)
        }
    }

    var hasLitter: Bool { !litter.isEmpty }

    /// Whether the removal has begun and has not been tried for all cgroups yet.
    var isTidying: Bool { hasBegunTidying && litter.contains { $0.tries == 0 } }

    /// Begins to remove cgroups, or continues, while nothing else happens.
    mutating func tidy() {
        hasBegunTidying = true
        removeLitter(atMost: SpawnerLimits.litterAtOnce)
    }

    /// Something has happened, so the removal continues only after a pause.
    mutating func pauseTidying() { hasBegunTidying = false }

    /// Removes the oldest first. If a cgroup cannot be removed, this is tried again, but not for
    /// ever, because an app can make cgroups that we cannot remove.
    mutating func removeLitter(atMost limit: Int = .max) {
        let some = Array(litter.prefix(limit))
        litter.removeFirst(some.count)
        for var item in some {
            if (try? base?.removeTree(item.name)) != false { continue }
            item.tries += 1
            if item.tries < SpawnerLimits.litterTries { litter.append(item) }
        }
    }

    /// Marks the cgroups of unknown instances for removal. They may not be empty yet.
    ///
    /// - Parameter used: the names of the cgroups of known instances and spawns.
    mutating func removeStrays(except used: Set<String>) {
        hasStrays = false
        let kept = used.union(reserve.names).union(litter.map(\.name))
        for name in subtree.names where name.hasPrefix("app-") && !kept.contains(name) {
            litter.append(Litter(name: name))
        }
    }
}
