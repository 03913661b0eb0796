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
        // In a user namespace of its own a child of an ordinary user's may not.
        if geteuid() == 0, let process = supervisor?.stream.socket.otherProcess(), process.letsFetch
        {
            supervisor?.owner = process
        }
        // Before the welcome: who has read that has read them all.
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

    /// A paused instance is nobody's haste, and has a channel.
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
                // One that a dead spawner left behind is empty, or not ours to take.
                case EEXIST: try base.removeChild(name)
                // There may be no more of them (cgroup.max.descendants): those that have ended make room.
                case EAGAIN where !litter.isEmpty, ENOSPC where !litter.isEmpty: removeLitter()
                case _: throw error
                }
                return (try base.createChild(name), name)
            }
        } catch {
            throw SpawnError(stage: .cgroup, code: error.code)
        }
    }

    /// Nobody waits for anything: the next launch need not wait for its cgroup.
    func refillReserve() {
        guard ending == .no, !isSpawning, let base = subtree.cgroup else { return }
        if let name = reserve.refill(in: base) { discard(cgroup: name) }
    }

    /// So many that the next packet can be received and its instance be started: descriptors that a
    /// message loses for want of room cannot be told from a broken connection. The kernel gives the
    /// lowest number that is free.
    var hasDescriptorsToSpare: Bool {
        // Far from any limit nobody needs to ask the kernel.
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

    /// What is kept for long lies from here on, out of the way of what children are given. With few
    /// descriptors there is no such order.
    var firstAside: CInt {
        knownOpenFiles > 2 * SpawnerLimits.descriptorsForChildren
            ? CInt(SpawnerLimits.descriptorsForChildren) : 0
    }

    /// An instance that is not there, or has no process left, needs nothing done: requests and
    /// exits cross on the way.
    private func freeze(_ number: UInt64) {
        act(on: number) { group throws(SystemError) in try group.freeze() }
        // Of a cgroup the kernel tells.
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

    /// Without a watch the checks after each reaping still find out.
    func watchEmptiness(of group: ProcessGroup) -> CInt? {
        switch group {
        case .cgroup(let cgroup, _):
            try? emptiness.watch(
                "/proc/self/fd/\(cgroup.directory.rawValue)/cgroup.events", for: UInt32(IN_MODIFY))
        case .session: nil
        }
    }
}
