internal import Glibc
internal import GreenroomLinux

/// The cgroups of instances: their place in the cgroup tree, the cgroups that were made in advance,
/// and those that are to be removed.
struct CgroupTree {
    let subtree: Subtree
    /// The cgroups that were made in advance.
    private var reserve = CgroupReserve()
    /// The cgroups that are to be removed, the oldest first.
    private var discarded: [Discarded] = []
    /// Whether removing them has begun since the latest event: the rest follows without another
    /// pause.
    private var hasBegunTidying = false
    /// Whether there may be cgroups that belong to no instance. They are removed only after a
    /// supervisor has looked at them.
    var hasStrays = false

    private struct Discarded {
        let name: String
        var tries = 0
    }

    init(_ subtree: Subtree) { self.subtree = subtree }

    /// The cgroup above those of the instances; nil without cgroups.
    var base: Cgroup? { subtree.cgroup }

    // MARK: Making

    /// Takes a cgroup from the reserve, but not for an instance that is to pause (it has a
    /// channel), because nobody waits for that.
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
                // The limit on cgroups may be reached (cgroup.max.descendants): those in reserve and
                // those of ended instances make room.
                case EAGAIN, ENOSPC:
                    emptyReserve()
                    removeDiscarded()
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

    /// Removes the cgroup of a spawn that failed, whose process has ended. Other processes that it
    /// made may still be in the cgroup.
    mutating func remove(_ name: String) {
        if (try? base?.removeChild(name)) != true { discard(name) }
    }

    /// Marks an empty cgroup for removal, which happens when nobody waits for anything else.
    mutating func discard(_ name: String) {
        discarded.append(Discarded(name: name))
        if discarded.count >= SpawnerLimits.discardedCount {
            removeDiscarded(atMost: SpawnerLimits.discardedAtOnce)
        }
    }

    var hasDiscarded: Bool { !discarded.isEmpty }

    /// Whether some cgroups have not been tried yet, and nobody waited for anything else just now.
    var isTidying: Bool { hasBegunTidying && discarded.contains { $0.tries == 0 } }

    /// Begins to remove cgroups, or continues, while nothing else happens.
    mutating func tidy() {
        hasBegunTidying = true
        removeDiscarded(atMost: SpawnerLimits.discardedAtOnce)
    }

    /// Something has happened, so the removal continues only after a pause.
    mutating func pauseTidying() { hasBegunTidying = false }

    /// Removes the oldest first. A cgroup that cannot be removed is tried again, but not for ever:
    /// an app can make cgroups that we cannot remove.
    mutating func removeDiscarded(atMost limit: Int = .max) {
        let some = Array(discarded.prefix(limit))
        discarded.removeFirst(some.count)
        for var item in some {
            if (try? base?.removeTree(item.name)) != false { continue }
            item.tries += 1
            if item.tries < SpawnerLimits.discardedTries { discarded.append(item) }
        }
    }

    /// Marks the cgroups of unknown instances for removal. They may not be empty yet.
    ///
    /// - Parameter used: the names of the cgroups of known instances and spawns.
    mutating func removeStrays(except used: Set<String>) {
        hasStrays = false
        let kept = used.union(reserve.names).union(discarded.map(\.name))
        for name in subtree.names where name.hasPrefix("app-") && !kept.contains(name) {
            discarded.append(Discarded(name: name))
        }
    }
}
