internal import GreenroomAppChannel
internal import GreenroomLinux
internal import GreenroomManifest
internal import GreenroomSpawner

extension AppMaker {
    /// The confinement that `[Sandbox]` asks for, and the reason if the app cannot be paused with
    /// it.
    func sandbox(
        of manifest: AppManifest, _ facts: ExecutableFacts, _ compiled: CompiledFilters
    ) throws(LoadFailure) -> (
        confinement: Confinement?, ineligibility: InstalledApp.Ineligibility?,
        callForbiddenOnTerminal: String?
    ) {
        do throws(ConfinementPlan.Failure) {
            var plan = try ConfinementPlan(manifest.sandbox)
            guard var confinement = try plan.confinement(compiled) else { return (nil, nil, nil) }
            if confinement.hasOwnMounts, manifest.setup.hasContainer {
                // Whatever else the app sees, it sees its own folders and may write to them.
                plan = try ConfinementPlan(withContainer(manifest.sandbox, of: manifest.identifier))
                confinement = try plan.confinement(compiled) ?? confinement
            }
            let shim = manifest.kind == .applicationKit ? nil : shimPath
            return (
                confinement, try plan.ineligibility(program: facts.files, shim: shim),
                plan.forbiddenOnTerminal
            )
        } catch {
            throw LoadFailure(message: error.message)
        }
    }

    private func withContainer(_ sandbox: Sandbox, of app: String) -> Sandbox {
        var sandbox = sandbox
        let container = dataFolders.container(of: app)
        for path in [container.state, container.cache, container.temporary] {
            sandbox.binds.append(.init(ownFolder: path))
        }
        return sandbox
    }

    /// The files of cgroup-v2 that the keys of `[Resources]` stand for.
    func cgroupSettings(of manifest: AppManifest) -> [SpawnSpecification.CgroupSetting] {
        let resources = manifest.resources
        func amount(_ file: String, _ value: UInt64?) -> SpawnSpecification.CgroupSetting? {
            value.map { .init(file, $0 == .max ? "max" : "\($0)") }
        }
        return [
            amount("memory.max", resources.memoryMax), amount("memory.high", resources.memoryHigh),
            amount("pids.max", resources.tasksMax),
            amount("cpu.weight", resources.cpuWeight.map { UInt64($0) }),
        ].compactMap(\.self)
    }
}

extension AppManifest {
    /// `Key=value` of each setting that confines the app.
    var confinementKeys: [String] { sandbox.settings + resources.settings }
}
