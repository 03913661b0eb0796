internal import Glibc
internal import GreenroomLinux

extension Spawner {
    func handle(_ packet: Packet) throws(ConnectionError) {
        let request: SpawnerRequest
        do { request = try SpawnerRequest(packet) } catch { throw .malformed(error) }
        if let spawn = spawns.pending(for: request) { return postpone(request, until: spawn) }
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
        case .keep(let name, let descriptor): legacy.keep(descriptor, as: name)
        case .drop(let name): legacy.drop(name)
        case .reconciled: if cgroups.hasStrays { removeStrays() }
        case .unguard(let number): unguard(number)
        case .listen(let order): listen(order)
        }
    }

    func welcome(stateByteCount: UInt32) throws(SystemError) {
        let state: SharedMemory
        if let existing = legacy.state {
            state = existing
        } else {
            let byteCount = min(max(Int(stateByteCount), 1), SpawnerLimits.stateByteCount)
            state = try SharedMemory.file(
                at: options.statePath, byteCount: byteCount, isKept: legacy.keepsState)
            legacy.state = state
        }
        connection.greet()
        // They are sent before the welcome, so that a supervisor that has read the welcome has all
        // of them.
        for (name, descriptor) in legacy.kept { tell(.kept(name: name, descriptor)) }
        let kept = instances.values.filter { !$0.isReleased }.sorted { $0.number < $1.number }
        tell(
            .welcome(
                Welcome(
                    isManaged: options.isManaged, degradation: cgroups.subtree.degradation,
                    instanceCount: UInt32(kept.count), state: state.descriptor,
                    cgroup: cgroups.base?.directory, fetches: connection.owner != nil)))
        for instance in kept { tell(.instance(instance.entry)) }
        if let code = guards.refusal { tell(.cannotGuard(code: code)) }
    }

    private func listen(_ order: SocketOrder) {
        do throws(SystemError) {
            let socket = try order.open()
            if order.isKept { legacy.keep(socket, as: order.name) }
            tell(.listening(name: order.name, socket))
        } catch {
            tell(.cannotListen(name: order.name, error))
        }
    }

    func refillReserve() {
        if ending == .no, !spawns.areUnderWay { cgroups.refillReserve() }
    }

    var hasDescriptorsToSpare: Bool {
        openFiles.haveRoom(
            besides: (SpawnerLimits.instanceDescriptorCount + 1) * instances.count
                + legacy.kept.count
                + (3 + SpawnerLimits.descriptorCount) * spawns.pending.count,
            tryingWith: signals.descriptor)
    }

    /// Freezes an instance. Does nothing if the instance does not exist or has no process left,
    /// which is no error, because requests and exits may cross on the way.
    private func freeze(_ number: UInt64) {
        act(on: number) { group throws(SystemError) in try group.freeze() }
        // If there is a cgroup, the kernel itself reports that it is frozen.
        guard let instance = instances[number], instance.group.cgroupName == nil else { return }
        tell(.stopped(instance: number))
    }

    private func act(
        on number: UInt64, _ act: (ProcessGroup) throws(SystemError) -> Void
    ) {
        guard let instance = instances[number], !instance.isEmptied else { return }
        do {
            try act(instance.group)
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
    /// notices the end.
    func watchEmptiness(of group: ProcessGroup) -> CInt? {
        switch group {
        case .cgroup(let cgroup, _):
            try? emptiness.watch(
                "/proc/self/fd/\(cgroup.directory.rawValue)/cgroup.events", for: UInt32(IN_MODIFY))
        case .session: nil
        }
    }
}
