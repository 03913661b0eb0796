internal import Glibc
internal import GreenroomControl
internal import Systemd

/// The rooms that serve clients.
@LoopActor
struct ControlRooms {
    let settings: ControlSettings
    let reload: Reload
    let replies: Replies
    let handler: ControlHandler

    init(
        _ shared: SharedRooms, _ memory: MemoryRooms, _ measuring: MeasuringRooms,
        _ history: HistoryRooms, _ launching: LaunchingRooms,
        _ conversation: ConversationRooms, _ machine: MachineRooms, _ prepared: borrowing Prepared
    ) throws {
        let (core, catalog, instances) = (shared.core, shared.catalog, shared.instances)
        let (requests, work) = (shared.requests, conversation.work)
        let (installer, options) = (machine.installer, prepared.options)
        settings = ControlSettings(
            access: try Access(prepared.configuration, log: shared.log),
            limits: ControlListener.ConnectionLimits(prepared.configuration))
        reload = Reload(
            file: ConfigurationFile(options), settings: settings, core: core,
            events: shared.events,
            rooms: [
                memory.conditions, memory.pageOut, memory.priorities, memory.instancePressure,
                memory.pressure, work, measuring.metrics, history.history,
            ],
            planning: history.planning, installer: installer, degradations: shared.degradations,
            log: shared.log)
        let authorization = Authorization(
            core: core, catalog: catalog, templates: installer, settings: settings)
        let objections = PrewarmObjections(core: core)
        let depths = ReportedDepths(core: core, catalog: catalog, objections: objections)
        let daemon = DaemonDescription(
            authorization: authorization, loader: machine.loader, spawner: shared.spawner,
            degradations: shared.degradations, surroundings: Control.Surroundings(options))
        let summaries = AppSummaries(
            core: core, catalog: catalog, authorization: authorization, objections: objections,
            depths: depths)
        let statuses = InstanceStatuses(
            core: core, catalog: catalog, instances: instances, authorization: authorization,
            depths: depths, traces: measuring.traces, screens: measuring.screens, work: work)
        replies = Replies(
            core: core, catalog: catalog, instances: instances, authorization: authorization,
            objections: objections, conditions: memory.conditions)
        let calls = CallHandlers(
            reports: ReportCalls(
                installer: installer, authorization: authorization, daemon: daemon,
                summaries: summaries, statuses: statuses,
                explanations: Explanations(
                    core: core, catalog: catalog, inspections: memory.inspections,
                    objections: objections, depths: depths, importLists: shared.importLists,
                    learner: launching.learner),
                metrics: measuring.metrics),
            launches: LaunchCalls(
                core: core, requests: requests, authorization: authorization,
                contexts: launching.contexts, launches: launching.launches,
                display: LoginDisplay(daemon: prepared.environment, user: getuid())),
            instances: InstanceCalls(
                core: core, instances: instances, requests: requests,
                authorization: authorization),
            application: ApplicationCalls(
                core: core, catalog: catalog, requests: requests, authorization: authorization,
                launches: launching.launches, opening: conversation.opening,
                machine: machine.events, locks: machine.locks),
            history: HistoryCalls(
                authorization: authorization, catalog: catalog, history: history.history),
            tasks: TaskCalls(
                core: core, catalog: catalog, requests: requests, authorization: authorization,
                work: work),
            foreground: ForegroundCalls(
                core: core, catalog: catalog, instances: instances, authorization: authorization),
            learning: machine.learning, libraries: launching.learner,
            administration: AdministrationCalls(
                authorization: authorization, reload: reload, pressure: memory.pressure,
                checking: ManifestChecking(
                    loader: machine.loader, catalog: catalog, sockets: launching.sockets,
                    log: shared.log)))
        handler = ControlHandler(
            requests: requests, events: shared.events, authorization: authorization, calls: calls)
    }
}

extension ConditionInspector: Reconfigured {}
extension PageOut: Reconfigured {}
extension PriorityWriter: Reconfigured {}
extension InstancePressure: Reconfigured {}
extension PressureWatcher: Reconfigured {}
extension BackgroundWork: Reconfigured {}
extension Metrics: Reconfigured {}
extension LaunchHistory: Reconfigured {}

extension Control.Surroundings {
    fileprivate init(_ options: Options) {
        self.init(
            runtimeDirectory: options.runtimeDirectory,
            configurationFile: options.configurationFile,
            appDirectories: options.appDirectories, shimFile: options.shimPath,
            spawnerFile: options.spawnerPath, spawnerProcessId: nil)
    }
}
