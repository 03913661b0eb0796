internal import Glibc
internal import GreenroomLinux

extension Spawner {
    func handle(_ packet: Packet) throws(ConnectionError) {
        let request: SpawnerRequest
        do { request = try SpawnerRequest(packet) } catch { throw .malformed(error) }
        if let spawn = pendingSpawn(of: request) { return postpone(request, until: spawn) }
        try handle(request)
    }

    func handle(_ request: SpawnerRequest) throws(ConnectionError) {
        switch request {
        case .hello(let stateByteCount, let graceMilliseconds):
            self.graceMilliseconds = graceMilliseconds
            settle(.welcome(stateByteCount: stateByteCount))
        case .spawn(let specification): spawn(specification)
        case .kill(let number): act(on: number) { group throws(SystemError) in try group.kill() }
        case .freeze(let number): freeze(number)
        case .thaw(let number): act(on: number) { group throws(SystemError) in try group.thaw() }
        case .release(let number): release(number)
        case .shutDown(let graceMilliseconds): end(graceMilliseconds: graceMilliseconds)
        case .keep(let name, let descriptor): keep(descriptor, as: name)
        case .drop(let name): kept[name] = nil
        case .reconciled: if strays { removeStrays() }
        case .unguard(let number): unguard(number)
        }
    }

    func welcome(stateByteCount: UInt32) throws(SystemError) {
        let state: SharedMemory
        if let existing = self.state {
            state = existing
        } else {
            let byteCount = min(max(Int(stateByteCount), 1), SpawnerLimits.stateByteCount)
            state = try SharedMemory.file(
                at: options.statePath, byteCount: byteCount, isKept: keepsState)
            self.state = state
        }
        supervisor?.saidHello = true
        // The child of an ordinary user may be in a user namespace of its own, and may not fetch
        // then.
        if geteuid() == 0, let process = supervisor?.stream.socket.otherProcess(), process.letsFetch
        {
            supervisor?.owner = process
        }
        // Before the welcome: a supervisor that has read the welcome has read them all.
        for (name, descriptor) in kept { tell(.kept(name: name, descriptor)) }
        let kept = instances.values.filter { !$0.isReleased }.sorted { $0.number < $1.number }
        tell(
            .welcome(
                Welcome(
                    isManaged: options.isManaged, degradation: subtree.degradation,
                    instanceCount: UInt32(kept.count), state: state.descriptor,
                    cgroup: subtree.cgroup?.directory, fetches: supervisor?.owner != nil)))
        for instance in kept { tell(.instance(instance.entry)) }
        if let code = guardRefusal { tell(.cannotGuard(code: code)) }
    }

    /// A paused instance takes none: nobody is in a hurry for it, and it has a channel.
    func takeFromReserve(
        for specification: SpawnSpecification
    ) -> (cgroup: Cgroup, name: String)? {
        guard !specification.wantsChannel, subtree.cgroup != nil else { return nil }
        return reserve.take(app: specification.app, instance: specification.instance)
    }

    func makeCgroup(
        for specification: SpawnSpecification
    ) throws(SpawnError) -> (cgroup: Cgroup, name: String)? {
        guard let base = subtree.cgroup else { return nil }
        let name = Subtree.name(app: specification.app, instance: specification.instance)
        do throws(SystemError) {
            do throws(SystemError) {
                return (try base.createChild(name), name)
            } catch {
                switch error.code {
                // If a dead spawner left it, it is empty or may not be taken.
                case EEXIST: try base.removeChild(name)
                // The limit on cgroups may be reached (cgroup.max.descendants): those of ended
                // instances make room.
                case EAGAIN where !litter.isEmpty, ENOSPC where !litter.isEmpty: removeLitter()
                case _: throw error
                }
                return (try base.createChild(name), name)
            }
        } catch {
            throw SpawnError(stage: .cgroup, code: error.code)
        }
    }

    /// Fills the reserve while nobody waits, so that the next launch need not wait for its cgroup.
    func refillReserve() {
        guard ending == .no, !isSpawning, let base = subtree.cgroup else { return }
        if let name = reserve.refill(in: base) { discard(cgroup: name) }
    }

    /// Whether the next packet can be received and its instance be started. If a message loses
    /// descriptors because there is no room, that cannot be told from a broken connection. The
    /// kernel gives the lowest free number.
    var hasDescriptorsToSpare: Bool {
        // Far from any limit the kernel need not be asked.
        let mostUsed =
            Int(firstAside) + 3 * instances.count + kept.count
            + (3 + SpawnerLimits.descriptorCount) * pending.count
            + 2 * Int(SpawnerLimits.descriptorReserve)
        if mostUsed < knownOpenFiles { return true }
        let limit = ResourceLimit.current(.openFiles).soft
        knownOpenFiles = Int(clamping: limit)
        let reserve = min(SpawnerLimits.descriptorReserve, limit / 2)
        let next = try? signals.descriptor.duplicate(atLeast: firstAside)
        return next.map { UInt64($0.rawValue) < limit - reserve } ?? false
    }

    /// Descriptors that are kept for long have numbers from here on, above those that children are
    /// given. With few descriptors there is no such order.
    var firstAside: CInt {
        knownOpenFiles > 2 * SpawnerLimits.descriptorsForChildren
            ? CInt(SpawnerLimits.descriptorsForChildren) : 0
    }

    /// Freezes an instance. If the instance does not exist, or has no process left, nothing needs
    /// to be done: requests and exits may cross on the way.
    private func freeze(_ number: UInt64) {
        act(on: number) { group throws(SystemError) in try group.freeze() }
        // For a cgroup the kernel itself reports that it is frozen.
        guard let instance = instances[number], instance.group.cgroupName == nil else { return }
        tell(.stopped(instance: number))
    }

    private func act(
        on number: UInt64, _ deed: (ProcessGroup) throws(SystemError) -> Void
    ) {
        guard let instance = instances[number], !instance.isEmptied else { return }
        do {
            try deed(instance.group)
        } catch {
            tell(.failed(instance: number, code: error.code))
        }
    }

    private func release(_ number: UInt64) {
        guard let instance = instances[number] else { return }
        instances[number]?.isReleased = true
        if instance.isEmptied {
            forget(instance)
        } else {
            act(on: number) { group throws(SystemError) in try group.kill() }
        }
    }

    /// Watches whether a group becomes empty. Without a watch, the check after each reaping still
    /// notices.
    func watchEmptiness(of group: ProcessGroup) -> CInt? {
        switch group {
        case .cgroup(let cgroup, _):
            try? emptiness.watch(
                "/proc/self/fd/\(cgroup.directory.rawValue)/cgroup.events", for: UInt32(IN_MODIFY))
        case .session: nil
        }
    }
}
