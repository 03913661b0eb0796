internal import GreenroomManifest
internal import Systemd

/// The rooms for what comes from the machine: manifests, times, files, users.
@LoopActor
struct MachineRooms {
    let paths: AppPaths
    let loader: AppLoader
    let installer: AppInstaller
    let learning: ImportLearning
    let locks: UserLocks
    let events: MachineEvents
    private let significantTime: SignificantTime

    init(
        _ shared: SharedRooms, _ history: HistoryRooms, _ launching: LaunchingRooms,
        _ conversation: ConversationRooms, _ prepared: borrowing Prepared
    ) throws {
        let (core, catalog, log) = (shared.core, shared.catalog, shared.log)
        let options = prepared.options
        let timers = AppTimers(
            launches: launching.launches, log: log,
            memory: TimerMemory(
                stateDirectory: options.stateDirectory,
                runtimeDirectory: options.runtimeDirectory))
        paths = AppPaths(launches: launching.launches, log: log)
        loader = AppLoader(
            places: ManifestPlaces(
                directories: options.appDirectories,
                systemDirectories: options.systemAppDirectories,
                profileDirectories: options.profileDirectories,
                desktop: DesktopSource(
                    paths: options.desktopDirectories, makesApps: options.makesDesktopApps)),
            shimPath: options.shimPath, hooks: RuntimeHooks(folder: options.runtimesPath),
            lists: shared.importLists, daemonEnvironment: prepared.environment,
            dataFolders: shared.dataFolders, digest: shared.records.digest,
            defaultOccasion: prepared.configuration.usableDefaultOccasion)
        installer = try AppInstaller(
            core: core, catalog: catalog, loader: loader,
            registration: AppRegistration(
                core: core, sockets: launching.sockets, states: conversation.states,
                contexts: launching.contexts, learner: launching.learner,
                lists: shared.importLists),
            triggers: AppTriggers(
                core: core, timers: timers, paths: paths, work: conversation.work),
            reporter: shared.reporter, log: log)
        learning = ImportLearning(
            core: core, catalog: catalog, lists: shared.importLists,
            records: launching.importRecords, orders: launching.orders, spawner: shared.spawner,
            installer: installer, log: log)
        locks = UserLocks(
            core: core, users: LockedUsers(runtimeDirectory: options.runtimeDirectory),
            handover: launching.handover, planning: history.planning, log: log)
        events = MachineEvents(
            core: core, catalog: catalog, installer: installer, locks: locks,
            planning: history.planning, log: log, isSystem: options.isSystem)
        significantTime = try SignificantTime(core: core, timers: timers, log: log)
    }
}
