internal import Glibc
internal import GreenroomLinux

// What a killed spawner leaves to the next: processes in cgroups, and the ledger that says which
// instance each belongs to. These processes now have another parent, so only the kernel can tell how
// they end, through their process descriptors.

extension Spawner {
    /// Adds an instance to the table, and to the ledger for the next spawner.
    func enter(_ instance: SpawnedInstance) {
        instances[instance.number] = instance
        if instance.status != nil, !instance.isEmptied { awaited.mainEnded.insert(instance.number) }
        if instance.status == nil {
            if instance.isAdopted {
                try? exits.watch(instance.process, key: instance.number)
            } else {
                numbersByPid[instance.pid] = instance.number
            }
        }
        if let watch = instance.watch { numbersByWatch[watch] = instance.number }
        let start: UInt64 =
            switch instance.group {
            case .cgroup: 0
            case .session: ProcessTable.entry(of: instance.pid)?.startTicks ?? 0
            }
        ledger?.add(
            Ledger.Entry(
                number: instance.number, app: instance.app, pid: instance.pid, startTicks: start))
    }

    /// Adds an instance that another spawner, or another execution of this one, has started.
    func takeOver(_ instance: SpawnedInstance) {
        instance.moveAside(to: openFiles.firstAside)
        enter(instance)
        prepareForEnd(of: instance.number)
    }

    /// The cgroup that contains a dead spawner's instances; nil if it does not exist or we may not
    /// write to it.
    static func subtree(_ left: Ledger.Contents) -> Subtree? {
        guard let (path, isOurs) = left.subtree,
            unsafe access(path + "/cgroup.procs", W_OK) == 0,
            let cgroup = try? Cgroup(path: path)
        else { return nil }
        return .cgroup(cgroup, path: path, isOurs: isOurs)
    }

    /// Takes over the entries whose process is alive. Ends all other processes in these cgroups:
    /// those of spawns that were never reported, and those of instances whose first process has
    /// ended in the meantime.
    func adopt(_ entries: [Ledger.Entry]) {
        for entry in entries {
            guard let instance = living(entry) else { continue }
            takeOver(instance)
        }
        guard let base = cgroups.base else { return endUnfinished() }
        let kept = Set(instances.values.compactMap(\.group.cgroupName))
        for name in cgroups.subtree.names where name.hasPrefix("app-") && !kept.contains(name) {
            guard let cgroup = try? base.child(name) else { continue }
            if let instance = unreported(cgroup, name) {
                takeOver(instance)
            } else {
                try? cgroup.kill()
            }
        }
        // The other cgroups stay until a supervisor has looked at them. If it ordered an instance
        // and finds such a cgroup, the instance may have run.
        cgroups.hasStrays = true
    }

    /// An instance that a dead spawner had cloned into its cgroup, but not written into the ledger.
    /// The instance's number is part of the cgroup's name, and its first process leads a session.
    private func unreported(_ cgroup: Cgroup, _ name: String) -> SpawnedInstance? {
        let name = InstanceCgroup.fullName(of: cgroup, name)
        guard let dash = name.lastIndex(of: "-"),
            let number = UInt64(name[name.index(after: dash)...]),
            instances[number] == nil,
            let leader = (try? cgroup.processes())?.first(where: {
                ProcessTable.entry(of: $0)?.session == $0
            }), !isUnfinished(leader)
        else { return nil }
        return living(
            Ledger.Entry(
                number: number, app: String(name[..<dash].dropFirst("app-".count)), pid: leader,
                startTicks: 0))
    }

    /// Whether this is a dead spawner's child that waits in its execve: it is not an instance yet.
    /// Only a process that imitates the spawner could be mistaken for one.
    private func isUnfinished(_ pid: pid_t) -> Bool {
        ProcessTable.entry(of: pid)?.hasExecuted == false && hasOurName(pid)
    }

    private func hasOurName(_ pid: pid_t) -> Bool {
        ProcessTable.name(of: pid) == ProcessTable.name(of: getpid())
    }

    /// Kills such processes. Without cgroups, they are recognized by their name, and because they
    /// have executed nothing. A process whose parent is a spawner belongs to that spawner, and is
    /// left alone.
    private func endUnfinished() {
        for entry in (try? ProcessTable.entries()) ?? [] where !entry.hasExecuted {
            guard !hasOurName(entry.parent), let process = try? ProcessDescriptor(pid: entry.pid),
                isUnfinished(entry.pid)
            else { continue }
            _ = try? process.send(signal: SIGKILL)
        }
    }

    func removeStrays() {
        // Before a supervisor says that it has looked, it may repeat a spawn, so the cgroups of spawns
        // under way are kept.
        cgroups.removeStrays(
            except: Set(instances.values.compactMap(\.group.cgroupName))
                .union(spawns.departing.values)
                .union(spawns.pending.values.compactMap(\.cgroup?.name)))
    }

    private func living(_ entry: Ledger.Entry) -> SpawnedInstance? {
        // The descriptor is opened before the check, so that the number cannot come to mean another
        // process in between.
        guard let process = try? ProcessDescriptor(pid: entry.pid), let group = group(of: entry)
        else { return nil }
        var instance = SpawnedInstance(
            number: entry.number, app: entry.app, pid: entry.pid, process: process, channel: nil,
            group: group)
        instance.watch = watchEmptiness(of: group)
        instance.isAdopted = true
        return instance
    }

    /// The group of the entry's instance; nil unless the process belongs to it.
    private func group(of entry: Ledger.Entry) -> ProcessGroup? {
        guard let base = cgroups.base else {
            let process = ProcessTable.entry(of: entry.pid)
            return process?.startTicks == entry.startTicks ? .session(leader: entry.pid) : nil
        }
        guard let text = try? SmallFile.text(of: "/proc/\(entry.pid)/cgroup"),
            let path = CgroupLocation.path(in: text),
            let own = InstanceCgroup.find(
                app: entry.app, instance: entry.number, in: base),
            // The instance may have made cgroups inside its own cgroup.
            path.split(separator: "/").contains(Substring(own.name))
        else { return nil }
        return .cgroup(own.cgroup, name: own.name)
    }

    // MARK: How they end

    func handleExits() throws(SystemError) {
        while let number = try exits.next() {
            guard let instance = instances[number], instance.status == nil else { continue }
            switch instance.process.exit {
            case .known(let status):
                awaited.unreaped[number] = nil
                end(adopted: number, status)
            case .pending:
                // The process's parent must reap it first; then the descriptor reports again.
                awaited.unreaped[number] =
                    awaited.unreaped[number] ?? MonotonicClock.nanoseconds
                    + SpawnerLimits.reapMilliseconds * 1_000_000
            case .untold: giveUpStatus(of: number)
            }
        }
    }

    func giveUpStatus(of number: UInt64) {
        awaited.unreaped[number] = nil
        guard let instance = instances[number], instance.status == nil else { return }
        if case .known(let status) = instance.process.exit {
            end(adopted: number, status)
        } else {
            end(adopted: number, .unknown)
        }
    }
}
