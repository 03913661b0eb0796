internal import GreenroomLifecycle
internal import Systemd

/// The accounts of launches, and the history that they become.
@LoopActor
struct HistoryRooms {
    let planning: WarmPlanning
    let history: LaunchHistory
    let accounts: LaunchAccounts
    let pauses: PauseAccounts

    init(_ shared: SharedRooms, _ memory: MemoryRooms, _ prepared: borrowing Prepared) {
        let options = prepared.options
        let process = HistoryProcess(
            program: options.historyPath, file: options.stateDirectory + "/history.db")
        let unrecorded = UnrecordedUsers(
            stateDirectory: options.stateDirectory, log: shared.log)
        let depths = RecordedDepths(core: shared.core, catalog: shared.catalog)
        planning = WarmPlanning(
            process: process, core: shared.core, conditions: memory.conditions, depths: depths,
            unrecorded: unrecorded, log: shared.log, configuration: prepared.configuration)
        history = LaunchHistory(
            process: process, planning: planning, unrecorded: unrecorded,
            degradations: shared.degradations, log: shared.log,
            configuration: prepared.configuration,
            // Ended instances are left out, although the core remembers them: their ends may never
            // have been written.
            adopted: shared.core.lifecycle.instances.filter { $0.state != .notRunning }
                .map(\.instance.rawValue))
        accounts = LaunchAccounts(
            core: shared.core, catalog: shared.catalog, instances: shared.instances,
            history: history)
        pauses = PauseAccounts(
            core: shared.core, catalog: shared.catalog, instances: shared.instances,
            depths: depths, history: history)
    }
}
