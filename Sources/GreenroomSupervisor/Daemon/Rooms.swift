internal import Systemd

/// The rooms of a running daemon, each made with those below it. The spawner is in use already;
/// effects are performed from the first step of `Start`.
@LoopActor
final class Rooms {
    let shared: SharedRooms
    let memory: MemoryRooms
    let measuring: MeasuringRooms
    let history: HistoryRooms
    let launching: LaunchingRooms
    let conversation: ConversationRooms
    let machine: MachineRooms
    let recovery: RecoveryRooms
    let control: ControlRooms
    let effects: Effects
    let unwritten: Unwritten

    init(_ prepared: borrowing Prepared) throws {
        shared = try SharedRooms(prepared)
        memory = MemoryRooms(shared, prepared)
        measuring = MeasuringRooms(shared, prepared)
        history = HistoryRooms(shared, memory, prepared)
        launching = try LaunchingRooms(shared, measuring, prepared)
        conversation = ConversationRooms(shared, memory, measuring, launching, prepared)
        machine = try MachineRooms(shared, history, launching, conversation, prepared)
        recovery = RecoveryRooms(
            shared, memory, launching, conversation, machine.learning, prepared)
        control = try ControlRooms(
            shared, memory, measuring, history, launching, conversation, machine, prepared)
        unwritten = Unwritten(
            metrics: measuring.metrics, learning: machine.learning, learner: launching.learner)
        effects = Effects(
            events: shared.events,
            records: shared.records, reporter: shared.reporter,
            processes: Processes(
                instances: shared.instances, newInstances: launching.newInstances,
                priorities: memory.priorities, pressure: memory.pressure,
                paths: machine.paths, temporaryFolders: shared.temporaryFolders),
            instances: shared.instances, launcher: launching.launcher,
            learner: launching.learner, freezer: memory.freezer,
            answers: Answers(
                requests: shared.requests, replies: control.replies,
                appRequests: conversation.appRequests, metrics: measuring.metrics,
                accounts: history.accounts),
            accounts: Accounts(
                launches: history.accounts, pauses: history.pauses, planning: history.planning,
                reporter: shared.reporter, screens: measuring.screens, metrics: measuring.metrics,
                traces: measuring.traces),
            learners: Learners(learning: machine.learning, learner: launching.learner),
            inspections: memory.inspections, pageOut: memory.pageOut,
            sockets: launching.sockets, conversation: conversation, watches: launching.watches)
    }
}

extension ConfigurationFile {
    init(_ options: Options) {
        self.init(
            path: options.configurationFile, isRequired: options.isConfigurationRequired,
            folder: options.stateDirectory)
    }
}
