internal import GreenroomLifecycle
internal import Systemd

/// The accounts of launches, and the history that they become.
@LoopActor
struct HistoryRooms {
    let history: LaunchHistory
    let accounts: LaunchAccounts

    init(_ shared: SharedRooms, _ prepared: borrowing Prepared) {
        let options = prepared.options
        history = LaunchHistory(
            process: HistoryProcess(
                program: options.historyPath, file: options.stateDirectory + "/history.db"),
            log: shared.log, configuration: prepared.configuration,
            inherited: shared.core.lifecycle.instances.map(\.instance.rawValue))
        accounts = LaunchAccounts(
            core: shared.core, catalog: shared.catalog, instances: shared.instances,
            history: history)
    }
}
